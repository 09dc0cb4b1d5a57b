"""The output formats of kgtui, and what the JSON and CSV of all commands have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from kgtui.model.rfc3339 import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.cluster import ClusterInfo

Format = Literal["table", "wide", "json", "csv", "markdown"]
"""Every output format. Each command and export offers some of these formats."""

FORMATS: dict[Format, str] = {
    "table": "for people",
    "wide": "a table with more columns",
    "json": "one document with every field",
    "csv": "one line per row, with a header",
    "markdown": "for tickets and chats",
}
"""Format → its description in help texts."""

VERSION = 1
"""Version of the JSON documents, increased with every change that would break programs that read them."""


def document(
    cluster: ClusterInfo, taken_at: float, coverage: Coverage, groups: Sequence[object], faults: Iterable[Fault]
) -> dict[str, Any]:
    """Return the JSON document with a list of groups. Its keys are the same for all commands."""
    return {
        "version": VERSION,
        "cluster": cluster_object(cluster),
        "taken_at": rfc3339(taken_at),
        "coverage": {"brokers": list(coverage.brokers), "groups": list(coverage.groups)},
        "groups": groups,
        "faults": [fault_object(fault) for fault in faults],
    }


def cluster_object(cluster: ClusterInfo) -> dict[str, Any]:
    """Return a cluster as a JSON object: its id, its bootstrap servers, and its brokers sorted by id."""
    return {
        "id": cluster.cluster_id,
        "bootstrap": list(cluster.seeds),
        "controller": cluster.controller,
        "brokers": [
            {"id": broker.node, "host": broker.host, "port": broker.port, "rack": broker.rack}
            for _, broker in sorted(cluster.brokers.items())
        ],
        "features": None if cluster.features is None else dict(sorted(cluster.features.items())),
    }


def fault_object(fault: Fault) -> dict[str, Any]:
    """Return a fault as a JSON object: what could not be read, and why."""
    return {
        "broker": fault.broker,
        "group": fault.group,
        "code": fault.code,
        "name": fault.name,
        "message": fault.message,
    }


def json_bytes(value: object, *, one_line: bool = False) -> bytes:
    """Encode a value as JSON in UTF-8, with a line feed at the end.

    Python decodes an id that is not UTF-8 to lone surrogates (`surrogateescape`). UTF-8 cannot encode lone surrogates,
    so a document with such an id is written in ASCII, with escapes.
    """
    import json

    indent = None if one_line else 1
    try:
        return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(value, indent=indent) + "\n").encode()


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Encode rows as CSV in UTF-8, as in RFC 4180 but with line feeds; None becomes an empty cell.

    An id that is not UTF-8 is written with its original bytes.
    """
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")

"""The output formats of kgtui, and functions that encode JSON and CSV for all commands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from kgtui.model.rfc3339 import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.cluster import ClusterInfo

Format = Literal["table", "wide", "json", "csv", "markdown"]
"""Names of all output formats. Each command, and the incident export, supports some of these formats."""

FORMATS: dict[Format, str] = {
    "table": "for people",
    "wide": "a table with more columns",
    "json": "one document with every field",
    "csv": "one line per row, with a header",
    "markdown": "for tickets and chats",
}
"""Maps each format to its description in help texts."""

VERSION = 1
"""Version of the JSON format. It increases with every change that could break programs that read kgtui's JSON."""


def document(
    cluster: ClusterInfo, taken_at: float, coverage: Coverage, groups: Sequence[object], faults: Iterable[Fault]
) -> dict[str, Any]:
    """Return groups as a JSON document. All commands that print groups use the same top-level keys.

    Args:
        taken_at: time of the snapshot that contains the groups, in seconds since the epoch.
        coverage: how many brokers answered, and how many groups could be read.
        groups: one JSON object per group.
        faults: each fault says what could not be read, and why.
    """
    return {
        "version": VERSION,
        "cluster": cluster_object(cluster),
        "taken_at": rfc3339(taken_at),
        "coverage": {"brokers": list(coverage.brokers), "groups": list(coverage.groups)},
        "groups": groups,
        "faults": [fault_object(fault) for fault in faults],
    }


def cluster_object(cluster: ClusterInfo) -> dict[str, Any]:
    """Return a JSON object with the cluster's id, bootstrap servers, controller, brokers and features.

    The brokers are sorted by id. Unknown values are None.
    """
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


_UNSAFE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
"""Characters that are valid in JSON, but are invisible or control a terminal.

They are DEL, C1 and bidi controls, zero-width characters, line separators, and surrogates.
"""


def _utf16(char: str) -> tuple[int, ...]:
    encoded = char.encode("utf-16-be", "surrogatepass")
    return tuple(int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2))


def json_bytes(value: object, *, one_line: bool = False) -> bytes:
    r"""Encode a value as JSON in UTF-8, with a line feed at the end.

    Invisible and control characters, such as `\u202e`, and lone surrogates are escaped.

    Args:
        one_line: whether to omit line breaks and indentation.
    """
    import json

    indent = None if one_line else 1
    text = json.dumps(value, ensure_ascii=False, indent=indent) + "\n"
    if not text.isascii() or "\x7f" in text:
        text = _UNSAFE.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _utf16(found[0])), text)
    return text.encode()


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Encode rows as CSV in UTF-8 (RFC 4180, but lines end with LF). None becomes an empty cell.

    If an id, such as a group id, is not valid UTF-8, its original bytes are written.
    """
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")

"""What every JSON and CSV of ours shares: the version, the cluster, the moment, the faults, exact ids."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.cluster import ClusterInfo

VERSION = 1
"""Of the JSON; grows when a reader of the old one would be misled."""


def rfc3339(seconds: float) -> str:
    """A time, in seconds since the epoch, as RFC 3339 in UTC with milliseconds."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def document(
    cluster: ClusterInfo, taken_at: float, coverage: Coverage, groups: Sequence[object], faults: Iterable[Fault]
) -> dict[str, Any]:
    """The frame of every JSON that is about groups."""
    return {
        "version": VERSION,
        "cluster": cluster_object(cluster),
        "taken_at": rfc3339(taken_at),
        "coverage": {"brokers": list(coverage.brokers), "groups": list(coverage.groups)},
        "groups": groups,
        "faults": [fault_object(fault) for fault in faults],
    }


def cluster_object(cluster: ClusterInfo) -> dict[str, Any]:
    """A cluster: id, addresses used to find it, brokers by id."""
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
    """What could not be learned, and why."""
    return {
        "broker": fault.broker,
        "group": fault.group,
        "code": fault.code,
        "name": fault.name,
        "message": fault.message,
    }


def json_bytes(value: object, *, one_line: bool = False) -> bytes:
    """UTF-8 JSON with its line end.

    Ids that are not UTF-8 keep their bytes as the lone surrogates that Python's `surrogateescape` makes of them; JSON
    can write those as escapes only.
    """
    indent = None if one_line else 1
    try:
        return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(value, indent=indent) + "\n").encode()


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """UTF-8 CSV (RFC 4180, with line feeds); None is an empty cell, ids that are not UTF-8 keep their bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")

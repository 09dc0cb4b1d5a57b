"""The audit log of deletions: an append-only file of JSON lines.

For each group, kgtui writes a line `intent` before it sends the delete request, and a line `outcome` when it knows the
result. If the result remains unknown, kgtui writes a line `uncertain` instead, and checks the group at its next start.
Times are in RFC 3339 format in UTC. When kgtui reads the log, it ignores unknown fields and unknown kinds of lines.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kgtui import __version__
from kgtui.actions.backup import as_json, cluster_fields
from kgtui.actions.synced_files import append_line
from kgtui.errors import PARSE_ERRORS
from kgtui.model.rfc3339 import rfc3339
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kgtui.actions.plan import Allowed
    from kgtui.actions.results import GroupResult
    from kgtui.model.cluster import ClusterInfo

SCHEMA = 1
INTENT, OUTCOME, UNCERTAIN = "intent", "outcome", "uncertain"


@dataclass(frozen=True, slots=True)
class Entry:
    """The deletion of one group, read from the audit log.

    Attributes:
        id: the id that all lines of this deletion contain.
        intent: fields of the `intent` line.
        outcome: fields of the `outcome` line; None while the result is unknown.
    """

    id: str
    intent: Mapping[str, Any]
    outcome: Mapping[str, Any] | None = None

    @property
    def group(self) -> str:
        """The id of the group."""
        return str(self.intent.get("group", ""))


def write_intent(log: Path, entry: str, line: Allowed, cluster: ClusterInfo, backup: Path, command: str = "") -> None:
    """Log that a group will be deleted, before the delete request is sent.

    If this raises OSError, the caller must not send the delete request.

    Args:
        log: path of the audit log.
        entry: new id for this deletion.
        line: the group's entry in the deletion plan.
        backup: path of the backup's JSON-lines file.
        command: where the deletion was started, such as `kgtui delete` or `UI`.
    """
    fields = {
        "entry": INTENT,
        "action": "delete group",
        "group": line.group,
        "type": line.type,
        "cluster": cluster_fields(cluster),
        "backup": backup,
        "loss": asdict(line.loss),
        "command": command,
        "user": _user(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "kgtui": __version__,
    }
    _append(log, entry, fields)


def write_outcome(log: Path, result: GroupResult, *, certain: bool = True, found_later: bool = False) -> None:
    """Log the result of the deletion of one group. Raises OSError.

    Args:
        log: path of the audit log.
        certain: False if it is not known whether the group was deleted. At its next start, kgtui then checks whether
            the group still exists.
        found_later: whether kgtui found out the result only by this check at its next start.
    """
    fields = {
        "entry": OUTCOME if certain else UNCERTAIN,
        "group": result.group,
        "result": result.status.value,
        "verified": result.verified,
        "reason": result.reason,
        "fault": None if result.fault is None else asdict(result.fault),
        "backup": result.backup,
        "found_later": found_later,
    }
    _append(log, result.entry or "", fields)


def read_entries(log: Path) -> tuple[list[Entry], int]:
    """Return `(deletions, damaged)`: the deletions in the order of the log, and the number of damaged lines.

    Raises OSError.
    """
    entries: dict[str, Entry] = {}
    damaged = 0
    try:
        lines = read_input(log, limit=None).split(b"\n")
    except FileNotFoundError:
        return [], 0
    for line in filter(None, lines):
        fields = _fields(line)
        if fields is None:
            damaged += 1
            continue
        key = str(fields.get("id"))
        if fields.get("entry") == INTENT:
            entries[key] = Entry(key, fields)
        elif fields.get("entry") == OUTCOME and key in entries:
            entries[key] = Entry(key, entries[key].intent, fields)
    return list(entries.values()), damaged


def _append(log: Path, entry: str, fields: Mapping[str, Any]) -> None:
    line = {"schema": SCHEMA, "id": entry, "at": rfc3339(time.time()), **fields}
    append_line(log, as_json(line).encode())


def _fields(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except PARSE_ERRORS:
        return None
    return value if isinstance(value, dict) else None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())

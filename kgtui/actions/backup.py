"""The backup of a group: a JSON-lines file with all that the broker gave, and a CSV that Kafka's tools read.

The first line is the header (`"kind": "backup"`, schema number, cluster, the group as described), then one line each
for a committed offset, a share offset and a config, and last `"kind": "end"` with the number of rows between, so that a
file cut short is recognised. Readers take every schema up to `SCHEMA`, ignore fields they do not know and refuse newer.

The CSV has lines `topic,partition,offset`, as `kafka-consumer-groups --group G --reset-offsets --from-file` reads them;
partitions of topics that are gone are left out, because the tool refuses a whole file for one of them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtui import __version__
from kgtui.actions.state_folder import sync_folder, write_new
from kgtui.errors import UsageError
from kgtui.model.rfc3339 import file_stamp, rfc3339

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.actions.group_data import GroupData
    from kgtui.actions.state_folder import StateFolder
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset

SCHEMA = 1
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup as read from its file.

    Attributes:
        header: the first line: `group`, `type`, `made_at`, `cluster`, `description` and more.
        rows: the lines between: `kind` is `committed`, `share` or `config`.
        complete: whether the end line is there and counts them right.
    """

    path: Path
    header: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]
    complete: bool

    @property
    def group(self) -> str:
        """Group id."""
        return str(self.header["group"])

    @property
    def csv(self) -> Path:
        """The file beside it that Kafka's tools read."""
        return self.path.with_suffix(".csv")

    @property
    def offsets(self) -> int:
        """How many partitions with an offset it holds."""
        return sum(_position(row) is not None for row in self.rows)


def backup_path(folder: StateFolder, group: str, entry: str, at: float) -> Path:
    """A name that is safe on every file system, whatever the group is called."""
    slug = _UNSAFE.sub("_", group)[:40].strip("._") or "group"
    return folder.backups / f"{file_stamp(at)}-{slug}-{entry[:8]}.jsonl"


def write_backup(path: Path, held: GroupData, cluster: ClusterInfo, entry: str, at: float) -> None:
    """Write both files, on the disk before this returns. Raises OSError; then neither is there."""
    write_new(path, _lines(held, cluster, entry, at).encode())
    try:
        write_new(path.with_suffix(".csv"), _csv(held).encode())
        sync_folder(path.parent)
    except OSError:
        discard_backup(path)
        raise


def discard_backup(path: Path) -> None:
    """Remove a backup of which nothing was deleted."""
    path.unlink(missing_ok=True)
    path.with_suffix(".csv").unlink(missing_ok=True)


def read_backup(path: Path) -> Backup:
    """Read a backup. Raises `UsageError` when it is none, or of a schema newer than this version."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    rows = [row for row in map(_object, lines) if row is not None]
    if not rows or rows[0].get("kind") != "backup" or not isinstance(rows[0].get("group"), str):
        raise UsageError(f"{path} is not a backup")
    header = rows[0]
    if not isinstance(header.get("schema"), int) or header["schema"] > SCHEMA:
        raise UsageError(f"{path} has schema {header.get('schema')!r}; this version reads up to {SCHEMA}")
    body = tuple(row for row in rows[1:] if row.get("kind") != "end")
    complete = rows[-1].get("kind") == "end" and rows[-1].get("rows") == len(body)
    return Backup(path, header, body, complete)


def list_backups(folder: StateFolder) -> tuple[list[Backup], list[str]]:
    """Every backup, oldest first, and a line about each file that could not be read."""
    found: list[Backup] = []
    faults: list[str] = []
    for path in sorted(folder.backups.glob("*.jsonl")):
        try:
            found.append(read_backup(path))
        except UsageError as error:
            faults.append(str(error))
    return found, faults


def cluster_fields(cluster: ClusterInfo) -> dict[str, Any]:
    """How backups and the audit log name a cluster."""
    return {"id": cluster.cluster_id, "seeds": list(cluster.seeds)}


def as_json(value: Any) -> str:
    """One line of ASCII: what a hostile name would do to a terminal stays an escape."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _lines(held: GroupData, cluster: ClusterInfo, entry: str, at: float) -> str:
    rows = _rows(held)
    header = {
        "kind": "backup",
        "schema": SCHEMA,
        "kgtui": __version__,
        "entry": entry,
        "made_at": rfc3339(at),
        "cluster": cluster_fields(cluster),
        "group": held.group,
        "type": held.description.type,
        "description": asdict(held.description),
        "configs_fault": None if held.configs_fault is None else held.configs_fault.message,
    }
    return "".join(as_json(line) + "\n" for line in (header, *rows, {"kind": "end", "rows": len(rows)}))


def _rows(held: GroupData) -> list[dict[str, Any]]:
    bounds = held.offsets.bounds or {}
    rows = [
        {"kind": kind, **asdict(row), "log": _log(bounds.get((row.topic, row.partition)))}
        for kind, offsets in (("committed", held.offsets.committed), ("share", held.offsets.share))
        for row in offsets
    ]
    return rows + [{"kind": "config", **asdict(config)} for config in held.configs or ()]


def _log(bounds: PartitionBounds | None) -> dict[str, Any] | None:
    return None if bounds is None else asdict(bounds)


def _position(row: Mapping[str, Any]) -> int | None:
    value = row.get("offset" if row.get("kind") == "committed" else "start_offset")
    return value if isinstance(value, int) else None


def _csv(held: GroupData) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    gone = held.gone_topics
    for row in held.positions:
        if row.topic not in gone:
            writer.writerow((row.topic, row.partition, _offset(row)))
    return text.getvalue()


def _offset(row: CommittedOffset | ShareOffset) -> int | None:
    return row.start_offset if hasattr(row, "start_offset") else row.offset

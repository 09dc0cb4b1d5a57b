"""Write and read backups of groups, as one JSON-lines file and one CSV file per group.

The JSON-lines file has a header (`"kind": "backup"`), then one line per offset and config. The last line (`"kind":
"end"`) contains the number of lines in between, so that kgtui notices a truncated file. kgtui ignores unknown fields.

The CSV file has lines `topic,partition,offset` for `kafka-consumer-groups --group G --reset-offsets --from-file`. It
leaves out partitions that no longer exist, because Kafka's tool would reject the whole file.
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
from kgtui.actions.synced_files import sync_folder, write_new
from kgtui.errors import PARSE_ERRORS, UsageError
from kgtui.model.rfc3339 import file_stamp, rfc3339
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.actions.group_data import GroupData
    from kgtui.config import StateFolder
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.offsets import PartitionBounds

SCHEMA = 1
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup of a group, read from its JSON-lines file.

    Attributes:
        header: the first line: `group`, `type`, `made_at`, `cluster`, `description` and others.
        rows: one dict per offset and config; the value of the key `kind` is `committed`, `share` or `config`.
        complete: False if the file is truncated.
    """

    path: Path
    header: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]
    complete: bool

    @property
    def group(self) -> str:
        """The id of the group."""
        return str(self.header["group"])

    @property
    def csv(self) -> Path:
        """Path of the CSV file of this backup: the path of the JSON-lines file, but with the suffix `.csv`."""
        return self.path.with_suffix(".csv")

    @property
    def offsets(self) -> int:
        """Number of partitions for which the backup contains an offset."""
        return sum(_position(row) is not None for row in self.rows)


def backup_path(folder: StateFolder, group: str, entry: str, at: float) -> Path:
    """Return the path for the JSON-lines file of a new backup. The file name is valid on every file system.

    Args:
        entry: id of the deletion in the audit log.
        at: time of the backup, in seconds since the epoch.
    """
    slug = _UNSAFE.sub("_", group)[:40].strip("._") or "group"
    return folder.backups / f"{file_stamp(at)}-{slug}-{entry[:8]}.jsonl"


def write_backup(path: Path, data: GroupData, cluster: ClusterInfo, entry: str, at: float) -> None:
    """Write a backup as a JSON-lines file and a CSV file, and sync both files to disk.

    Args:
        path: path of the JSON-lines file. The path of the CSV file differs only in its suffix, `.csv`.
        entry: id of the deletion in the audit log.
        at: time of the backup, in seconds since the epoch.

    Raises:
        OSError: a file cannot be written. No new file is left behind.
    """
    write_new(path, _lines(data, cluster, entry, at).encode())
    try:
        write_new(path.with_suffix(".csv"), _csv(data).encode())
        sync_folder(path.parent)
    except OSError:
        discard_backup(path)
        raise


def discard_backup(path: Path) -> None:
    """Remove the JSON-lines file and the CSV file of a backup, because the group was not deleted."""
    path.unlink(missing_ok=True)
    path.with_suffix(".csv").unlink(missing_ok=True)


def read_backup(path: Path) -> Backup:
    """Read the JSON-lines file of a backup.

    Raises `UsageError` if the file cannot be read, is not a backup, or has a schema version above `SCHEMA`.
    """
    try:
        lines = read_input(path, limit=None).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    rows = [row for row in map(_object, lines) if row is not None]
    if not rows or rows[0].get("kind") != "backup" or not isinstance(rows[0].get("group"), str):
        raise UsageError(f"{path} is not a backup: expected a JSON-lines file with the backup of a group")
    header = rows[0]
    if not isinstance(header.get("schema"), int) or header["schema"] > SCHEMA:
        raise UsageError(
            f"{path} has schema version {header.get('schema')!r}, but this kgtui reads versions up to {SCHEMA}. "
            "Upgrade kgtui."
        )
    body = tuple(row for row in rows[1:] if row.get("kind") != "end")
    complete = rows[-1].get("kind") == "end" and rows[-1].get("rows") == len(body)
    return Backup(path, header, body, complete)


def list_backups(folder: StateFolder) -> tuple[list[Backup], list[str]]:
    """Return `(backups, errors)`: the backups in the folder, oldest first, and the error messages of `read_backup`.

    If the folder does not exist, both lists are empty. Raises `UsageError` if the folder cannot be read.
    """
    found: list[Backup] = []
    faults: list[str] = []
    try:
        paths = sorted(path for path in folder.backups.iterdir() if path.suffix == ".jsonl")
    except FileNotFoundError:
        return found, faults
    except OSError as error:
        raise UsageError(f"{folder.backups} cannot be read: {error.strerror or error}") from error
    for path in paths:
        try:
            found.append(read_backup(path))
        except UsageError as error:
            faults.append(str(error))
    return found, faults


def cluster_fields(cluster: ClusterInfo) -> dict[str, Any]:
    """Return the JSON fields that identify a cluster in backups and the audit log: its id and bootstrap servers."""
    return {"id": cluster.cluster_id, "seeds": list(cluster.seeds)}


def as_json(value: Any) -> str:
    """Format a value as one line of ASCII JSON, in which control characters and non-ASCII characters are escaped."""
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
    except PARSE_ERRORS:
        return None
    return value if isinstance(value, dict) else None


def _lines(data: GroupData, cluster: ClusterInfo, entry: str, at: float) -> str:
    rows = _rows(data)
    header = {
        "kind": "backup",
        "schema": SCHEMA,
        "kgtui": __version__,
        "entry": entry,
        "made_at": rfc3339(at),
        "cluster": cluster_fields(cluster),
        "group": data.group,
        "type": data.description.type,
        "description": asdict(data.description),
        "configs_fault": None if data.configs_fault is None else data.configs_fault.message,
    }
    return "".join(as_json(line) + "\n" for line in (header, *rows, {"kind": "end", "rows": len(rows)}))


def _rows(data: GroupData) -> list[dict[str, Any]]:
    bounds = data.offsets.bounds or {}
    rows = [
        {"kind": kind, **asdict(row), "log": _log(bounds.get((row.topic, row.partition)))}
        for kind, offsets in (("committed", data.offsets.committed), ("share", data.offsets.share))
        for row in offsets
    ]
    return rows + [{"kind": "config", **asdict(config)} for config in data.configs or ()]


def _log(bounds: PartitionBounds | None) -> dict[str, Any] | None:
    return None if bounds is None else asdict(bounds)


def _position(row: Mapping[str, Any]) -> int | None:
    value = row.get("offset" if row.get("kind") == "committed" else "start_offset")
    return value if isinstance(value, int) else None


def _csv(data: GroupData) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    gone = data.gone_partitions
    for partition, offset in data.positions.items():
        if partition not in gone:
            writer.writerow((*partition, offset))
    return text.getvalue()

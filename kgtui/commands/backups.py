"""`kgtui backups`: list the backups that kgtui made before deletions, or show one backup in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtui.actions.backup import Backup, list_backups, read_backup
from kgtui.commands.printing import notify, print_result
from kgtui.config import StateFolder, state_folder
from kgtui.errors import UsageError
from kgtui.model.command_line import join
from kgtui.model.group_types import CONSUMER_TOOL, GROUP_TYPES
from kgtui.model.query.spelling import similar_names
from kgtui.model.text import visible
from kgtui.output.formats import VERSION, json_bytes
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui backups`."""
    from kgtui.commands.parser import add_format_option, group_id

    parser.add_argument("backup", nargs="?", metavar="FILE", help="backup to show in full: its file name or path")
    parser.add_argument("--group", type=group_id, metavar="NAME", help="only backups of the group with exactly this id")
    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui backups`. The exit code is 1 if a backup cannot be read or is incomplete, otherwise 0."""
    folder = state_folder()
    if args.backup is not None:
        return _show(args, read_backup(_path(folder, args.backup)))
    every, faults = list_backups(folder)
    found = [backup for backup in every if args.group is None or backup.group == args.group]
    print_result(
        args.format,
        {
            "table": lambda: table(_COLUMNS, [_cells(backup) for backup in found]),
            "json": lambda: json_bytes(
                {"version": VERSION, "backups": [_summary(backup) for backup in found], "faults": faults}
            ),
        },
    )
    if not found and args.format == "table":
        notify(_no_backups(folder, args.group, every))
    for fault in faults:
        notify(fault)
    return 1 if faults or not all(backup.complete for backup in found) else 0


def _no_backups(folder: StateFolder, group: str | None, every: Sequence[Backup]) -> str:
    """Return the message that there are no backups, or none of `group`. Similar group ids in `every` are suggested."""
    if group is None:
        return f"there are no backups in {folder.backups}"
    names = ", ".join(map(visible, similar_names([group], {backup.group for backup in every})))
    similar = f"; similar: {names}" if names else ""
    return f"there are no backups of the group {visible(group)} in {folder.backups}{similar}"


_COLUMNS = [
    Column("MADE AT"),
    Column("GROUP"),
    Column("TYPE"),
    Column("OFFSETS", number=True),
    Column("CLUSTER"),
    Column("FILE"),
]


def _path(folder: StateFolder, name: str) -> Path:
    for path in (folder.backups / name, folder.backups / f"{name}.jsonl", Path(name)):
        try:
            if path.is_file():
                return path.with_suffix(".jsonl") if path.suffix == ".csv" else path
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    raise UsageError(f"there is no backup {name} in {folder.backups}; to list all backups, run: kgtui backups")


def _cells(backup: Backup) -> tuple[str, ...]:
    header = backup.header
    name = backup.path.name if backup.complete else f"{backup.path.name} (incomplete)"
    kind, made_at = str(header.get("type", "?")), str(header.get("made_at", "?"))
    return made_at, backup.group, kind, str(backup.offsets), _cluster(header), name


def _cluster(header: Mapping[str, Any]) -> str:
    cluster = header.get("cluster")
    if not isinstance(cluster, dict):
        return "?"
    return str(cluster.get("id") or ",".join(map(str, cluster.get("seeds") or ())) or "?")


def _summary(backup: Backup) -> dict[str, Any]:
    header = backup.header
    return {
        "group": backup.group,
        "type": header.get("type"),
        "made_at": header.get("made_at"),
        "cluster": header.get("cluster"),
        "offsets": backup.offsets,
        "complete": backup.complete,
        "file": str(backup.path),
        "csv": str(backup.csv),
    }


def _show(args: argparse.Namespace, backup: Backup) -> int:
    print_result(
        args.format,
        {
            "table": lambda: _text(backup),
            "json": lambda: json_bytes(
                {"version": VERSION, **_summary(backup), "header": backup.header, "rows": backup.rows}
            ),
        },
    )
    if not backup.complete:
        notify(f"{backup.path} is incomplete, because writing it was interrupted; some offsets are missing")
    return 0 if backup.complete else 1


def _text(backup: Backup) -> str:
    facts = [
        ("group", backup.group),
        ("type", str(backup.header.get("type", "?"))),
        ("made at", str(backup.header.get("made_at", "?"))),
        ("cluster", _cluster(backup.header)),
        ("file", str(backup.path)),
    ]
    header = table([Column(""), Column("")], facts, header=False)
    offsets = [row for row in backup.rows if row.get("kind") in ("committed", "share")]
    columns = [Column("TOPIC"), Column("PARTITION", number=True), Column("OFFSET", number=True),
               Column("LEADER EPOCH", number=True), Column("METADATA")]  # fmt: skip
    rows = table(columns, [_offset_cells(row) for row in offsets])
    return f"{header}\n{rows}\nTo restore these offsets with Kafka's own tool:\n  {_restore(backup)}\n"


def _offset_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    offset = row.get("offset" if row.get("kind") == "committed" else "start_offset")
    values = (row.get("topic"), row.get("partition"), offset, row.get("leader_epoch"), row.get("metadata"))
    return tuple("-" if value is None else str(value) for value in values)


def _restore(backup: Backup) -> str:
    group_type = GROUP_TYPES.get(str(backup.header.get("type")))
    tool = group_type.tool if group_type else CONSUMER_TOOL
    cluster = backup.header.get("cluster")
    seeds = ",".join(map(str, cluster.get("seeds") or ())) if isinstance(cluster, dict) else ""
    return join((tool, "--bootstrap-server", seeds or "HOST:PORT", "--group", backup.group, "--reset-offsets",
                 "--from-file", str(backup.csv), "--execute"))  # fmt: skip

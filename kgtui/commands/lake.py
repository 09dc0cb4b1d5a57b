"""`kgtui lake`: what a lake holds, many files made one, days removed that are too old."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kgtui.commands.printing import put_bytes, put_text, say, terminal_width
from kgtui.commands.times import seconds_of
from kgtui.errors import UsageError
from kgtui.model.amounts import in_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from kgtui.lake.maintenance import Done, Keep, LakeStatus, TableStatus

_DAY = 86_400.0
_GIVE_WAY = ("VERSION", "FILES", "SIZE", "ON DISK")
"""Columns that a narrow terminal does without, the first of them first."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    what = parser.add_subparsers(dest="what", metavar="status|optimize|prune", required=True, prog=parser.prog)
    status = what.add_parser("status", help="tables with their rows, sizes, days, versions and age")
    optimize = what.add_parser("optimize", help="make few files of many, and checkpoints of the tables' logs")
    prune = what.add_parser("prune", help="remove whole days that are too old")
    for one in (status, optimize, prune):
        one.add_argument("lake", metavar="LAKE", help="the folder")
    status.add_argument("--format", choices=("table", "json"), default="table")
    prune.add_argument(
        "--keep",
        metavar="[NAME=]TIME",
        action="append",
        required=True,
        help="how long: 30d for every table, gold=365d or gold/lag=90d for a layer or a table, gold=all to keep it",
    )
    prune.add_argument("--dry-run", action="store_true", help="only say what would go")


def epilog() -> str:
    """What else there is to know."""
    return (
        "A recorder keeps its own tables in order while it runs. What optimize and prune have replaced stays on the\n"
        "disk for an hour, since somebody may still be reading it."
    )


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code: 1 when a table could not be read or written."""
    if args.what == "status":
        return _status(args)
    if args.what == "optimize":
        from kgtui.lake.maintenance import optimize

        return _report(optimize(args.lake))
    return _prune(args)


def _status(args: argparse.Namespace) -> int:
    from kgtui.lake.maintenance import status

    found = status(args.lake)
    if args.format == "json":
        from kgtui.output.formats import VERSION, json_bytes

        put_bytes(json_bytes({"version": VERSION, **_object(found)}))
    else:
        put_text(_text(found, terminal_width()))
    troubled = [table for table in found.tables if table.trouble]
    for table in troubled:
        say(f"{table.table.title} cannot be read: {table.trouble}")
    return 1 if troubled else 0


def _prune(args: argparse.Namespace) -> int:
    from kgtui.lake.maintenance import prune

    return _report(prune(args.lake, keep_of(args.keep), dry_run=args.dry_run))


def _report(done: Iterable[Done]) -> int:
    """One line for each table, as soon as it is done."""
    code = 0
    for one in done:
        if one.trouble:
            code = 1
            say(f"{one.table}: {one.trouble}")
        else:
            freed = f"; {in_bytes(one.freed)} freed" if one.freed > 0 else ""
            put_text(f"{one.table}: {one.what}{freed}\n")
    return code


def keep_of(given: Iterable[str]) -> Keep:
    """`--keep` in all its forms. Raises `UsageError`."""
    from kgtui.lake.maintenance import Keep

    default: int | None = None
    named: dict[str, int | None] = {}
    for item in given:
        name, equals, text = item.rpartition("=")
        days = None if text == "all" else int(seconds_of("--keep", text) // _DAY)
        if days is not None and days < 1:
            raise UsageError(f"--keep counts whole days: {text} is less than one")
        if equals:
            named[name.strip("/")] = days
        else:
            default = days
    return Keep(default, tuple(named.items()))


def _text(found: LakeStatus, width: int | None) -> str:
    """Cut to a terminal of so many cells column by column; JSON has them all."""
    from kgtui.output.table import Column, cell_width, table

    now = time.time()
    columns = [
        Column("TABLE"), Column("ROWS", number=True), Column("FILES", number=True), Column("SIZE", number=True),
        Column("ON DISK", number=True), Column("DAYS"), Column("VERSION", number=True), Column("WRITTEN"),
    ]  # fmt: skip
    rows = [_cells(one, now) for one in found.tables]
    for left_out in range(len(_GIVE_WAY) + 1):
        shown = [at for at, column in enumerate(columns) if column.title not in _GIVE_WAY[:left_out]]
        text = table([columns[at] for at in shown], [[cells[at] for at in shown] for cells in rows])
        if width is None or max(map(cell_width, text.splitlines())) <= width:
            break
    who = f"; being recorded by {found.recorder}" if found.recorder else ""
    return f"{text}\n{found.path}: {in_bytes(found.disk)} on disk{who}\n"


def _cells(one: TableStatus, now: float) -> tuple[str, ...]:
    from kgtui.model.health.wording import duration
    from kgtui.output import marks

    held = one.contents
    if held is None:
        return (one.table.title, *[marks.NO_ANSWER] * 3, in_bytes(one.disk), *[marks.NO_ANSWER] * 3)
    days = marks.NONE if held.first is None else f"{held.first} … {held.last}"
    age = marks.NONE if held.written is None else f"{duration(now - held.written)} ago"
    return (
        one.table.title,
        marks.NO_ANSWER if held.rows is None else f"{held.rows:,}",
        str(held.files),
        in_bytes(held.bytes),
        in_bytes(one.disk),
        days,
        str(held.version),
        age,
    )


def _object(found: LakeStatus) -> dict[str, Any]:
    recorder = found.recorder
    return {
        "lake": str(found.path),
        "disk_bytes": found.disk,
        "recorder": None if recorder is None else {"host": recorder.host, "pid": recorder.pid},
        "tables": [_table_object(one) for one in found.tables],
    }


def _table_object(one: TableStatus) -> dict[str, Any]:
    from kgtui.model.rfc3339 import rfc3339

    held = one.contents
    told: dict[str, Any] = {"layer": one.table.layer, "table": one.table.name, "disk_bytes": one.disk}
    if held is None:
        return {**told, "trouble": one.trouble}
    return {
        **told,
        "rows": held.rows,
        "files": held.files,
        "bytes": held.bytes,
        "first_day": None if held.first is None else held.first.isoformat(),
        "last_day": None if held.last is None else held.last.isoformat(),
        "table_version": held.version,
        "written_at": None if held.written is None else rfc3339(held.written),
    }

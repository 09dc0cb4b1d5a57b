"""`kgtui lake`: list the tables of a lake, compact their files, and delete the rows of old days."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kgtui.commands.printing import notify, print_result, print_text, terminal_width
from kgtui.commands.time_options import parse_duration
from kgtui.errors import UsageError
from kgtui.model.number_format import in_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from kgtui.lake.maintenance import KeepRules, LakeStatus, MaintenanceResult, TableStatus

_DAY = 86_400.0
_OPTIONAL_COLUMNS = ("VERSION", "FILES", "SIZE", "ON DISK")
"""Columns that are hidden, one by one and in this order, until the table fits into the terminal."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `kgtui lake` and their options."""
    from kgtui.commands.parser import add_format_option

    subcommands = parser.add_subparsers(
        dest="what", metavar="status|optimize|prune", required=True, prog=parser.prog
    )  # fmt: skip
    status = subcommands.add_parser(
        "status", help="list the tables with their rows, sizes, days, versions and last writes"
    )
    optimize = subcommands.add_parser("optimize", help="combine small files, and write checkpoints of the Delta logs")
    prune = subcommands.add_parser("prune", help="delete the rows of old days")
    for subcommand in (status, optimize, prune):
        subcommand.add_argument(
            "lake", metavar="LAKE", help="folder of the lake, or its URI, such as s3a://bucket/folder"
        )
    add_format_option(status, "table", "json")
    prune.add_argument(
        "--keep",
        metavar="[NAME=]TIME",
        action="append",
        required=True,
        help="how long to keep rows, such as 30d for all tables, gold=365d for one layer, gold/lag=90d for one table; "
        "gold=all to keep all rows of the layer; may be repeated",
    )
    prune.add_argument("--dry-run", action="store_true", help="only print what would be deleted")


def epilog() -> str:
    """Return the text below the options of `kgtui lake --help`."""
    return (
        "A running recorder compacts and prunes the tables that it writes. Files that were replaced by optimize or\n"
        "prune stay on the disk for an hour, because other programs may still be reading them."
    )


def run(args: argparse.Namespace) -> int:
    """Run `kgtui lake`. The exit code is 1 if a table could not be read or written, otherwise 0."""
    if args.what == "status":
        return _print_status(args)
    if args.what == "optimize":
        from kgtui.lake.maintenance import optimize

        return _print_results(optimize(args.lake))
    from kgtui.lake.maintenance import prune

    return _print_results(prune(args.lake, parse_keep(args.keep), dry_run=args.dry_run))


def _print_status(args: argparse.Namespace) -> int:
    from kgtui.lake.maintenance import status
    from kgtui.output.formats import VERSION, json_bytes

    lake = status(args.lake)
    print_result(
        args.format,
        {
            "table": lambda: _as_text(lake, terminal_width()),
            "json": lambda: json_bytes({"version": VERSION, **_lake_object(lake)}),
        },
    )
    unreadable = [table for table in lake.tables if table.error]
    for table in unreadable:
        notify(f"{table.table.title} cannot be read: {table.error}")
    return 1 if unreadable else 0


def _print_results(results: Iterable[MaintenanceResult]) -> int:
    """Print the result for each table as soon as the table is finished, and return the exit code."""
    code = 0
    for result in results:
        if result.error:
            code = 1
            notify(f"{result.table}: {result.error}")
        else:
            freed = f"; {in_bytes(result.freed)} freed" if result.freed > 0 else ""
            print_text(f"{result.table}: {result.what}{freed}\n")
    return code


def parse_keep(values: Iterable[str]) -> KeepRules:
    """Convert the values of `--keep`, such as `30d` or `gold/lag=all`, to rules for how long tables keep their rows.

    Raises `UsageError` if a value is not valid.
    """
    from kgtui.lake.maintenance import KeepRules

    default: int | None = None
    by_name: dict[str, int | None] = {}
    for value in values:
        name, equals, text = value.rpartition("=")
        days = None if text == "all" else int(parse_duration("--keep", text) // _DAY)
        if days is not None and days < 1:
            raise UsageError(f"--keep takes at least one day, not {text}")
        if equals:
            by_name[name.strip("/")] = days
        else:
            default = days
    return KeepRules(default, tuple(by_name.items()))


def _as_text(lake: LakeStatus, width: int | None) -> str:
    """Return the status of the lake as text: one line per table, and a last line with the size of the lake.

    Args:
        width: width of the terminal in cells; None for no limit. A small width hides some columns.
    """
    from kgtui.output.table import Column, cell_width, table

    now = time.time()
    columns = [
        Column("TABLE"), Column("ROWS", number=True), Column("FILES", number=True), Column("SIZE", number=True),
        Column("ON DISK", number=True), Column("DAYS"), Column("VERSION", number=True), Column("WRITTEN"),
    ]  # fmt: skip
    rows = [_cells(status, now) for status in lake.tables]
    for left_out in range(len(_OPTIONAL_COLUMNS) + 1):
        shown = [index for index, column in enumerate(columns) if column.title not in _OPTIONAL_COLUMNS[:left_out]]
        text = table([columns[index] for index in shown], [[cells[index] for index in shown] for cells in rows])
        if width is None or max(map(cell_width, text.splitlines())) <= width:
            break
    recorder = f"; {lake.recorder} is recording" if lake.recorder else ""
    return f"{text}\n{lake.path}: {in_bytes(lake.disk)} on disk{recorder}\n"


def _cells(status: TableStatus, now: float) -> tuple[str, ...]:
    from kgtui.model.health.wording import duration
    from kgtui.output import marks

    contents = status.contents
    if contents is None:
        return (status.table.title, *[marks.NO_ANSWER] * 3, in_bytes(status.disk), *[marks.NO_ANSWER] * 3)
    days = marks.NONE if contents.first is None else f"{contents.first} … {contents.last}"
    age = marks.NONE if contents.written is None else f"{duration(now - contents.written)} ago"
    return (
        status.table.title,
        marks.NO_ANSWER if contents.rows is None else f"{contents.rows:,}",
        str(contents.files),
        in_bytes(contents.bytes),
        in_bytes(status.disk),
        days,
        str(contents.version),
        age,
    )


def _lake_object(lake: LakeStatus) -> dict[str, Any]:
    recorder = lake.recorder
    return {
        "lake": str(lake.path),
        "disk_bytes": lake.disk,
        "recorder": None if recorder is None else {"host": recorder.host, "pid": recorder.pid},
        "tables": [_table_object(status) for status in lake.tables],
    }


def _table_object(status: TableStatus) -> dict[str, Any]:
    from kgtui.model.rfc3339 import rfc3339_or_none

    contents = status.contents
    values: dict[str, Any] = {"layer": status.table.layer, "table": status.table.name, "disk_bytes": status.disk}
    if contents is None:
        return {**values, "trouble": status.error}
    return {
        **values,
        "rows": contents.rows,
        "files": contents.files,
        "bytes": contents.bytes,
        "first_day": None if contents.first is None else contents.first.isoformat(),
        "last_day": None if contents.last is None else contents.last.isoformat(),
        "table_version": contents.version,
        "written_at": rfc3339_or_none(contents.written),
    }

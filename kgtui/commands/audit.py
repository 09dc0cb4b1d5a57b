"""`kgtui audit`: show who changed which group, when, and with which outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.actions.audit import Entry, read_entries
from kgtui.commands.printing import notify, print_result
from kgtui.config import state_folder
from kgtui.errors import UsageError
from kgtui.model.number_format import counted
from kgtui.output.formats import VERSION, json_bytes
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    import argparse

_COLUMNS = [
    Column("AT"),
    Column("USER"),
    Column("ACTION"),
    Column("GROUP"),
    Column("TYPE"),
    Column("RESULT"),
    Column("NOTE"),
]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui audit`."""
    from kgtui.commands.parser import add_format_option, group_id

    parser.add_argument("--group", type=group_id, metavar="NAME", help="only actions on the group with exactly this id")
    parser.add_argument("--unfinished", action="store_true", help="only actions whose outcome is not known yet")
    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui audit`. The exit code is 1 if the audit log contains damaged lines, otherwise 0."""
    log = state_folder().audit
    try:
        entries, damaged = read_entries(log)
    except OSError as error:
        raise UsageError(f"cannot read {log}: {error.strerror or error}") from error
    entries = [
        entry
        for entry in entries
        if (args.group is None or entry.group == args.group) and not (args.unfinished and entry.outcome is not None)
    ]
    shown = [{"id": entry.id, "intent": entry.intent, "outcome": entry.outcome} for entry in entries]
    print_result(
        args.format,
        {
            "table": lambda: table(_COLUMNS, [_cells(entry) for entry in entries]),
            "json": lambda: json_bytes(
                {"version": VERSION, "log": str(log), "entries": shown, "damaged_lines": damaged}
            ),
        },
    )
    if not entries and args.format == "table":
        notify(f"no matching entry in {log}")
    if damaged:
        notify(f"skipped {counted(damaged, 'damaged line')} in {log}")
    return 1 if damaged else 0


def _cells(entry: Entry) -> tuple[str, ...]:
    intent: dict[str, Any] = dict(entry.intent)
    outcome = entry.outcome or {}
    result = str(outcome.get("result", "no outcome yet"))
    values = [intent.get(key) for key in ("at", "user", "action", "group", "type")]
    return (*("?" if value is None else str(value) for value in values), result, str(outcome.get("reason") or ""))

"""`kgtui audit`: what was done, when, by whom, and with which outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.actions.audit import Entry, read_entries
from kgtui.actions.state_folder import StateFolder
from kgtui.commands.printing import notify, print_result
from kgtui.config import state_dir
from kgtui.errors import UsageError
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
    Column("WHAT TO KNOW"),
]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    from kgtui.commands.parser import add_format_option

    parser.add_argument("--group", metavar="NAME", help="only what concerns the group of this exact name")
    parser.add_argument("--unfinished", action="store_true", help="only what has no outcome yet")
    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code: 1 when lines of the log are damaged."""
    log = StateFolder(state_dir()).audit
    try:
        entries, damaged = read_entries(log)
    except OSError as error:
        raise UsageError(f"{log} cannot be read: {error.strerror or error}") from error
    entries = [
        entry
        for entry in entries
        if (args.group is None or entry.group == args.group) and not (args.unfinished and entry.outcome is not None)
    ]
    shown = [{"id": entry.id, "intent": entry.intent, "outcome": entry.outcome} for entry in entries]
    print_result(
        args.format,
        table=lambda: table(_COLUMNS, [_cells(entry) for entry in entries]),
        json=lambda: json_bytes({"version": VERSION, "log": str(log), "entries": shown, "damaged_lines": damaged}),
    )
    if not entries and args.format == "table":
        notify(f"no matching entry in {log}")
    if damaged:
        notify(f"{damaged} lines of {log} cannot be read")
    return 1 if damaged else 0


def _cells(entry: Entry) -> tuple[str, ...]:
    intent: dict[str, Any] = dict(entry.intent)
    outcome = entry.outcome or {}
    result = str(outcome.get("result", "no outcome yet"))
    told = [intent.get(key) for key in ("at", "user", "action", "group", "type")]
    return (*("?" if value is None else str(value) for value in told), result, str(outcome.get("reason") or ""))

"""`kgtui delete`: plan, ask, delete, say what became of each group."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kgtui.actions.confirm import challenge
from kgtui.actions.execute import execute, requests_of
from kgtui.actions.plan import Allowed, loss_text, plan, type_text, undo_text
from kgtui.actions.state_folder import StateFolder
from kgtui.actions.verification import unfinished
from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.printing import notify, print_result, print_text
from kgtui.commands.selection import select_groups
from kgtui.config import load, resolve, state_dir
from kgtui.errors import RefusedError, UsageError
from kgtui.model.query import parse
from kgtui.model.rfc3339 import rfc3339, rfc3339_or_none
from kgtui.output.formats import VERSION, json_bytes
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kgtui.actions.plan import Loss, Plan, Refused
    from kgtui.actions.results import GroupResult, Results
    from kgtui.admin.base import GroupAdmin
    from kgtui.model.query import Query

_SURE = "irreversible"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui delete`."""
    from kgtui.commands.parser import add_format_option

    parser.epilog = (
        "Only groups that the RPC of their own type calls Empty are deleted, each after a backup of its offsets. On a\n"
        "terminal the group's name (or, of many, their number) has to be typed; elsewhere --yes --expect N is needed.\n"
        "Exit code 4: at least one group was refused, or nothing was confirmed; 1: a part failed."
    )
    parser.add_argument("expr", nargs="*", metavar="EXPR", help="filter terms, as of kgtui ls, joined by AND")
    parser.add_argument(
        "--group", action="append", default=[], metavar="NAME", help="a group by its exact name; repeats"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the plan and what would be sent; send nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask; needs --expect")
    parser.add_argument("--expect", type=int, metavar="N", help="go on only if exactly N groups match")
    parser.add_argument(
        "--irreversible", action="store_true", help="with --yes: also where no backup brings everything back"
    )
    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui delete` and return its exit code."""
    query = _query(args)
    _refuse_read_only(args)
    return run_async(_run(args, query, StateFolder(state_dir())))


async def _run(args: argparse.Namespace, query: Query | None, folder: StateFolder) -> int:
    """Plan, ask, carry out, on one connection: warnings are told once, and the brokers are known already."""
    async with connected(args) as admin:
        made, matching = await _plan(args, admin, query, folder)
        if args.dry_run:
            _show(args, _plan_table(made, requests=True), made, None)
            _check_expected(args, matching)
            return 4 if made.refused else 0
        if args.format == "table":
            print_text(_plan_table(made))
        _check_expected(args, matching)
        if made.allowed:
            with _interruptible():
                _confirm(args, made)
        results = await _carry_out(args, admin, made, folder)
    _show(args, _results_table(results, folder), made, results)
    if not made.lines:
        notify("no group matches")
    return results.exit_code


def _show(args: argparse.Namespace, text: str, made: Plan, results: Results | None) -> None:
    print_result(args.format, table=lambda: text, json=lambda: json_bytes(_document(made, results)))


def _check_expected(args: argparse.Namespace, matching: int) -> None:
    if args.expect is not None and args.expect != matching:
        raise RefusedError(f"{matching} groups match, and {args.expect} were expected: nothing was sent")


def _confirm(args: argparse.Namespace, made: Plan) -> None:
    """Have the name or the number typed, or the options that stand for it. Raises `RefusedError`."""
    if args.yes:
        if args.expect is None:
            raise RefusedError("--yes needs --expect N, the number of groups that match: nothing was sent")
        if made.irreversible and not args.irreversible:
            raise RefusedError("no backup brings everything back: add --irreversible to go on; nothing was sent")
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise RefusedError("not on a terminal: --yes --expect N stand for the confirmation; nothing was sent")
    if args.format == "json":
        sys.stderr.write(_plan_table(made))
    wanted = challenge([line.group for line in made.allowed])
    if not wanted.met(_typed(f"Type {wanted.what} to go on, {wanted.asked} :")):
        raise RefusedError("that is something else: nothing was sent")
    if made.irreversible and _typed(f"This cannot be undone. Type {_SURE} :") != _SURE:
        raise RefusedError("not confirmed: nothing was sent")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends a read from the terminal at once; asyncio would cancel us when the line is typed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _typed(prompt: str) -> str:
    sys.stderr.write(f"{prompt} ")
    sys.stderr.flush()
    return sys.stdin.readline().rstrip("\r\n")


def _query(args: argparse.Namespace) -> Query | None:
    """The filter, or None where groups are named. Raises `UsageError` for what would mean every group."""
    query = parse(" ".join(filter(None, [getattr(args, "filter", ""), *args.expr])))
    if args.group and query:
        raise UsageError("give EXPR or --group, not both")
    if not args.group and not query.terms:
        raise UsageError("say which groups: EXPR (such as state:Empty) or --group NAME")
    if args.expect is not None and args.expect < 0:
        raise UsageError("--expect takes a number of groups")
    return None if args.group else query


def _refuse_read_only(args: argparse.Namespace) -> None:
    if args.read_only:
        raise RefusedError("read-only (--read-only): nothing is deleted")
    target = resolve(load(), args)
    if target.read_only:
        raise RefusedError(f"{target.name} is read-only by configuration: nothing is deleted")


async def _plan(
    args: argparse.Namespace, admin: GroupAdmin, query: Query | None, folder: StateFolder
) -> tuple[Plan, int]:
    """The plan, and how many groups match."""
    timeout = timeout_of(args)
    await _look_into_unfinished(admin, folder, timeout)
    groups = list(dict.fromkeys(args.group)) if query is None else await _matching(admin, query, timeout)
    return await plan(admin, groups, timeout=timeout), len(groups)


async def _matching(admin: GroupAdmin, query: Query, timeout: float) -> list[str]:
    gathered = await select_groups(admin, query, timeout=timeout)
    answered, brokers = gathered.coverage.brokers
    if answered < brokers:
        notify(f"partial: {answered} of {brokers} brokers answered; groups of the others are left alone")
    searched, every = gathered.searched
    if searched < every:
        notify(f"the filter could look at {searched} of {every} groups; the others are left alone")
    return gathered.ids


async def _look_into_unfinished(admin: GroupAdmin, folder: StateFolder, timeout: float) -> None:
    try:
        found = await unfinished(admin, folder, timeout=timeout)
    except OSError as error:
        raise RefusedError(f"the audit log {folder.audit} cannot be used: {error.strerror or error}") from error
    for result in found:
        notify(f"an earlier delete of {result.group} had no outcome; {result.reason}")


async def _carry_out(args: argparse.Namespace, admin: GroupAdmin, made: Plan, folder: StateFolder) -> Results:
    try:
        return await execute(admin, made, folder, timeout=timeout_of(args), command="kgtui delete")
    except asyncio.CancelledError:
        notify("interrupted: what was under way may have been carried out, and is looked into by the next kgtui delete")
        raise


def _plan_table(made: Plan, *, requests: bool = False) -> str:
    """Allowed and refused apart; with `requests` also what would be sent, to which broker."""
    parts = []
    if made.allowed:
        rows = [
            (line.group, type_text(line.description), loss_text(line.loss), undo_text(line.loss))
            for line in made.allowed
        ]
        parts.append(table([Column("DELETE"), Column("TYPE"), Column("LOST WITH IT"), Column("UNDO")], rows))
    if made.allowed and requests:
        columns = [
            Column("WOULD SEND"),
            Column("TO BROKER", number=True),
            Column("GROUPS", number=True),
            Column("NAMES"),
        ]
        sent = [("DeleteGroups", str(broker), str(len(names)), ", ".join(names)) for broker, names in requests_of(made)]
        parts.append(table(columns, sent))
    if made.refused:
        refused = [(line.group, line.type or "?", line.reason) for line in made.refused]
        parts.append(table([Column("REFUSED"), Column("TYPE"), Column("WHY")], refused))
    return "\n".join(parts)


def _results_table(results: Results, folder: StateFolder) -> str:
    """One line for each group."""
    rows = [
        (result.group, result.status.value, result.backup.name if result.backup else "-", result.reason)
        for result in results.by_group.values()
    ]
    if not rows:
        return ""
    backups = f"backups in {folder.backups}\n" if any(result.backup for result in results.by_group.values()) else ""
    shown = table([Column("GROUP"), Column("RESULT"), Column("BACKUP"), Column("WHAT TO KNOW")], rows)
    return f"\n{shown}{backups}"


def _document(made: Plan, results: Results | None) -> dict[str, Any]:
    """The JSON: `results` is null for a dry run."""
    return {
        "version": VERSION,
        "made_at": rfc3339(made.made_at),
        "plan": [_line_object(line) for line in made.lines],
        "requests": [
            {"api": "DeleteGroups", "broker": broker, "groups": list(groups)} for broker, groups in requests_of(made)
        ],
        "results": None if results is None else [_result_object(result) for result in results.by_group.values()],
    }


def _line_object(line: Allowed | Refused) -> dict[str, Any]:
    allowed = isinstance(line, Allowed)
    return {
        "group": line.group,
        "type": line.type,
        "allowed": allowed,
        "reason": None if isinstance(line, Allowed) else line.reason,
        "loss": _loss_object(line.loss) if isinstance(line, Allowed) else None,
    }


def _loss_object(loss: Loss) -> dict[str, Any]:
    return {
        "topics": loss.topics,
        "partitions": loss.partitions,
        "positions": loss.positions,
        "last_commit": rfc3339_or_none(loss.last_commit),
        "undo": loss.undo.value,
        "not_restored": list(loss.not_restored),
    }


def _result_object(result: GroupResult) -> dict[str, Any]:
    return {
        "group": result.group,
        "result": result.status.value,
        "reason": result.reason or None,
        "verified": result.verified,
        "code": result.fault.code if result.fault else None,
        "name": result.fault.name if result.fault else None,
        "backup": str(result.backup) if result.backup else None,
        "audit_id": result.entry,
    }

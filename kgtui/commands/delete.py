"""`kgtui delete`: plan, ask, delete, say what became of each group."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kgtui.actions.confirm import challenge
from kgtui.actions.execute import execute
from kgtui.actions.plan import plan
from kgtui.actions.state_folder import StateFolder
from kgtui.actions.verification import unfinished
from kgtui.commands import delete_report as report
from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.gather import gather
from kgtui.commands.printing import put_bytes, put_text, say
from kgtui.config import load, resolve, state_dir
from kgtui.errors import RefusedError, UsageError
from kgtui.model.query import parse
from kgtui.output.formats import json_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kgtui.actions.plan import Plan
    from kgtui.actions.results import Results
    from kgtui.admin.base import GroupAdmin
    from kgtui.model.query import Query

_SURE = "irreversible"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
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
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of plan and results")


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    query = _query(args)
    _refuse_read_only(args)
    return run_async(_run(args, query, StateFolder(state_dir())))


async def _run(args: argparse.Namespace, query: Query | None, folder: StateFolder) -> int:
    """Plan, ask, carry out, on one connection: warnings are told once, and the brokers are known already."""
    async with connected(args) as admin:
        made, matching = await _plan(args, admin, query, folder)
        if args.dry_run:
            _show(args, report.plan_table(made, requests=True), made, None)
            _check_expected(args, matching)
            return 4 if made.refused else 0
        if args.format == "table":
            put_text(report.plan_table(made))
        _check_expected(args, matching)
        if made.allowed:
            with _interruptible():
                _confirm(args, made)
        results = await _carry_out(args, admin, made, folder)
    _show(args, report.results_table(results, folder), made, results)
    if not made.lines:
        say("no group matches")
    return results.exit_code


def _show(args: argparse.Namespace, text: str, made: Plan, results: Results | None) -> None:
    if args.format == "json":
        put_bytes(json_bytes(report.document(made, results)))
    else:
        put_text(text)


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
        sys.stderr.write(report.plan_table(made))
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
    gathered = await gather(admin, query, timeout=timeout)
    answered, brokers = gathered.coverage.brokers
    if answered < brokers:
        say(f"partial: {answered} of {brokers} brokers answered; groups of the others are left alone")
    searched, every = gathered.searched
    if searched < every:
        say(f"the filter could look at {searched} of {every} groups; the others are left alone")
    return gathered.ids


async def _look_into_unfinished(admin: GroupAdmin, folder: StateFolder, timeout: float) -> None:
    try:
        found = await unfinished(admin, folder, timeout=timeout)
    except OSError as error:
        raise RefusedError(f"the audit log {folder.audit} cannot be used: {error.strerror or error}") from error
    for result in found:
        say(f"an earlier delete of {result.group} had no outcome; {result.reason}")


async def _carry_out(args: argparse.Namespace, admin: GroupAdmin, made: Plan, folder: StateFolder) -> Results:
    try:
        return await execute(admin, made, folder, timeout=timeout_of(args), command="kgtui delete")
    except asyncio.CancelledError:
        say("interrupted: what was under way may have been carried out, and is looked into by the next kgtui delete")
        raise

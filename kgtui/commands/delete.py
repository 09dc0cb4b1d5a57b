"""`kgtui delete`: plan a deletion, ask for confirmation, delete, and report the results."""

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
from kgtui.actions.verification import unfinished
from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.printing import notify, notify_faults, print_error, print_result, print_text
from kgtui.commands.selection import (
    add_selection_options,
    as_options,
    notify_missing,
    query_of,
    select_groups,
    undecided_text,
)
from kgtui.commands.visibility import notify_lower_bounds, notify_no_visible_group
from kgtui.config import StateFolder, load, resolve, state_folder
from kgtui.errors import RefusedError, UsageError
from kgtui.model.number_format import counted
from kgtui.model.rfc3339 import rfc3339, rfc3339_or_none
from kgtui.output.formats import VERSION, json_bytes
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator

    from kgtui.actions.plan import DeletionLoss, Plan, Refused
    from kgtui.actions.results import GroupResult, Results
    from kgtui.admin.base import GroupAdmin
    from kgtui.commands.selection import Selection
    from kgtui.model.query import Query


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui delete`."""
    from kgtui.commands.parser import add_format_option

    parser.epilog = (
        "Deletes only groups that are Empty according to the describe RPC of their type. Before a group is deleted,\n"
        "its offsets are backed up. To confirm on a terminal, type the id of the group, or the number of groups.\n"
        "Without a terminal, pass --yes --expect N.\n"
        "Exit codes: 4 at least one group was refused, or the deletion was not confirmed; 1 some deletions failed,\n"
        "or no group matches."
    )
    add_selection_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the plan and the requests, but delete nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation; needs --expect")
    parser.add_argument("--expect", type=int, metavar="N", help="delete only if exactly N groups match")
    parser.add_argument(
        "--irreversible",
        action="store_true",
        help="with --yes: also delete groups with offsets of deleted topics; no backup can restore such offsets",
    )
    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui delete` and return its exit code."""
    query = _query(args)
    _refuse_read_only(args)
    return run_async(_run(args, query, state_folder()))


async def _run(args: argparse.Namespace, query: Query | None, folder: StateFolder) -> int:
    """Plan the deletion, ask for confirmation, delete, and return the exit code."""
    # Use one connection to the cluster (`admin`) for all steps, because each new connection would print the warnings
    # about client properties again.
    async with connected(args) as admin:
        deletion, matching, missing = await _plan(args, admin, query, folder)
        if args.dry_run:
            _show(args, _plan_table(deletion, requests=True), deletion, None)
            _check_expected(args, matching)
            return 4 if deletion.refused else int(missing)
        if args.format == "table":
            print_text(_plan_table(deletion))
        _check_expected(args, matching)
        if deletion.allowed:
            with _interruptible():
                _confirm(args, deletion)
        results = await _carry_out(args, admin, deletion, folder)
    _show(args, _results_table(results, folder), deletion, results)
    return results.exit_code or int(missing)


def _show(args: argparse.Namespace, text: str, deletion: Plan, results: Results | None) -> None:
    print_result(args.format, {"table": lambda: text, "json": lambda: json_bytes(_document(deletion, results))})


def _check_expected(args: argparse.Namespace, matching: int) -> None:
    if args.expect is not None and args.expect != matching:
        groups = f"{counted(matching, 'group')} {'matches' if matching == 1 else 'match'}"
        raise RefusedError(f"{groups}, but --expect is {args.expect}; nothing was deleted")


def _confirm(args: argparse.Namespace, deletion: Plan) -> None:
    """Ask the user for confirmation. With `--yes`, only check that the options required by `--yes` are given.

    Raises `RefusedError` if the user does not confirm, if `--expect` or `--irreversible` is required and missing, or
    if there is no terminal for the confirmation.
    """
    if args.yes:
        if args.expect is None:
            raise RefusedError("--yes needs --expect N, the number of groups that match; nothing was deleted")
        if deletion.irreversible and not args.irreversible:
            raise RefusedError(
                "some groups have offsets of deleted topics, and no backup can restore such offsets; "
                "add --irreversible to delete these groups anyway; nothing was deleted"
            )
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise RefusedError(
            "there is no terminal to confirm on; to delete N groups, pass --yes --expect N; nothing was deleted"
        )
    if args.format == "json":
        print_error(_plan_table(deletion))
    confirmation = challenge([line.group for line in deletion.allowed], irreversible=deletion.irreversible)
    if not confirmation.met(_read_line(f"To confirm, {confirmation.what}: {confirmation.asked}\n>")):
        raise RefusedError("the confirmation does not match; nothing was deleted")
    word = confirmation.second_word
    if word is not None and not confirmation.second_word_met(
        _read_line(f"This cannot be undone. To confirm, type {word}\n>")
    ):
        raise RefusedError("the deletion was not confirmed; nothing was deleted")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make Ctrl-C in the `with` block interrupt a read from the terminal at once, not only when Enter is pressed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read_line(prompt: str) -> str:
    print_error(f"{prompt} ")
    return sys.stdin.readline().rstrip("\r\n")


def _query(args: argparse.Namespace) -> Query | None:
    """Return the filter, or None if `--group` is given.

    Raises `UsageError` if neither is given, if it is unclear whether the words on the command line are a filter or
    group ids, or if `--expect` is negative.
    """
    query = query_of(args)
    if len(args.expr) > 1 and len(words := query.words) > 1:
        raise UsageError(
            f"{', '.join(words)}: are these words a filter or group ids? For groups whose ids contain all of these "
            f"words, pass the words in one pair of quotes; for groups with exactly these ids, pass {as_options(words)}"
        )
    if not args.group and not query.terms:
        raise UsageError("no group is named; pass EXPR, such as state:Empty, or --group NAME")
    if args.expect is not None and args.expect < 0:
        raise UsageError("--expect takes a number of groups, 0 or more")
    return None if args.group else query


def _refuse_read_only(args: argparse.Namespace) -> None:
    if args.read_only:
        raise RefusedError("--read-only is set; nothing was deleted")
    target = resolve(load(), args)
    if target.read_only:
        raise RefusedError(f"the configuration makes {target.name} read-only; nothing was deleted")


async def _plan(
    args: argparse.Namespace, admin: GroupAdmin, query: Query | None, folder: StateFolder
) -> tuple[Plan, int, bool]:
    """Select groups, and plan their deletion.

    Returns:
        The plan, the number of selected groups, and whether the exit code must be 1 because groups are missing. Groups
            are missing if no group matches the filter, or if a group that `--group` names does not exist. With
            `--allow-empty` or `--expect 0`, missing groups do not change the exit code.
    """
    timeout, missing = timeout_of(args), False
    await _check_unfinished(admin, folder, timeout)
    selection = await _matching(admin, query, args.group, timeout)
    groups = selection.ids
    if args.group and not selection.coverage.complete:
        # Not all data could be read, for example because a broker did not answer. Therefore, groups may exist although
        # they are not listed. Pass all groups of `--group` to `plan`, which refuses groups that cannot be described.
        groups = list(dict.fromkeys(args.group))
    else:
        missing = notify_missing(args, query, selection)
    missing = notify_no_visible_group(args, selection.snapshot, selection.listed) or missing
    return await plan(admin, groups, timeout=timeout), len(groups), missing and args.expect != 0


async def _matching(admin: GroupAdmin, query: Query | None, groups: Collection[str], timeout: float) -> Selection:
    selection = await select_groups(admin, query, groups=groups, timeout=timeout)
    answered, brokers = selection.coverage.brokers
    if answered < brokers:
        notify(f"only {answered} of {brokers} brokers answered; groups of the other brokers are not deleted")
    notify_faults(selection.faults)
    notify_lower_bounds(selection.snapshot, selection.ids, query)
    searched, every = selection.searched
    if searched < every:
        notify(f"{undecided_text(searched, every)}; these groups are not deleted")
    return selection


async def _check_unfinished(admin: GroupAdmin, folder: StateFolder, timeout: float) -> None:
    try:
        found = await unfinished(admin, folder, timeout=timeout)
    except OSError as error:
        raise RefusedError(
            f"cannot use {error.filename or folder.audit}, which is needed to delete groups: {error.strerror or error}"
        ) from error
    for result in found:
        notify(f"the outcome of an earlier deletion of {result.group} was unknown; {result.reason}")


async def _carry_out(args: argparse.Namespace, admin: GroupAdmin, deletion: Plan, folder: StateFolder) -> Results:
    try:
        return await execute(admin, deletion, folder, timeout=timeout_of(args), command="kgtui delete")
    except asyncio.CancelledError:
        notify("interrupted; some groups may already be deleted; the next kgtui delete will find out and report which")
        raise


def _plan_table(deletion: Plan, *, requests: bool = False) -> str:
    """Format the plan as tables: the groups to delete, and the refused groups.

    Args:
        requests: whether to add a table of the DeleteGroups requests.
    """
    parts = []
    if deletion.allowed:
        rows = [
            (line.group, type_text(line.description), loss_text(line.loss), undo_text(line.loss))
            for line in deletion.allowed
        ]
        parts.append(table([Column("DELETE"), Column("TYPE"), Column("LOST"), Column("UNDO")], rows))
    if deletion.allowed and requests:
        columns = [
            Column("WOULD SEND"),
            Column("TO BROKER", number=True),
            Column("GROUPS", number=True),
            Column("NAMES"),
        ]
        sent = [
            ("DeleteGroups", str(broker), str(len(names)), ", ".join(names)) for broker, names in requests_of(deletion)
        ]
        parts.append(table(columns, sent))
    if deletion.refused:
        refused = [(line.group, line.type or "?", line.reason) for line in deletion.refused]
        parts.append(table([Column("REFUSED"), Column("TYPE"), Column("WHY")], refused))
    return "\n".join(parts)


def _results_table(results: Results, folder: StateFolder) -> str:
    """Format the results as a table with one line per group. Without results, return an empty text."""
    rows = [
        (result.group, result.status.value, result.backup.name if result.backup else "-", result.reason)
        for result in results.by_group.values()
    ]
    if not rows:
        return ""
    backups = f"backups in {folder.backups}\n" if any(result.backup for result in results.by_group.values()) else ""
    shown = table([Column("GROUP"), Column("RESULT"), Column("BACKUP"), Column("NOTE")], rows)
    return f"\n{shown}{backups}"


def _document(deletion: Plan, results: Results | None) -> dict[str, Any]:
    """Return the document that is printed as JSON: plan, requests and results. In a dry run, `results` is None."""
    return {
        "version": VERSION,
        "made_at": rfc3339(deletion.made_at),
        "plan": [_line_object(line) for line in deletion.lines],
        "requests": [
            {"api": "DeleteGroups", "broker": broker, "groups": list(groups)}
            for broker, groups in requests_of(deletion)
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


def _loss_object(loss: DeletionLoss) -> dict[str, Any]:
    return {
        "topics": loss.topics,
        "partitions": loss.partitions,
        "positions": loss.positions,
        "last_commit": rfc3339_or_none(loss.last_commit),
        "undo": loss.undo.value,
        "not_restored": list(loss.not_restored),
        "offsets_may_be_hidden": loss.hidden,
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

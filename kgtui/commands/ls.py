"""`kgtui ls`: list every group that matches a filter."""

from __future__ import annotations

import atexit
import gc
from asyncio import sleep as pause
from functools import partial
from typing import TYPE_CHECKING

from kgtui.commands.connecting import connected, recorded, run_async, timeout_of
from kgtui.commands.printing import notify, notify_faults, print_result
from kgtui.commands.selection import (
    add_selection_options,
    filter_help,
    notify_missing,
    query_of,
    select_groups,
    undecided_text,
)
from kgtui.errors import UsageError
from kgtui.model import defaults
from kgtui.model.number_format import counted
from kgtui.output import group_list

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.commands.selection import Selection
    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui ls`."""
    from kgtui.commands.parser import add_format_option, add_lake_options, seconds

    add_lake_options(parser)
    add_selection_options(parser)
    add_format_option(parser, *group_list.WRITERS)
    parser.add_argument(
        "--lag", action="store_true", help="add the lag (sum over all partitions) and the health verdict of each group"
    )
    parser.add_argument("--members", action="store_true", help="add the number of members")
    parser.add_argument(
        "--watch",
        nargs="?",
        type=seconds,
        const=True,
        metavar="TIME",
        help=f"repeat every TIME (default: {defaults.POLL_INTERVAL:g}s) until Ctrl-C",
    )


def epilog() -> str:
    """Return the text below the options of `kgtui ls --help`: the filter language."""
    return filter_help()


def run(args: argparse.Namespace) -> int:
    """Run `kgtui ls`, and return its exit code.

    The exit code is 1 if no group matches, or if some data could not be read. If the user lacks
    permissions, the exit code is also 1 if brokers hide offsets in topics whose names kgtui knows,
    or if they may hide all groups or all offsets of a group.
    """
    query = query_of(args) if args.filter or args.expr else None
    if args.watch is True:
        args.watch = defaults.POLL_INTERVAL
    if args.watch is not None and args.lake is not None:
        raise UsageError(
            "--watch cannot be used with --lake, because a recording does not change; to judge recorded groups, use "
            "kgtui check --lake"
        )
    if args.watch is not None and not args.watch > 0:
        raise UsageError("--watch takes a duration above 0, such as 5s")
    gc_enabled = gc.isenabled()
    if args.watch is None:
        # All data is used until the end, so garbage collection would free nothing. Disable it to save time.
        gc.disable()
        # At exit, freeze all objects, so that Python's last garbage collection skips them and takes less time.
        atexit.register(gc.freeze)
    try:
        return run_async(_run(args, query))
    finally:
        if gc_enabled:
            gc.enable()


async def _run(args: argparse.Namespace, query: Query | None) -> int:
    async with recorded(args) or connected(args) as admin:
        if args.watch is None:
            on_read = partial(_judge_empty_groups, admin, timeout_of(args)) if args.lake is None else None
            return _print(args, query, await _select(args, query, admin, timeout_of(args), on_read))
        return await _print_repeatedly(args, query, admin)


async def _select(
    args: argparse.Namespace,
    query: Query | None,
    admin: GroupAdmin,
    timeout: float,
    on_read: Callable[[Snapshot, GroupsRead], Awaitable[Snapshot]] | None = None,
) -> Selection:
    members, max_age = args.members or args.format == "wide", 0.0
    if args.watch is not None:
        from kgtui.monitor.policy import ACCESS_MAX_AGE as max_age
    return await select_groups(
        admin, query, groups=args.group, members=members, lag=args.lag, access_max_age=max_age, on_read=on_read,
        timeout=timeout,
    )  # fmt: skip


async def _judge_empty_groups(admin: GroupAdmin, timeout: float, snapshot: Snapshot, read: GroupsRead) -> Snapshot:
    # Import `unused_groups` here, because the import is slow, and this function is called only if the lag was read.
    from kgtui.commands.unused_groups import with_unused_groups

    return await with_unused_groups(admin, timeout, snapshot, read)


def _print(
    args: argparse.Namespace,
    query: Query | None,
    selection: Selection,
    earlier: Mapping[str, float] | None = None,
) -> int:
    groups = group_list.GroupList(
        selection.snapshot,
        selection.ids,
        selection.coverage,
        selection.faults,
        selection.members,
        selection.lag,
        repeated=args.watch is not None,
        earlier=earlier or {},
    )
    print_result(args.format, group_list.WRITERS, groups, clear=groups.repeated)
    _notify_limits(query, selection, "use kgtui check --lake" if args.lake else "add --watch, or use kgtui check")
    if query is not None and not args.lake and query.has_term("age"):
        notify(
            "the filter term `age:` works only in the terminal UI, because kgtui ls reads each group just before it "
            "prints the group"
        )
    missing = notify_missing(args, query, selection)
    if not selection.listed:
        from kgtui.commands.visibility import notify_no_visible_group

        missing |= notify_no_visible_group(args, selection.snapshot, selection.listed)
    return 0 if selection.coverage.complete and not selection.faults and not missing else 1


async def _print_repeatedly(args: argparse.Namespace, query: Query | None, admin: GroupAdmin) -> int:
    from kgtui.commands.list_watch import ListWatch, RepeatedScreening

    screened = RepeatedScreening(admin, timeout_of(args), args.watch)
    select = partial(_select, args, query, admin, on_read=screened.add)
    watch = ListWatch(query, select, args.watch, timeout_of(args), screened.missing)
    while True:
        selection, earlier = await watch.read()
        _print(args, query, selection, earlier)
        await pause(args.watch)


def _notify_limits(query: Query | None, selection: Selection, advice: str) -> None:
    """Print on stderr which data could not be read, and why groups may be missing from the list.

    Args:
        advice: what the user can do if the filter needs several reads of the groups, as the term `verdict:` does.
    """
    answered, brokers = selection.coverage.brokers
    if answered < brokers:
        notify(f"partial result: {answered} of {brokers} brokers answered")
    notify_faults(selection.faults)
    if selection.lag:
        from kgtui.commands.visibility import notify_lower_bounds

        notify_lower_bounds(selection.snapshot, selection.ids, query)
        summaries = (selection.snapshot.summaries.get(group) for group in selection.ids)
        incomplete = sum(1 for summary in summaries if summary is not None and summary.lag_unknown)
        if incomplete:
            of_groups = counted(incomplete, "group")
            notify(f"the lag of {of_groups} is unknown in some partitions; kgtui show GROUP says why")
    searched, every = selection.searched
    if query is not None and searched < every:
        from kgtui.model.query import Need

        message = undecided_text(searched, every)
        if query.has_term("empty"):
            message += "; the filter term `empty:` works only in the terminal UI"
        elif Need.WATCHING in query.needs:
            message += f"; the filter terms `verdict:` and `timelag:` need several reads; {advice}"
        notify(message)

"""`kgtui ls`: every group that matches."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
from asyncio import sleep as pause
from typing import TYPE_CHECKING

from kgtui.commands.connecting import as_of, connected, recorded, run_async, timeout_of
from kgtui.commands.printing import notify, print_result
from kgtui.commands.selection import select_groups
from kgtui.errors import UsageError
from kgtui.output import group_list

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.admin.base import GroupAdmin
    from kgtui.commands.selection import Selection
    from kgtui.model.answer import Fault
    from kgtui.model.query import Query

_CLEAR = "\x1b[H\x1b[2J"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui ls`."""
    from kgtui.commands.parser import add_format_option, add_lake_options

    add_lake_options(parser)
    parser.add_argument("expr", nargs="*", metavar="EXPR", help="filter terms, joined by AND")
    add_format_option(parser, "table", "json", "csv", "wide")
    parser.add_argument("--lag", action="store_true", help="add the lag, summed over each group's partitions")
    parser.add_argument("--members", action="store_true", help="add the number of members")
    parser.add_argument(
        "--watch", nargs="?", type=float, const=True, metavar="SECONDS", help="again and again, every 2 s"
    )
    parser.add_argument("--filter", metavar="EXPR", default=argparse.SUPPRESS, help="the same as EXPR")


def epilog() -> str:
    """The filter language."""
    from kgtui.model.query import help_text

    return f"filter terms, each with an example that needs no quotes in a shell:\n{help_text()}"


def run(args: argparse.Namespace) -> int:
    """Run `kgtui ls` and return its exit code: 1 if a part could not be learned."""
    query = _query(" ".join([args.filter, *args.expr]).strip())
    if args.watch is True:
        from kgtui.monitor.policy import WATCH_INTERVAL

        args.watch = WATCH_INTERVAL
    if args.watch is not None and not args.watch > 0:
        raise UsageError("--watch takes a number of seconds above 0")
    collecting = gc.isenabled()
    if args.watch is None:
        # What one look makes lives to the end of it: there is nothing to collect, and 10,000 groups to look at for it.
        gc.disable()
        # Nor at the end of the process, where the interpreter would collect once more before it lets go of everything.
        atexit.register(gc.freeze)
    try:
        return run_async(_run(args, query))
    finally:
        if collecting:
            gc.enable()


def _query(text: str) -> Query | None:
    if not text:
        return None
    from kgtui.model.query import parse

    return parse(text)


async def _run(args: argparse.Namespace, query: Query | None) -> int:
    async with recorded(args) or connected(args) as admin:
        if args.watch is None:
            return await _once(args, query, admin)
        return await _watch(args, query, admin)


async def _once(args: argparse.Namespace, query: Query | None, admin: GroupAdmin, *, one_line: bool = False) -> int:
    members = args.members or args.format == "wide"
    found = await select_groups(admin, query, members=members, lag=args.lag, timeout=timeout_of(args))
    listed = group_list.GroupList(
        as_of(found.snapshot, admin), found.ids, found.coverage, found.faults, found.members, found.lag
    )
    wide, clear = args.format == "wide", _CLEAR if args.watch and sys.stdout.isatty() else ""
    print_result(
        args.format,
        table=lambda: clear + group_list.as_table(listed, wide=wide),
        json=lambda: group_list.as_json(listed, one_line=one_line),
        csv=lambda: group_list.as_csv(listed),
    )
    _notes(query, found)
    return 0 if found.coverage.complete and not found.faults else 1


async def _watch(args: argparse.Namespace, query: Query | None, admin: GroupAdmin) -> int:
    while True:
        await _once(args, query, admin, one_line=True)
        await pause(args.watch)


def _notes(query: Query | None, gathered: Selection) -> None:
    """What the rows do not tell: how much is missing, why, and what a filter could not look at."""
    answered, brokers = gathered.coverage.brokers
    if answered < brokers:
        notify(f"partial: {answered} of {brokers} brokers answered")
    for fault in summed_up(gathered.faults):
        notify(fault)
    searched, every = gathered.searched
    if query is not None and searched < every:
        from kgtui.model.query import Need

        why = "; empty: needs a screen that watches, verdict: and timelag: need kgtui check"
        why = why if Need.WATCHING in query.needs else ""
        notify(f"the filter could look at {searched} of {every} groups{why}")


def summed_up(faults: Iterable[Fault]) -> list[str]:
    """Faults as sentences; many of one kind in one, with the first group named."""
    kinds: dict[tuple[str, int | None], list[str]] = {}
    sentences: dict[tuple[str, int | None], str] = {}
    for fault in faults:
        key = (fault.name, None if fault.group is not None else fault.broker)
        kinds.setdefault(key, []).append(fault.group or "")
        where = f"group {fault.group}" if fault.group is not None else f"broker {fault.broker}"
        advice = f" ({fault.advice})" if fault.advice else ""
        sentences.setdefault(key, f"{where}: {fault.message} [{fault.name}]{advice}")
    return [
        sentences[key] + (f", and {len(groups) - 1} more of this kind" if len(groups) > 1 else "")
        for key, groups in kinds.items()
    ]

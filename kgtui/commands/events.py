"""`kgtui events`: print what changes in groups and brokers, live or from a recording."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from kgtui.admin.reading import access_of
from kgtui.commands.connecting import connected, recorded, run_async, timeout_of
from kgtui.commands.printing import notify, notify_faults, print_bytes, print_text, stdout_is_closed
from kgtui.commands.selection import (
    Selection,
    add_selection_options,
    filter_help,
    notify_missing,
    notify_operators,
    query_of,
    select_groups,
)
from kgtui.commands.time_options import parse_duration
from kgtui.errors import UsageError
from kgtui.model.access import NO_VISIBLE_GROUP
from kgtui.model.answer import Coverage
from kgtui.model.event import EVENT_KINDS, EventKind
from kgtui.model.number_format import counted
from kgtui.monitor import policy
from kgtui.output.event_list import EventTableWriter, as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.access import Access
    from kgtui.model.event import Event
    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.monitor import Monitor

_BATCH = 500
"""Number of events of a recording that are read and printed at a time."""

_SWEEP_PAUSE = policy.MonitorOptions().describe_pause

_WIDTH = max(len(kind.value) for kind in EVENT_KINDS)
_KINDS = "\n".join(f"  {kind.value:<{_WIDTH}}  {shown.meaning}" for kind, shown in EVENT_KINDS.items())
_ABOUT = f"""\
Prints one line per event until the time of --for is over or Ctrl-C is pressed. Without --lake, events that happened
before the command was started are not printed.
{_KINDS}
If the filter matches at most {policy.EVENT_GROUPS} groups, their members and offsets are read every --interval. If more
groups match, their members are read every {_SWEEP_PAUSE:g} s or less often, and changes of offsets are not printed.
With --lake, the command prints the recorded events up to --at; with --for 1h, only those of the hour before --at.
A recording contains no events about verdicts and configs.

The filter selects groups as in kgtui ls; a group that no longer exists is selected by its id, type and last state.
--timeout limits the first connection and each request, not the time for which events are printed. After the first
connection, no request takes longer than {policy.MonitorOptions().timeout:g} s, even if --timeout is longer.
Exit codes: 0 the time of --for is over; 1 a broker never answered; 2 wrong usage; 3 no broker could be reached;
130 Ctrl-C; 141 the reader of stdout has exited."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui events`."""
    from kgtui.commands.parser import add_lake_options

    add_lake_options(parser)
    add_selection_options(parser)
    parser.add_argument(
        "--for", dest="seconds", metavar="TIME", help="how long to watch, such as 10m (default: until Ctrl-C)"
    )
    parser.add_argument(
        "--kind", action="extend", type=_kinds, metavar="KIND", default=[],
        help="only events of this kind, or of these kinds, separated by commas; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--interval",
        metavar="TIME",
        help=f"time between two reads of a group (default: {policy.MonitorOptions().interval:g}s)",
    )
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="table: for people; json: one object per line (default: table)",
    )


def _kinds(text: str) -> list[str]:
    """Split a comma-separated list of kinds of events. Raises `ArgumentTypeError` if a kind does not exist."""
    kinds, known = [kind.strip() for kind in text.split(",")], [kind.value for kind in EventKind]
    for kind in kinds:
        if kind not in known:
            raise argparse.ArgumentTypeError(f"invalid choice: {kind!r} (choose from {', '.join(known)})")
    return kinds


def epilog() -> str:
    """Return the text below the options of `kgtui events --help`: kinds of events and the filter language."""
    return f"{_ABOUT}\n\n{filter_help()}"


def run(args: argparse.Namespace) -> int:
    """Run `kgtui events` and return its exit code."""
    query = query_of(args)
    notify_operators(query)
    if args.lake is not None and args.interval is not None:
        raise UsageError("--interval cannot be used with --lake, because the interval of a recording is fixed")
    args.seconds = None if args.seconds is None else parse_duration("--for", args.seconds)
    args.interval = None if args.interval is None else parse_duration("--interval", args.interval)
    if args.interval is not None and args.interval < policy.SHORTEST_INTERVAL:
        raise UsageError(f"--interval must be at least {policy.SHORTEST_INTERVAL} s")
    return run_async(_run(args, query))


async def _run(args: argparse.Namespace, query: Query) -> int:
    recording = recorded(args)
    if recording is not None:
        async with recording as admin:
            return await print_recorded(args, admin, query)
    async with connected(args) as admin:
        return await watch(args, admin, query)


class _Printer:
    """Prints the events that match the filter and the options `--kind` and `--group`.

    Attributes:
        printed: whether any event has been printed.
    """

    def __init__(self, args: argparse.Namespace, query: Query) -> None:
        self._args = args
        self._query = query
        self._kinds = frozenset(args.kind)
        self._groups = frozenset(args.group)
        self._table = EventTableWriter()
        self.printed = False

    def print(self, events: Iterable[Event], snapshot: Snapshot) -> None:
        """Print the events that match the filter and the options.

        The filter takes data that is not part of an event, such as the lag of the group, from `snapshot`.
        """
        found = [event for event in events if self._matches(event, snapshot)]
        self.printed = self.printed or bool(found)
        if found and self._args.format == "json":
            print_bytes(as_json(found))
        elif found:
            print_text(self._table.lines(found))

    def _matches(self, event: Event, snapshot: Snapshot) -> bool:
        if (self._kinds and event.kind not in self._kinds) or (self._groups and event.group not in self._groups):
            return False
        return self._query.matches_event(event, snapshot)


async def watch(args: argparse.Namespace, admin: GroupAdmin, query: Query) -> int:
    """Print the events of a cluster for the duration `--for`. Without this option, print events until Ctrl-C.

    Return the exit code: 1 if a broker never answered, otherwise 0.

    Raises:
        UnreachableError: no broker answered at the start.
    """
    from kgtui.monitor import Monitor

    timeout = timeout_of(args)
    _, access = await asyncio.gather(admin.cluster(timeout=timeout), access_of(admin, timeout=timeout))
    monitor = Monitor(admin, policy.event_options(args.interval, timeout))
    polling = asyncio.create_task(monitor.run())
    try:
        async with asyncio.timeout(args.seconds):
            await _print_new(args, monitor, polling, query, access)
    except TimeoutError:
        pass
    finally:
        polling.cancel()
        await asyncio.wait([polling])
    silent = [status for status in monitor.snapshot.brokers.values() if status.answered_at is None]
    if silent:
        brokers = len(monitor.snapshot.brokers)
        notify(f"partial result: {brokers - len(silent)} of {brokers} brokers answered")
        notify_faults(status.fault for status in silent if status.fault is not None)
    return 1 if silent else 0


async def _print_new(
    args: argparse.Namespace, monitor: Monitor, polling: asyncio.Task[None], query: Query, access: Access
) -> None:
    """Print new events until this coroutine is canceled.

    Raises:
        BrokenPipeError: the program that reads stdout has exited.
    """
    printer, printed, serial = _Printer(args, query), 0, 0
    announced, warned, compared = not sys.stderr.isatty(), access.lists_every_group, False
    while not polling.done():
        events, dropped = monitor.events.since(printed)
        printed = monitor.events.total
        if dropped:
            notify(
                f"{dropped} events were dropped before they could be printed, because too many groups changed at the "
                "same time"
            )
        printer.print(events, monitor.snapshot)
        if stdout_is_closed():
            raise BrokenPipeError
        if monitor.snapshot.serial != serial:
            serial = monitor.snapshot.serial
            groups = _selected(args, query, monitor.snapshot)
            if not announced and monitor.snapshot.groups:
                notify(f"watching {counted(len(groups), 'group')}; press Ctrl-C to end")
                announced = True
            brokers = monitor.snapshot.brokers.values()
            if not warned and brokers and all(status.answered_at is not None for status in brokers):
                warned = True
                if not monitor.snapshot.groups:
                    notify(NO_VISIBLE_GROUP)
            if not compared and brokers and all(status.answered_at is not None for status in brokers):
                compared = True
                _notify_if_missing(args, query, monitor.snapshot, groups)
            only = groups[0] if len(groups) == 1 else None
            monitor.set_view(only, groups if len(groups) <= policy.EVENT_GROUPS else ())
            monitor.want_configs(only)
        await asyncio.sleep(policy.EVENT_PAUSE)
    polling.result()


def _notify_if_missing(args: argparse.Namespace, query: Query, snapshot: Snapshot, groups: Sequence[str]) -> None:
    """If no group matches yet, print similar group ids, and tell the user that the command waits for a match."""
    # If the filter needs more data than the list of groups, such as lag, print nothing, because
    # kgtui has not read this data yet.
    if not query.needs and notify_missing(args, query, _as_selection(snapshot, groups)):
        notify("waiting for groups that match; press Ctrl-C to end")


def _as_selection(snapshot: Snapshot, groups: Sequence[str]) -> Selection:
    brokers, found = len(snapshot.brokers), len(groups)
    return Selection(
        snapshot, list(groups), Coverage((snapshot.answering, brokers), (found, found)), (), listed=snapshot.groups
    )


def _selected(args: argparse.Namespace, query: Query, snapshot: Snapshot) -> Sequence[str]:
    """Return the ids of the groups that `--group` or the filter selects; without both, the ids of all groups."""
    if args.group:
        return [group for group in args.group if group in snapshot.groups]
    return query.select(snapshot) if query.terms else list(snapshot.groups)


async def print_recorded(args: argparse.Namespace, admin: ReplayAdmin, query: Query) -> int:
    """Print the events of a recording up to `--at`, and return the exit code.

    With `--for`, print only events of the last `args.seconds` seconds before `--at`.
    """
    from kgtui.history.recorded_events import recorded_events

    until = admin.poll.at
    since = None if args.seconds is None else until - args.seconds
    selection = await select_groups(admin, query, timeout=timeout_of(args))
    printer = _Printer(args, query)
    events = recorded_events(admin.recording, since, until, args.group or None)
    while batch := await asyncio.to_thread(lambda: list(islice(events, _BATCH))):
        printer.print(batch, selection.snapshot)
    if printer.printed:
        return 0
    selection = replace(selection, ids=list(_selected(args, query, selection.snapshot)))
    return int(notify_missing(args, query, selection))

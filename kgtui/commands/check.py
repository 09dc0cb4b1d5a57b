"""`kgtui check`: watch groups for a while, or look at a while that was recorded, and say how they do."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.commands.connecting import as_of, connected, recorded, run_async, timeout_of
from kgtui.commands.printing import notify, print_result
from kgtui.commands.selection import select_groups
from kgtui.errors import KgtuiError, UsageError
from kgtui.model.answer import Answer, fault_of
from kgtui.model.cluster import Retention
from kgtui.model.query import Need, parse
from kgtui.model.verdict import Status
from kgtui.monitor import policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.commands.check_lake import RecordedWatch
    from kgtui.commands.selection import Selection
    from kgtui.commands.watching import Pace, Watch
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.answer import Fault
    from kgtui.model.health import GroupHealth, Undecided, Watching
    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.output.check_results import CheckResults
    from kgtui.output.formats import Format

FAIL_ON = {"warn": Status.WARN, "error": Status.ERR}
_ABOUT = """\
Reads the groups for a while and judges each by Burrow's rules, from what the reads see of its commits:
  STOP    records wait, and nothing was committed for longer than a window of ten commits takes
  REWIND  a committed offset went back, and did not recover
  WARN    it commits, and its lag does not fall
  STALL   a share group with members that acknowledge nothing; of other groups it shows as STOP
OK? is an OK beside which a worse verdict could not be ruled out in so short a time: the line says what it takes.
--for 2m decides all of them for groups that commit every 5 s or faster (--commit-interval).
A group that everyone has left is in error too while records wait for it: not:state:Empty leaves such groups out.
With --lake nothing is waited for: --for says how much of the recording is judged, and that ends at --at.

Exit code: 0 fine; 1 a verdict is as bad as --fail-on says, a part could not be read, or no group matches; 2 usage;
3 nothing could be reached. --timeout is for the first look and bounds each read; the watch itself comes on top."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui check`."""
    from kgtui.commands.parser import add_format_option, add_lake_options

    add_lake_options(parser)
    parser.add_argument("expr", nargs="*", metavar="EXPR", help="filter terms, joined by AND")
    parser.add_argument("--for", dest="seconds", metavar="TIME", help="how long to watch (2m)")
    parser.add_argument("--interval", metavar="TIME", help="from one read to the next (5s)")
    parser.add_argument("--fail-on", choices=tuple(FAIL_ON), default="error", help="exit with 1 from here on (error)")
    parser.add_argument("--all", action="store_true", help="print groups that are OK too")
    add_format_option(parser, "table", "json", "csv")
    parser.add_argument("--allowed-lag", type=int, default=0, metavar="N", help="records that may wait in a partition")
    parser.add_argument(
        "--commit-interval", default="5s", metavar="TIME", help="how often a healthy group commits, until seen (5s)"
    )
    parser.add_argument("--filter", metavar="EXPR", default=argparse.SUPPRESS, help="the same as EXPR")


def epilog() -> str:
    """The verdicts, and the filter language."""
    from kgtui.model.query import help_text

    return f"{_ABOUT}\n\nfilter terms, each with an example that needs no quotes in a shell:\n{help_text()}"


def run(args: argparse.Namespace) -> int:
    """Run `kgtui check` and return its exit code."""
    from kgtui.model.health import Watching
    from kgtui.model.verdict import Options

    query = parse(" ".join([args.filter, *args.expr]).strip())
    if args.lake is not None and args.interval is not None:
        raise UsageError("--interval is for a cluster: a recording has the moments that it has")
    args.seconds = policy.CHECK_DURATION if args.seconds is None else _seconds("--for", args.seconds)
    args.interval = policy.CHECK_INTERVAL if args.interval is None else _seconds("--interval", args.interval)
    if args.interval < policy.CHECK_SHORTEST_INTERVAL:
        raise UsageError(f"--interval is at least {policy.CHECK_SHORTEST_INTERVAL} s")
    if args.allowed_lag < 0:
        raise UsageError("--allowed-lag takes a number of records, 0 or more")
    watching = Watching(
        Options(allowed_lag=args.allowed_lag),
        commit_interval=_seconds("--commit-interval", args.commit_interval),
        gap_after=policy.CHECK_GAPS.limit(args.interval),
    )
    return run_async(_run(args, query, watching))


def _seconds(option: str, text: str) -> float:
    """A time such as `90`, `2m` or `1.5h`. Raises `UsageError`."""
    from kgtui.model.query.ranges import TIME_UNITS, RangeSyntaxError, read_range

    try:
        found = read_range(str(text), TIME_UNITS)
    except RangeSyntaxError as error:
        raise UsageError(f"{option}: {error}; a time is 90s, 2m or 1.5h") from error
    if not found.low or found.low != found.high:
        raise UsageError(f"{option} takes a time above 0, such as 90s, 2m or 1.5h")
    return found.low


async def _run(args: argparse.Namespace, query: Query, watching: Watching) -> int:
    recording = recorded(args)
    if recording is not None:
        async with recording as admin:
            return await check_recorded(args, admin, query, watching)
    async with connected(args) as admin:
        return await check(args, admin, query, watching)


async def check(
    args: argparse.Namespace, admin: GroupAdmin, query: Query, watching: Watching, pace: Pace | None = None
) -> int:
    """Choose the groups by all that one look tells, watch them, choose again by what that told, and print."""
    from kgtui.commands.watching import Plan, Watch

    timeout = timeout_of(args)
    found = await select_groups(admin, _at_first(query), timeout=timeout)
    if found.ids and sys.stderr.isatty():
        notify(f"watching {len(found.ids)} groups for {args.seconds:g} s")
    plan = Plan(args.seconds, args.interval, policy.check_timeout(args.interval, timeout))
    watch = Watch(admin, {group: found.snapshot.groups[group] for group in found.ids}, plan, watching, pace)
    if found.ids:
        await watch.run()
    return _tell(args, query, found, watch, await _retention(admin, watch, timeout))


async def check_recorded(args: argparse.Namespace, admin: ReplayAdmin, query: Query, watching: Watching) -> int:
    """The same of the time before a recorded moment."""
    from kgtui.commands.check_lake import RecordedWatch

    found = await select_groups(admin, _at_first(query), timeout=timeout_of(args))
    found = replace(found, snapshot=as_of(found.snapshot, admin))
    watch = RecordedWatch(admin, {group: found.snapshot.groups[group] for group in found.ids}, args.seconds, watching)
    if found.ids:
        await watch.run()
    for note in watch.notes(args.seconds):
        notify(note)
    return _tell(args, query, found, watch, await _retention(admin, watch, timeout_of(args)))


async def _retention(admin: GroupAdmin, watch: Watch | RecordedWatch, timeout: float) -> Retention:
    """How long the topics of the groups keep records; what could not be read is said and left out."""
    topics = set().union(*(seen.topics for seen in watch.observations.values()))
    if not topics:
        return Retention()
    try:
        answer = await admin.retention(sorted(topics), timeout=timeout)
    except KgtuiError as error:
        answer = Answer(Retention(), (fault_of(error),))
    if answer.faults:
        first, *others = answer.faults
        more = f" (and {len(others)} more)" if others else ""
        advice = f"; {first.advice}" if first.advice else ""
        notify(f"how soon data or offsets will be lost may be missing: {first.message}{more}{advice}")
    return answer.rows


def _at_first(query: Query) -> Query:
    """The part of a filter that chooses what is watched: terms about verdicts choose at the end."""
    return replace(query.limited((Need.DESCRIPTION, Need.OFFSETS)), order=query.order)


def _tell(
    args: argparse.Namespace, query: Query, found: Selection, watch: Watch | RecordedWatch, kept: Retention
) -> int:
    """Print the verdicts; the exit code."""
    from kgtui.model.health import Lack

    checked, chosen = _judge(args, query, found, watch, kept)
    _print(args.format, checked)
    _notes(checked, chosen)
    # A check of what is not there is not passed, were it only for a misspelled name.
    nothing = not found.ids and bool(_at_first(query).terms)
    if nothing:
        notify("no group matches the filter")
    unknown = any(one.lack is Lack.LAG for health in chosen for one in health.undecided)
    whole = checked.coverage.complete and not checked.faults and not unknown
    return 0 if whole and not checked.failed and not nothing else 1


def _judge(
    args: argparse.Namespace, query: Query, found: Selection, watch: Watch | RecordedWatch, kept: Retention
) -> tuple[CheckResults, list[GroupHealth]]:
    """What to print, and the health of all groups that are chosen."""
    from kgtui.model.answer import Coverage
    from kgtui.model.health import health_of
    from kgtui.output.check_results import CheckResults

    health = {group: health_of(seen, kept) for group, seen in watch.observations.items()}
    snapshot = _as_of_the_end(found.snapshot, health, watch)
    ids = _chosen(query, snapshot)
    chosen = [health[group] for group in ids]
    asked = args.all or Need.WATCHING in query.needs
    known = sum(1 for group, one in health.items() if group not in watch.group_faults and (one.reads or _gone(one)))
    fail_on = FAIL_ON[args.fail_on]
    checked = CheckResults(
        snapshot,
        [group for group in ids if asked or health[group].status is not Status.OK or not health[group].reads],
        _counts(chosen),
        any(one.status >= fail_on for one in chosen),
        fail_on,
        watch.seconds,
        watch.interval,
        Coverage(found.coverage.brokers, (known, len(health))),
        tuple(dict.fromkeys((*found.faults, *watch.faults, *watch.group_faults.values()))),
    )
    return checked, chosen


def _as_of_the_end(first: Snapshot, health: Mapping[str, GroupHealth], watch: Watch | RecordedWatch) -> Snapshot:
    """The first look, brought up to what the newest reads say."""
    from kgtui.model.snapshot import Summary

    summaries = dict(first.summaries)
    for group, one in health.items():
        if one.read_at is not None and one.lag is not None:
            old = summaries.get(group) or Summary(None, None, 0, 0, (), "", one.read_at)
            lag, description = one.lag, watch.observations[group].description
            summaries[group] = replace(
                old, lag=lag.lag, lag_unknown=lag.unknown, partitions=lag.partitions, at=one.read_at,
                members=old.members if description is None else description.member_count,
            )  # fmt: skip
    read_at = max((one.read_at for one in health.values() if one.read_at is not None), default=first.taken_at)
    return replace(
        first, taken_at=read_at, summaries=summaries, health=dict(health), group_faults=dict(watch.group_faults)
    )


def _chosen(query: Query, snapshot: Snapshot) -> list[str]:
    """The groups watched that the whole filter chooses; nothing is known of how those do that were never read."""
    read = {group: one for group, one in snapshot.health.items() if one.reads or _gone(one)}
    ids = query.select(replace(snapshot, health=read))
    return [group for group in ids if group in snapshot.health]


def _gone(health: GroupHealth) -> bool:
    return health.status is Status.NOT_FOUND


def _counts(chosen: Iterable[GroupHealth]) -> dict[str, int]:
    counts = {status.name: 0 for status in (Status.OK, Status.WARN, Status.ERR, Status.NOT_FOUND)}
    counts["UNKNOWN"] = 0
    for one in chosen:
        counts[one.status.name if one.reads or _gone(one) else "UNKNOWN"] += 1
    return counts


def _print(form: Format, checked: CheckResults) -> None:
    from kgtui.output import check_results

    print_result(
        form,
        table=lambda: check_results.as_table(checked),
        json=lambda: check_results.as_json(checked),
        csv=lambda: check_results.as_csv(checked),
    )


def _notes(checked: CheckResults, chosen: Sequence[GroupHealth]) -> None:
    """In sum how the groups do, what was not read, and what so short a watch could not decide."""
    answered, brokers = checked.coverage.brokers
    if answered < brokers:
        notify(f"partial: {answered} of {brokers} brokers answered")
    _say_faults(checked.faults)
    for line in undecided_lines(chosen, checked.seconds):
        notify(line)
    if sys.stderr.isatty() and chosen:
        counted = [f"{count} {verdict}" for verdict, count in checked.counts.items() if count]
        notify(f"of {len(chosen)} groups {', '.join(counted)}")


def undecided_lines(chosen: Iterable[GroupHealth], seconds: float) -> list[str]:
    """What could not be decided, by kind, with the number of groups and what the neediest of them needs."""
    from kgtui.model.health.wording import duration, missing

    kinds: dict[tuple[object, ...], list[Undecided]] = {}
    for health in chosen:
        for one in health.undecided:
            kinds.setdefault((one.status, one.lack, one.why), []).append(one)
    lines = []
    for ones in kinds.values():
        neediest = max(ones, key=lambda one: one.needs)
        groups = "1 group" if len(ones) == 1 else f"{len(ones)} groups"
        lines.append(f"{duration(seconds)} of watching left {groups} undecided: {missing(neediest)}")
    return lines


def _say_faults(faults: Iterable[Fault]) -> None:
    from kgtui.commands.ls import summed_up

    for line in summed_up(faults):
        notify(line)

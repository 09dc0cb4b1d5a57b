"""`kgtui check`: judge the health of groups, after watching them for some time, or from a recording."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from kgtui.admin.reading import access_of
from kgtui.commands.connecting import connected, recorded, run_async, timeout_of
from kgtui.commands.printing import notify, notify_faults, print_result
from kgtui.commands.selection import add_selection_options, filter_help, notify_missing, query_of, select_groups
from kgtui.commands.time_options import parse_duration
from kgtui.commands.visibility import notify_no_visible_group
from kgtui.errors import KgtuiError, UsageError
from kgtui.model.answer import Answer, fault_of
from kgtui.model.burrow import Status
from kgtui.model.cluster import Retention
from kgtui.model.number_format import counted
from kgtui.model.query import Need
from kgtui.model.snapshot import Snapshot
from kgtui.monitor import policy

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.commands.group_watch import Clock, ClusterWatch, RecordedWatch
    from kgtui.commands.selection import Selection
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.health import GroupHealth, Watching
    from kgtui.model.judgment import Judgment
    from kgtui.model.query import Query
    from kgtui.output.check_results import CheckResults

    Watch = ClusterWatch | RecordedWatch

FAIL_ON = {"warn": Status.WARN, "error": Status.ERR}
"""Maps each value of `--fail-on` to a status. The exit code is 1 if a group has this status or a worse one."""

_DURATION = f"{policy.CHECK_DURATION / 60:g}m"


def _about() -> str:
    from kgtui.model.health.values import DEFAULT_WATCHING

    commits, seconds = DEFAULT_WATCHING.rules.intervals, DEFAULT_WATCHING.commit_interval
    return f"""\
Reads the groups repeatedly for a while, and judges each group by Burrow's rules:
  STOP    records are unread, and no offset was committed for {commits} times the usual commit interval of the group
  REWIND  a committed offset went back and did not recover
  WARN    the group commits, but its lag does not fall
  STALL   a share group has members, but they acknowledge no records; a group of another type gets STOP in this case
  LOST    records expired before the group read them; this counts as an error
  EXPIRING   unread records will expire within a day, which counts as an error, or within three days, a warning
  FLAPPING, REBALANCING   the group rebalances again and again, or a rebalance does not end, or a streams group stays
          NotReady; these count as warnings
OK? means OK, but a worse verdict could not be ruled out, because the watch was too short or because of missing
permissions; the line of the group says what is missing.
For a group that is not OK, the age of the oldest unread record is exact: after the watch, kgtui finds the timestamp of
this record with ListOffsets requests. This assumes that the timestamps in a partition do not decrease.
--for {_DURATION} is long enough for groups that commit every {seconds:g} s or more often (--commit-interval).
A group with unread records but no members gets STOP too; the term not:state:Empty excludes such groups.
With --lake, the command does not wait. It judges the polls recorded during --for (default: {_DURATION}) before --at.

Exit codes: 0 success; 1 a verdict is at least as bad as --fail-on, records were lost or will be lost soon, some data
could not be read, all offsets of a group may be hidden because of missing permissions, or no group matches; 2 wrong
usage; 3 no broker could be reached.
--timeout limits the first read and each later read, not the watch."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui check`."""
    from kgtui.commands.parser import add_format_option, add_lake_options
    from kgtui.model.health.values import DEFAULT_WATCHING
    from kgtui.output import check_results

    add_lake_options(parser)
    add_selection_options(parser)
    parser.add_argument(
        "--for", dest="seconds", metavar="TIME", help=f"how long to watch the groups (default: {_DURATION})"
    )
    parser.add_argument(
        "--interval", metavar="TIME", help=f"time between two reads of a group (default: {policy.CHECK_INTERVAL:g}s)"
    )
    parser.add_argument(
        "--fail-on",
        choices=tuple(FAIL_ON),
        default="error",
        help="exit with code 1 if a group has a problem of this severity or a worse one (default: error)",
    )
    parser.add_argument("--all", action="store_true", help="also print the groups that are OK")
    add_format_option(parser, *check_results.WRITERS)
    parser.add_argument(
        "--allowed-lag", type=int, default=0, metavar="N", help="a partition with at most N unread records is OK"
    )
    parser.add_argument(
        "--commit-interval",
        default=f"{DEFAULT_WATCHING.commit_interval:g}s",
        metavar="TIME",
        help="assumed time between two commits of a group, until the real time is known (default: %(default)s)",
    )


def epilog() -> str:
    """Return the text below the options of `kgtui check --help`: verdicts, exit codes and the filter language."""
    return f"{_about()}\n\n{filter_help()}"


def run(args: argparse.Namespace) -> int:
    """Run `kgtui check` and return its exit code."""
    from kgtui.model.burrow import Options
    from kgtui.model.health import Watching

    query = query_of(args)
    if args.lake is not None and args.interval is not None:
        raise UsageError("--interval cannot be used with --lake, because the interval of a recording is fixed")
    args.seconds = policy.CHECK_DURATION if args.seconds is None else parse_duration("--for", args.seconds)
    args.interval = policy.CHECK_INTERVAL if args.interval is None else parse_duration("--interval", args.interval)
    if args.interval < policy.CHECK_SHORTEST_INTERVAL:
        raise UsageError(f"--interval must be at least {policy.CHECK_SHORTEST_INTERVAL} s")
    if args.allowed_lag < 0:
        raise UsageError("--allowed-lag takes a number of records, 0 or more")
    watching = Watching(
        Options(allowed_lag=args.allowed_lag),
        commit_interval=parse_duration("--commit-interval", args.commit_interval),
        gap_after=policy.CHECK_GAPS.limit(args.interval),
    )
    return run_async(_run(args, query, watching))


async def _run(args: argparse.Namespace, query: Query, watching: Watching) -> int:
    recording = recorded(args)
    if recording is not None:
        async with recording as admin:
            return await check_recorded(args, admin, query, watching)
    async with connected(args) as admin:
        return await check(args, admin, query, watching)


async def check(
    args: argparse.Namespace, admin: GroupAdmin, query: Query, watching: Watching, clock: Clock | None = None
) -> int:
    """Watch groups of a cluster, print their health verdicts, and return the exit code.

    Args:
        query: filter. Terms about health, such as `verdict:STOP`, are applied only after the watch.
        watching: settings for judging the health, such as the allowed lag.
        clock: clock for scheduling the reads; None for the system's clock.
    """
    from kgtui.commands.group_watch import ClusterWatch, Schedule

    timeout = timeout_of(args)
    selection = await select_groups(admin, _without_health(query), groups=args.group, timeout=timeout)
    if selection.ids and sys.stderr.isatty():
        notify(f"watching {counted(len(selection.ids), 'group')} for {args.seconds:g} s")
    schedule = Schedule(args.seconds, args.interval, policy.check_timeout(args.interval, timeout))
    groups = {group: selection.snapshot.groups[group] for group in selection.ids}
    watch = ClusterWatch(admin, groups, schedule, watching, clock)
    if selection.ids:
        await watch.run()
    selection = await _with_access(admin, selection, watch, timeout)
    retention = await _retention(admin, watch, timeout)
    await _search_record_times(admin, watch, retention, timeout)
    return _report(args, query, selection, watch, retention)


async def _search_record_times(admin: GroupAdmin, watch: ClusterWatch, retention: Retention, timeout: float) -> None:
    """Find out when the last consumed and the first unread records of groups were written.

    Search only in groups that are not OK and have unread records. Store the times in `watch`.
    """
    from kgtui.admin.reading import read_record_times
    from kgtui.model.health import health_of

    suspects = {
        group: history.rows.values()
        for group, history in watch.histories.items()
        if history.lag is not None and history.lag.lag and health_of(history, retention).status is not Status.OK
    }
    limit = policy.SHOW_RECORD_TIME_PARTITIONS
    found = await read_record_times(admin, suspects, rules=retention.rules, precision=0, limit=limit, timeout=timeout)
    for group, times in found.items():
        watch.histories[group].set_record_times(times)


async def check_recorded(args: argparse.Namespace, admin: ReplayAdmin, query: Query, watching: Watching) -> int:
    """Print the health verdicts on groups in a recording, and return the exit code.

    The verdicts are based on the last `args.seconds` seconds before `--at`.
    """
    from kgtui.commands.group_watch import RecordedWatch

    selection = await select_groups(admin, _without_health(query), groups=args.group, timeout=timeout_of(args))
    groups = {group: selection.snapshot.groups[group] for group in selection.ids}
    watch = RecordedWatch(admin, groups, args.seconds, watching)
    if selection.ids:
        await watch.run()
    selection = await _with_access(admin, selection, watch, timeout_of(args))
    for note in watch.notes(args.seconds):
        notify(note)
    return _report(args, query, selection, watch, await _retention(admin, watch, timeout_of(args)))


async def _with_access(admin: GroupAdmin, selection: Selection, watch: Watch, timeout: float) -> Selection:
    """Read the user's permissions, and store in `watch.hidden` the groups for which brokers possibly hide offsets.

    Return a copy of `selection` that contains the permissions.
    """
    access = await access_of(admin, timeout=timeout)
    watch.mark_hidden(access)
    return replace(selection, snapshot=replace(selection.snapshot, access=access))


async def _retention(admin: GroupAdmin, watch: Watch, timeout: float) -> Retention:
    """Return how long brokers keep committed offsets, and how long they keep records in topics of the watched groups.

    If one of these durations cannot be read, print the reason on stderr.
    """
    topics = set().union(*(history.topics for history in watch.histories.values()))
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
        notify(f"the retention of some topics or of offsets could not be read: {first.message}{more}{advice}")
    return answer.rows


def _without_health(query: Query) -> Query:
    """Return a copy of the filter without the terms about health, which need the results of the watch."""
    return replace(query.limited((Need.DESCRIPTION, Need.OFFSETS)), order=query.order)


def _report(args: argparse.Namespace, query: Query, selection: Selection, watch: Watch, retention: Retention) -> int:
    """Print the verdicts, and why some verdicts are missing or not final. Return the exit code.

    The exit code is 1 if the status of a group (see `_status`) is at least as bad as `--fail-on`, if a group is
    missing, or if data could not be read.
    """
    from kgtui.model.health import Lack
    from kgtui.output import check_results

    results, selected = _judge(args, query, selection, watch, retention)
    print_result(args.format, check_results.WRITERS, results)
    # A filter such as `verdict:STOP` excludes groups that are OK now. Some of them might get a worse verdict in a
    # longer watch, and the user must be told so. Therefore, if a filter term is about health, `watched` contains all
    # watched groups, and not only those that match.
    watched = list(results.snapshot.health.values()) if Need.WATCHING in query.needs else selected
    _notify_limits(results, selected, watched)
    missing = notify_missing(args, _without_health(query), selection)
    missing |= notify_no_visible_group(args, selection.snapshot, selection.listed)
    lag_unknown = any(one.lack is Lack.LAG for health in selected for one in health.undecided)
    complete = results.coverage.complete and not results.faults and not lag_unknown
    return 0 if complete and not results.failed and not missing else 1


def _judge(
    args: argparse.Namespace, query: Query, selection: Selection, watch: Watch, retention: Retention
) -> tuple[CheckResults, list[GroupHealth]]:
    """Return the results to print, and the health of all groups that match the filter.

    With `--all`, or with a filter term about health, the results contain all of these groups. Otherwise, they contain
    only groups that have a problem, groups that could never be read, and groups that have a read error and of which
    brokers may hide offsets from the user (see `mark_hidden`).
    """
    from kgtui.model.answer import Coverage
    from kgtui.model.health import health_of, with_hidden_offsets
    from kgtui.output.check_results import CheckResults

    health = {group: health_of(history, retention) for group, history in watch.histories.items()}
    for group in watch.hidden:
        health[group] = with_hidden_offsets(health[group], none_visible=group in watch.without_offsets)
    snapshot = _updated(selection.snapshot, health, watch)
    ids = _select_by_health(query, snapshot)
    selected = [health[group] for group in ids]
    print_all = args.all or Need.WATCHING in query.needs
    judged = sum(1 for group, one in health.items() if group not in watch.group_faults and (one.reads or _gone(one)))
    fail_on = FAIL_ON[args.fail_on]
    may_lack = watch.hidden & watch.group_faults.keys()
    results = CheckResults(
        snapshot,
        [group for group in ids if print_all or group in may_lack or _is_notable(health[group])],
        _counts(selected),
        any(_status(one) >= fail_on for one in selected),
        fail_on,
        watch.seconds,
        watch.interval,
        Coverage(selection.coverage.brokers, (judged, len(health))),
        tuple(dict.fromkeys((*selection.faults, *watch.faults, *watch.group_faults.values()))),
    )
    return results, selected


def _updated(first: Snapshot, health: Mapping[str, GroupHealth], watch: Watch) -> Snapshot:
    """Return a copy of `first`, the snapshot before the watch, with the health and newest lag of each watched group."""
    from kgtui.model.summary import Summary

    summaries = dict(first.summaries)
    for group, one in health.items():
        if one.read_at is not None and one.lag is not None:
            old = summaries.get(group) or Summary(None, None, 0, 0, None, "", one.read_at)
            lag, description = one.lag, watch.histories[group].description
            summaries[group] = replace(
                old, lag=lag.lag, lag_unknown=lag.unknown, partitions=lag.partitions, hidden=lag.hidden,
                lag_at=one.read_at, at=one.read_at,
                members=old.members if description is None else description.member_count,
            )  # fmt: skip
    read_at = max((one.read_at for one in health.values() if one.read_at is not None), default=first.taken_at)
    return replace(
        first, taken_at=read_at, summaries=summaries, health=dict(health), group_faults=dict(watch.group_faults)
    )


class _VerdictSnapshot(Snapshot):
    """A snapshot in which filters find the same verdicts on groups as `kgtui check` prints."""

    __slots__ = ()

    def judgment(self, group: str) -> Judgment:
        from kgtui.model.health.judged import verdict_or_worse
        from kgtui.model.judgment import NOT_READ

        health = self.health.get(group)
        return NOT_READ if health is None else verdict_or_worse(health)


def _select_by_health(query: Query, snapshot: Snapshot) -> list[str]:
    """Return the ids of the watched groups that match the filter, including its terms about health.

    If no read of a group succeeded during the watch, the filter treats the health of this group as unknown.
    """
    read = {group: one for group, one in snapshot.health.items() if one.reads or _gone(one)}
    values = {field.name: getattr(snapshot, field.name) for field in fields(snapshot)} | {"health": read}
    ids = query.select(_VerdictSnapshot(**values))
    return [group for group in ids if group in snapshot.health]


def _is_notable(health: GroupHealth) -> bool:
    """Return whether a group is printed even without `--all`, because it has a problem or could never be read."""
    return _status(health) is not Status.OK or not health.reads


def _status(health: GroupHealth) -> Status:
    """Return the worse of two statuses of a group: that of its health verdict, and that of its worst problem.

    They can differ, because the verdict considers neither lost records nor rebalances.
    """
    from kgtui.model.health.judged import verdict_or_worse

    return Status[verdict_or_worse(health).status.name]


def _gone(health: GroupHealth) -> bool:
    return health.status is Status.NOT_FOUND


def _counts(selected: Iterable[GroupHealth]) -> dict[str, int]:
    """Return a dict: verdict → number of groups. Groups that could never be read count as `UNKNOWN`."""
    counts = {status.name: 0 for status in (Status.OK, Status.WARN, Status.ERR, Status.NOT_FOUND)}
    counts["UNKNOWN"] = 0
    for one in selected:
        counts[one.status.name if one.reads or _gone(one) else "UNKNOWN"] += 1
    return counts


def _notify_limits(results: CheckResults, selected: Sequence[GroupHealth], watched: Sequence[GroupHealth]) -> None:
    """Print on stderr which reads failed, and why some verdicts are not final.

    If stderr is a terminal, also print the number of groups per verdict.

    Args:
        selected: health of the groups that match the filter.
        watched: health of the groups for which to print why a verdict is not final.
    """
    from kgtui.model.health.wording import undecided_lines

    answered, brokers = results.coverage.brokers
    if answered < brokers:
        notify(f"partial result: {answered} of {brokers} brokers answered")
    notify_faults(results.faults)
    for line in undecided_lines(watched, results.seconds):
        notify(line)
    if sys.stderr.isatty() and selected:
        verdicts = [f"{count:,} {verdict}" for verdict, count in results.counts.items() if count]
        notify(f"{counted(len(selected), 'group')}: {', '.join(verdicts)}")

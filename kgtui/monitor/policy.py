"""Settings and functions that determine which groups are read, how often, and how many at once.

If the time between two reads of a group is too long, this time counts as a gap: kgtui does not know what happened
during the gap. The monitor, the recorder, `kgtui check` and `kgtui ls --watch` use this module. Times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.model.defaults import POLL_INTERVAL
from kgtui.model.group_types import DEAD, EMPTY, STABLE
from kgtui.model.series import GapRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.model.group import Listing
    from kgtui.model.snapshot import BrokerStatus

SHORTEST_INTERVAL = 0.5
"""Shortest polling interval that a user can set: seconds between two requests for a broker's list of groups."""

LONGEST_INTERVAL = 300.0
"""Longest polling interval that a user can set: seconds between two requests for a broker's list of groups."""

SCREEN_GAPS = GapRule(at_least=30.0, intervals=3.0)
"""In the terminal UI, the time between two reads of a group is a gap if it exceeds both limits.

`at_least` is a limit in seconds, and `intervals` is a limit as a multiple of the polling interval. For example, the
time for which a group was off the screen is usually a gap, because kgtui reads such groups only in the background. No
rate is computed across a gap.
"""

ABANDON_AFTER = 0.25
"""If the user selects another group, a running read of the previous group is canceled this many seconds later."""

KEY_REPEAT_LIMIT = 1.0
"""Maximum delay of reads, in seconds, while the user holds down a key that changes the selected or visible groups."""

QUIET_FROM = 2_000
"""If the cluster has more groups than this, background reads wait while the user presses keys.

Without this wait, the computations of background reads would delay the reaction to the keys.
"""

QUIET_TIME = 1.0
"""In a cluster with many groups, background reads wait until the user has pressed no key for this many seconds."""

QUIET_WAIT_MAX = 5.0
"""Maximum time, in seconds, for which a background read waits while the user presses keys."""

SHOWN_AFTER_LEAVING = 60.0
"""Minimum seconds for which a broker that has left the cluster is shown.

The broker is shown longer than this while kgtui still shows groups that it coordinated.
"""

REMOVAL_GRACE = 10.0
"""Maximum time, in seconds, for which the removal of a group waits for brokers that do not respond.

A group that no broker lists is not removed at once, because one of these brokers may still coordinate it. The time is
just above `broker.session.timeout.ms` (9 s), after which a dead broker's groups move to other brokers. This limit does
not apply to groups of a broker that has left the cluster (see `PendingRemovals`).
"""

MISSING_CHECK_PAUSE = 1.0
"""Pause, in seconds, after the first check of groups that no broker lists any longer, if no group was removed.

After a check that removes a group, the next check starts without a pause.
"""

MISSING_CHECK_MAX_PAUSE = 30.0
"""Longest pause, in seconds, between two checks of groups that no broker lists any longer.

The pause doubles after each check that removes no group.
"""

MISSING_GROUPS_PER_CHECK = 1_000
"""Maximum number of groups in one check of groups that no broker lists any longer. The check describes each group."""

REPLAY_INTERVAL = 2.0
"""Polling interval in seconds while the terminal UI replays a recording.

A shorter interval would be useless, because the data change only when the replay moves to another recorded poll, and
the terminal UI then reads the data immediately.
"""

LARGE_CLUSTER = 20_000
"""If a cluster has more groups than this, kgtui reads less in the background, to limit its CPU time.

See `large_first_factor` and `large_later_factor` of `MonitorOptions`, and `background_pause`.
"""

LARGE_CLUSTER_PAUSES = 3.0
"""Factor by which `background_pause` lengthens a pause if a cluster has more than `LARGE_CLUSTER` groups."""

PUBLISHED_PER_SECOND = 150_000
"""Maximum of (number of groups) × (snapshots per second), because each snapshot copies parts of the data.

For example, 100,000 groups get at most three snapshots in two seconds.
"""

NEGLIGIBLE_SWEEP_RATE = 0.001
"""Value of `MonitorOptions.sweep_rate` at which the background read of all groups reads practically nothing.

`kgtui record` does not need this background read, because it reads all groups itself.
"""

EVENT_MEMBERS = 20_000
"""Maximum number of groups, members and owned partitions, in total, that kgtui remembers to find events.

kgtui compares the remembered members with the next read, to notice, for example, which members have joined or left.

Above this limit, kgtui first forgets the members of groups that are read only in the background.
"""

LARGE_CLUSTER_EVENT_MEMBERS = 5_000
"""Like `EVENT_MEMBERS`, but for a cluster with more than `LARGE_CLUSTER` groups.

kgtui remembers at most this number of groups, members and owned partitions, in total, to find events. In so large a
cluster, even `EVENT_MEMBERS` would suffice for only a few groups besides the selected, visible and suspected ones. The
lower limit saves about 6 MB.
"""

RETENTION_MAX_AGE = 600.0
"""Seconds between two reads of the retention time of a topic. The reads are rare, because configs rarely change."""

SUSPECT_INTERVAL = 5.0
"""Minimum seconds between two reads of a group that is not on the screen, but may have a problem.

The interval is longer in a large cluster (`background_pause`).
"""

SUSPECT_PARTITIONS = 4_000
"""Maximum total number of partitions of the groups with a possible problem ("suspects") that are read more often.

If all suspects together have more partitions, kgtui chooses some of them. If the first chosen suspect alone has more
partitions, kgtui chooses only this one.
"""

RECORD_TIME_PAUSE = 30.0
"""Minimum time, in seconds, between two searches in one group for the times at which unread records were written."""

RECORD_TIME_PARTITIONS = 1_000
"""Maximum number of partitions in one search for the times at which unread records were written."""

EMPTY_SEARCH_GROUPS = 100
"""Maximum number of Empty groups in one search for the times at which unread records were written."""

EMPTY_SEARCH_PAUSE = 2.0
"""Minimum seconds between two searches for the times at which unread records of Empty groups were written.

The pause is longer in a large cluster (`background_pause`).
"""

EMPTY_SEARCH_LOAD = 0.1
"""Duration of a search for the times of unread records in Empty groups, divided by the pause after the search.

With 0.1, the pause is ten times as long as the search, but at least `EMPTY_SEARCH_PAUSE` and at most one minute.
"""

SHOW_RECORD_TIME_PARTITIONS = 20_000
"""Maximum number of partitions in which `kgtui show`, `check` and `ls` find out when unread records were written."""

RETENTION_PAUSE = 2.0
"""Time, in seconds, that kgtui waits before it reads the retention time of a topic.

All retention times that are requested during this wait are read together.
"""


ACCESS_MAX_AGE = 30.0
"""Seconds until kgtui reads the permissions of its Kafka user again.

They are read earlier if somebody requests a refresh, if a broker refuses a request because of a missing permission, or
if a broker answers a request that it refused before.
"""


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Settings of a monitor. Times are in seconds. The "sweep" reads all groups in the background, again and again.

    Attributes:
        interval: time between two list requests to a broker, and between two reads of visible groups.
        timeout: time limit for one list request or one read.
        failure_pause_max: longest pause after failed requests to a broker.
        list_load: maximum fraction of time that a broker spends on list requests of kgtui.
        visible_groups: maximum number of visible groups whose members and offsets are read at every interval.
        sweep_rate: maximum number of groups per second that the sweep reads.
        first_sweep_factor: factor by which `sweep_rate` is multiplied in the first sweep.
        large_first_factor: second factor for `sweep_rate` in the first sweep if there are more than `LARGE_CLUSTER`
            groups.
        large_later_factor: factor for `sweep_rate` in later sweeps if there are more than `LARGE_CLUSTER` groups.
        sweep_batch: maximum number of groups that the sweep reads from a broker at once.
        sweep_partitions: maximum number of partitions that the sweep reads from a broker at once. A group with more
            partitions is read alone.
        sweep_pause: minimum time between two reads of a group with members by the sweep, if its state has not changed.
        empty_pause: minimum time between two reads of an Empty group by the sweep, if its state has not changed.
        describe_pause: minimum time until the sweep describes a group again, if the group's state has not changed.
        sweep_load: maximum fraction of time that a broker spends on the sweep. The first sweep has no such limit.
        suspects: maximum number of groups with a possible problem that are read more often than others.
        publish_interval: minimum time between two snapshots. `publish_pause` makes it longer in large clusters.
        settle_time: how long the visible groups must stay the same before newly visible groups are read.
        metadata_interval: time between two reads of the cluster's metadata.
        kept_groups: maximum number of groups whose descriptions and offsets are kept, on and off the screen.
        kept_events: maximum number of kept events. New events replace the oldest events.
    """

    interval: float = POLL_INTERVAL
    timeout: float = 10.0
    failure_pause_max: float = 8.0
    list_load: float = 0.1
    visible_groups: int = 40
    sweep_rate: float = 600.0
    first_sweep_factor: float = 2.1
    large_first_factor: float = 0.7
    large_later_factor: float = 0.18
    sweep_batch: int = 250
    sweep_partitions: int = 2_500
    sweep_pause: float = 15.0
    empty_pause: float = 120.0
    describe_pause: float = 60.0
    sweep_load: float = 0.25
    suspects: int = 40
    publish_interval: float = 0.2
    settle_time: float = 0.12
    metadata_interval: float = 30.0
    kept_groups: int = 200
    kept_events: int = 10_000


def metadata_pause(options: MonitorOptions, failures: int, left: int) -> float:
    """Return the seconds until the cluster's metadata is read again.

    The pause is shorter after a failed read. It is also shorter while kgtui still shows a broker that has left the
    cluster, because the broker may soon return.

    Args:
        failures: number of failed reads of the metadata in a row.
        left: number of brokers that have left the cluster and are still shown.
    """
    if failures:
        return min(2.0**failures, options.failure_pause_max)
    return min(options.metadata_interval, options.failure_pause_max / 2) if left else options.metadata_interval


def publish_pause(options: MonitorOptions, groups: int) -> float:
    """Return the minimum time between two snapshots, in seconds.

    Args:
        groups: number of groups in the cluster.
    """
    return max(options.publish_interval, groups / PUBLISHED_PER_SECOND)


def background_pause(seconds: float, groups: int) -> float:
    """Return the pause between two background reads, in seconds.

    The pause is `seconds`, multiplied by `LARGE_CLUSTER_PAUSES` if there are more than `LARGE_CLUSTER` groups.

    Args:
        seconds: the pause in a smaller cluster.
        groups: number of groups in the cluster.
    """
    return seconds * LARGE_CLUSTER_PAUSES if groups > LARGE_CLUSTER else seconds


def event_members(groups: int) -> int:
    """Return how many groups, members and owned partitions, in total, kgtui remembers to find events.

    Args:
        groups: number of groups in the cluster.
    """
    return LARGE_CLUSTER_EVENT_MEMBERS if groups > LARGE_CLUSTER else EVENT_MEMBERS


def sweep_rate(options: MonitorOptions, groups: int, *, first: bool) -> float:
    """Return the maximum number of groups per second that the sweep (the background read of all groups) reads.

    Args:
        groups: number of groups in the cluster.
        first: whether this is the first sweep, in which no group has been read before.
    """
    rate = options.sweep_rate * (options.first_sweep_factor if first else 1.0)
    if groups <= LARGE_CLUSTER:
        return rate
    return rate * (options.large_first_factor if first else options.large_later_factor)


def sweep_groups(by_listing: Mapping[Listing, list[str]], node: int) -> tuple[list[str], list[str]]:
    """Return the ids of the groups that a broker coordinates, in two lists: groups with and groups without members.

    Args:
        by_listing: `Listing` (type, protocol type, state and coordinator) → ids of the groups with this `Listing`.
        node: node id of the broker.
    """
    rows: tuple[list[str], list[str]] = ([], [])
    for listing, ids in by_listing.items():
        if listing.coordinator == node:
            rows[listing.state in (EMPTY, DEAD)].extend(ids)
    return rows


def listed_without_members(listing: Listing) -> bool:
    """Return whether the listed type and state of a group show that it has no members.

    Such a group need not be described. If the broker is too old to list types, the result is False.
    """
    return listing.state == EMPTY and listing.type is not None


def answered_since(status: BrokerStatus | None, now: float) -> float:
    """Return since when a broker has responded without a gap, in seconds since the epoch.

    The time between two responses is a gap if it exceeds the limit of `SCREEN_GAPS`. After the first response, and
    directly after a gap, the result is `now`.

    Args:
        status: status of the broker before its newest response; None if this is its first response.
        now: time of the newest response, in seconds since the epoch.
    """
    if status is None or status.answered_at is None or status.answered_since is None:
        return now
    gap = now - status.answered_at
    return status.answered_since if 0 <= gap <= SCREEN_GAPS.limit(status.interval) else now


RECORD_INTERVAL = 10.0
"""Default time between two polls of the recorder, in seconds."""

RECORD_DESCRIBE_INTERVAL = 120.0
"""Maximum time, in seconds, between two descriptions of the same group by the recorder."""

RECORD_MIN_TIMEOUT = 5.0
"""Minimum timeout of one poll of the recorder, in seconds. If the polling interval is longer, it is the timeout."""

RECORD_FIRST_LISTS = 15.0
"""Maximum time, in seconds, that the recorder waits at its start until all brokers have sent their lists of groups.

The recorder does not wait for a broker that has returned an error.
"""

RECORD_GROUP_BATCH = 400
"""Maximum number of groups that the recorder reads from one coordinator in one batch."""

RECORD_LOG_BATCH = 4_000
"""Maximum number of partitions whose log start and log end offsets the recorder reads with one call."""

RECORD_GAPS = GapRule(at_least=5.0, intervals=3.0)
"""The time between two polls of the recorder is a gap if it exceeds both limits. Gaps are marked in the recording.

`at_least` is a limit in seconds, and `intervals` is a limit as a multiple of the polling interval.
"""

_SETTLED = frozenset({STABLE, EMPTY, None})
"""States in which a group's members neither join nor leave. None means that the broker is too old to list states."""


def groups_to_describe(
    listings: Mapping[str, Listing], described: Mapping[str, tuple[Listing, float]], now: float, interval: float
) -> set[str]:
    """Return the groups that the recorder describes in one poll.

    A group is described if it was never described, if its `Listing` (type, protocol type, state and coordinator) has
    changed, if it is in a state in which members join or leave, or if its last description is too old.

    Args:
        listings: group id → newest `Listing`.
        described: group id → its `Listing` at its last description, and the time of this description.
        now: current time in seconds, on the same clock as the times in `described`.
        interval: maximum seconds between two descriptions.
    """
    due: set[str] = set()
    for group, listing in listings.items():
        last = described.get(group)
        if last is None or last[0] != listing or listing.state not in _SETTLED:
            due.add(group)
            continue
        # The time between two descriptions is 50 to 100 % of `interval`, and differs from group to group. Otherwise,
        # groups that were first described in the same poll would always be described together.
        spread = hash(group) % 64 / 64
        if now - last[1] >= interval * (0.5 + 0.5 * spread):
            due.add(group)
    return due


CHECK_DURATION = 120.0
"""Default time, in seconds, for which `kgtui check` observes the groups."""

CHECK_INTERVAL = 5.0
"""Default time, in seconds, between two reads of the groups by `kgtui check`."""

CHECK_SHORTEST_INTERVAL = 0.05
"""Shortest interval that a user of `kgtui check` can set: seconds between two reads of the groups."""

CHECK_GAPS = GapRule(at_least=60.0, intervals=4.0)
"""The time between two reads by `kgtui check` is a gap if it exceeds both limits. No rate is computed across a gap.

`at_least` is a limit in seconds, and `intervals` is a limit as a multiple of the usual time between two reads.
"""

CHECK_MIN_TIMEOUT = 10.0
"""Minimum timeout of one read by `kgtui check`, in seconds, unless `--timeout` is shorter."""

WATCH_FIRST_TIMEOUT = 10.0
"""Timeout of a read by `kgtui ls --watch`, in seconds, until a read has succeeded on all brokers for the first time.

A shorter `--timeout` has precedence.
"""


def check_timeout(interval: float, timeout: float) -> float:
    """Return the timeout of one read of `kgtui check`, in seconds.

    The timeout is twice the `interval`, but at least `CHECK_MIN_TIMEOUT` and at most `--timeout`.

    Args:
        interval: time between two reads, in seconds.
        timeout: `--timeout`, in seconds.
    """
    return min(timeout, max(2 * interval, CHECK_MIN_TIMEOUT))


def watch_timeout(interval: float, slowest: float | None, timeout: float) -> float:
    """Return the timeout of one read of `kgtui ls --watch`, in seconds.

    Until a read has succeeded on all brokers, the timeout is `WATCH_FIRST_TIMEOUT`. Later, it is `4 * slowest`, but at
    least `interval`. It never exceeds `--timeout`.

    Args:
        interval: time between two reads, in seconds.
        slowest: duration of the slowest read that succeeded on all brokers, in seconds; None if there is none yet.
        timeout: `--timeout`, in seconds.
    """
    return min(timeout, WATCH_FIRST_TIMEOUT if slowest is None else max(interval, 4 * slowest))


EVENT_GROUPS = 100
"""Maximum number of groups whose members and offsets `kgtui events` reads once per interval.

If the command's filter matches more groups, kgtui reads the remaining groups less often, in the background.
"""

EVENT_PAUSE = 0.2
"""Pause, in seconds, between two searches for new events by `kgtui events`."""


def event_options(interval: float | None, timeout: float) -> MonitorOptions:
    """Return the settings of the monitor for `kgtui events`.

    The monitor keeps more events than usual, so that the command can print all of them.

    Args:
        interval: time between two reads of a group, in seconds; None for the default.
        timeout: time limit for a request, in seconds (`--timeout`).
    """
    defaults = MonitorOptions()
    return replace(
        defaults,
        interval=defaults.interval if interval is None else interval,
        timeout=min(defaults.timeout, timeout),
        visible_groups=EVENT_GROUPS,
        kept_groups=2 * EVENT_GROUPS,
        kept_events=20 * defaults.kept_events,
        settle_time=0.0,
    )

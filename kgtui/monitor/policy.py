"""The polling policy: which groups are read, how often, how many at once, and when the time between two reads is a gap.

The terminal UI's monitor, the recorder, `kgtui check` and `kgtui ls --watch` use these values. Times are in seconds.
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

# -- polling intervals and limits of the terminal UI -----------------------------------------------------------------

SHORTEST_INTERVAL = 0.5
"""Shortest interval between two reads of a broker's group list that a user can set, in seconds."""

LONGEST_INTERVAL = 300.0
"""Longest interval between two reads of a broker's group list that a user can set, in seconds."""

SCREEN_GAPS = GapRule(at_least=30.0, intervals=3.0)
"""Rule for when the time between two reads of a group in the terminal UI is a gap.

Gaps occur because groups are not read while they are out of view.
"""

ABANDON_AFTER = 0.25
"""Time for which a running read of the selected group may continue after another group was selected, in seconds."""

KEY_REPEAT_LIMIT = 1.0
"""Maximum time, in seconds, that reads wait for the view to stop changing, for example while a key is held down."""

SHOWN_AFTER_LEAVING = 60.0
"""Minimum time for which a broker that has left the cluster is still shown as one that does not respond, in seconds.

After this time, the broker is forgotten as soon as other brokers list its groups.
"""

REMOVAL_GRACE = 10.0
"""Maximum time, in seconds, that a missing group is kept while a broker that may coordinate it does not answer.

After Kafka's `broker.session.timeout.ms`, by default 9 s, the controller assigns the groups of a dead broker to others.
"""

REPLAY_INTERVAL = 2.0
"""Interval between two reads while the terminal UI replays a recording, in seconds.

A shorter interval would only read the same recorded poll more often.
"""

NO_SWEEP = 0.001
"""Value of `MonitorOptions.sweep_rate` that practically disables the sweep.

`kgtui record` uses it, because the recorder reads all groups itself.
"""

EVENT_MEMBERS = 20_000
"""Maximum number of members and owned partitions that are remembered to find out who joined, who left and what moved.

It limits the memory in clusters with very many members. Groups that are read in full always have precedence.
"""

RETENTION_MAX_AGE = 600.0
"""Time after which the retention time of a topic is read again, in seconds. It is long, because configs change rarely.
"""

SUSPECT_INTERVAL = 5.0
"""Minimum interval between two reads of a group with a possible problem, in seconds, unless it is in view."""

SUSPECT_PARTITIONS = 4_000
"""Maximum number of partitions of all groups together that are observed exactly because of a possible problem."""

RECORD_TIME_PAUSE = 30.0
"""Minimum time between two searches for the times of unread records in one group, in seconds."""

RECORD_TIME_PARTITIONS = 1_000
"""Maximum number of partitions of one group in which the times of unread records are searched."""

SHOW_RECORD_TIME_PARTITIONS = 20_000
"""Maximum number of partitions in which `kgtui show` and `kgtui check` search for the times of unread records."""

RETENTION_PAUSE = 2.0
"""Pause before retention times are read, in seconds, so that topics that come into view together share one request."""


ACCESS_MAX_AGE = 30.0
"""Time after which the permissions of the user are read again, in seconds.

They are read earlier if the user presses the key for a refresh, or if a broker begins or stops to refuse requests. The
recorder, `kgtui check` and `kgtui ls --watch` use the same time.
"""


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Settings of a monitor.

    Attributes:
        interval: seconds between two group lists of a broker, and between two reads of the selected and visible groups.
        timeout: maximum duration of one list request or one read, in seconds.
        failure_pause_max: longest pause after failed polls of a broker, or after failed reads of the metadata of the
            cluster, in seconds.
        list_load: maximum fraction of the time that a broker may be busy with list requests. If a broker is slow, the
            interval grows.
        visible_groups: maximum number of visible groups that are read in full at each interval, in addition to the
            selected group.
        sweep_rate: maximum number of groups per second that the background sweep reads from all brokers together.
        first_sweep_factor: the first sweep reads this many times as many groups per second.
        sweep_batch: maximum number of groups that the sweep reads with one request.
        sweep_pause: minimum time from the start of one sweep to the start of the next, in seconds. Each sweep reads all
            groups with members.
        empty_pause: minimum time between two reads of an Empty group by the sweep, in seconds.
        describe_pause: minimum time between two descriptions of a group by the sweep, in seconds. A group whose state
            has changed is described with its next read.
        sweep_load: maximum fraction of the time that a broker may be busy with a later sweep.
        suspects: maximum number of groups with a possible problem that are observed exactly.
        publish_interval: minimum time between two snapshots, in seconds. It is ten times as long if only summaries of
            the sweep or health verdicts have changed.
        settle_time: time for which the view must not have changed before groups that came into view are read, in
            seconds.
        metadata_interval: seconds between two reads of the cluster's metadata.
        kept_groups: maximum number of groups whose details are kept after the groups have left the view.
        kept_events: maximum number of events that are kept. Newer events replace the oldest ones.
    """

    interval: float = POLL_INTERVAL
    timeout: float = 10.0
    failure_pause_max: float = 8.0
    list_load: float = 0.1
    visible_groups: int = 40
    sweep_rate: float = 600.0
    first_sweep_factor: float = 2.3
    sweep_batch: int = 100
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
    """Return the time until the metadata is read again, in seconds.

    After a failed read, and while a broker that has left the cluster may return, it is at most `failure_pause_max`.

    Args:
        failures: number of consecutive reads of the metadata that failed.
        left: number of brokers that have left the cluster recently and still count as brokers that do not respond.
    """
    if failures:
        return min(2.0**failures, options.failure_pause_max)
    return min(options.metadata_interval, options.failure_pause_max / 2) if left else options.metadata_interval


def sweep_groups(by_listing: Mapping[Listing, list[str]], node: int) -> tuple[list[str], list[str]]:
    """Return the ids of the groups that a broker coordinates: those with members, and those without.

    Args:
        by_listing: listing → ids of the groups with this listing.
    """
    rows: tuple[list[str], list[str]] = ([], [])
    for listing, ids in by_listing.items():
        if listing.coordinator == node:
            rows[listing.state in (EMPTY, DEAD)].extend(ids)
    return rows


def listed_without_members(listing: Listing) -> bool:
    """Return whether the list shows that a group has no members. The sweep does not describe such a group.

    A group that an old broker lists without a type is described anyway, to find out its type.
    """
    return listing.state == EMPTY and listing.type is not None


# -- polling intervals and limits of the recorder --------------------------------------------------------------------

RECORD_INTERVAL = 10.0
"""Interval between two polls while recording, in seconds."""

RECORD_DESCRIBE_INTERVAL = 120.0
"""Maximum time between two descriptions of the same group while recording, in seconds."""

RECORD_MIN_TIMEOUT = 5.0
"""Minimum timeout of one poll of the recorder, in seconds. The timeout is the polling interval if that is longer."""

RECORD_FIRST_LISTS = 15.0
"""Maximum time that the recorder waits for the first group list of every broker, in seconds."""

RECORD_GROUP_BATCH = 400
"""Maximum number of groups that the recorder reads from one coordinator in one batch."""

RECORD_LOG_BATCH = 4_000
"""Maximum number of partitions whose log start and log end offsets the recorder reads with one call."""

RECORD_GAPS = GapRule(at_least=5.0, intervals=3.0)
"""Rule for when the time between two polls of the recorder is a gap."""

_SETTLED = frozenset({STABLE, EMPTY, None})
"""States in which the members do not change. None is included, because brokers before 2.6 do not list states."""


def groups_to_describe(
    listings: Mapping[str, Listing], described: Mapping[str, tuple[Listing, float]], now: float, interval: float
) -> set[str]:
    """Return the ids of the groups that the recorder describes in one poll.

    A group is described if its listing has changed, or if its state shows that its members may be changing. It is also
    described at least every `interval` seconds, because a listing does not show the members.

    Args:
        listings: group → newest listing.
        described: group → listing and time at its last description, for groups that were described.
        now: current time in seconds, of the same clock as the times in `described`.
        interval: maximum time between two descriptions of a group, in seconds.
    """
    due: set[str] = set()
    for group, listing in listings.items():
        last = described.get(group)
        if last is None or last[0] != listing or listing.state not in _SETTLED:
            due.add(group)
            continue
        # The next description of a group is due after 50 to 100 % of the interval, depending on the hash of its id, so
        # that not all groups are described in the same poll.
        spread = hash(group) % 64 / 64
        if now - last[1] >= interval * (0.5 + 0.5 * spread):
            due.add(group)
    return due


# -- polling intervals and limits of `kgtui check` and `kgtui ls --watch` ----------------------------------------------

CHECK_DURATION = 120.0
"""Default duration for which `kgtui check` reads the groups, in seconds."""

CHECK_INTERVAL = 5.0
"""Default interval between two reads of `kgtui check`, in seconds."""

CHECK_SHORTEST_INTERVAL = 0.05
"""Shortest interval that `kgtui check` accepts, in seconds."""

CHECK_GAPS = GapRule(at_least=60.0, intervals=4.0)
"""Rule for when the time between two reads of `kgtui check` is a gap, both live and in a recording."""

CHECK_MIN_TIMEOUT = 10.0
"""Minimum timeout of one read of `kgtui check`, in seconds, unless the user sets a shorter `--timeout`."""

WATCH_FIRST_TIMEOUT = 10.0
"""Maximum timeout of the reads of `kgtui ls --watch` until all brokers have answered once, in seconds."""


def check_timeout(interval: float, timeout: float) -> float:
    """Return the timeout of one read of `kgtui check`, in seconds.

    The timeout is two intervals, but at least `CHECK_MIN_TIMEOUT` and at most `timeout`.

    Args:
        interval: time between two reads, in seconds.
        timeout: maximum timeout in seconds, set by the user (`--timeout`).
    """
    return min(timeout, max(2 * interval, CHECK_MIN_TIMEOUT))


def watch_timeout(interval: float, slowest: float | None, timeout: float) -> float:
    """Return the timeout of one read of `kgtui ls --watch`, in seconds.

    The timeout is one interval, so that a broker that hangs delays the list by only one interval. If four times the
    duration of the slowest read is longer, that is the timeout, so that a slow cluster can be read too.

    Args:
        interval: time between two lists, in seconds.
        slowest: duration of the slowest read in which all brokers answered, in seconds; None if there was none yet.
        timeout: maximum timeout in seconds, set by the user (`--timeout`).
    """
    return min(timeout, WATCH_FIRST_TIMEOUT if slowest is None else max(interval, 4 * slowest))


# -- polling intervals and limits of `kgtui events` ------------------------------------------------------------------

EVENT_GROUPS = 100
"""Maximum number of groups whose members and offsets `kgtui events` reads at every interval.

If the filter matches more groups, only the background sweep reads them.
"""

EVENT_PAUSE = 0.2
"""Time between two looks of `kgtui events` for new events, in seconds."""


def event_options(interval: float | None, timeout: float) -> MonitorOptions:
    """Return the settings of the monitor of `kgtui events`.

    More events are kept than in the terminal UI, so that none is dropped before it is printed.

    Args:
        interval: time between two reads of a group, in seconds; None for the default.
        timeout: maximum duration of a request, in seconds, set by the user (`--timeout`).
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

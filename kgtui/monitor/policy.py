"""The polling policy: which groups are read, how often, how many at once, and when the time between two reads is a gap.

The monitor of the screen, the recorder, `kgtui check` and `kgtui ls --watch` use these values. Times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.group_types import DEAD, EMPTY, STABLE
from kgtui.model.series import GapRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.model.group import Listing

# -- the screen ------------------------------------------------------------------------------------------------------

SHORTEST_INTERVAL = 0.5
"""Minimum interval between two lists of a broker that a user can set, in seconds."""

LONGEST_INTERVAL = 300.0
"""Maximum interval between two lists of a broker that a user can set, in seconds."""

SCREEN_GAPS = GapRule(at_least=30.0, intervals=3.0)
"""When the time between two reads of a group on the screen is a gap.

Gaps occur because groups out of view are not read.
"""

ABANDON_AFTER = 0.25
"""After another group is selected, a running read of the earlier group is cancelled after this many seconds."""

KEY_REPEAT_LIMIT = 1.0
"""While a key is held down, reads wait for the view to stop moving, but at most for this many seconds."""

REMOVAL_GRACE = 10.0
"""Maximum time, in seconds, that a missing group is kept while a broker that may have it does not answer.

Kafka's `broker.session.timeout.ms` is 9 s by default.
"""

REPLAY_INTERVAL = 2.0
"""Interval between two reads while the screen replays a recording, in seconds.

The recorded data rarely changes sooner.
"""

SWEEP_RATE_HALVED_AT = 35_000
"""With this number of groups, the background sweep reads half as many groups per second as `sweep_rate` allows."""

NO_SWEEP = 0.001
"""A `sweep_rate` so low that there is practically no sweep.

The recorder uses it, because it reads the groups itself.
"""

RETENTION_MAX_AGE = 600.0
"""The retention time of a topic is read again after this many seconds, because configs change rarely."""

RETENTION_PAUSE = 2.0
"""Pause before retention times are read, in seconds, so that topics that come into view together share one request."""


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Settings of a monitor.

    Attributes:
        interval: seconds between two lists of a broker, and between two reads of the selected and the visible groups.
        timeout: seconds that a list or a read may take.
        backoff_max: longest pause after failures, in seconds.
        list_load: maximum fraction of the time that a broker may be busy with list requests. If a broker is slow, the
            interval grows.
        visible_groups: maximum number of visible groups that are read in full at each interval, in addition to the
            selected group.
        sweep_rate: groups per second that the background sweep reads from all brokers together. The rate is lower with
            very many groups.
        sweep_batch: number of groups that the sweep reads with one request.
        sweep_pause: minimum time from the start of one sweep to the start of the next, in seconds.
        publish_interval: minimum time between two snapshots, in seconds. It is ten times as long if only the sweep has
            new data.
        settle_time: seconds for which the view must not move before the groups that came into view are read.
        metadata_interval: seconds between two reads of the cluster's metadata.
        kept_groups: maximum number of groups whose details are kept after the groups have left the view.
    """

    interval: float = 2.0
    timeout: float = 10.0
    backoff_max: float = 30.0
    list_load: float = 0.1
    visible_groups: int = 40
    sweep_rate: float = 400.0
    sweep_batch: int = 50
    sweep_pause: float = 15.0
    publish_interval: float = 0.2
    settle_time: float = 0.12
    metadata_interval: float = 30.0
    kept_groups: int = 200


def sweep_rate(options: MonitorOptions, groups: int) -> float:
    """Return the number of groups per second that the sweep reads.

    With more groups it is lower, because listing them costs more.
    """
    return options.sweep_rate / (1 + groups / SWEEP_RATE_HALVED_AT)


def sweep_order(by_listing: Mapping[Listing, list[str]], node: int) -> list[str]:
    """Return the ids of all groups that a broker coordinates. Groups with members come before Empty groups."""
    groups = [(listing, ids) for listing, ids in by_listing.items() if listing.coordinator == node]
    groups.sort(key=lambda item: item[0].state in (EMPTY, DEAD))
    return [group for _, ids in groups for group in ids]


def listed_without_members(listing: Listing) -> bool:
    """Return whether the list shows that a group has no members. The sweep does not describe such a group.

    A group that an old broker lists without a type is described anyway, to find out its type.
    """
    return listing.state == EMPTY and listing.type is not None


# -- the recorder ----------------------------------------------------------------------------------------------------

RECORD_INTERVAL = 10.0
"""Interval between two polls while recording, in seconds."""

RECORD_DESCRIBE_INTERVAL = 120.0
"""While recording, every group is described at least once in this many seconds."""

RECORD_MIN_TIMEOUT = 5.0
"""Minimum time limit of one poll while recording, in seconds. It applies even if the interval is shorter."""

RECORD_FIRST_LISTS = 15.0
"""Maximum time that the recorder waits for the first list of every broker, in seconds."""

RECORD_GROUP_BATCH = 400
"""Number of groups that the recorder reads from one coordinator in one batch."""

RECORD_LOG_BATCH = 4_000
"""Number of partitions whose log bounds the recorder reads with one call."""

RECORD_GAPS = GapRule(at_least=5.0, intervals=3.0)
"""When the time between two polls of the recorder is a gap."""

_SETTLED = frozenset({STABLE, EMPTY, None})
"""States in which the members do not change. None is included, because brokers before 2.6 do not list states."""


def groups_to_describe(
    listings: Mapping[str, Listing], described: Mapping[str, tuple[Listing, float]], now: float, interval: float
) -> set[str]:
    """Return the ids of the groups that the recorder describes in one poll.

    A group is described when its members may have changed, and about every `interval` seconds in any case, because a
    list does not say who the members are. The groups are spread over the polls of the second half of the interval.

    Args:
        listings: the newest listing of every group.
        described: the listing with which a group was last described, and when.
        now: seconds of the same clock as in `described`.
        interval: seconds.
    """
    due: set[str] = set()
    for group, listing in listings.items():
        last = described.get(group)
        if last is None or last[0] != listing or listing.state not in _SETTLED:
            due.add(group)
            continue
        spread = hash(group) % 64 / 64  # Vary the time per group, so that not all groups are due in the same poll.
        if now - last[1] >= interval * (0.5 + 0.5 * spread):
            due.add(group)
    return due


# -- kgtui check and kgtui ls --watch ----------------------------------------------------------------------------------

CHECK_DURATION = 120.0
"""Default duration for which `kgtui check` reads the groups, in seconds."""

CHECK_INTERVAL = 5.0
"""Default interval between two reads of `kgtui check`, in seconds."""

CHECK_SHORTEST_INTERVAL = 0.05
"""Shortest interval that `kgtui check` accepts, in seconds."""

CHECK_GAPS = GapRule(at_least=60.0, intervals=4.0)
"""When the time between two reads of `kgtui check` is a gap: for a live cluster, and for a recording."""

CHECK_MIN_TIMEOUT = 10.0
"""Time limit of one read of `kgtui check`, in seconds. A shorter limit for the whole command has priority."""

WATCH_INTERVAL = 2.0
"""Default interval between two lists of `kgtui ls --watch`, in seconds."""


def check_timeout(interval: float, timeout: float) -> float:
    """Return the time limit of one read of `kgtui check`, in seconds.

    Args:
        interval: seconds between two reads.
        timeout: seconds that the user allows (`--timeout`).
    """
    return min(timeout, max(2 * interval, CHECK_MIN_TIMEOUT))

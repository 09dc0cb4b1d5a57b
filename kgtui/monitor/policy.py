"""The polling policy: which groups are read, how often, how many at once, and which pause between reads is a gap.

The screen's monitor, the recorder, `kgtui check` and `kgtui ls --watch` all take their figures from here. Times are in
seconds.
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
"""Shortest interval between two lists of a broker that a user can set, in seconds."""

LONGEST_INTERVAL = 300.0
"""Longest interval between two lists of a broker that a user can set, in seconds."""

SCREEN_GAPS = GapRule(at_least=30.0, intervals=3.0)
"""Which time between two reads of a group on the screen is a gap. Groups out of view are not read."""

ABANDON_AFTER = 0.25
"""Time that a read of a group may still take after another group was selected, in seconds."""

KEY_REPEAT_LIMIT = 1.0
"""Longest time that reads wait for the view to stop moving while a key is held down, in seconds."""

REMOVAL_GRACE = 10.0
"""Time for which a group is kept that its broker no longer lists, while another broker is silent, in seconds.

Kafka's `broker.session.timeout.ms` is 9 s by default.
"""

REPLAY_INTERVAL = 2.0
"""Time between two reads of a recording on the screen, in seconds. What is shown rarely changes in between."""

SWEEP_RATE_HALVED_AT = 35_000
"""Number of groups at which the background sweep reads half as many groups per second as `sweep_rate`."""

NO_SWEEP = 0.001
"""A `sweep_rate` of practically nothing, for the recorder, which reads the groups itself."""

RETENTION_MAX_AGE = 600.0
"""Age at which the retention of a topic is read again, in seconds. Configs change rarely."""

RETENTION_PAUSE = 2.0
"""Pause before a read of retention, in seconds, so that topics which come into view together share one request."""


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Settings of a monitor.

    Attributes:
        interval: seconds between two lists of a broker, and between two reads of the selected and the visible groups.
        timeout: seconds that a list or a read may take.
        backoff_max: longest pause after failures, in seconds.
        list_load: largest fraction of the time that a broker may be busy with lists. The interval grows to keep it.
        visible_groups: number of visible groups that are read in full at each interval, beside the selected one.
        sweep_rate: groups per second that the background sweep reads over all brokers; fewer with very many groups.
        sweep_batch: groups that the sweep reads at once.
        sweep_pause: shortest time from the start of one sweep to the start of the next, in seconds.
        publish_interval: shortest time between two snapshots, in seconds; ten times as long where only the sweep has
            something new.
        settle_time: seconds for which the view must not move before the groups that came into view are read.
        metadata_interval: seconds between two reads of the cluster's metadata.
        kept_groups: number of groups whose details are kept after they left the view.
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
    """Return the groups per second that the sweep reads: fewer the more groups there are, as their lists cost more."""
    return options.sweep_rate / (1 + groups / SWEEP_RATE_HALVED_AT)


def sweep_order(by_listing: Mapping[Listing, list[str]], node: int) -> list[str]:
    """Return the ids of every group that a broker coordinates, those with members before Empty ones."""
    groups = [(listing, ids) for listing, ids in by_listing.items() if listing.coordinator == node]
    groups.sort(key=lambda item: item[0].state in (EMPTY, DEAD))
    return [group for _, ids in groups for group in ids]


def listed_without_members(listing: Listing) -> bool:
    """Whether the list alone says that a group has no members, so that the sweep need not describe it.

    A group that an old broker lists without its type is described anyway, because that reveals the type.
    """
    return listing.state == EMPTY and listing.type is not None


# -- the recorder ----------------------------------------------------------------------------------------------------

RECORD_INTERVAL = 10.0
"""Time between two polls of a recording, in seconds."""

RECORD_DESCRIBE_INTERVAL = 120.0
"""Time within which a recording describes every group again, in seconds."""

RECORD_MIN_TIMEOUT = 5.0
"""Time that a poll of a recording may take even where the interval is shorter, in seconds."""

RECORD_FIRST_LISTS = 15.0
"""Longest time that a recording waits for the first list of every broker, in seconds."""

RECORD_GROUP_BATCH = 400
"""Number of groups that a recording reads from one coordinator at once."""

RECORD_LOG_BATCH = 4_000
"""Number of partitions whose log bounds a recording reads at once."""

RECORD_GAPS = GapRule(at_least=5.0, intervals=3.0)
"""Which time between two polls of a recording is a gap."""

_SETTLED = frozenset({STABLE, EMPTY, None})
"""States in which the members do not change. None is included, because brokers before 2.6 do not list states."""


def groups_to_describe(
    listings: Mapping[str, Listing], described: Mapping[str, tuple[Listing, float]], now: float, interval: float
) -> set[str]:
    """Return the ids of the groups that a poll of a recording describes.

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
        spread = hash(group) % 64 / 64  # so that not all groups are due in the same poll
        if now - last[1] >= interval * (0.5 + 0.5 * spread):
            due.add(group)
    return due


# -- kgtui check and kgtui ls --watch ----------------------------------------------------------------------------------

CHECK_DURATION = 120.0
"""Time for which `kgtui check` reads the groups, in seconds."""

CHECK_INTERVAL = 5.0
"""Time between two reads of `kgtui check`, in seconds."""

CHECK_SHORTEST_INTERVAL = 0.05
"""Shortest interval that `kgtui check` accepts, in seconds."""

CHECK_GAPS = GapRule(at_least=60.0, intervals=4.0)
"""Which time between two reads of `kgtui check` is a gap, on a cluster and in a recording."""

CHECK_MIN_TIMEOUT = 10.0
"""Time that one read of `kgtui check` may take, in seconds, if the whole command may take as long."""

WATCH_INTERVAL = 2.0
"""Time between two lists of `kgtui ls --watch`, in seconds."""


def check_timeout(interval: float, timeout: float) -> float:
    """Return the seconds that one read of `kgtui check` may take.

    Args:
        interval: seconds between two reads.
        timeout: seconds that the user allows (`--timeout`).
    """
    return min(timeout, max(2 * interval, CHECK_MIN_TIMEOUT))

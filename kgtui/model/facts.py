"""Looks up members, lag, topics and other values of one group in a snapshot.

A snapshot has a summary of each group, which the sweep (a background read of all groups) stores. For groups that are
selected or visible on the screen, the snapshot also has the members and offsets that kgtui reads at every poll. If a
value was read both ways, most functions return the value that was read later. None means that the value was not read.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from kgtui.model import summary
from kgtui.model.access import hidden_fault, hidden_topics_fault
from kgtui.model.error_numbers import GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED
from kgtui.model.group import topics_of
from kgtui.model.offsets import LagTotal, lag_of_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.snapshot import Reading, Snapshot
    from kgtui.model.summary import Summary


class Need(Enum):
    """A kind of data that kgtui must read before it can apply a filter term or a sort key.

    The list of groups is not included, because kgtui always reads this list.
    """

    DESCRIPTION = "members"
    OFFSETS = "offsets"
    WATCHING = "health"


def current_description(snapshot: Snapshot, group: str) -> Reading[GroupDescription] | None:
    """Return the description of a group from `snapshot.details`, unless the summary of the group is newer.

    In that case, or if there is no description, the result is None. The summary has a few values that kgtui's
    background read of all groups has stored about the group.
    """
    reading, summary = snapshot.details.get(group), snapshot.summaries.get(group)
    return None if summary is not None and _is_newer(summary.at, reading) else reading


def current_offsets(snapshot: Snapshot, group: str) -> Reading[GroupOffsets] | None:
    """Return the offsets of a group from `snapshot.offsets`, unless the lag in the summary of the group is newer.

    In that case, or if there are no offsets, the result is None. The summary has a few values that kgtui's background
    read of all groups has stored about the group.
    """
    reading, summary = snapshot.offsets.get(group), snapshot.summaries.get(group)
    return None if summary is not None and _is_newer(summary.lag_at, reading) else reading


def _is_newer(at: float | None, reading: Reading[Any] | None) -> bool:
    return at is not None and reading is not None and at > reading.at


def member_count(snapshot: Snapshot, group: str) -> int | None:
    """Return the number of members; None if the members were not read, or if the broker withheld them."""
    reading = current_description(snapshot, group)
    if reading is not None:
        return reading.value.member_count
    summary = snapshot.summaries.get(group)
    return summary.members if summary is not None else None


def lag_total(snapshot: Snapshot, group: str) -> LagTotal | None:
    """Return the total lag of a group; None if the offsets were not read."""
    reading = current_offsets(snapshot, group)
    if reading is not None:
        return with_hidden(snapshot, group, lag_of_group(reading.value))
    summary = snapshot.summaries.get(group)
    if summary is None or summary.lag_at is None:
        return None
    hidden = summary.hidden or may_hide_topics(snapshot, group)
    return LagTotal(summary.lag, summary.lag_unknown, summary.partitions, hidden)


def with_hidden(snapshot: Snapshot, group: str, total: LagTotal) -> LagTotal:
    """Return `total`. If brokers may have hidden partitions of the group, the result is marked as a lower bound."""
    return replace(total, hidden=True) if not total.hidden and may_hide_topics(snapshot, group) else total


def may_hide_topics(snapshot: Snapshot, group: str) -> bool:
    """Return whether brokers may have left out offsets of a group, because the user lacks permissions.

    The result is True if the user lacks DESCRIBE on some topics now, or lacked it when the offsets were read.
    """
    if snapshot.hides_topics:
        listing = snapshot.groups.get(group)
        return listing is not None and listing.has_offsets
    if _read_incompletely(snapshot, group):
        return True
    summary, fault = snapshot.summaries.get(group), snapshot.group_faults.get(group)
    if summary is not None:
        fault = fault or summary.fault
    # If a member reads a topic on which the user lacks DESCRIBE, the broker reports TOPIC_AUTHORIZATION_FAILED instead
    # of the members.
    return fault is not None and fault.code == TOPIC_AUTHORIZATION_FAILED


def is_lag_incomplete(snapshot: Snapshot, group: str, summary: Summary) -> bool:
    """Return whether the lag in the summary of a group is not exact: unknown, old or only a lower bound.

    The summary has the values from the newest background read of the group. This function is fast, so that it can be
    called for all groups.
    """
    if summary.lag_at is None or summary.lag_unknown or summary.fault is not None:
        return True
    # `may_hide_topics` is slow, so it is called only for the few groups for which it could return True.
    ask = snapshot.hides_topics or summary.hidden or group in snapshot.offsets or group in snapshot.group_faults
    return ask and may_hide_topics(snapshot, group)


def _read_incompletely(snapshot: Snapshot, group: str) -> bool:
    """Return whether offsets may be missing in the newest read of a group, because brokers hide them from the user."""
    reading = current_offsets(snapshot, group)
    if reading is not None:
        return reading.value.hidden
    summary = snapshot.summaries.get(group)
    return summary is not None and summary.hidden


def has_no_offsets(snapshot: Snapshot, group: str) -> bool:
    """Return whether kgtui has read the offsets of a group, and found none.

    False for groups that cannot have offsets, such as Connect groups.
    """
    listing = snapshot.groups.get(group)
    if listing is None or not listing.has_offsets:
        return False
    reading, summary = current_offsets(snapshot, group), snapshot.summaries.get(group)
    if reading is not None:
        return not reading.value.partitions
    return summary is not None and summary.lag_at is not None and not summary.partitions


def may_hide_offsets(snapshot: Snapshot, group: str) -> bool:
    """Return whether a group has no visible offsets, but might have offsets in topics that are hidden from the user."""
    every = snapshot.access is not None and snapshot.access.sees_every_topic
    return (not every or may_hide_topics(snapshot, group)) and has_no_offsets(snapshot, group)


def hidden_offsets_fault(snapshot: Snapshot, group: str) -> Fault | None:
    """Return a fault if brokers hide offsets of a group from the user; otherwise None.

    A fault is also returned if no offsets are visible, and brokers might hide some. Brokers hide the offsets in topics
    on which the user lacks DESCRIBE.
    """
    reading = current_offsets(snapshot, group)
    if reading is not None and reading.value.hidden_topics:
        return hidden_topics_fault(group, reading.value.hidden_topics)
    incomplete = snapshot.hides_topics or _read_incompletely(snapshot, group)
    return hidden_fault(group, snapshot.access) if incomplete and has_no_offsets(snapshot, group) else None


def lag_read_at(snapshot: Snapshot, group: str) -> float | None:
    """Return when the offsets from which `lag_total` computes the lag were read, in epoch seconds; None if never."""
    reading, summary = current_offsets(snapshot, group), snapshot.summaries.get(group)
    return reading.at if reading is not None else summary.lag_at if summary is not None else None


def lag_is_outdated(snapshot: Snapshot, group: str) -> bool:
    """Return whether the lag comes from an earlier read, because the newest read of the offsets failed."""
    at, lag_at, fault = read_at(snapshot, group), lag_read_at(snapshot, group), snapshot.group_faults.get(group)
    if at is None or lag_at is None or not has_fault(snapshot, group):
        return False
    return lag_at < at or (fault is not None and fault.code == GROUP_AUTHORIZATION_FAILED)


def topics(snapshot: Snapshot, group: str) -> tuple[str, ...] | None:
    """Return the topics of a group, sorted: topics with a subscription, an owned partition or an offset.

    None if members or offsets were never read.
    """
    summary, listing = snapshot.summaries.get(group), snapshot.groups.get(group)
    swept = summary.topics if summary is not None else None
    reading, offsets = snapshot.details.get(group), snapshot.offsets.get(group)
    if reading is None and offsets is None:
        return swept
    subscribed = topics_of(reading.value) if reading is not None else None
    with_offset = {topic for topic, _ in offsets.value.partitions} if offsets is not None else None
    if with_offset is None and listing is not None and not listing.has_offsets:
        with_offset = set()
    if swept is None and (subscribed is None or with_offset is None):
        return None
    return tuple(sorted({*(swept or ()), *(subscribed or ()), *(with_offset or ())}))


def members_of(snapshot: Snapshot, group: str) -> tuple[Member, ...]:
    """Return the members in the newest description of a group; empty if they are not known."""
    reading = snapshot.details.get(group)
    return (None if reading is None else reading.value.members) or ()


def member_values_reader(key: str) -> Callable[[Snapshot, str], tuple[str, ...] | None]:
    """Return a function that takes a snapshot and a group id, and returns values of the members, such as client ids.

    The returned function returns None if the members were not read, or if the broker withheld them.

    Args:
        key: a key of `kgtui.model.summary.NAMES`, such as `client`.
    """
    names_of, from_index = summary.NAMES[key], summary.names_reader(key)

    def names(snapshot: Snapshot, group: str) -> tuple[str, ...] | None:
        reading = current_description(snapshot, group)
        if reading is not None:
            members = reading.value.members
            return None if members is None else tuple(names_of(members))
        summary = snapshot.summaries.get(group)
        return None if summary is None or summary.members is None else from_index(summary.member_index)

    return names


hosts = member_values_reader("host")
"""Function that takes a snapshot and a group id, and returns the sorted hosts of the members, such as `/10.0.0.7`."""


def type_of(snapshot: Snapshot, group: str) -> str | None:
    """Return the type of a group; None if it is unknown, or if the group is not listed.

    Old brokers do not list group types. The type then comes from the description or the summary of the group.
    """
    listing = snapshot.groups.get(group)
    if listing is None or listing.type is not None:
        return listing.type if listing is not None else None
    reading = snapshot.details.get(group)
    if reading is not None:
        return reading.value.type
    summary = snapshot.summaries.get(group)
    return summary.type if summary is not None else None


def read_at(snapshot: Snapshot, group: str) -> float | None:
    """Return when members or offsets of a group were last read, in epoch seconds; None if they were never read."""
    times: list[float] = []
    summary = snapshot.summaries.get(group)
    if summary is not None:
        times.append(max(summary.at, summary.lag_at or summary.at))
    details = snapshot.details.get(group)
    if details is not None:
        times.append(details.at)
    offsets = snapshot.offsets.get(group)
    if offsets is not None:
        times.append(offsets.at)
    return max(times, default=None)


def has_fault(snapshot: Snapshot, group: str) -> bool:
    """Return whether the newest read of a group failed, or the coordinator of the group does not respond."""
    if group in snapshot.group_faults:
        return True
    summary = snapshot.summaries.get(group)
    if summary is not None and summary.fault is not None:
        return True
    listing = snapshot.groups.get(group)
    broker = snapshot.brokers.get(listing.coordinator) if listing is not None else None
    return broker is not None and broker.fault is not None


def first_seen(snapshot: Snapshot, group: str) -> float | None:
    """Return when kgtui first read a group, in epoch seconds; None if not known.

    In a recording, this is the time of the first poll that contains the group. On a live cluster, it is the time of the
    first background read of the group.
    """
    from kgtui.model.trail import Trail

    if group in snapshot.recorded_times:
        return snapshot.recorded_times[group].first_seen
    summary = snapshot.summaries.get(group)
    at = Trail.decode(summary.trail).first_at if summary is not None and summary.trail else 0
    return float(at) if at else None


def last_progress(snapshot: Snapshot, group: str) -> float | None:
    """Return when a committed offset of a group last moved forward, in epoch seconds.

    None if kgtui has not observed this since it started. In the replay of a recording, kgtui searches the polls of the
    recording instead.
    """
    from kgtui.model.trail import Trail

    if group in snapshot.recorded_times:
        return snapshot.recorded_times[group].last_progress
    summary = snapshot.summaries.get(group)
    at = Trail.decode(summary.trail).progress_at if summary is not None and summary.trail else 0
    return float(at) if at else None


def lag_samples(snapshot: Snapshot, group: str) -> tuple[int, ...]:
    """Return the total lag of a group in each of its last few background reads, oldest first; may be empty."""
    from kgtui.model.encoded_trail import lag_samples

    summary = snapshot.summaries.get(group)
    return () if summary is None else tuple(lag_samples(summary.trail))


def lag_trend(snapshot: Snapshot, group: str) -> float | None:
    """Return the change of the lag over the last background reads, in records per second.

    The result is negative if the lag falls. It is None if there were fewer than two reads, if no lag is known, or if
    the number of partitions with unknown lag has changed.
    """
    from kgtui.model.encoded_trail import lag_trend

    summary = snapshot.summaries.get(group)
    return None if summary is None or summary.lag is None else lag_trend(summary.trail)


def lag_trend_and_span(snapshot: Snapshot, group: str) -> tuple[float, float] | None:
    """Return `(trend, seconds)`; None if the trend is not known.

    `trend` is the result of `lag_trend`. `seconds` is the time from the oldest to the newest background read from which
    the trend is computed.
    """
    from kgtui.model.encoded_trail import lag_trend_and_span

    summary = snapshot.summaries.get(group)
    return None if summary is None or summary.lag is None else lag_trend_and_span(summary.trail)


def time_lag(snapshot: Snapshot, group: str) -> tuple[float | None, bool] | None:
    """Return `(age, at_least)` of the oldest unread record of a group.

    `age` is in seconds. It is 0 if there is no unread record, and None if the age is not known.
    `at_least` is True if the record may be older than `age`. Instead of the pair, the result is
    None if the group has neither a health verdict nor a known lag.
    """
    health = snapshot.health.get(group)
    if health is not None:
        age = health.time_lag
        return (age.seconds if age else None), bool(age and age.at_least)
    summary = snapshot.summaries.get(group)
    if summary is None or summary.lag is None:
        return None
    if not summary.lag:
        return 0.0, bool(summary.lag_unknown or summary.hidden)
    from kgtui.model.trail import Trail

    return Trail.decode(summary.trail).time_lag(), True

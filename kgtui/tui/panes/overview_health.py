"""The fields of the Overview pane about the health and lag of a group, and about what its deletion would remove."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.access import NONE_VISIBLE, VISIBLE_ONLY
from kgtui.model.guard import why_not_delete
from kgtui.model.health.wording import age, duration, expiry, loss_when, missing
from kgtui.model.member_names import member_names
from kgtui.model.number_format import counted
from kgtui.model.offsets import lag_of_group, lags
from kgtui.model.problem import Problem
from kgtui.tui import text
from kgtui.tui.panes.base import missing_cells
from kgtui.tui.panes.cells import (
    ERROR,
    MUTED,
    OK,
    STALE,
    WARN,
    Cell,
    Field,
    none_cell,
    note,
    number_cell,
    one_line_field,
    unknown_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.health import GroupHealth
    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionLag
    from kgtui.model.series import Series
    from kgtui.model.snapshot import Snapshot

TREND_WINDOW = 60.0
"""Time over which the trend of the lag is computed, in seconds. It ends at the newest lag sample."""
STEADY = 0.05
"""The trend is shown as `steady` if the lag grows or shrinks by less than this many records per second."""
_DATE_SHOWN_AFTER = 43_200.0
"""A time is shown with its date if it is at least this many seconds before or after now."""
_MOST_MEMBERS_NAMED = 3
"""Maximum number of members that are named in the field `held up by`.

This field names members that delay the change to the target assignment, because they have not yet reached its epoch.
"""


def health_fields(
    snapshot: Snapshot, group: str, offset_summary: OffsetSummary | None, series: Series | None
) -> Iterator[Field]:
    """Yield the fields of the Health section whose values are known.

    Args:
        offset_summary: totals over the partitions of the group; None if the offsets have not been read.
        series: past lags of the group, from which the trend is computed; None if there are none.
    """
    health = snapshot.health.get(group)
    yield from _progress(snapshot, group)
    yield from _trend(snapshot, group, series)
    if health is not None:
        yield from _time_lag(health)
    yield from _lost(health, offset_summary)
    if health is not None:
        yield from _loss(health)
        yield from _rebalances(health)
        # During a rebalance, leave out the field `held up by`, because the field `who` at the top of the pane already
        # names the members that delay the rebalance.
        if snapshot.judgment(group).kind is not Problem.REBALANCING:
            yield from _held_up(snapshot, group, health)
        yield from _empty(snapshot, group, health)
        if health.undecided:
            yield one_line_field("not known", Cell("; ".join(missing(one) for one in health.undecided), MUTED))


def _progress(snapshot: Snapshot, group: str) -> Iterator[Field]:
    """Yield the field `progress`: when a committed offset last moved forward.

    On a live cluster, the field also says when kgtui first saw the group.
    """
    at, first = facts.last_progress(snapshot, group), facts.first_seen(snapshot, group)
    if first is None:
        return
    known = [Cell(time_text(at)), note(f"{text.ago(at)} ago")] if at is not None else [Cell("none observed", MUTED)]
    since = [] if snapshot.events_since is None else [note(f"first seen {time_text(first)}")]
    yield one_line_field("progress", *known, *since)


def _trend(snapshot: Snapshot, group: str, series: Series | None) -> Iterator[Field]:
    """Yield the field `trend`: how fast the lag rises or falls and, if the lag falls, when it will reach 0."""
    rate, span, gone, health = None, 0.0, None, snapshot.health.get(group)
    if health is not None and health.trend is not None:
        rate, span, gone = health.trend, health.trend_seconds, health.drain
    elif series is not None:
        rate = series.lag_trend(TREND_WINDOW)
        if rate is not None:
            span = min(TREND_WINDOW, series.times[-1] - series.times[0])
            known_lags = [lag for lag in series.lag if not math.isnan(lag)]
            gone = known_lags[-1] / -rate if rate < 0 < known_lags[-1] else None
    swept = facts.lag_trend_and_span(snapshot, group) if rate is None else None
    if swept is not None:
        rate, span = swept
        lag = snapshot.summaries[group].lag or 0
        gone = lag / -rate if rate < 0 < lag else None
    if rate is None:
        return
    over = note(f"over the last {duration(span)}")
    if abs(rate) < STEADY:
        yield one_line_field("trend", Cell("steady"), over)
        return
    cells = [Cell(_rate_text(rate), WARN if rate > 0 else OK), over]
    if gone:
        cells.append(note(f"caught up in about {duration(gone)}, {time_text(text.display_settings().now() + gone)}"))
    yield one_line_field("trend", *cells)


def time_text(at: float, *, seconds: bool = False) -> str:
    """Format a time as `01:29` or, with seconds, as `01:29:04`.

    If the time is at least 12 hours before or after now, add its date.
    """
    near = abs(at - text.display_settings().now()) < _DATE_SHOWN_AFTER
    if seconds:
        return text.clock(at) if near else text.date_seconds(at)
    return text.clock_minutes(at) if near else text.date_minutes(at)


def _rate_text(rate: float) -> str:
    """Format the change of the lag in records per second, as `lag +20/s` or `lag −264/s`."""
    minus = "-" if text.display_settings().ascii else "−"
    return f"lag {'+' if rate > 0 else minus}{abs(rate):,.1f}".removesuffix(".0") + "/s"


def _time_lag(health: GroupHealth) -> Iterator[Field]:
    found = health.time_lag
    if found is None:
        return
    if not found.seconds and not found.at_least:
        yield one_line_field("time lag", Cell("0 s"), note("no unread records"))
        return
    first = (Cell(age(found, text.marks().at_least)), note("age of the oldest unread record"))
    if not (found.at_least and found.reason):
        yield Field("time lag", (first,))
        return
    yield Field("time lag", (first, (Cell(f"exact age not known: {found.reason}", MUTED),)))


def _lost(health: GroupHealth | None, offset_summary: OffsetSummary | None) -> Iterator[Field]:
    if offset_summary is not None:
        if offset_summary.lost:
            where = note(f"expired before being read, in {counted(offset_summary.lost_in, 'partition')}")
            yield one_line_field("lost", Cell(counted(offset_summary.lost, "record"), ERROR), where)
    elif health is not None and health.lost:
        yield one_line_field("lost", Cell(counted(health.lost, "record"), ERROR), note("expired before being read"))


def _loss(health: GroupHealth) -> Iterator[Field]:
    loss = health.loss
    if loss is None and health.expiry_reason:
        yield one_line_field("data loss", unknown_cell(), note(health.expiry_reason))
    if loss is None or loss.seconds > loss.NEAR:
        return
    role = ERROR if loss.seconds <= loss.SOON and loss.basis != "size" else WARN
    when = loss_when(loss, time_text)
    possible = "" if when.startswith("in ") else "possible "
    cells = [Cell(f"{possible}{when}", role), note(f"unread records in {loss.topic}-{loss.partition}", "")]
    if loss.basis == "size":
        cells.append(note("because retention.bytes is set"))
    if loss.lead is not None:
        ahead = f"the group is {counted(loss.lead, 'record')} ahead of the log start"
        cells.append(note(ahead if loss.lead else "the first unread record expires next"))
    yield one_line_field("data loss", *cells)


def _rebalances(health: GroupHealth) -> Iterator[Field]:
    found = health.rebalances
    if found is None or not found.rebalances:
        return
    # Each rebalance increases the group's epoch, so kgtui counts the increases. If the broker reports no epoch, kgtui
    # can miss a rebalance between two reads of the group, so show the number of rebalances as a minimum.
    least = text.marks().at_least if found.epoch_steps is None else ""
    cells = [
        Cell(f"{least}{text.exact(found.rebalances)} in {duration(found.seconds)}", WARN if found.flapping else "")
    ]
    if found.flapping and found.per_hour is not None:
        cells.append(note(f"the group is flapping: {found.per_hour:,.0f} rebalances per hour", WARN))
    yield one_line_field("rebalances", *cells)


def _held_up(snapshot: Snapshot, group: str, health: GroupHealth) -> Iterator[Field]:
    if not health.holding_up:
        return
    names = member_names(facts.members_of(snapshot, group))
    cells: list[Cell] = []
    for member, behind in list(health.holding_up.items())[:_MOST_MEMBERS_NAMED]:
        distance = "has left" if behind is None else f"{counted(behind, 'epoch')} behind"
        cells += [Cell(names.get(member, member), WARN), Cell(f" {distance}  ", MUTED)]
    more = len(health.holding_up) - _MOST_MEMBERS_NAMED
    if more > 0:
        cells.append(Cell(f"and {text.exact(more)} more", MUTED))
    yield one_line_field("held up by", *cells)


def _empty(snapshot: Snapshot, group: str, health: GroupHealth) -> Iterator[Field]:
    """Yield the field `Empty for`: how long the group has been in state Empty, and when its offsets can expire.

    The field is left out if there is no expiry to show, and the field `state` already shows how long the group has been
    Empty.
    """
    spell = health.empty
    if spell is None or (group in snapshot.state_since and spell.expires_in is None):
        return
    least = text.marks().at_least if spell.at_least else ""
    cells = [Cell(f"{least}{duration(spell.seconds)}")]
    if spell.expires_in is not None:
        soon = spell.expires_in <= spell.SOON
        cells.append(note(expiry(spell, time_text, health.read_at), WARN if soon else MUTED))
    yield one_line_field("Empty for", *cells)


@dataclass(frozen=True, slots=True)
class OffsetSummary:
    """Totals over all partitions of a group.

    Attributes:
        total: total lag, in records.
        partitions: number of partitions in which the group has an offset, or that have an owner.
        topics: number of topics to which these partitions belong.
        worst: the partition with the largest lag; None if all known lags are 0.
        lost: number of records that expired before the group read them.
        lost_in: number of partitions with lost records.
        committed: number of partitions with a committed offset or, in a share group, with a start offset.
        committed_topics: number of topics to which the partitions in `committed` belong.
        share: whether the group is a share group, which has start offsets instead of committed offsets.
    """

    total: LagTotal
    partitions: int
    topics: int
    worst: PartitionLag | None
    lost: int
    lost_in: int
    committed: int
    committed_topics: int
    share: bool


def summarize_offsets(offsets: GroupOffsets) -> OffsetSummary:
    """Return the totals of a group's offsets and lags over all of its partitions."""
    rows = lags(offsets)
    committed = [row for row in rows if row.position is not None]
    lost = [row.lost for row in rows if row.lost]
    return OffsetSummary(
        total=lag_of_group(offsets),
        partitions=len(rows),
        topics=len({row.topic for row in rows}),
        worst=max((row for row in rows if row.lag), key=lambda row: row.lag or 0, default=None),
        lost=sum(lost),
        lost_in=len(lost),
        committed=len(committed),
        committed_topics=len({row.topic for row in committed}),
        share=bool(offsets.share),
    )


def lag_fields(snapshot: Snapshot, group: str, offset_summary: OffsetSummary | None) -> Iterator[Field]:
    """Yield the fields of the Lag section: total lag, partitions, and the partition with the largest lag."""
    summed = offset_summary.total if offset_summary is not None else facts.lag_total(snapshot, group)
    if summed is None:
        yield one_line_field("total", *missing_cells(snapshot, group))
        return
    summed = facts.with_hidden(snapshot, group, summed)
    cells = [Cell(text.lag(summed.lag, summed.lower_bound))]
    if summed.lag is not None and summed.lag >= 1000:
        cells.append(note(counted(summed.lag, "record")))
    at = facts.lag_read_at(snapshot, group)
    if at is not None and facts.lag_is_outdated(snapshot, group):
        cells.append(note(f"as of {text.clock(at)} ({text.ago(at)} ago)", STALE))
    if summed.unknown:
        cells.append(note(f"the lag of {counted(summed.unknown, 'partition')} is unknown", WARN))
    if facts.may_hide_offsets(snapshot, group):
        cells.append(note(NONE_VISIBLE))
    elif summed.hidden:
        cells.append(note(VISIBLE_ONLY))
    yield one_line_field("total", *cells)
    count = _count(summed.partitions, lower_bound=summed.hidden)
    if offset_summary is None:
        yield one_line_field("partitions", count)
        return
    yield one_line_field("partitions", count, note(f"of {counted(offset_summary.topics, 'topic')}"))
    worst = offset_summary.worst
    if worst is not None:
        yield one_line_field("largest lag", Cell(f"{worst.topic}-{worst.partition}"), note(text.exact(worst.lag)))


def _count(value: int, *, lower_bound: bool) -> Cell:
    return Cell(f"{text.marks().at_least}{text.exact(value)}") if lower_bound else number_cell(value)


def loss_fields(snapshot: Snapshot, group: str, offset_summary: OffsetSummary | None) -> Iterator[Field]:
    """Yield the fields of the section `If deleted`: what a deletion of the group would remove.

    The fields are `offsets` (the offsets that would be deleted), `unread` (the total lag) and, if kgtui refuses to
    delete the group now, `delete` (the reason).
    """
    if offset_summary is None:
        yield one_line_field("offsets", *missing_cells(snapshot, group))
    elif offset_summary.committed:
        what = "start offsets" if offset_summary.share else "committed offsets"
        where = note(f"{what} in {counted(offset_summary.committed_topics, 'topic')}")
        summed = facts.with_hidden(snapshot, group, offset_summary.total)
        yield one_line_field("offsets", _count(offset_summary.committed, lower_bound=summed.hidden), where)
        if summed.lag is not None:
            yield one_line_field("unread", Cell(f"{text.lag(summed.lag, summed.lower_bound)} records"))
    else:
        what = NONE_VISIBLE if facts.may_hide_offsets(snapshot, group) else "no committed offsets"
        yield one_line_field("offsets", none_cell(), note(what))
    reading = snapshot.details.get(group)
    refusal = why_not_delete(group, reading.value) if reading is not None else None
    if refusal is not None:
        yield one_line_field("delete", Cell(f"not possible now: {refusal}", MUTED))

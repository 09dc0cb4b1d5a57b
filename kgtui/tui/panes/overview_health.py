"""What the Overview says of a group's health: the verdict, what it rests on, and what is to be expected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.group_types import REBALANCING
from kgtui.model.health.wording import duration, expiry, loss_in, missing, reason
from kgtui.model.offsets import lags, total
from kgtui.model.verdict import Status
from kgtui.tui import text
from kgtui.tui.panes.base import missing_cells
from kgtui.tui.panes.cells import (
    ERROR,
    MUTED,
    OK,
    WARN,
    Cell,
    Field,
    none_cell,
    number_cell,
    one_line_field,
    plural,
    unknown_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.health import GroupHealth
    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionLag
    from kgtui.model.series import Series
    from kgtui.model.snapshot import Snapshot

TREND_WINDOW = 60.0
"""Seconds over which the trend of the lag is taken until the watch tells it."""
STEADY = 0.05
"""Records a second that are no trend."""
_WITH_DATE = 43_200.0  # seconds from now from which a time is shown with its date
_STALE = 60.0  # seconds without a read after which a verdict says of when it is
_VERDICTS = {Status.STOP: "STOPPED", Status.STALL: "STALLED", Status.REWIND: "REWOUND"}
_NAMED = 3  # members that are named


def health_fields(
    snapshot: Snapshot, group: str, standing: OffsetSummary | None, series: Series | None
) -> Iterator[Field]:
    """Each fact only where it is known; what the watch cannot decide yet comes last.

    Args:
        snapshot: what is known.
        group: its id.
        standing: its offsets summed up; None if they were not read.
        series: its lag over time; None if it was not looked at.
    """
    health = snapshot.health.get(group)
    yield _verdict(snapshot, group, health)
    yield from _trend(health, series)
    if health is not None:
        yield from _time_lag(health)
    yield from _lost(health, standing)
    if health is not None:
        yield from _loss(health)
        yield from _rebalances(health)
        yield from _held_up(health)
        yield from _empty(snapshot, group, health)
        if health.undecided:
            yield one_line_field("not sure yet", Cell("; ".join(missing(one) for one in health.undecided), MUTED))


def _verdict(snapshot: Snapshot, group: str, health: GroupHealth | None) -> Field:
    if health is None:
        return one_line_field("verdict", unknown_cell(), Cell("  not watched for long enough yet", MUTED))
    marks = text.marks()
    mark, role = {Status.ERR: (marks.error, ERROR), Status.WARN: (marks.warn, WARN)}.get(
        health.status, (marks.stable, OK)
    )
    cells = [Cell(f"{mark} {_VERDICTS.get(health.kind, health.status.name)}", role)]
    cells.append(Cell(f"  observed for {duration(health.seconds)}", MUTED))
    age = snapshot.taken_at - (health.read_at or 0.0)
    if age > _STALE:
        cells.append(Cell(f"  as of {duration(age)} ago", WARN))
    why = reason(health, facts.type_of(snapshot, group))
    return Field("verdict", (tuple(cells), (Cell(why),)) if why else (tuple(cells),))


def _trend(health: GroupHealth | None, series: Series | None) -> Iterator[Field]:
    """How the lag changes, and when it will be gone at that rate."""
    rate, span, gone = None, 0.0, None
    if health is not None and health.trend is not None:
        rate, span, gone = health.trend, health.trend_seconds, health.drain
    elif series is not None:
        rate = series.lag_trend(TREND_WINDOW)
        if rate is not None:
            span = min(TREND_WINDOW, series.times[-1] - series.times[0])
            known = [lag for lag in series.lag if not math.isnan(lag)]
            gone = known[-1] / -rate if rate < 0 < known[-1] else None
    if rate is None:
        return
    over = Cell(f"  over the last {duration(span)}", MUTED)
    if abs(rate) < STEADY:
        yield one_line_field("trend", Cell("steady"), over)
        return
    cells = [Cell(_rate_text(rate), WARN if rate > 0 else OK), over]
    if gone:
        cells.append(Cell(f"  caught up in about {duration(gone)}, {_local_time(gone)}", MUTED))
    yield one_line_field("trend", *cells)


def _local_time(seconds: float) -> str:
    """Write the time that is so many seconds from now: `01:29`, or with its date if it is half a day away or more."""
    at = text.display_settings().now() + seconds
    return text.clock(at)[:5] if seconds < _WITH_DATE else text.date(at)[:16]


def _rate_text(rate: float) -> str:
    """Write a rate of change as `lag +20/s` or `lag −264/s`."""
    minus = "-" if text.display_settings().ascii else "−"
    return f"lag {'+' if rate > 0 else minus}{abs(rate):,.1f}".removesuffix(".0") + "/s"


def _time_lag(health: GroupHealth) -> Iterator[Field]:
    age = health.time_lag
    if age is None:
        return
    if not age.seconds and not age.at_least:
        yield one_line_field("time lag", Cell("0 s"), Cell("  no unread records", MUTED))
        return
    least = text.marks().at_least if age.at_least else ""
    yield one_line_field(
        "time lag", Cell(f"{least}{duration(age.seconds)}"), Cell("  age of the oldest unread record", MUTED)
    )


def _lost(health: GroupHealth | None, standing: OffsetSummary | None) -> Iterator[Field]:
    if standing is not None:
        if standing.lost:
            where = Cell(f"  expired unread in {plural(standing.lost_in, 'partition')}", MUTED)
            yield one_line_field("lost", Cell(f"{text.exact(standing.lost)} records", ERROR), where)
    elif health is not None and health.lost:
        yield one_line_field("lost", Cell(f"{text.exact(health.lost)} records", ERROR), Cell("  expired unread", MUTED))


def _loss(health: GroupHealth) -> Iterator[Field]:
    loss = health.loss
    if loss is None or loss.seconds > loss.NEAR:
        return
    role = ERROR if loss.seconds <= loss.SOON else WARN
    cells = [Cell(f"in {loss_in(loss)}", role), Cell(f"  unread in {loss.topic}-{loss.partition}")]
    if loss.lead is not None:
        cells.append(Cell(f"  {plural(loss.lead, 'record')} ahead of the log start", MUTED))
    yield one_line_field("data loss", *cells)


def _rebalances(health: GroupHealth) -> Iterator[Field]:
    found = health.rebalances
    if found is None or not found.rebalances:
        return
    cells = [Cell(f"{text.exact(found.rebalances)} in {duration(found.seconds)}", WARN if found.flapping else "")]
    if found.flapping and found.per_hour is not None:
        cells.append(Cell(f"  flapping: {found.per_hour:,.0f} an hour", WARN))
    yield one_line_field("rebalances", *cells)


def _held_up(health: GroupHealth) -> Iterator[Field]:
    if not health.holding_up:
        return
    cells: list[Cell] = []
    for member, behind in list(health.holding_up.items())[:_NAMED]:
        said = "has left" if behind is None else f"{plural(behind, 'epoch')} behind"
        cells += [Cell(member, WARN), Cell(f" {said}  ", MUTED)]
    more = len(health.holding_up) - _NAMED
    if more > 0:
        cells.append(Cell(f"and {text.exact(more)} more", MUTED))
    yield one_line_field("held up by", *cells)


def _empty(snapshot: Snapshot, group: str, health: GroupHealth) -> Iterator[Field]:
    """Where the state does not tell it already; and when the broker may drop the offsets."""
    spell = health.empty
    if spell is None or (group in snapshot.state_since and spell.expires_in is None):
        return
    least = text.marks().at_least if spell.at_least else ""
    cells = [Cell(f"{least}{duration(spell.seconds)}")]
    if spell.expires_in is not None:
        soon = spell.expires_in <= spell.SOON
        cells.append(Cell(f"  {expiry(spell)}", WARN if soon else MUTED))
    yield one_line_field("Empty for", *cells)


@dataclass(frozen=True, slots=True)
class OffsetSummary:
    """Where a group stands in all its partitions together.

    Attributes:
        total: summed lag.
        partitions: partitions with an offset, or of which it is known that there is none.
        topics: their topics.
        worst: the partition with the largest lag above 0, or None.
        lost: records that expired unread, in `lost_in` partitions.
        committed: partitions with a committed offset, in `committed_topics` topics.
        share: whether the positions are share-partition start offsets.
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
    """Sum up a group's offsets."""
    rows = lags(offsets)
    committed = [row for row in rows if row.position is not None]
    lost = [row.lost for row in rows if row.lost]
    return OffsetSummary(
        total=total(rows),
        partitions=len(rows),
        topics=len({row.topic for row in rows}),
        worst=max((row for row in rows if row.lag), key=lambda row: row.lag or 0, default=None),
        lost=sum(lost),
        lost_in=len(lost),
        committed=len(committed),
        committed_topics=len({row.topic for row in committed}),
        share=bool(offsets.share),
    )


def lag_fields(snapshot: Snapshot, group: str, standing: OffsetSummary | None) -> Iterator[Field]:
    """Lag, partitions and the worst one."""
    summed = standing.total if standing is not None else facts.lag_total(snapshot, group)
    if summed is None:
        yield one_line_field("total", *missing_cells(snapshot, group))
        return
    cells = [Cell(text.lag(summed.lag, summed.unknown))]
    if summed.lag is not None and summed.lag >= 1000:
        cells.append(Cell(f"  {text.exact(summed.lag)} records", MUTED))
    if summed.unknown:
        cells.append(Cell(f"  {plural(summed.unknown, 'partition')} unknown", WARN))
    yield one_line_field("total", *cells)
    if standing is None:
        yield one_line_field("partitions", number_cell(summed.partitions))
        return
    yield one_line_field(
        "partitions", number_cell(standing.partitions), Cell(f"  of {plural(standing.topics, 'topic')}", MUTED)
    )
    worst = standing.worst
    if worst is not None:
        yield one_line_field(
            "worst", Cell(f"{worst.topic}-{worst.partition}"), Cell(f"  {text.exact(worst.lag)}", MUTED)
        )


def loss_fields(snapshot: Snapshot, group: str, standing: OffsetSummary | None) -> Iterator[Field]:
    """What the group would lose if it were deleted."""
    if standing is None:
        yield one_line_field("offsets", *missing_cells(snapshot, group))
    elif standing.committed:
        what = "start offsets" if standing.share else "committed offsets"
        where = Cell(f"  {what} in {plural(standing.committed_topics, 'topic')}", MUTED)
        yield one_line_field("offsets", number_cell(standing.committed), where)
        if standing.total.lag is not None:
            yield one_line_field("unread", Cell(f"{text.lag(standing.total.lag, standing.total.unknown)} records"))
    else:
        yield one_line_field("offsets", none_cell(), Cell("  nothing is committed", MUTED))
    reading = snapshot.details.get(group)
    if snapshot.state_of(group) in REBALANCING or (reading is not None and reading.value.members):
        yield one_line_field("now", Cell("refused by the broker while it has members", MUTED))

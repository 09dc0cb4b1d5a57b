"""The row of a partition in the Offsets pane, with bars for its lag and its lead.

The lead is the number of records between the log start and the committed offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.tui import text
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, WARN, Cell
from kgtui.tui.panes.columns import Column
from kgtui.tui.sparkline import bar

if TYPE_CHECKING:
    from kgtui.model.offsets import LagTotal, PartitionLag, TopicPartition

LAG_BAR, LEAD_BAR = 6, 8
"""Widths of the bars for lag and lead (committed offset minus log start), in terminal cells."""

_LOW_LEAD = 0.1
"""The bar of the lead has a warning color if the lead is below this fraction of all records in the log.

The lead is the number of records between the log start and the committed offset.
"""


class OffsetRow(NamedTuple):
    """One row of the Offsets pane: a partition, or a topic with the total lag of its partitions.

    Attributes:
        partition: number of the partition; −1 in the row of a topic.
        lag: offsets and lag of the partition; None in the row of a topic.
        owner: name of the member that owns the partition, or a text such as `3 members` if there are several owners;
            None if there is no owner.
        member_id: member ids of the owners, separated by commas; None if there is no owner.
        topic_total: total lag of the topic; None in the row of a partition.
        lost: number of records that expired before the group read them.
        share: whether the group is a share group.
        scale: the lag for which the lag bar has its full width; the same value in the rows of all partitions.
    """

    topic: str
    partition: int
    lag: PartitionLag | None = None
    owner: str | None = None
    member_id: str | None = None
    topic_total: LagTotal | None = None
    lost: int = 0
    share: bool = False
    scale: float = 0.0

    @property
    def key(self) -> TopicPartition:
        """Key of the row: topic and partition. After a refresh, the cursor stays on the row with the same key."""
        return self.topic, self.partition


def bar_columns() -> tuple[Column[OffsetRow], Column[OffsetRow]]:
    """Return the columns with the bars for lag and lead (committed offset minus log start)."""
    return (
        Column("lag-bar", "BAR", lambda _row: " " * LAG_BAR, _lag_bar, rank=3, min_width=LAG_BAR, max_width=LAG_BAR,
               full=_full_lag_bar),
        Column("lead-bar", "LEAD BAR", lambda _row: " " * LEAD_BAR, _lead_bar, rank=3, min_width=LEAD_BAR,
               max_width=LEAD_BAR, full=_full_lead_bar),
    )  # fmt: skip


def _lag_bar(row: OffsetRow) -> Cell:
    return Cell("" if row.lag is None else bar(row.lag.lag or 0, row.scale, LAG_BAR), ACCENT)


def _full_lag_bar(row: OffsetRow) -> Cell:
    return Cell(f"a full bar is a lag of {text.exact(round(row.scale))}" if row.scale else "", MUTED)


def lead_fraction(row: OffsetRow) -> float | None:
    """Return the position of the committed offset in the log as a fraction: 0 is the log start, and 1 is the log end.

    Return None if the committed offset, the log start or the log end is unknown, or if the log is empty.
    """
    one = row.lag
    if one is None or one.lead is None or one.log_start is None or one.log_end is None or one.log_end <= one.log_start:
        return None
    return min(one.lead / (one.log_end - one.log_start), 1.0)


def _lead_bar(row: OffsetRow) -> Cell:
    fraction = lead_fraction(row)
    if fraction is None:
        return Cell("")
    dot = text.marks().dot
    if row.lost:
        return Cell((text.marks().error + dot * LEAD_BAR)[:LEAD_BAR], ERROR)
    return Cell((bar(fraction, 1.0, LEAD_BAR) + dot * LEAD_BAR)[:LEAD_BAR], WARN if fraction < _LOW_LEAD else MUTED)


def _full_lead_bar(row: OffsetRow) -> Cell:
    fraction = lead_fraction(row)
    if fraction is None or row.lag is None:
        return Cell("")
    if row.lost:
        return Cell("the position is before the log start: unread records have expired", ERROR)
    whole = (row.lag.log_end or 0) - (row.lag.log_start or 0)
    part = text.percent_of(row.lag.lead or 0, whole)
    return Cell(f"retention can delete {part} of the log before unread records expire")

"""What the Overview says of a group's offsets: lag, and what a delete would lose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.explanation import faults_of
from kgtui.model.group_types import REBALANCING
from kgtui.model.offsets import lags, total
from kgtui.tui import text
from kgtui.tui.panes.cells import ERROR, MUTED, WARN, Cell, Field, field, none, number, some, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionLag
    from kgtui.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a group stands in all its partitions together.

    Attributes:
        total: summed lag.
        partitions: partitions with an offset, or of which it is known that there is none.
        topics: their topics.
        worst: the partition with the largest lag above 0, or None.
        lost: records that expired unread, in `lost_in` partitions.
        positions: sum of the `committed` positions, in `committed_topics` topics.
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
    positions: int
    share: bool


def standing_of(offsets: GroupOffsets) -> Standing:
    """Sum up a group's offsets."""
    rows = lags(offsets)
    committed = [row for row in rows if row.position is not None]
    lost = [row.lost for row in rows if row.lost]
    return Standing(
        total=total(rows),
        partitions=len(rows),
        topics=len({row.topic for row in rows}),
        worst=max((row for row in rows if row.lag), key=lambda row: row.lag or 0, default=None),
        lost=sum(lost),
        lost_in=len(lost),
        committed=len(committed),
        committed_topics=len({row.topic for row in committed}),
        positions=sum(row.position or 0 for row in committed),
        share=bool(offsets.share),
    )


def lag_fields(snapshot: Snapshot, group: str, standing: Standing | None) -> Iterator[Field]:
    """Lag, partitions and the worst one."""
    summed = standing.total if standing is not None else facts.lag_total(snapshot, group)
    if summed is None:
        yield field("total", *missing(snapshot, group))
        return
    cells = [Cell(text.lag(summed.lag, summed.unknown))]
    if summed.lag is not None and summed.lag >= 1000:
        cells.append(Cell(f"  {text.exact(summed.lag)} records", MUTED))
    if summed.unknown:
        cells.append(Cell(f"  {some(summed.unknown, 'partition')} unknown", WARN))
    yield field("total", *cells)
    if standing is None:
        yield field("partitions", number(summed.partitions))
        return
    yield field("partitions", number(standing.partitions), Cell(f"  of {some(standing.topics, 'topic')}", MUTED))
    worst = standing.worst
    if worst is not None:
        yield field("worst", Cell(f"{worst.topic}-{worst.partition}"), Cell(f"  {text.exact(worst.lag)}", MUTED))


def missing(snapshot: Snapshot, group: str) -> tuple[Cell, ...]:
    """Why something is not there: forbidden, failed, or not read yet."""
    found = faults_of(snapshot, group)
    if any(fault.name.endswith("AUTHORIZATION_FAILED") for fault in found):
        return Cell(text.marks().forbidden, ERROR), Cell("  forbidden", ERROR)
    return unknown(), Cell("  could not be read" if found else "  not read yet", MUTED)


def loss_fields(snapshot: Snapshot, group: str, standing: Standing | None) -> Iterator[Field]:
    """What the group would lose if it were deleted."""
    if standing is None:
        yield field("offsets", *missing(snapshot, group))
    elif standing.committed:
        what = "start offsets" if standing.share else "committed offsets"
        where = Cell(f"  {what} in {some(standing.committed_topics, 'topic')}", MUTED)
        yield field("offsets", number(standing.committed), where)
        yield field("positions", number(standing.positions), Cell("  summed", MUTED))
    else:
        yield field("offsets", none(), Cell("  nothing is committed", MUTED))
    reading = snapshot.details.get(group)
    if snapshot.state_of(group) in REBALANCING or (reading is not None and reading.value.members):
        yield field("now", Cell("refused by the broker while it has members", MUTED))

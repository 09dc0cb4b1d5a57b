"""The row of a member in the Members pane. Bars show its number of partitions, its lag, and its read rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.assignment import is_idle
from kgtui.model.fields import member_fields
from kgtui.model.member_names import owners_by_partition
from kgtui.model.offsets import lags
from kgtui.tui import text
from kgtui.tui.panes.assignment_rows import holds_up_text
from kgtui.tui.panes.cells import ACCENT, MUTED, WARN, Cell, number_cell, unknown_cell
from kgtui.tui.panes.columns import Column
from kgtui.tui.sparkline import bar, scale_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kgtui.model.assignment import Blocker
    from kgtui.model.group import GroupDescription
    from kgtui.model.health import GroupHealth
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets, TopicPartition

BAR_WIDTH = 5
"""Width of a full bar in terminal cells. The number to the left of the bar is not included."""

LOAD_WIDTH = 11
"""Width of a column that contains a number and a bar in each row, in terminal cells."""

_HOT = 2.0
"""A member's load is highlighted if it is more than this many times the average load of all members."""


class RelativeLoad(NamedTuple):
    """One measure of a member's load, such as its lag, compared with the load of all members.

    Attributes:
        value: number of partitions, lag in records, or records per second; None if unknown.
        scale: value for which a bar in the table has its full width.
        hot: whether the value is highlighted, because it is more than `_HOT` times the average of all members.
    """

    value: float | None = None
    scale: float = 0.0
    hot: bool = False

    def cell(self) -> Cell:
        if self.value is None:
            return unknown_cell()
        if not self.value:
            return Cell(f"{0:>5}", MUTED)
        number = f"{self.value:.1f}" if self.value < 10 and self.value % 1 else text.short(round(self.value))
        return Cell(f"{number:>5} {bar(self.value, self.scale, BAR_WIDTH)}", WARN if self.hot else ACCENT)


class MemberLoad(NamedTuple):
    """The load of one member.

    `lag` and `rate` do not include partitions that several members own, as in share groups.

    Attributes:
        assigned: number of assigned partitions or tasks.
        lag: total lag of the member's partitions, in records.
        rate: records that the member reads per second.
    """

    assigned: RelativeLoad = RelativeLoad()
    lag: RelativeLoad = RelativeLoad()
    rate: RelativeLoad = RelativeLoad()


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One row of the Members pane: a member, or a Kafka Streams process above the rows of its members.

    Attributes:
        member: the member; in the row of a process, its first member.
        target_epoch: epoch of the target assignment or, if it is unknown, epoch of the group; None if both are unknown.
        group_type: type of the group. If the member uses a different protocol, the protocol is highlighted.
        threads: all members of the process, because each thread is a member; empty in the row of a member.
        load: number of partitions, lag and read rate of the member; None in the row of a process.
        holds_up: why the member delays the change to the target assignment; empty if it causes no delay.
        name: short name that is unique in the group, such as the client id of the member.
    """

    member: Member
    target_epoch: int | None
    group_type: str
    threads: tuple[Member, ...] = ()
    load: MemberLoad | None = None
    holds_up: str = ""
    name: str = ""

    @property
    def key(self) -> tuple[str, bool]:
        """Key of the row: (process id, True) for a process, and (member id, False) for a member.

        After a refresh, the cursor stays on the row with the same key.
        """
        process = self.member.streams.process if self.threads and self.member.streams else None
        return (self.member.member_id, False) if process is None else (process, True)


def member_loads(
    description: GroupDescription, offsets: GroupOffsets | None, health: GroupHealth | None
) -> dict[str, MemberLoad]:
    """Return a dict: member id → load, for all members of a group.

    Args:
        offsets: offsets of the group, from which lags are computed. If None (not read), all lags are unknown.
        health: health of the group, which contains the read rates. If None, all rates are unknown.
    """
    members = description.members or ()
    owners = owners_by_partition(description)
    lag_of = {} if offsets is None else {(row.topic, row.partition): row.lag for row in lags(offsets)}
    rate_of = {} if health is None else {key: found.rate for key, found in health.partitions.items()}
    owned: dict[str, list[TopicPartition]] = {member.member_id: [] for member in members}
    idle = {member.member_id for member in members if member.assigned_count == 0}
    for partition, found in owners.items():
        if len(found) == 1:
            owned[found[0].member_id].append(partition)
    assigned = _compared({member.member_id: member.assigned_count for member in members})
    lag = _compared({name: _sum(partitions, lag_of, name in idle) for name, partitions in owned.items()})
    rate = _compared({name: _sum(partitions, rate_of, name in idle) for name, partitions in owned.items()})
    return {name: MemberLoad(assigned[name], lag[name], rate[name]) for name in owned}


def _sum(partitions: list[TopicPartition], values: Mapping[TopicPartition, float | None], idle: bool) -> float | None:
    """Return the sum of the known values of a member's partitions, such as their lags; None if no value is known.

    The sum is 0 for an idle member, which has no partitions. But if `values` is empty, because nothing was read, return
    None for an idle member, too.
    """
    known = [value for value in map(values.get, partitions) if value is not None]
    return sum(known) if known or (idle and values) else None


def _compared(values: Mapping[str, float | None]) -> dict[str, RelativeLoad]:
    known = [value for value in values.values() if value is not None]
    scale = scale_of(max(known, default=0.0))
    limit = _HOT * sum(known) / len(known) if len(known) > 1 else scale
    return {name: RelativeLoad(value, scale, value is not None and value > limit) for name, value in values.items()}


def load_columns(rows: Sequence[MemberRow]) -> list[Column[MemberRow]]:
    """Return the columns for the lag and the read rate of members. Leave out a column without any known value."""
    columns: list[Column[MemberRow]] = []
    if any(row.load is not None and row.load.lag.value is not None for row in rows):
        columns.append(_load_column("lag", "  LAG", lambda load: load.lag, 2))
    if any(row.load is not None and row.load.rate.value is not None for row in rows):
        columns.append(_load_column("rate", " READ/S", lambda load: load.rate, 2))
    return columns


def _load_column(name: str, title: str, load_of: Callable[[MemberLoad], RelativeLoad], rank: int) -> Column[MemberRow]:
    def draw(row: MemberRow) -> Cell:
        return Cell("") if row.load is None else load_of(row.load).cell()

    def full(row: MemberRow) -> Cell:
        value = None if row.load is None else load_of(row.load).value
        return Cell("") if row.load is None else number_cell(None if value is None else round(value))

    return Column(name, title, lambda _row: " " * LOAD_WIDTH, draw, rank=rank, min_width=LOAD_WIDTH,
                  max_width=LOAD_WIDTH, full=full)  # fmt: skip


def holds_up_column() -> Column[MemberRow]:
    """Return the column that says why a member delays the change to the target assignment."""
    return Column("holds", "DELAYS", lambda row: row.holds_up or None, lambda row: Cell(row.holds_up, WARN), rank=1,
                  min_width=8, max_width=24)  # fmt: skip


def assigned_column() -> Column[MemberRow]:
    return Column(
        member_fields.ASSIGNED.name, member_fields.ASSIGNED.title, lambda _row: " " * LOAD_WIDTH, _count,
        min_width=LOAD_WIDTH, max_width=LOAD_WIDTH, full=lambda row: number_cell(row.member.assigned_count),
        field=member_fields.ASSIGNED,
    )  # fmt: skip


def _count(row: MemberRow) -> Cell:
    count = row.member.assigned_count
    if count == 0:
        return Cell(f"{0:>5} idle" if is_idle(row.member) else f"{0:>5}", WARN)
    return number_cell(count) if row.load is None else row.load.assigned.cell()


def holds_up(blocker: Blocker) -> str:
    """Return a text that says why a member delays the change to the target assignment; may be empty.

    Examples are `must revoke 2, behind` and `must accept 3`. The numbers are numbers of partitions or tasks. `behind`
    means that the epoch of the member is below the assignment epoch.
    """
    held = holds_up_text(blocker.gives_up, behind=blocker.behind != 0)
    return held or (f"must accept {blocker.waiting}" if blocker.waiting else "")

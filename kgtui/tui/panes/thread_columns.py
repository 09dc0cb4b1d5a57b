"""The columns of streams groups: processes, their threads, tasks by role and what they have to restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.tui.panes.cells import ACCENT, Cell, number, optional
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.member_rows import MemberRow, placed

if TYPE_CHECKING:
    from kgtui.model.members import StreamsMember, Tasks

Columns = list[Column[MemberRow]]


def thread_columns() -> Columns:
    """Process or thread, tasks by role, and records left to restore."""
    return [
        Column("process", "PROCESS / THREAD", _thread_name, _thread, least=16, most=44, cut="middle"),
        _role("active", "ACTIVE", 0),
        _role("standby", "STANDBY", 1),
        _role("warmup", "WARM-UP", 1),
        Column("behind", "RESTORING", task_lag, _restoring, rank=2, right=True),
    ]


def _role(role: str, title: str, rank: int) -> Column[MemberRow]:
    def count(row: MemberRow) -> int | None:
        return _role_count(row, role)

    def draw(row: MemberRow) -> Cell:
        return number(count(row))

    def whole(row: MemberRow) -> Cell:
        return _role_tasks(row, role)

    return Column(role, title, count, draw, rank=rank, right=True, whole=whole)


def _thread_name(row: MemberRow) -> str:
    if row.threads and row.member.streams:
        return row.member.streams.process
    return "  " + row.member.client_id


def _thread(row: MemberRow) -> Cell:
    return Cell(_thread_name(row), ACCENT if row.threads else "")


def _streams(row: MemberRow) -> list[StreamsMember]:
    """What a thread, or the threads of a process, say of their tasks."""
    return [member.streams for member in row.threads or (row.member,) if member.streams is not None]


def _role_count(row: MemberRow, role: str) -> int:
    return sum(len(parts) for streams in _streams(row) for _, parts in _of_role(streams, role))


def _role_tasks(row: MemberRow, role: str) -> Cell:
    return optional(" ".join(placed(_of_role(streams, role)) for streams in _streams(row)).strip())


def _of_role(streams: StreamsMember, role: str) -> Tasks:
    return getattr(streams.assignment, role)  # type: ignore[no-any-return]


def task_lag(row: MemberRow) -> int | None:
    """Records that a thread or process has still to restore; None if none of them reported."""
    known = [lag for lag in map(restoring, _streams(row)) if lag is not None]
    return sum(known) if known else None


def restoring(streams: StreamsMember) -> int | None:
    """Records between the offsets and the ends of a member's tasks; None if it did not report both.

    0 for a member without standby and warm-up tasks, which has nothing to restore.
    """
    if not streams.assignment.standby and not streams.assignment.warmup:
        return 0
    at = {(name, part): offset for name, part, offset in streams.task_offsets}
    known = [(end, at.get((name, part))) for name, part, end in streams.task_end_offsets]
    told = [max(end - offset, 0) for end, offset in known if offset is not None]
    return sum(told) if told else None


def _restoring(row: MemberRow) -> Cell:
    return number(task_lag(row))

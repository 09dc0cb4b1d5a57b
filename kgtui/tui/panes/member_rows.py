"""The rows and columns of the Members pane, which depend on the kind of group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.group_types import CLASSIC, SHARE
from kgtui.model.members import ConnectWorker, RegistryNode
from kgtui.tui import text
from kgtui.tui.panes.cells import (
    ACCENT,
    ERROR,
    MUTED,
    OK,
    WARN,
    Cell,
    none_cell,
    number_cell,
    optional_cell,
    unknown_cell,
)
from kgtui.tui.panes.columns import Column

if TYPE_CHECKING:
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member, StreamsMember, Tasks, TopicPartitions

HEX_BYTES = 64
"""Bytes of undecoded metadata that are written out."""


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One member, or a streams process over its threads.

    Attributes:
        goal: epoch of the target assignment, for the member's own to be compared with.
        group_type: type of the group, so that a member with another protocol stands out.
        threads: for a process, its members; empty for a member.
    """

    member: Member
    goal: int | None
    group_type: str
    threads: tuple[Member, ...] = ()

    @property
    def key(self) -> tuple[str, bool]:
        """What the cursor stays with."""
        process = self.member.streams.process if self.threads and self.member.streams else None
        return (self.member.member_id, False) if process is None else (process, True)


def member_rows(description: GroupDescription) -> list[MemberRow]:
    """Members sorted by client and id; streams members under their process."""
    goal = description.assignment_epoch if description.assignment_epoch is not None else description.group_epoch
    members = sorted(description.members or (), key=lambda one: (one.client_id, one.host, one.member_id))
    if not any(member.streams for member in members):
        return [MemberRow(member, goal, description.type) for member in members]
    processes: dict[str, list[Member]] = {}
    for member in members:
        processes.setdefault(member.streams.process if member.streams else "", []).append(member)
    rows: list[MemberRow] = []
    for threads in processes.values():
        rows.append(MemberRow(threads[0], goal, description.type, threads=tuple(threads)))
        rows += [MemberRow(member, goal, description.type) for member in threads]
    return rows


def format_partitions(tasks: Tasks | TopicPartitions) -> str:
    """`orders:0-3,7 refunds:1`."""
    return " ".join(f"{name}:{format_ranges(parts)}" for name, parts in tasks)


def format_ranges(parts: tuple[int, ...]) -> str:
    """`0-3,7` for 0, 1, 2, 3, 7."""
    runs: list[list[int]] = []
    for part in sorted(parts):
        if runs and part == runs[-1][1] + 1:
            runs[-1][1] = part
        else:
            runs.append([part, part])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


Columns = list[Column[MemberRow]]


def member_columns(description: GroupDescription) -> Columns:
    """The columns that say something of this kind of group, essential ones at rank 0."""
    members = description.members or ()
    if description.kind == "connect":
        return [*connect_columns(), _host(4), _id(5)]
    if description.kind == "sr":
        return [*registry_columns(), _host(2), _id(3)]
    if any(member.streams for member in members):
        return [*streams_columns(), _epoch(), _host(3), *_unusual(members), *_optional(members), _id(6)]
    columns = [_client(), _host(2), _assigned("PARTITIONS")]
    if description.type != CLASSIC:
        columns.append(_epoch())
    if description.type not in (CLASSIC, SHARE):
        columns += _unusual(members)
    return [*columns, *_optional(members), _subscription(), _id(5), *_bytes(members)]


def _client() -> Column[MemberRow]:
    return Column("client", "CLIENT", lambda row: row.member.client_id, min_width=14, max_width=32, cut="middle")


def _id(rank: int) -> Column[MemberRow]:
    return Column(
        "id",
        "MEMBER",
        lambda row: row.member.member_id,
        rank=rank,
        min_width=10,
        max_width=56,
        cut="middle",
        full=_whole_id,
    )


def _whole_id(row: MemberRow) -> Cell:
    return Cell("" if row.threads else row.member.member_id)


def _host(rank: int) -> Column[MemberRow]:
    return Column("host", "HOST", lambda row: row.member.host.removeprefix("/"), rank=rank, min_width=9, max_width=24)


def _assigned(title: str) -> Column[MemberRow]:
    return Column("assigned", title, lambda row: row.member.assigned_count, _count, right=True)


def _count(row: MemberRow) -> Cell:
    count = row.member.assigned_count
    return Cell("0", WARN) if count == 0 else number_cell(count)


def _epoch() -> Column[MemberRow]:
    return Column(
        "epoch", "EPOCH", lambda row: _draw_epoch(row).text, _draw_epoch, rank=1, right=True, full=_whole_epoch
    )


def _draw_epoch(row: MemberRow) -> Cell:
    epoch = row.member.epoch
    if epoch is None:
        return unknown_cell()
    if row.goal is not None and epoch < row.goal:
        return Cell(f"{epoch} < {row.goal}" if epoch >= 0 else "left", WARN)
    return Cell(str(epoch), OK)


def _whole_epoch(row: MemberRow) -> Cell:
    epoch, goal = row.member.epoch, row.goal
    if epoch is None or goal is None:
        return number_cell(epoch)
    if epoch < 0:
        return Cell(f"{epoch}: static member that left; its place is kept until the session times out", WARN)
    return Cell(f"{epoch} of {goal}, {'behind' if epoch < goal else 'up to date'}", WARN if epoch < goal else "")


def _protocol() -> Column[MemberRow]:
    return Column(
        "protocol", "PROTOCOL", lambda row: _draw_protocol(row).text, _draw_protocol, rank=1, full=_whole_protocol
    )


def _unusual(members: tuple[Member, ...]) -> Columns:
    """The protocol, where a member has not been upgraded yet."""
    return [_protocol()] if any(member.protocol == CLASSIC for member in members) else []


def _draw_protocol(row: MemberRow) -> Cell:
    protocol = row.member.protocol
    if protocol is None:
        return unknown_cell()
    return Cell(f"{text.marks().fault} {protocol}", WARN) if protocol != row.group_type else Cell(protocol)


def _whole_protocol(row: MemberRow) -> Cell:
    if row.member.protocol == CLASSIC != row.group_type:
        return Cell(f"classic, in a {row.group_type} group: not upgraded yet", WARN)
    return _draw_protocol(row)


def _optional(members: tuple[Member, ...]) -> Columns:
    """Instance ids and racks, where a member has one."""
    columns: Columns = []
    if any(member.instance_id for member in members):
        columns.append(
            Column(
                "instance",
                "INSTANCE",
                lambda row: row.member.instance_id,
                rank=3,
                min_width=8,
                max_width=28,
                cut="middle",
            )
        )
    if any(member.rack for member in members):
        columns.append(Column("rack", "RACK", lambda row: row.member.rack or None, rank=3, min_width=10, max_width=14))
    return columns


def _subscription() -> Column[MemberRow]:
    return Column("topics", "SUBSCRIBED", subscribed, _draw_subscribed, rank=4, min_width=16, max_width=40)


def subscribed(row: MemberRow) -> str | None:
    """Topics, and a pattern as `/pattern/`; None if unknown."""
    topics = row.member.topics
    parts = [f"/{row.member.regex}/"] if row.member.regex else []
    parts += topics or ()
    return None if not parts and topics is None else ", ".join(parts)


def _draw_subscribed(row: MemberRow) -> Cell:
    value = subscribed(row)
    return unknown_cell() if value is None else optional_cell(value)


def _bytes(members: tuple[Member, ...]) -> Columns:
    if not any(member.undecoded for member in members):
        return []
    return [Column("bytes", "METADATA", _hex, lambda row: Cell(_hex(row) or "", MUTED), rank=6, max_width=24)]


def _hex(row: MemberRow) -> str | None:
    data = row.member.undecoded
    if not data:
        return None
    more = f"{text.marks().ellipsis} {len(data)} bytes" if len(data) > HEX_BYTES else ""
    return data[:HEX_BYTES].hex(" ") + more


def streams_columns() -> Columns:
    """Process or thread, tasks by role, and records left to restore."""
    return [
        Column("process", "PROCESS / THREAD", _thread_name, _thread, min_width=16, max_width=44, cut="middle"),
        _role("active", "ACTIVE", 0),
        _role("standby", "STANDBY", 1),
        _role("warmup", "WARM-UP", 1),
        Column("behind", "RESTORING", row_restore_lag, _restoring, rank=2, right=True),
    ]


def _role(role: str, title: str, rank: int) -> Column[MemberRow]:
    def count(row: MemberRow) -> int | None:
        return _role_count(row, role)

    def draw(row: MemberRow) -> Cell:
        return number_cell(count(row))

    def whole(row: MemberRow) -> Cell:
        return _role_tasks(row, role)

    return Column(role, title, count, draw, rank=rank, right=True, full=whole)


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
    return optional_cell(" ".join(format_partitions(_of_role(streams, role)) for streams in _streams(row)).strip())


def _of_role(streams: StreamsMember, role: str) -> Tasks:
    return getattr(streams.assignment, role)  # type: ignore[no-any-return]


def row_restore_lag(row: MemberRow) -> int | None:
    """Records that a thread or process has still to restore; None if none of them reported."""
    known = [lag for lag in map(member_restore_lag, _streams(row)) if lag is not None]
    return sum(known) if known else None


def member_restore_lag(streams: StreamsMember) -> int | None:
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
    return number_cell(row_restore_lag(row))


def connect_columns() -> Columns:
    """URL, leader, connectors and tasks of a Connect worker."""
    return [
        Column("url", "WORKER", lambda row: _worker(row).url, min_width=26, max_width=44),
        Column("leads", "LEADS", lambda row: _leads(_worker(row).leader).text, lambda row: _leads(_worker(row).leader),
               rank=1, min_width=6),
        Column("connectors", "CONNECTORS", lambda row: len(_worker(row).connectors), right=True, full=_connectors),
        Column("tasks", "TASKS", _tasks, right=True,
               full=lambda row: optional_cell(format_partitions(_worker(row).tasks))),
        Column("work", "RUNS", _runs, lambda row: optional_cell(_runs(row)), rank=3, min_width=16, max_width=48,
               full=_nothing),
        Column("revoked", "REVOKED", _revoked, lambda row: Cell(_revoked(row) or "", WARN), rank=2, max_width=20),
        Column("delay", "DELAY MS", lambda row: _worker(row).delay_ms, lambda row: number_cell(_worker(row).delay_ms),
               rank=6, right=True),
        Column("error", "ERROR", lambda row: _worker(row).error, lambda row: _error(_worker(row).error), rank=6,
               right=True),
    ]  # fmt: skip


def registry_columns() -> Columns:
    """URL, leader and eligibility of a registry node."""
    return [
        Column("url", "NODE", lambda row: _node(row).url, min_width=16, max_width=44),
        Column("leads", "LEADS", lambda row: _leads(_node(row).leader).text, lambda row: _leads(_node(row).leader),
               min_width=6),
        Column("eligible", "ELIGIBLE", lambda row: _eligible(row).text, _eligible, rank=1, min_width=8),
        Column("error", "ERROR", lambda row: _node(row).error, lambda row: _error(_node(row).error), rank=6,
               right=True),
    ]  # fmt: skip


def _worker(row: MemberRow) -> ConnectWorker:
    return row.member.connect or ConnectWorker(url="")


def _node(row: MemberRow) -> RegistryNode:
    return row.member.registry or RegistryNode(url="")


def _leads(told: bool | None) -> Cell:
    if told is None:
        return unknown_cell()
    return Cell("leader", ACCENT) if told else none_cell()


def _error(code: int) -> Cell:
    return Cell(str(code), ERROR) if code else none_cell()


def _nothing(_row: MemberRow) -> Cell:
    return Cell("")


def _connectors(row: MemberRow) -> Cell:
    return optional_cell(", ".join(_worker(row).connectors))


def _tasks(row: MemberRow) -> int:
    return sum(len(tasks) for _, tasks in _worker(row).tasks)


def _runs(row: MemberRow) -> str:
    return " ".join((*_worker(row).connectors, format_partitions(_worker(row).tasks))).strip()


def _revoked(row: MemberRow) -> str | None:
    return ", ".join(_worker(row).revoked) or None


def _eligible(row: MemberRow) -> Cell:
    eligible = _node(row).eligible
    return unknown_cell() if eligible is None else Cell("yes" if eligible else "no", "" if eligible else MUTED)

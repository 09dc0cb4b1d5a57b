"""The rows and columns of the Members pane. The columns depend on the type and protocol of the group."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from kgtui.model.fields import member_fields
from kgtui.model.fields.member_fields import has_column
from kgtui.model.group_types import CLASSIC
from kgtui.model.member_names import member_names
from kgtui.model.members import ConnectWorker, RegistryNode
from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.panes.cells import (
    ACCENT,
    ERROR,
    MUTED,
    OK,
    WARN,
    Cell,
    format_partitions,
    none_cell,
    number_cell,
    optional_cell,
    unknown_cell,
)
from kgtui.tui.panes.columns import Column, field_column
from kgtui.tui.panes.member_loads import MemberRow, assigned_column, holds_up, holds_up_column, load_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.model.assignment import Blocker
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member, StreamsMember, Tasks
    from kgtui.tui.panes.member_loads import MemberLoad

HEX_BYTES = 64
"""Maximum number of bytes that are shown, as hex digits, if kgtui cannot decode a member's metadata."""


def member_rows(
    description: GroupDescription,
    blockers: Sequence[Blocker] = (),
    loads: Mapping[str, MemberLoad] = MappingProxyType({}),
) -> list[MemberRow]:
    """Return one row per member. In a streams group, each process also has a row, above the rows of its members.

    Members that delay the change to the target assignment come first.

    Args:
        blockers: the members that delay the change, in display order.
        loads: member id → load of the member.
    """
    target_epoch = description.assignment_epoch if description.assignment_epoch is not None else description.group_epoch
    order = {blocker.member_id: number for number, blocker in enumerate(blockers)}
    delays = {blocker.member_id: holds_up(blocker) for blocker in blockers}
    members = sorted(description.members or (), key=lambda one: (one.client_id, one.host, one.member_id))
    members.sort(key=lambda one: order.get(one.member_id, len(order)))
    rows, names = {}, member_names(members)
    for key, member in ((member.member_id, member) for member in members):
        rows[key] = MemberRow(
            member, target_epoch, description.type, (), loads.get(key), delays.get(key, ""), names.get(key, "")
        )
    if not any(member.streams for member in members):
        return list(rows.values())
    processes: dict[str, list[Member]] = {}
    for member in members:
        processes.setdefault(member.streams.process if member.streams else "", []).append(member)
    found: list[MemberRow] = []
    for threads in processes.values():
        found.append(MemberRow(threads[0], target_epoch, description.type, threads=tuple(threads)))
        found += [rows[member.member_id] for member in threads]
    return found


Columns = list[Column[MemberRow]]


def member_columns(description: GroupDescription, rows: Sequence[MemberRow] = ()) -> Columns:
    """Return the columns of the Members pane for the group's type and protocol.

    Some columns, such as the column with the rack, are left out if they would be empty for all members.
    """
    if description.kind == "connect":
        return [*connect_columns(), _host(4), _id(5)]
    if description.kind == "sr":
        return [*registry_columns(), _host(2), _id(3)]
    optional = _if_used(description, _protocol(), _instance(), _rack())
    if any(row.holds_up for row in rows):
        optional.insert(0, holds_up_column())
    loads = load_columns(rows)
    if any(member.streams for member in description.members or ()):
        return [*streams_columns(), *loads, _epoch(), _host(3), *optional, _id(6)]
    columns = [_name(), _host(2), assigned_column(), *loads]
    if any(row.name != row.member.client_id for row in rows):
        optional.append(_client())
    if description.type != CLASSIC:
        columns.append(_epoch())
    return [*columns, *optional, _subscription(), _id(5), *_if_used(description, _undecoded())]


def _if_used(description: GroupDescription, *columns: Column[MemberRow]) -> Columns:
    return [column for column in columns if column.field is None or has_column(column.field, description)]


def _member(row: MemberRow) -> Member:
    return row.member


def _name() -> Column[MemberRow]:
    return Column("name", "NAME", lambda row: row.name, min_width=14, max_width=40, cut="middle")


def _client() -> Column[MemberRow]:
    return field_column(member_fields.CLIENT_ID, _member, rank=5, min_width=14, max_width=32, cut="middle")


def _id(rank: int) -> Column[MemberRow]:
    return field_column(
        member_fields.MEMBER_ID, _member, rank=rank, min_width=10, max_width=56, cut="middle", full=_full_id
    )


def _full_id(row: MemberRow) -> Cell:
    return Cell("" if row.threads else row.member.member_id)


def _host(rank: int) -> Column[MemberRow]:
    return field_column(member_fields.HOST, _member, rank=rank, min_width=9, max_width=24)


def _epoch() -> Column[MemberRow]:
    return field_column(
        member_fields.EPOCH, _member, value=lambda row: _draw_epoch(row).text, render=_draw_epoch, rank=1,
        full=_full_epoch,
    )  # fmt: skip


def _draw_epoch(row: MemberRow) -> Cell:
    epoch = row.member.epoch
    if epoch is None:
        return unknown_cell()
    if row.target_epoch is not None and epoch < row.target_epoch:
        return Cell(f"{epoch} < {row.target_epoch}" if epoch >= 0 else "left", WARN)
    return Cell(str(epoch), OK)


def _full_epoch(row: MemberRow) -> Cell:
    epoch, target_epoch = row.member.epoch, row.target_epoch
    if epoch is None or target_epoch is None:
        return number_cell(epoch)
    if epoch < 0:
        return Cell(f"{epoch}: static member that left; its assignment is kept until the session times out", WARN)
    behind = epoch < target_epoch
    return Cell(f"{epoch} of {target_epoch}, {'behind' if behind else 'up to date'}", WARN if behind else "")


def _protocol() -> Column[MemberRow]:
    return field_column(
        member_fields.PROTOCOL, _member, value=lambda row: _draw_protocol(row).text, render=_draw_protocol, rank=1,
        full=_full_protocol,
    )  # fmt: skip


def _draw_protocol(row: MemberRow) -> Cell:
    protocol = row.member.protocol
    if protocol is None:
        return unknown_cell()
    return Cell(f"{text.marks().fault} {protocol}", WARN) if protocol != row.group_type else Cell(protocol)


def _full_protocol(row: MemberRow) -> Cell:
    if row.member.protocol == CLASSIC != row.group_type:
        return Cell(f"classic, in a {row.group_type} group: not upgraded yet", WARN)
    return _draw_protocol(row)


def _instance() -> Column[MemberRow]:
    return field_column(member_fields.INSTANCE_ID, _member, rank=3, min_width=8, max_width=28, cut="middle")


def _rack() -> Column[MemberRow]:
    return field_column(member_fields.RACK, _member, rank=3, min_width=10, max_width=14)


def _subscription() -> Column[MemberRow]:
    return field_column(
        member_fields.SUBSCRIPTION, _member, value=subscribed, render=_draw_subscribed, rank=4, min_width=16,
        max_width=40,
    )  # fmt: skip


def subscribed(row: MemberRow) -> str | None:
    """Return the regular expression and the topics that a member subscribes to, as `/pattern/, topic, topic`.

    Return None if the subscription is unknown.
    """
    topics = row.member.topics
    parts = [f"/{row.member.regex}/"] if row.member.regex else []
    parts += topics or ()
    return None if not parts and topics is None else ", ".join(parts)


def _draw_subscribed(row: MemberRow) -> Cell:
    value = subscribed(row)
    return unknown_cell() if value is None else optional_cell(value)


def _undecoded() -> Column[MemberRow]:
    return field_column(
        member_fields.UNDECODED, _member, value=_hex, render=lambda row: Cell(_hex(row) or "", MUTED), rank=6,
        max_width=24,
    )  # fmt: skip


def _hex(row: MemberRow) -> str | None:
    data = row.member.undecoded
    if not data:
        return None
    more = f"{text.marks().ellipsis} {counted(len(data), 'byte')}" if len(data) > HEX_BYTES else ""
    return data[:HEX_BYTES].hex(" ") + more


def streams_columns() -> Columns:
    """Return the columns for members of streams groups: process, tasks per role, and records to restore."""
    return [
        Column("process", "PROCESS / THREAD", _thread_name, _thread, min_width=16, max_width=44, cut="middle"),
        _role("active", "ACTIVE", 0),
        _role("standby", "STANDBY", 1),
        _role("warmup", "WARM-UP", 1),
        Column("behind", "TO RESTORE", row_restore_lag, _restoring, rank=2, right=True),
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
    return f"  {row.name}"


def _thread(row: MemberRow) -> Cell:
    return Cell(_thread_name(row), ACCENT if row.threads else "")


def _streams(row: MemberRow) -> list[StreamsMember]:
    return [member.streams for member in row.threads or (row.member,) if member.streams is not None]


def _role_count(row: MemberRow, role: str) -> int:
    return sum(len(parts) for streams in _streams(row) for _, parts in _of_role(streams, role))


def _role_tasks(row: MemberRow, role: str) -> Cell:
    return optional_cell(" ".join(format_partitions(_of_role(streams, role)) for streams in _streams(row)).strip())


def _of_role(streams: StreamsMember, role: str) -> Tasks:
    return getattr(streams.assignment, role)  # type: ignore[no-any-return]


def row_restore_lag(row: MemberRow) -> int | None:
    """Return how many records the member or process of the row must still restore; None if unknown."""
    known = [lag for lag in map(member_restore_lag, _streams(row)) if lag is not None]
    return sum(known) if known else None


def member_restore_lag(streams: StreamsMember) -> int | None:
    """Return how many records a member must still restore: the sum of (task end offset − task offset) over its tasks.

    Members report these two offsets of a task (KIP-1071). A task is left out of the sum if the member has not reported
    both offsets. If all tasks are left out, return None. Return 0 if the member has neither standby nor warm-up tasks.
    """
    if not streams.assignment.standby and not streams.assignment.warmup:
        return 0
    at = {(name, part): offset for name, part, offset in streams.task_offsets}
    known = [(end, at.get((name, part))) for name, part, end in streams.task_end_offsets]
    reported = [max(end - offset, 0) for end, offset in known if offset is not None]
    return sum(reported) if reported else None


def _restoring(row: MemberRow) -> Cell:
    return number_cell(row_restore_lag(row))


def connect_columns() -> Columns:
    """Return the columns for Connect workers, such as URL, number of connectors and number of tasks."""
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
    """Return the columns for schema registry nodes: NODE (the URL), LEADS, ELIGIBLE (can become the leader), ERROR."""
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


def _leads(reported: bool | None) -> Cell:
    if reported is None:
        return unknown_cell()
    return Cell("leader", ACCENT) if reported else none_cell()


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

"""The columns of the Members pane: those that say something of this kind of group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.group_types import CLASSIC, SHARE
from kgtui.tui import text
from kgtui.tui.panes.cells import MUTED, OK, WARN, Cell, number, optional, unknown
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.member_rows import MemberRow
from kgtui.tui.panes.thread_columns import thread_columns
from kgtui.tui.panes.worker_columns import node_columns, worker_columns

if TYPE_CHECKING:
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member

HEX_BYTES = 64
"""Bytes of undecoded metadata that are written out."""

Columns = list[Column[MemberRow]]


def columns_for(description: GroupDescription) -> Columns:
    """The columns that say something of this kind of group, essential ones at rank 0."""
    members = description.members or ()
    if description.kind == "connect":
        return [*worker_columns(), _host(4), _id(5)]
    if description.kind == "sr":
        return [*node_columns(), _host(2), _id(3)]
    if any(member.streams for member in members):
        return [*thread_columns(), _epoch(), _host(3), *_unusual(members), *_optional(members), _id(6)]
    columns = [_client(), _host(2), _assigned("PARTITIONS")]
    if description.type != CLASSIC:
        columns.append(_epoch())
    if description.type not in (CLASSIC, SHARE):
        columns += _unusual(members)
    return [*columns, *_optional(members), _subscription(), _id(5), *_bytes(members)]


def _client() -> Column[MemberRow]:
    return Column("client", "CLIENT", lambda row: row.member.client_id, least=14, most=32, cut="middle")


def _id(rank: int) -> Column[MemberRow]:
    return Column(
        "id", "MEMBER", lambda row: row.member.member_id, rank=rank, least=10, most=56, cut="middle", whole=_whole_id
    )


def _whole_id(row: MemberRow) -> Cell:
    return Cell("" if row.threads else row.member.member_id)


def _host(rank: int) -> Column[MemberRow]:
    return Column("host", "HOST", lambda row: row.member.host.removeprefix("/"), rank=rank, least=9, most=24)


def _assigned(title: str) -> Column[MemberRow]:
    return Column("assigned", title, lambda row: row.member.assigned_count, _count, right=True)


def _count(row: MemberRow) -> Cell:
    count = row.member.assigned_count
    return Cell("0", WARN) if count == 0 else number(count)


def _epoch() -> Column[MemberRow]:
    return Column(
        "epoch", "EPOCH", lambda row: _draw_epoch(row).text, _draw_epoch, rank=1, right=True, whole=_whole_epoch
    )


def _draw_epoch(row: MemberRow) -> Cell:
    epoch = row.member.epoch
    if epoch is None:
        return unknown()
    if row.goal is not None and epoch < row.goal:
        return Cell(f"{epoch} < {row.goal}" if epoch >= 0 else "left", WARN)
    return Cell(str(epoch), OK)


def _whole_epoch(row: MemberRow) -> Cell:
    epoch, goal = row.member.epoch, row.goal
    if epoch is None or goal is None:
        return number(epoch)
    if epoch < 0:
        return Cell(f"{epoch}: static member that left; its place is kept until the session times out", WARN)
    return Cell(f"{epoch} of {goal}, {'behind' if epoch < goal else 'up to date'}", WARN if epoch < goal else "")


def _protocol() -> Column[MemberRow]:
    return Column(
        "protocol", "PROTOCOL", lambda row: _draw_protocol(row).text, _draw_protocol, rank=1, whole=_whole_protocol
    )


def _unusual(members: tuple[Member, ...]) -> Columns:
    """The protocol, where a member has not been upgraded yet."""
    return [_protocol()] if any(member.protocol == CLASSIC for member in members) else []


def _draw_protocol(row: MemberRow) -> Cell:
    protocol = row.member.protocol
    if protocol is None:
        return unknown()
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
            Column("instance", "INSTANCE", lambda row: row.member.instance_id, rank=3, least=8, most=28, cut="middle")
        )
    if any(member.rack for member in members):
        columns.append(Column("rack", "RACK", lambda row: row.member.rack or None, rank=3, least=10, most=14))
    return columns


def _subscription() -> Column[MemberRow]:
    return Column("topics", "SUBSCRIBED", subscribed, _draw_subscribed, rank=4, least=16, most=40)


def subscribed(row: MemberRow) -> str | None:
    """Topics, and a pattern as `/pattern/`; None if unknown."""
    topics = row.member.topics
    parts = [f"/{row.member.regex}/"] if row.member.regex else []
    parts += topics or ()
    return None if not parts and topics is None else ", ".join(parts)


def _draw_subscribed(row: MemberRow) -> Cell:
    value = subscribed(row)
    return unknown() if value is None else optional(value)


def _bytes(members: tuple[Member, ...]) -> Columns:
    if not any(member.undecoded for member in members):
        return []
    return [Column("bytes", "METADATA", _hex, lambda row: Cell(_hex(row) or "", MUTED), rank=6, most=24)]


def _hex(row: MemberRow) -> str | None:
    data = row.member.undecoded
    if not data:
        return None
    more = f"{text.marks().ellipsis} {len(data)} bytes" if len(data) > HEX_BYTES else ""
    return data[:HEX_BYTES].hex(" ") + more

"""Many groups, one a line: what `kgtui ls` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgtui.model.group_types import kind_of
from kgtui.output import marks
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.snapshot import Snapshot

CSV_HEADER = ("group", "type", "protocol", "state", "kind", "coordinator", "members", "lag", "lag_unknown", "read_at")


@dataclass(frozen=True, slots=True)
class Listed:
    """What to print.

    Attributes:
        ids: the groups, in order.
        members: members were asked for.
        lag: lag was asked for.
        faults: all that could not be learned.
    """

    snapshot: Snapshot
    ids: Sequence[str]
    coverage: Coverage
    faults: tuple[Fault, ...] = ()
    members: bool = False
    lag: bool = False


def as_table(listed: Listed, *, wide: bool = False) -> str:
    """A table: group, type, protocol, state, coordinator, and what else was asked for; `wide` adds more of each."""
    columns = [Column("GROUP"), Column("TYPE"), Column("PROTOCOL"), Column("STATE"), Column("COORDINATOR", number=True)]
    if wide:
        columns[4] = Column("COORDINATOR")
        columns.insert(1, Column("KIND"))
    if listed.members:
        columns.append(Column("MEMBERS", number=True))
    if listed.lag:
        columns.append(Column("LAG", number=True))
        if wide:
            columns.append(Column("PARTITIONS", number=True))
    if wide:
        columns += [Column("TOPICS"), Column("HOSTS")]
    return table(columns, [_cells(listed, group, wide) for group in listed.ids])


def as_json(listed: Listed, *, one_line: bool = False) -> bytes:
    """The JSON of `ls`; unknown is null, times are RFC 3339 in UTC, names are Kafka's."""
    groups = [_object(listed, group) for group in listed.ids]
    from kgtui.output import machine

    frame = machine.document(
        listed.snapshot.cluster, listed.snapshot.taken_at, listed.coverage, groups, listed.faults
    )  # fmt: skip
    return machine.json_bytes(frame, one_line=one_line)


def as_csv(listed: Listed) -> bytes:
    """CSV with a header; unknown is an empty cell."""
    from kgtui.output import machine

    rows = (tuple(_object(listed, group).values()) for group in listed.ids)
    return machine.csv_bytes(CSV_HEADER, rows)


def _object(listed: Listed, group: str) -> dict[str, Any]:
    from kgtui.model import facts
    from kgtui.output.machine import rfc3339

    snapshot = listed.snapshot
    listing = snapshot.groups[group]
    group_type = facts.type_of(snapshot, group)
    total = facts.lag_total(snapshot, group) if listed.lag else None
    if total is not None and total.lag is None and not total.partitions and group in snapshot.group_faults:
        total = None
    read_at = facts.read_at(snapshot, group)
    return {
        "group": group,
        "type": group_type,
        "protocol": listing.protocol,
        "state": snapshot.state_of(group),
        "kind": kind_of(group_type, listing.protocol),
        "coordinator": listing.coordinator,
        "members": facts.member_count(snapshot, group),
        "lag": None if total is None else total.lag,
        "lag_unknown": None if total is None else total.unknown,
        "read_at": None if read_at is None else rfc3339(read_at),
    }


def _cells(listed: Listed, group: str, wide: bool) -> list[str]:
    snapshot = listed.snapshot
    listing = snapshot.groups[group]
    group_type, state = listing.type or _type_of(snapshot, group), listing.state or snapshot.state_of(group)
    cells = [
        group,
        group_type or marks.NO_ANSWER,
        listing.protocol or marks.NONE,
        state or marks.NO_ANSWER,
        str(listing.coordinator),
    ]
    if wide:
        broker = snapshot.cluster.brokers.get(listing.coordinator)
        cells[4] = f"{broker.address} ({listing.coordinator})" if broker else str(listing.coordinator)
        cells.insert(1, kind_of(group_type, listing.protocol))
    if listed.members or listed.lag or wide:
        cells += _read(listed, group, wide)
    return cells


def _type_of(snapshot: Snapshot, group: str) -> str | None:
    from kgtui.model import facts

    return facts.type_of(snapshot, group)


def _read(listed: Listed, group: str, wide: bool) -> list[str]:
    from kgtui.model import facts

    snapshot, cells = listed.snapshot, []
    fault = snapshot.group_faults.get(group)
    if listed.members:
        cells.append(marks.count(facts.member_count(snapshot, group), fault))
    if listed.lag:
        total = facts.lag_total(snapshot, group)
        cells.append(marks.lag(None, 0, fault) if total is None else marks.lag(total.lag, total.unknown, fault))
        if wide:
            cells.append(marks.count(None if total is None else total.partitions, fault))
    if wide:
        cells.append(_names(facts.topics(snapshot, group), fault))
        cells.append(_names(facts.hosts(snapshot, group), fault))
    return cells


def _names(names: tuple[str, ...] | None, fault: Fault | None) -> str:
    if names is None:
        return marks.unknown(fault)
    shown = ",".join(name.removeprefix("/") for name in names[:3])
    return (f"{shown},+{len(names) - 3}" if len(names) > 3 else shown) or marks.NONE

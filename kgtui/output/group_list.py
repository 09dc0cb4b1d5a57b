"""Writes the output of `kgtui ls`: a list of groups, one per line."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kgtui.model.fields.group_fields import (
    GROUP,
    LAG,
    LAG_UNKNOWN,
    LIST_COLUMNS,
    LISTED,
    READ_AT,
    WIDE_LIST_COLUMNS,
    GroupColumns,
)
from kgtui.output import marks
from kgtui.output.table import Column, columns_of, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.fields.group_fields import GroupField
    from kgtui.model.snapshot import Snapshot
    from kgtui.output.formats import Format


@dataclass(frozen=True, slots=True)
class GroupList:
    """The groups that `kgtui ls` prints, and which of their data kgtui has read.

    Attributes:
        ids: ids of the groups to print, in this order.
        coverage: how many brokers answered, and how many groups could be read.
        faults: each fault says what could not be read, and why.
        members: whether the members of the groups were read.
        lag: whether the offsets of the groups were read. The lag is computed from them.
        repeated: whether the list is printed repeatedly (`--watch`). If so, each JSON document is one line.
        earlier: group id → time of the last successful read, in seconds since the epoch. It contains only groups whose
            newest read failed.
    """

    snapshot: Snapshot
    ids: Sequence[str]
    coverage: Coverage
    faults: tuple[Fault, ...] = ()
    members: bool = False
    lag: bool = False
    repeated: bool = False
    earlier: Mapping[str, float] = field(default_factory=dict)

    def has(self, field: GroupField) -> bool:
        """Return whether the members or offsets that a field needs were read; True for a field that needs neither."""
        return not field.needs or (self.lag if field.needs == "lag" else self.members)


def as_table(groups: GroupList, *, wide: bool = False) -> str:
    """Format the groups as a table. Columns whose data was not read are left out."""
    fields = [field for field in (WIDE_LIST_COLUMNS if wide else LIST_COLUMNS) if groups.has(field)]
    columns = GroupColumns(groups.snapshot, groups.ids)
    titles, cells = columns_of(fields), [_cells(groups, columns, field) for field in fields]
    if groups.earlier:
        titles.append(Column("AGE", number=True))
        cells.append([_age(groups, group) for group in groups.ids])
    return table(titles, zip(*cells, strict=True))


def _age(groups: GroupList, group: str) -> str:
    at = groups.earlier.get(group)
    return "" if at is None else f"{max(0.0, groups.snapshot.taken_at - at):.0f} s"


def as_json(groups: GroupList) -> bytes:
    """Encode the groups as JSON. Times are RFC 3339 in UTC."""
    from kgtui.output import formats

    names = [field.name for field in LISTED]
    objects = [dict(zip(names, row, strict=True)) for row in zip(*_data(groups), strict=True)]
    document = formats.document(
        groups.snapshot.cluster, groups.snapshot.taken_at, groups.coverage, objects, groups.faults
    )  # fmt: skip
    return formats.json_bytes(document, one_line=groups.repeated)


def as_csv(groups: GroupList) -> bytes:
    """Encode the groups as CSV with a header line; unknown values are empty cells."""
    from kgtui.output import formats

    return formats.csv_bytes([field.name for field in LISTED], zip(*_data(groups), strict=True))


WRITERS: dict[Format, Callable[[GroupList], str | bytes]] = {
    "table": as_table,
    "json": as_json,
    "csv": as_csv,
    "wide": partial(as_table, wide=True),
}
"""Maps each format of `kgtui ls` to the function that writes the groups in this format."""


def _data(groups: GroupList) -> list[Sequence[Any]]:
    """Return one list for each field in `LISTED`. The list has the field's value for each group; None if unknown."""
    snapshot, faults = groups.snapshot, groups.snapshot.group_faults
    columns = GroupColumns(snapshot, groups.ids)
    nothing: list[Any] = [None] * len(groups.ids)
    data = {field: list(columns.data(field)) if groups.has(field) else list(nothing) for field in LISTED}
    for row, group in enumerate(groups.ids) if faults and groups.lag else ():
        if group in faults and data[LAG][row] is None and not _has_partitions(snapshot, group):
            data[LAG_UNKNOWN][row] = None
    if groups.earlier:
        from kgtui.model.rfc3339 import rfc3339

        for row, group in enumerate(groups.ids):
            if group in groups.earlier:
                data[READ_AT][row] = rfc3339(groups.earlier[group])
    return list(data.values())


def _has_partitions(snapshot: Snapshot, group: str) -> bool:
    from kgtui.model import facts

    total = facts.lag_total(snapshot, group)
    return total is not None and total.partitions > 0


def _cells(groups: GroupList, columns: GroupColumns, field: GroupField) -> Sequence[str]:
    if field is GROUP:
        return [group or marks.NONE for group in groups.ids]
    faults, write, missing = groups.snapshot.group_faults, field.format, field.missing

    def cell(value: Any, group: str) -> str:
        text = "" if value is None else write(value)
        if text and text != marks.NO_ANSWER:
            return text
        return marks.or_mark(text, missing, marks.unknown(faults.get(group)))

    return columns.column(field, cell)

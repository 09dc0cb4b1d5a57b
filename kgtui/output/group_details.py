"""Writes the output of `kgtui show`: groups with their members, partitions and configs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.access import NONE_VISIBLE, NOT_LISTED
from kgtui.model.facts import may_hide_offsets, may_hide_topics
from kgtui.model.fields import as_object
from kgtui.model.fields.group_fields import HEADER_LINES, group_object
from kgtui.model.fields.member_fields import member_columns
from kgtui.model.fields.partition_fields import PARTITION_OBJECT, partition_columns, partition_rows
from kgtui.model.text import visible
from kgtui.output import formats, marks
from kgtui.output.table import Column, cell_width, columns_of, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.group import GroupDescription
    from kgtui.model.snapshot import Snapshot
    from kgtui.output.formats import Format


def as_json(snapshot: Snapshot, groups: Sequence[str], coverage: Coverage, faults: Sequence[Fault]) -> bytes:
    """Encode all known data of groups as JSON, with the same top-level keys as the JSON of `kgtui ls`."""
    objects = [group_object(snapshot, group) for group in groups]
    return formats.json_bytes(formats.document(snapshot.cluster, snapshot.taken_at, coverage, objects, faults))


def as_csv(snapshot: Snapshot, groups: Sequence[str]) -> bytes:
    """Encode groups as CSV: one line per partition in which the group has an offset, or which a member owns."""
    rows = (
        (group, *as_object(PARTITION_OBJECT, row).values())
        for group in groups
        for row in partition_rows(snapshot, group)
    )
    return formats.csv_bytes(("group", *(field.name for field in PARTITION_OBJECT)), rows)


def as_text(snapshot: Snapshot, group: str, *, wide: bool = False) -> str:
    """Format a group as text: header, members, partitions, and configs.

    Args:
        wide: whether to show more columns, and all configs instead of only those that were set for the group.
    """
    reading = snapshot.details.get(group)
    parts = [_header(snapshot, group)]
    if reading is not None and reading.value.members:
        parts.append(_members_table(reading.value, wide=wide))
    parts += [_partitions_table(snapshot, group, wide=wide), _configs_table(snapshot, group, wide=wide)]
    return "\n".join(part for part in parts if part)


WRITERS: dict[Format, Callable[[Snapshot, Sequence[str], Coverage, Sequence[Fault]], str | bytes]] = {
    "table": lambda snapshot, groups, *_: "\n".join(as_text(snapshot, group) for group in groups),
    "json": as_json,
    "csv": lambda snapshot, groups, *_: as_csv(snapshot, groups),
    "wide": lambda snapshot, groups, *_: "\n".join(as_text(snapshot, group, wide=True) for group in groups),
}
"""Maps each format of `kgtui show` to the function that writes the groups in this format."""


def _header(snapshot: Snapshot, group: str) -> str:
    fault = snapshot.group_faults.get(group)
    lines = {
        field.title.lower(): marks.cell(field, marks.unknown(fault), snapshot, group)
        for field in HEADER_LINES
        if not field.optional or field.text(snapshot, group)
    }
    if fault is not None:
        lines["fault"] = f"{fault.message} [{fault.name}]" + (f": {fault.advice}" if fault.advice else "")
    width = max(cell_width(title) for title in lines)
    facts = "".join(f"  {title:<{width}}  {visible(text)}\n" for title, text in lines.items())
    return f"{visible(group)}\n{facts}"


def _members_table(description: GroupDescription, *, wide: bool) -> str:
    fields = member_columns(description, wide=wide)
    rows = [[marks.cell(field, marks.NO_ANSWER, member) for field in fields] for member in description.members or ()]
    return table(columns_of(fields), rows, indent="  ")


def _partitions_table(snapshot: Snapshot, group: str, *, wide: bool) -> str:
    rows = partition_rows(snapshot, group)
    if not rows:
        return f"  {NONE_VISIBLE}\n" if may_hide_offsets(snapshot, group) else ""
    fields = partition_columns(rows, wide=wide)
    cells = [[marks.cell(field, marks.unread_partition(row.lag.reason), row) for field in fields] for row in rows]
    note = f"  {NOT_LISTED}\n" if may_hide_topics(snapshot, group) else ""
    return table(columns_of(fields), cells, indent="  ") + note


def _configs_table(snapshot: Snapshot, group: str, *, wide: bool) -> str:
    reading = snapshot.configs.get(group)
    configs = reading.value if reading is not None else ()
    rows = [
        (config.name, marks.FORBIDDEN if config.value is None or config.sensitive else config.value, config.source)
        for config in configs
        if wide or config.source == "DYNAMIC_GROUP_CONFIG"
    ]
    return table((Column("CONFIG"), Column("VALUE"), Column("SOURCE")), rows, indent="  ") if rows else ""

"""Tests of the catalog of output fields: every field is complete, and no output has the same field twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.fields import Field, Missing, group_fields, member_fields, partition_fields
from kgtui.model.group import GroupDescription
from kgtui.model.offsets import PartitionLag
from kgtui.model.snapshot import Reading
from tests.unit.model.query_snapshots import mixed_snapshot, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

MODULES = (group_fields, member_fields, partition_fields)
FIELDS = [field for module in MODULES for field in vars(module).values() if isinstance(field, Field)]
OUTPUTS: dict[str, Sequence[Field[...]]] = {
    "ls": group_fields.LISTED,
    "ls table": group_fields.LIST_COLUMNS,
    "ls wide table": group_fields.WIDE_LIST_COLUMNS,
    "show": group_fields.DETAILED,
    "show header": group_fields.HEADER_LINES,
    "members": member_fields.MEMBER_OBJECT,
    "partitions": partition_fields.PARTITION_OBJECT,
}
ROW = partition_fields.PartitionRow(PartitionLag("orders", 0, 10, 2, 15, 5, 8, 0), share=False, member_id="m-1")


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_field_in_the_catalog_has_a_name_a_title_and_a_source(field: Field[[]]) -> None:
    assert field.name.isidentifier()
    assert field.title == field.title.upper()
    assert field.source
    assert field.align == ("right" if field.type in ("int", "long", "double") else "left")


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_output_contains_the_same_field_twice(output: str) -> None:
    names = [field.name for field in OUTPUTS[output]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("group", ["payments.settle", "old.group"])
@pytest.mark.parametrize("described", [False, True])
def test_field_values_computed_per_column_equal_values_computed_per_group(group: str, described: bool) -> None:
    """The list of groups lacks the type and state of `old.group`. A background read or a description has them."""
    snap = mixed_snapshot()
    summaries = {**snap.summaries, "old.group": summary(state="Stable", type="share")}
    details = {group: Reading(GroupDescription(group, "streams", "streams", "NotReady", 2), 6.0)} if described else {}
    with_twin = {**snap.groups, "twin": snap.groups[group]}
    for groups in (with_twin, {name: row for name, row in with_twin.items() if row.type is not None}):
        newest = replace(snap, groups=groups, summaries=summaries, details=details)
        columns = group_fields.GroupColumns(newest, list(groups))
        for field in {*group_fields.LISTED, *group_fields.WIDE_LIST_COLUMNS}:
            assert list(columns.data(field)) == [field.data(newest, name) for name in groups]


def test_numeric_field_is_int_in_json_but_text_in_tables() -> None:
    assert partition_fields.LAG.value(ROW) == 5
    assert partition_fields.LAG.data(ROW) == 5
    assert partition_fields.LAG.text(ROW) == "5"


def test_missing_value_of_a_field_is_none_in_json_and_empty_in_tables() -> None:
    assert partition_fields.START_OFFSET.data(ROW) is None
    assert partition_fields.START_OFFSET.text(ROW) == ""
    assert partition_fields.START_OFFSET.missing is Missing.UNREAD


def test_lag_is_shown_as_a_lower_bound_if_some_partition_lags_are_unknown() -> None:
    assert group_fields.LAG.text(mixed_snapshot(), "backfill tool") == "≥ 700"
    assert group_fields.LAG.data(mixed_snapshot(), "backfill tool") == 700
    assert group_fields.LAG_UNKNOWN.data(mixed_snapshot(), "backfill tool") == 2

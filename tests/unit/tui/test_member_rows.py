"""Tests of the rows and columns in the Members pane. The app is not started."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.model.assignment import assignment_of
from kgtui.model.health import Watching, health_of
from kgtui.model.members import StreamsMember
from kgtui.tui.panes.cells import (
    Cell,
)
from kgtui.tui.panes.member_loads import member_loads
from kgtui.tui.panes.member_rows import (
    member_columns,
    member_restore_lag,
    member_rows,
    row_restore_lag,
)
from kgtui.tui.panes.members import members_summary
from tests.pilot.panes import data
from tests.scripted import member
from tests.unit.model.health.reads import offsets, watch

if TYPE_CHECKING:
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member


def column_ids(description: GroupDescription) -> list[str]:
    return [column.id for column in member_columns(description)]


def test_member_columns_depend_on_group_type_and_protocol() -> None:
    assert column_ids(data.consumer_group())[:5] == ["name", "host", "assigned", "epoch", "protocol"]
    assert "epoch" not in column_ids(data.classic_group())
    assert column_ids(data.connect_group())[:4] == ["url", "leads", "connectors", "tasks"]
    assert column_ids(data.registry_group())[:3] == ["url", "leads", "eligible"]
    assert column_ids(data.streams_group())[:4] == ["process", "active", "standby", "warmup"]
    assert "undecoded" in column_ids(data.hostile_group())


def test_members_pane_shows_partitions_lag_and_rate_of_each_member_as_bars() -> None:
    """A member with far more partitions than the average is highlighted, and so is a member without partitions."""
    members = (
        member("hot", client_id="a", assignment=(("t", (0, 1, 2, 3)),)),
        member("cold", client_id="b", assignment=(("t", (4,)),)),
        member("idle", client_id="c", assignment=(), target=()),
    )
    group = replace(data.consumer_group(), members=members)
    reads = [offsets(*((100 + 100 * step, 1_000) for _ in range(4)), (900 + 5 * step, 1_000)) for step in range(3)]
    health = health_of(watch(reads, watching=Watching()))
    rows = member_rows(group, loads=member_loads(group, reads[-1], health))
    columns = {column.id: column for column in member_columns(group, rows)}
    assert [columns["assigned"].cell(row) for row in rows] == [
        Cell("    4 ████", "kg-warn"), Cell("    1 █", "kg-accent"), Cell("    0 idle", "kg-warn"),
    ]  # fmt: skip
    assert [columns["lag"].cell(row).text for row in rows] == [" 2.8k ████▋", "   90 ▏", "    0"]
    assert [columns["rate"].cell(row).text for row in rows] == ["   80 ████", "    1 ▏", "    0"]
    without = member_columns(group, member_rows(group, loads=member_loads(group, None, None)))
    assert not {"lag", "rate"} & {column.id for column in without}


def test_member_lag_is_unknown_if_partitions_have_several_owners() -> None:
    loads = member_loads(data.share_group(), data.share_offsets(), None)
    assert {load.lag.value for load in loads.values()} == {None}


def test_member_that_delays_a_rebalance_is_listed_first() -> None:
    members = (
        member("a", client_id="a", epoch=7, assignment=(("t", (0,)),), target=(("t", (0,)),)),
        member("b", client_id="b", epoch=7, assignment=(), target=(("t", (1,)),)),
        member("c", client_id="c", epoch=6, assignment=(("t", (1, 2)),), target=(("t", (2,)),)),
    )
    group = replace(data.consumer_group(), members=members, group_epoch=7, assignment_epoch=7)
    assignment = assignment_of(group)
    assert assignment is not None
    rows = member_rows(group, assignment.blockers)
    assert [(row.member.member_id, row.holds_up) for row in rows] == [
        ("c", "must revoke 1, behind"), ("a", ""), ("b", ""),
    ]  # fmt: skip
    assert "holds" in [column.id for column in member_columns(group, rows)]
    assert "holds" not in [column.id for column in member_columns(group, member_rows(group))]


def test_members_with_equal_client_ids_have_different_names() -> None:
    """The client ids are equal, so each name also contains the host. An additional column shows the client ids."""
    members = (
        member("a-3fa8", client_id="billing", host="/10.0.3.7"),
        member("a-91cc", client_id="billing", host="/10.0.3.8"),
    )
    description = replace(data.consumer_group(), members=members)
    rows = member_rows(description)
    columns = {column.id: column for column in member_columns(description, rows)}
    assert [columns["name"].cell(row).text for row in rows] == ["billing@10.0.3.7", "billing@10.0.3.8"]
    assert [columns["client_id"].cell(row).text for row in rows] == ["billing", "billing"]
    alone = replace(description, members=members[:1])
    assert [row.name for row in member_rows(alone)] == ["billing"]
    assert "client_id" not in [column.id for column in member_columns(alone, member_rows(alone))]


def test_member_is_idle_only_if_its_target_assignment_is_empty() -> None:
    assigned = member("a", assignment=(("t", (0, 1)),), target=(("t", (0,)),))
    waiting = member("b", assignment=(), target=(("t", (1,)),))
    idle = member("c", assignment=(), target=())

    def summary(*members: Member) -> str:
        lines = members_summary(replace(data.consumer_group(), members=members))
        return " ".join(cell.text for line in lines for cell in line)

    assert "idle" not in summary(assigned, waiting)
    assert "1 idle" in summary(assigned, waiting, idle)


def test_members_pane_highlights_classic_members_of_a_consumer_group() -> None:
    columns = {column.id: column for column in member_columns(data.consumer_group())}
    rows = {row.member.client_id: row for row in member_rows(data.consumer_group())}
    assert columns["protocol"].cell(rows["settle-4"]) == Cell("! classic", "kg-warn")
    assert "not upgraded" in columns["protocol"].full_cell(rows["settle-4"]).text
    assert columns["protocol"].cell(rows["settle-0"]) == Cell("consumer")


def test_epoch_column_marks_old_epochs_and_members_that_have_left() -> None:
    columns = {column.id: column for column in member_columns(data.consumer_group())}
    rows = {row.member.client_id: row for row in member_rows(data.consumer_group())}
    assert columns["epoch"].cell(rows["settle-0"]).text == "40 < 41"
    assert columns["epoch"].cell(rows["settle-2"]).text == "41"
    left = replace(rows["settle-0"], member=replace(rows["settle-0"].member, epoch=-2))
    assert columns["epoch"].cell(left).text == "left"
    assert "assignment is kept" in columns["epoch"].full_cell(left).text


def test_row_of_a_streams_process_counts_tasks_of_all_threads() -> None:
    rows = member_rows(data.streams_group())
    columns = {column.id: column for column in member_columns(data.streams_group())}
    assert [bool(row.threads) for row in rows] == [True, False, False, True, False, False]
    assert [columns["active"].cell(row).text for row in rows] == ["3", "2", "1", "3", "2", "1"]
    assert columns["active"].full_cell(rows[0]).text == "0:0-1 0:2"
    assert len({row.key for row in rows}) == 6


def test_restore_lag_of_streams_tasks_is_unknown_until_offsets_are_reported() -> None:
    rows = member_rows(data.streams_group())
    assert [row_restore_lag(row) for row in rows] == [0, 0, None, 102_611, 12_400, 90_211]
    without_tasks = StreamsMember("p", 1, task_end_offsets=(("0", 0, 5),))
    assert member_restore_lag(without_tasks) == 0, "without standby and warm-up tasks there is nothing to restore"


def test_members_pane_shows_undecodable_member_metadata_in_hexadecimal() -> None:
    (row,) = member_rows(data.hostile_group())
    columns = {column.id: column for column in member_columns(data.hostile_group())}
    assert columns["undecoded"].cell(row).text.startswith("00 01 02 03")
    assert columns["undecoded"].cell(row).text.endswith("100 bytes")

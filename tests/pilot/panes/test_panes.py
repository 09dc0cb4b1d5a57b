"""Tests of all panes with each kind of group, at several screen sizes."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from textual.widgets import Input
from textual.worker import WorkerCancelled

from kgtui.model.access import FULL_ACCESS, Access
from kgtui.model.offsets import GroupOffsets
from kgtui.model.snapshot import Reading, Snapshot
from kgtui.tui.panes import PANES
from kgtui.tui.panes.assignments import AssignmentsPane
from kgtui.tui.panes.base import Notice, Pane, SummaryLine
from kgtui.tui.panes.config import ConfigPane
from kgtui.tui.panes.members import MembersPane
from kgtui.tui.panes.offsets import OffsetsPane
from kgtui.tui.panes.overview import OverviewPane
from kgtui.tui.panes.row_detail import RowDetail
from kgtui.tui.panes.text_lines import TextLines
from tests.pilot.panes import data
from tests.pilot.panes.pane_app import PaneApp

GROUPS = sorted(data.example_snapshot().groups)
ENTRIES = pytest.mark.parametrize("entry", PANES, ids=[entry.id for entry in PANES])


def summary_text(pane: Pane) -> str:
    """Return the text that a pane shows above its table: the notice, a space, and the summary line."""
    return f"{pane.query_one(Notice).content} {pane.query_one(SummaryLine).content}"


@ENTRIES
async def test_every_pane_shows_every_group_on_large_and_tiny_screens(entry: Any) -> None:
    """No pane crashes the app, not even for a group that does not exist, or if no group is selected."""
    snapshot = data.example_snapshot()
    pane = entry.widget()
    app = PaneApp(pane, snapshot, GROUPS[0])
    async with app.run_test(size=(120, 40)) as pilot:
        for size in ((120, 40), (52, 21), (14, 4)):
            await pilot.resize_terminal(*size)
            for group in [*GROUPS, "nowhere", None]:
                pane.show(snapshot, group)
                await pilot.pause()
        assert app.is_running


@ENTRIES
async def test_a_new_snapshot_keeps_the_focus_and_scroll_position_of_each_pane(entry: Any) -> None:
    pane = entry.widget()
    app = PaneApp(pane, data.example_snapshot(), "payments.settle")
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("down", "down", "down", "pagedown")
        await pilot.pause()
        target: Any = pane.focus_target()
        before = app.focused, target.scroll_offset, getattr(target, "cursor", None)
        assert target.has_focus
        for serial in range(2, 5):
            pane.show(data.example_snapshot(serial), "payments.settle")
            await pilot.pause()
        assert (app.focused, target.scroll_offset, getattr(target, "cursor", None)) == before


async def test_table_rows_are_reused_if_the_group_has_not_changed() -> None:
    """The pane does not compute its rows again if a new snapshot contains the same `GroupDescription` object."""
    snapshot = data.example_snapshot()
    pane = MembersPane()
    app = PaneApp(pane, snapshot, "payments.settle")
    async with app.run_test(size=(80, 24)) as pilot:
        rows = pane.table.rows
        pane.show(replace(snapshot, serial=2), "payments.settle")
        await pilot.pause()
        assert pane.table.rows is rows


async def test_showing_a_different_group_moves_the_table_cursor_to_the_first_row() -> None:
    pane = OffsetsPane()
    snapshot = data.example_snapshot()
    app = PaneApp(pane, snapshot, "payments.settle")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end")
        assert pane.table.cursor > 0
        pane.show(snapshot, "orders.enrich")
        await pilot.pause()
        assert pane.table.cursor == 0
        assert pane.table.row is not None
        assert pane.table.row.topic == "orders.created"


async def test_a_new_snapshot_does_not_change_the_line_breaks_of_a_hidden_overview() -> None:
    """A hidden pane has the width 0. Text wrapped to this width would look wrong when the pane is shown again."""
    pane, snapshot = OverviewPane(), data.example_snapshot()
    app = PaneApp(pane, snapshot, "payments.settle")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        before = pane.text.plain_text
        pane.display = False
        await pilot.pause()
        pane.show(replace(snapshot, serial=2), "payments.settle")
        await pilot.pause()
        assert pane.text.plain_text == before


async def test_member_values_that_have_no_column_are_shown_below_the_members_table() -> None:
    pane = MembersPane()
    app = PaneApp(pane, data.example_snapshot(), "payments.settle")
    async with app.run_test(size=(50, 24)) as pilot:
        assert "member_id" not in pane.table.shown, "there is no room for the member id as a column"
        await pilot.press("down")
        await pilot.pause()
        assert "9f3c1ab2-77d0-4e6e-a1f1-000000000001" in str(pane.query_one(RowDetail).query_one("Static").render())


@pytest.mark.parametrize(
    ("group", "width", "columns"),
    [
        ("payments.settle", 36, ("name", "assigned", "epoch")),
        ("payments.settle", 52, ("name", "assigned", "epoch", "holds")),
        ("connect-prod", 60, ("url", "leads", "connectors", "tasks", "error")),
        ("clicks.aggregate", 52, ("process", "active", "standby", "warmup", "epoch")),
    ],
)
async def test_a_narrow_members_pane_shows_only_the_essential_columns(
    group: str, width: int, columns: tuple[str, ...]
) -> None:
    pane = MembersPane()
    app = PaneApp(pane, data.example_snapshot(), group)
    async with app.run_test(size=(width, 21)) as pilot:
        await pilot.pause()
        assert pane.table.shown == columns


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        (FULL_ACCESS, "no committed offsets"),
        (Access(frozenset(), any_topic=True), "no offsets that you are allowed to see"),
        (Access(frozenset(), any_topic=False), "no offsets that you are allowed to see"),
        (None, "no offsets that you are allowed to see"),
    ],
)
async def test_panes_without_offsets_say_whether_missing_permissions_can_be_the_reason(
    access: Access | None, expected: str
) -> None:
    """Brokers hide a group's offsets in topics for which the user lacks the permission DESCRIBE.

    The panes therefore say `no committed offsets` only if the user has DESCRIBE for every topic.
    """
    group, snapshot = "payments.settle", data.example_snapshot()
    snapshot = replace(snapshot, offsets={group: Reading(GroupOffsets(), snapshot.taken_at)}, summaries={})
    offsets, overview = OffsetsPane(), OverviewPane()
    async with PaneApp(offsets, snapshot, group).run_test(size=(100, 40)) as pilot:
        # The monitor reads offsets before permissions, so the first snapshot contains no permissions of the user yet.
        offsets.show(replace(snapshot, access=access), group)
        await pilot.pause()
        assert str(offsets.query_one(SummaryLine).content).strip() == expected
        notice = " ".join(str(offsets.query_one(Notice).content).split())
        assert ("you are not allowed to describe" in notice) == (access is not None and not access.any_topic)
    async with PaneApp(overview, replace(snapshot, access=access), group).run_test(size=(100, 60)) as pilot:
        await pilot.pause()
        assert expected in overview.text.plain_text


async def test_key_s_or_a_click_on_a_column_title_sorts_the_offsets_pane() -> None:
    pane = OffsetsPane()
    app = PaneApp(pane, data.example_snapshot(), "payments.settle")
    async with app.run_test(size=(100, 30)) as pilot:
        assert pane.table.rows[0].partition == -1
        await pilot.press("s")
        assert pane.table.sorted_by == ("lag", True)
        assert [row.lag.lag for row in pane.table.rows if row.lag][:2] == [1000, 933]
        await pilot.press("s")
        assert pane.table.sorted_by == ("lead", False)
        await pilot.click(pane.table, offset=(1, 0))
        assert pane.table.sorted_by == ("topic", False)
        await pilot.click(pane.table, offset=(1, 0))
        assert pane.table.sorted_by == ("topic", True)
        assert pane.table.rows[0].topic == "payments.settled"


async def test_the_cursor_stays_on_its_partition_when_the_order_of_the_rows_changes() -> None:
    pane = OffsetsPane()
    snapshot = data.example_snapshot()
    app = PaneApp(pane, snapshot, "payments.settle")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("s", "down", "down")
        row = pane.table.row
        assert row is not None
        offsets = data.consumer_offsets()
        bounds = dict(offsets.bounds or {})
        bounds[row.topic, row.partition] = replace(bounds[row.topic, row.partition], log_end=500_000)
        newer = replace(snapshot, offsets={"payments.settle": Reading(replace(offsets, bounds=bounds), data.NOW)})
        pane.show(newer, "payments.settle")
        await pilot.pause()
        assert pane.table.cursor == 0
        assert pane.table.row is not None
        assert pane.table.row.key == row.key


async def test_key_l_limits_the_offsets_pane_to_partitions_with_lag() -> None:
    pane = OffsetsPane()
    app = PaneApp(pane, data.example_snapshot(), "orders.enrich")
    async with app.run_test(size=(100, 40)) as pilot:
        count_of_all_rows = len(pane.table.rows)
        await pilot.press("l")
        await pilot.pause()
        assert 0 < len(pane.table.rows) < count_of_all_rows
        assert "14 lagging" in summary_text(pane)
        await pilot.press("l")
        assert len(pane.table.rows) == count_of_all_rows


async def test_the_enter_key_keeps_the_filter_of_the_offsets_pane_and_escape_removes_it() -> None:
    pane = OffsetsPane()
    app = PaneApp(pane, data.example_snapshot(), "orders.enrich")
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.press("slash", *"paid")
        await pilot.pause()
        assert {row.topic for row in pane.table.rows} == {"orders.paid"}
        assert pane.query_one(Input).has_focus
        await pilot.press("enter")
        assert pane.table.has_focus
        assert {row.topic for row in pane.table.rows} == {"orders.paid"}
        await pilot.press("escape")
        await pilot.pause()
        assert len({row.topic for row in pane.table.rows}) == 5


async def test_key_v_cycles_through_five_views_of_the_assignments() -> None:
    """The views are a list of partitions, a grid, a list of members, a list of hosts, and a list of racks.

    The grid has a row per partition and a column per member.
    """
    pane = AssignmentsPane()
    app = PaneApp(pane, data.example_snapshot(), "payments.settle")
    async with app.run_test(size=(100, 30)) as pilot:
        assert "3 of 14 must move" in summary_text(pane)
        assert "waits for settle-pod-0, settle-pod-1" in summary_text(pane)
        titles = []
        for _ in range(5):
            titles.append(pane.table.columns[0].title)
            await pilot.press("v")
            await pilot.pause()
        assert titles == ["TOPIC", "ITEM", "MEMBER", "HOST", "RACK"]
        assert pane.table.columns[0].title == "TOPIC"


async def test_key_l_limits_the_assignments_pane_to_partitions_that_must_move() -> None:
    pane = AssignmentsPane()
    app = PaneApp(pane, data.example_snapshot(), "payments.settle")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("l")
        await pilot.pause()
        assert [row.placement.item.number for row in pane.table.rows] == [2, 5, 10]


async def test_the_config_pane_says_that_a_broker_does_not_support_group_configs() -> None:
    from kgtui.model.answer import Fault

    fault = Fault("NOT_SUPPORTED", "reading group configs is not supported by this broker")
    snapshot = replace(data.example_snapshot(), configs={"orders.enrich": Reading((), data.NOW, fault)})
    pane = ConfigPane()
    app = PaneApp(pane, snapshot, "orders.enrich")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "not supported by this broker" in summary_text(pane)
        assert not pane.table.rows


async def test_the_config_pane_says_that_classic_groups_have_no_configs_on_the_broker() -> None:
    pane = ConfigPane()
    app = PaneApp(pane, data.example_snapshot(), "orders.enrich")
    async with app.run_test(size=(110, 24)) as pilot:
        await pilot.pause()
        shown = pane.table.render_line(0).text.strip()
        assert shown == "Classic groups have no configs on the broker; they are configured in their clients."


async def test_the_value_of_a_sensitive_config_is_hidden() -> None:
    pane = ConfigPane()
    app = PaneApp(pane, data.example_snapshot(), "payments.settle")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "(hidden)" in pane.table.render_line(2).text


async def test_the_page_down_key_scrolls_the_overview_pane() -> None:
    pane = OverviewPane()
    app = PaneApp(pane, data.example_snapshot(), "payments.settle")
    async with app.run_test(size=(60, 10)) as pilot:
        app.screen.set_focus(pane.focus_target())
        await pilot.pause()
        await pilot.press("pagedown")
        await pilot.pause()
        assert pane.query_one(TextLines).scroll_offset.y > 0


async def test_the_cursor_stays_on_the_same_partition_when_5000_partitions_change() -> None:
    """The table has so many rows that a background worker computes them, and then replaces all rows at once."""
    pane = OffsetsPane()
    snapshot = data.example_snapshot()

    def grown(by: int) -> Snapshot:
        return replace(snapshot, offsets={"payments.settle": Reading(data.many_offsets(5_000, by), data.NOW)})

    app = PaneApp(pane, grown(0), "payments.settle")
    async with app.run_test(size=(100, 30)) as pilot:
        await app.workers.wait_for_complete()
        assert len(pane.table.rows) == 5_010
        await pilot.press("end", "pageup")
        before = pane.table.row
        assert before is not None
        pane.show(grown(5), "payments.settle")
        await app.workers.wait_for_complete()
        after = pane.table.row
        assert after is not None
        assert after.key == before.key
        assert after != before


async def test_rows_computed_for_a_previously_selected_group_are_discarded() -> None:
    pane = OffsetsPane()
    snapshot = data.example_snapshot()
    large = dict(snapshot.offsets) | {"payments.settle": Reading(data.many_offsets(5_000), data.NOW)}
    app = PaneApp(pane, replace(snapshot, offsets=large), "payments.settle")
    async with app.run_test(size=(100, 30)):
        pane.show(replace(snapshot, offsets=large), "payments.settle")
        pane.show(replace(snapshot, offsets=large), "orders.enrich")
        # By showing the second group, the pane has canceled the worker that computes the rows of the first group.
        with contextlib.suppress(WorkerCancelled):
            await app.workers.wait_for_complete()
        assert {row.topic for row in pane.table.rows} >= {"orders.created", "secret.audit"}
        assert len(pane.table.rows) < 30

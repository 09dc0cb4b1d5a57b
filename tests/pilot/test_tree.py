"""Tests of the tree of groups with keys, mouse clicks and new snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.tui.tree.layout import RowKey
from tests.pilot.app_driver import HOSTILE, LAGS, ROWS, app_on, main_screen, rows, sample_snapshot, settled
from tests.pilot.group_tree import tree_of
from tests.pilot.scripted_monitor import many_groups, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    from rich.color import Color

    from kgtui.tui.tree.widget import GroupTree


def backgrounds(tree: GroupTree) -> set[Color | None]:
    """Return the background colors in the tree: one color, and a second one if the cursor is drawn."""
    return {segment.style.bgcolor for y in range(tree.size.height) for segment in tree.render_line(y) if segment.style}


async def test_the_tree_shows_groups_below_nodes_for_their_type_and_state(tmp_path: Path) -> None:
    """With few groups, all nodes are open at the start. Each node shows the number and the total lag of its groups."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        shown = rows(app)
    assert shown[0].split() == ["prod-eu", "10", "≥", "1.2M"]
    assert shown[1].split() == ["▾", "consumer", "3", "1.2M"]
    assert [row.split()[1] for row in shown if row and row.startswith("     ")][:3] == [
        "orders.enrich", "payments.settle", "orders.export",
    ]  # fmt: skip
    assert any(row.split() == ["▾", "classic", "·", "simple", "1", "0"] for row in shown)
    assert any(row.split() == ["▾", "classic", "·", "connect", "1", "?"] for row in shown)


async def test_keys_move_the_cursor_and_open_and_close_tree_nodes(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        tree = tree_of(app)
        await pilot.press("down", "down", "down", "j")
        assert tree.group == "payments.settle"
        await pilot.press("k")
        assert tree.group == "orders.enrich"
        await pilot.press("left")
        assert tree.model.cursor_key == RowKey(("consumer", "Stable"))
        await pilot.press("left")
        assert "orders.enrich" not in "\n".join(rows(app))
        await pilot.press("right", "right")
        assert tree.group == "orders.enrich"
        await pilot.press("G")
        assert tree.group == "streams-app"
        await pilot.press("g")
        assert tree.model.cursor_row == 0


async def test_key_n_finds_groups_in_closed_tree_nodes_and_wraps_around(tmp_path: Path) -> None:
    """Key `n` moves the tree cursor to the next group, and after the last group to the first group."""
    app, _ = app_on(snapshot_of(many_groups(1_000)), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        tree = tree_of(app)
        assert not any(tree.model.layout.groups(0, tree.model.layout.rows))
        await pilot.press("n")
        assert tree.group == "team-000.service-000097"
        tree.move_to(tree.model.layout.rows)
        await pilot.press("n")
        assert tree.group is not None


async def test_a_new_snapshot_keeps_the_cursor_scroll_position_and_open_nodes(tmp_path: Path) -> None:
    """The selected group stays on its line of the screen while other groups are added and removed."""
    before = many_groups(3_000)
    app, monitor = app_on(snapshot_of(before), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        tree = tree_of(app)
        await pilot.press("n", *["pagedown"] * 5, "up", "up", "up")
        group, line = tree.group, tree.model.cursor_row - tree.scroll_offset.y
        opened = set(tree.model.layout.opened)
        assert group is not None
        assert tree.scroll_offset.y > 0
        after = [row for row in before if row[0] > group or int(row[0][-3:]) % 2] + [
            (group, *before[1][1:]), ("aaa-new-one", "consumer", "consumer", "Stable", 1),
        ]  # fmt: skip
        monitor.publish(snapshot_of(dict.fromkeys(after)))
        await settled(pilot)
        assert tree.group == group
        assert tree.model.cursor_row - tree.scroll_offset.y == line
        assert tree.model.layout.opened == opened
        assert app.focused is tree


async def test_a_deleted_group_stays_selected_until_the_cursor_moves(tmp_path: Path) -> None:
    """If the next group were selected automatically, a key pressed at this moment would act on the wrong group."""
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        assert main_screen(app).group == "payments.settle"
        monitor.publish(snapshot_of([row for row in ROWS if row[0] != "payments.settle"], lags=LAGS))
        await settled(pilot)
        assert main_screen(app).group == "payments.settle"
        assert main_screen(app).why_unavailable("delete") == "the group is no longer listed"
        await pilot.press("n")
        assert main_screen(app).group not in ("payments.settle", None)


async def test_a_group_that_the_filter_hides_is_not_selected(tmp_path: Path) -> None:
    """Keys must not act on a group that is not visible. After the filter is cleared, the group is selected again."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        for expression in ("no-such-group", "jobs"):
            main_screen(app).set_filter(expression)
            await settled(pilot)
            assert "payments.settle" not in "\n".join(rows(app))
            assert tree_of(app).group is None
            assert main_screen(app).group is None
            assert not main_screen(app).detail.display
            assert not main_screen(app).right_side.page.display
            assert main_screen(app).why_unavailable("delete") == "put the cursor on a group first"
        main_screen(app).set_filter("")
        await settled(pilot)
        assert main_screen(app).group == "payments.settle"
        assert "payments.settle" in rows(app)[tree_of(app).model.cursor_row]


async def test_no_cursor_is_drawn_after_the_selected_group_was_deleted(tmp_path: Path) -> None:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("n")
        tree = tree_of(app)
        assert len(backgrounds(tree)) == 2
        monitor.publish(snapshot_of([row for row in ROWS if row[0] != tree.group], lags=LAGS))
        await settled(pilot)
        assert len(backgrounds(tree)) == 1


async def test_the_cursor_stays_on_its_group_when_the_grouping_changes(tmp_path: Path) -> None:
    """The tree opens the node that contains the selected group."""
    app, _ = app_on(snapshot_of(many_groups(500)), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("n", "down", "down")
        group = tree_of(app).group
        assert group is not None
        for _ in range(4):
            await pilot.press("b")
            await settled(pilot)
            assert tree_of(app).group == main_screen(app).group == group
            row_key = tree_of(app).model.layout.row_key(tree_of(app).model.cursor_row)
            assert row_key is not None
            assert row_key.group == group


async def test_the_cursor_follows_a_group_to_the_node_of_its_new_state(tmp_path: Path) -> None:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("n")
        assert tree_of(app).group == "orders.enrich"
        moved = [row if row[0] != "orders.enrich" else (*row[:3], "Empty", 1) for row in ROWS]
        monitor.publish(snapshot_of(moved, lags=LAGS))
        await settled(pilot)
        assert tree_of(app).model.cursor_key == RowKey(("consumer", "Empty"), "orders.enrich")
        assert "orders.enrich" in rows(app)[tree_of(app).model.cursor_row]


async def test_a_new_snapshot_without_changes_does_not_redraw_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, monitor = app_on(snapshot_of(many_groups(500)), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("n")
        await settled(pilot)
        drawn: list[int] = []
        tree = tree_of(app)
        monkeypatch.setattr(tree, "refresh_line", drawn.append)
        monkeypatch.setattr(tree, "refresh", lambda *regions, **options: drawn.append(-1))
        monitor.publish(snapshot_of(many_groups(500), serial=2))
        await settled(pilot)
        assert drawn == []
        changed = many_groups(500)
        changed[97] = (*changed[97][:3], "Stable", 4)
        monitor.publish(snapshot_of(changed, serial=3, lags={"team-000.service-000097": 7}))
        await settled(pilot)
        assert len(drawn) >= 1
        assert -1 not in drawn


@pytest.mark.parametrize("width", [60, 80, 120, 200])
async def test_tree_columns_stay_aligned_if_group_ids_contain_control_characters(tmp_path: Path, width: int) -> None:
    """Each row is exactly as wide as the tree, even if the group id contains control characters or wide characters."""
    snapshot = snapshot_of([(group, "classic", "consumer", "Stable", 1) for group in HOSTILE])
    app, _ = app_on(snapshot, tmp_path)
    async with app.run_test(size=(width, 40)) as pilot:
        await settled(pilot)
        tree = tree_of(app)
        for y in range(tree.size.height):
            assert tree.render_line(y).cell_length == tree.columns
        shown = "\n".join(rows(app))
        assert "[/red]" in shown
        assert "\\x1b[31m" in shown
        assert "\x1b" not in shown
        assert "\\u202e" in shown
        if width == 120:
            await pilot.press(*["n"] * len(HOSTILE))
            assert tree.group in HOSTILE


async def test_the_space_key_marks_a_group_and_asterisk_marks_all_groups(tmp_path: Path) -> None:
    """A second press of asterisk unmarks all groups."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("n", "space", "space")
        assert main_screen(app).marked == {"orders.enrich", "payments.settle"}
        await pilot.press("asterisk")
        assert len(main_screen(app).marked) == len(ROWS)
        await pilot.press("asterisk")
        assert not main_screen(app).marked


async def test_mouse_clicks_select_groups_and_open_nodes_and_focus_the_panes(tmp_path: Path) -> None:
    """A click on a group moves the cursor to the group, and a click on a tree node opens or closes the node.

    A double click on a group moves the focus to the panes.
    """
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        tree = tree_of(app)
        await pilot.click(tree, offset=(10, 4))
        assert tree.group == "payments.settle"
        await pilot.click(tree, offset=(10, 1))
        assert ("consumer",) not in tree.model.layout.opened
        await pilot.click(tree, offset=(10, 1))
        await pilot.click(tree, offset=(10, 3), times=2)
        await settled(pilot)
        assert main_screen(app).in_panes


async def test_the_tree_of_a_large_cluster_starts_with_closed_nodes(tmp_path: Path) -> None:
    app, _ = app_on(snapshot_of(many_groups(20_000), brokers=5), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        tree = tree_of(app)
        assert tree.model.layout.rows == 7
        await pilot.press("down", "down", "right")
        assert tree.model.layout.rows > 17_000
        first = next(iter(tree.model.layout.groups(3, 4)))
        assert first == min(row[0] for row in many_groups(20_000) if row[1] == "consumer" and row[3] == "Stable")


async def test_inserting_rows_above_the_visible_area_does_not_redraw_the_whole_tree(tmp_path: Path) -> None:
    """Seven groups are added above the visible rows, and one visible group is removed.

    All changed lines must be redrawn, but not the whole tree.
    """
    before = many_groups(3_000)
    app, monitor = app_on(snapshot_of(before), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        tree = tree_of(app)
        await pilot.press("n", *["pagedown"] * 3)
        await settled(pilot)
        drawn = dict(enumerate(rows(app)))
        above = [(f"aaa-{number}", "consumer", "consumer", "Stable", 1) for number in range(7)]
        gone = next(iter(tree.model.layout.groups(tree.scroll_offset.y + 3, tree.scroll_offset.y + 4)))
        redrawn: list[int] = []
        refresh_line = tree.refresh_line

        def note(y: int) -> None:
            redrawn.append(y - tree.scroll_offset.y)
            refresh_line(y)

        tree.refresh_line = note  # type: ignore[method-assign]
        monitor.publish(snapshot_of([row for row in [*before, *above] if row[0] != gone]))
        await settled(pilot)
        after = dict(enumerate(rows(app)))
        assert {y for y in after if after[y] != drawn[y]} <= set(redrawn)
        assert 0 < len(set(redrawn)) < len(after) - 5


async def test_an_exception_in_the_monitor_is_reported_as_the_cause_of_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgtui.tui.textual_compat.crash_message import CrashedError

    app, monitor = app_on(sample_snapshot(), tmp_path)

    async def fail() -> None:
        raise LookupError("the monitor has a defect")

    monkeypatch.setattr(monitor, "run", fail)
    with pytest.raises(CrashedError) as caught:
        async with app.run_test(size=(120, 30)) as pilot:
            await settled(pilot)
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.report is not None
    assert "the monitor has a defect" in caught.value.report.read_text(encoding="utf-8")

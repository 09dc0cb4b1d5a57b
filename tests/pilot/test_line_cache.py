"""Tests that the cache of drawn lines does not change what the screen shows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.containers import Vertical

from kgtui.tui.node_page import page
from kgtui.tui.panes.cells import Cell
from kgtui.tui.panes.table import LineTable
from kgtui.tui.panes.text_lines import TextLines
from tests.pilot.app_driver import app_on, main_screen, settled, until
from tests.pilot.scripted_monitor import many_groups, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from textual.app import ComposeResult
    from textual.geometry import Region
    from textual.pilot import Pilot
    from textual.strip import Strip

    from kgtui.tui.app import KgtuiApp

MOVES = ("down", "pagedown", "up", "pageup", "end", "up", "home", "space", "left", "b", "s", "z", "tab", "down", "2")


async def equals_full_redraw(app: KgtuiApp, pilot: Pilot[int]) -> bool:
    """Redraw all widgets, and return whether the screen looks the same as before."""
    await settled(pilot)
    screen = main_screen(app)
    # Wait until the right side of the screen shows the tree row under the cursor. The right side is updated only after
    # a delay, and the page of a tree node is computed in the background.
    await until(pilot, lambda: screen._pane_timer is None and screen.right_side.page.is_current)
    before = ""
    while before != (before := app.export_screenshot()):
        await pilot.pause(0.05)
    for widget in app.screen.query("*"):
        widget.refresh()
    await settled(pilot)
    return app.export_screenshot() == before


async def test_a_full_redraw_after_each_key_does_not_change_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "SHORTEST_PAUSE", 0.01)
    app, monitor = app_on(snapshot_of(many_groups(200)), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("right", *["down"] * 35)
        for number, key in enumerate(MOVES):
            await pilot.press(key)
            assert await equals_full_redraw(app, pilot), key
            if number % 4 == 0:
                monitor.publish(snapshot_of(many_groups(200 + 7 * number), serial=number + 2))
                assert await equals_full_redraw(app, pilot), f"a snapshot after {key}"
        await pilot.resize_terminal(90, 24)
        assert await equals_full_redraw(app, pilot)


async def test_scrolling_by_one_row_draws_only_the_changed_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, _ = app_on(snapshot_of(many_groups(150)), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        tree = main_screen(app).group_tree
        await pilot.press("right", *["down"] * 40)
        await settled(pilot)
        rendered: list[int] = []
        render = tree.render_line

        def render_and_record(y: int) -> Strip:
            rendered.append(y)
            return render(y)

        monkeypatch.setattr(tree, "render_line", render_and_record)
        top = tree.scroll_offset.y
        await pilot.press("down")
        await settled(pilot)
        assert tree.scroll_offset.y == top + 1
        bottom = tree.size.height - 1
        assert set(rendered) == {bottom - 1, bottom}


async def test_the_scroll_bar_looks_the_same_after_a_full_redraw(tmp_path: Path) -> None:
    """Scrolling redraws only the changed part of the scroll bar. This must give the same lines as a full redraw.

    The test scrolls trees of three sizes. In the largest tree, the thumb of the scroll bar has its minimum length.
    """
    chance = random.Random(4)
    for rows in (30, 100, 3_000):
        app, _ = app_on(snapshot_of(many_groups(rows)), tmp_path)
        async with app.run_test(size=(120, 30)) as pilot:
            await settled(pilot)
            await pilot.press("right")
            await settled(pilot)
            tree = main_screen(app).group_tree
            bar = tree.vertical_scrollbar
            for _ in range(12):
                step = chance.choice([1, 27, rows // 3])
                tree.scroll_to(y=tree.scroll_offset.y + chance.choice([-step, step]), animate=False)
                partial = bar.render_lines(bar.size.region)
                bar.refresh()
                assert partial == bar.render_lines(bar.size.region)


class TextApp(App[None]):
    """An app that shows only a text of several lines."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {f"kg-{role}": "#888888" for role in ("ok", "warn", "error", "muted", "accent", "stale")}

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TextLines()


def rows_on_screen(app: App[None]) -> list[str]:
    return ["".join(segment.text for segment in row).rstrip() for row in app.screen._compositor.render_strips()]


async def test_a_text_that_changed_while_hidden_shows_its_new_lines() -> None:
    """Textual clears cached lines only when a widget is hidden for the first time, so the test hides the text twice."""
    app = TextApp()
    async with app.run_test(size=(40, 10)) as pilot:
        lines = app.query_one(TextLines)
        lines.set_lines([(Cell(f"old {number}"),) for number in range(8)])
        await pilot.pause()
        for shown in (False, True, False):
            app.query_one(Vertical).display = shown
            await pilot.pause()
        lines.set_lines([(Cell(f"new {number}"),) for number in range(5)])
        await pilot.pause()
        app.query_one(Vertical).display = True
        await pilot.pause()
        assert rows_on_screen(app) == [*(f"new {number}" for number in range(5)), *[""] * 5]


async def test_unchanged_table_rows_are_not_redrawn_for_a_new_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table on the cluster page gets new rows and columns with each snapshot, but only changed lines are redrawn."""
    monkeypatch.setattr(page, "SHORTEST_PAUSE", 0.01)
    app, monitor = app_on(snapshot_of(many_groups(150)), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        assert await equals_full_redraw(app, pilot)
        table = main_screen(app).query_one("#page-groups", LineTable)
        drawn: list[Region] = []
        refresh = table.refresh

        def refresh_and_record(*regions: Region, **options: Any) -> LineTable[Any]:
            drawn.extend(regions or [table.region])
            return refresh(*regions, **options)

        monkeypatch.setattr(table, "refresh", refresh_and_record)
        monitor.publish(snapshot_of(many_groups(150), serial=2))
        await settled(pilot)
        await until(pilot, lambda: main_screen(app).right_side.page.is_current)
        assert drawn == []
        monitor.publish(snapshot_of(many_groups(160), serial=3))
        await until(pilot, lambda: bool(drawn))

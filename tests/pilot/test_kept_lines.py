"""Lines that are kept as they were drawn are those that would be drawn now."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.pilot.shell import app_on, main_screen, settled
from tests.pilot.watching import many, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot
    from textual.strip import Strip

    from kgtui.tui.app import KgtuiApp

MOVES = ("down", "pagedown", "up", "pageup", "end", "up", "home", "space", "left", "b", "s", "z", "tab", "down", "2")


async def shows_what_a_full_redraw_shows(app: KgtuiApp, pilot: Pilot[int]) -> bool:
    await settled(pilot)
    before = app.export_screenshot()
    for widget in app.screen.query("*"):
        widget.refresh()
    await settled(pilot)
    return app.export_screenshot() == before


async def test_after_each_key_the_screen_is_what_a_full_redraw_shows(tmp_path: Path) -> None:
    app, watch = app_on(snapshot_of(many(200)), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("right", *["down"] * 35)
        for number, key in enumerate(MOVES):
            await pilot.press(key)
            assert await shows_what_a_full_redraw_shows(app, pilot), key
            if number % 4 == 0:
                watch.publish(snapshot_of(many(200 + 7 * number), serial=number + 2))
                assert await shows_what_a_full_redraw_shows(app, pilot), f"a snapshot after {key}"
        await pilot.resize_terminal(90, 24)
        assert await shows_what_a_full_redraw_shows(app, pilot)


async def test_scrolling_by_a_row_draws_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = app_on(snapshot_of(many(200)), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        tree = main_screen(app).group_tree
        await pilot.press("right", *["down"] * 40)
        await settled(pilot)
        asked: list[int] = []
        render = tree.render_line

        def asking(y: int) -> Strip:
            asked.append(y)
            return render(y)

        monkeypatch.setattr(tree, "render_line", asking)
        top = tree.scroll_offset.y
        await pilot.press("down")
        await settled(pilot)
        assert tree.scroll_offset.y == top + 1
        bottom = tree.size.height - 1
        assert set(asked) == {bottom - 1, bottom}


async def test_the_scroll_bar_is_drawn_where_it_looks_different(tmp_path: Path) -> None:
    """Also with so many rows that its thumb is as short as can be."""
    chance = random.Random(4)
    for rows in (30, 100, 3_000):
        app, _ = app_on(snapshot_of(many(rows)), tmp_path)
        async with app.run_test(size=(120, 30)) as pilot:
            await settled(pilot)
            await pilot.press("right")
            await settled(pilot)
            tree = main_screen(app).group_tree
            bar = tree.vertical_scrollbar
            for _ in range(12):
                step = chance.choice([1, 27, rows // 3])
                tree.scroll_to(y=tree.scroll_offset.y + chance.choice([-step, step]), animate=False)
                kept = bar.render_lines(bar.size.region)
                bar.refresh()
                assert kept == bar.render_lines(bar.size.region)

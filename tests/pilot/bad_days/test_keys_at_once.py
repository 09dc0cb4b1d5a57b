"""Keys that arrive in one piece, as over a slow line: each acts on what the one before it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from tests.pilot.shell import app_on, company, main_screen, settled, until

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.tui.app import KgtuiApp


def type_at_once(app: KgtuiApp, *keys: str) -> None:
    """Put all keys into the app's queue before it sees the first."""
    for key in keys:
        app.post_message(events.Key("slash" if key == "/" else key, key if len(key) == 1 else None))


async def test_what_follows_the_slash_is_the_filter(tmp_path: Path) -> None:
    """None of its letters runs as a key of its own: `p` would stop polling, `d` would ask to delete."""
    app, watch = app_on(company(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        type_at_once(app, *"/pods")
        await until(pilot, lambda: main_screen(app).filter_bar.in_force == "pods")
        assert not watch.paused
        assert app.screen is main_screen(app)


async def test_an_action_is_about_the_row_that_the_cursor_went_to(tmp_path: Path) -> None:
    app, _ = app_on(company(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        await pilot.press("n")
        await settled(pilot)
        before = screen.group
        type_at_once(app, "n", "y")
        await until(pilot, lambda: bool(app.clipboard))
        assert app.clipboard == screen.group_tree.group
        assert app.clipboard != before

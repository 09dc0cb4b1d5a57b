"""Tests of keys that arrive in one burst, as over a slow connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from tests.pilot.app_driver import app_on, main_screen, sample_snapshot, settled, until

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.tui.app import KgtuiApp


def post_keys(app: KgtuiApp, *keys: str) -> None:
    """Put all keys into the app's queue before the app handles the first key."""
    for key in keys:
        app.post_message(events.Key("slash" if key == "/" else key, key if len(key) == 1 else None))


async def test_letters_that_arrive_with_the_slash_key_go_into_the_filter(tmp_path: Path) -> None:
    """The letters go into the text field. Otherwise `p` would pause polling, and `d` would open the delete dialog."""
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        post_keys(app, *"/pods")
        await until(pilot, lambda: main_screen(app).filter_bar.active_filter == "pods")
        assert not monitor.paused
        assert app.screen is main_screen(app)


async def test_a_key_right_after_a_cursor_key_acts_on_the_new_row(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        await pilot.press("n")
        await settled(pilot)
        before = screen.group
        post_keys(app, "n", "y")
        await until(pilot, lambda: bool(app.clipboard))
        assert app.clipboard == screen.group_tree.group
        assert app.clipboard != before

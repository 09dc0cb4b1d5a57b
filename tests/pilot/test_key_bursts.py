"""Tests of several keys that arrive without a pause, for example over a slow connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from textual.command import CommandPalette
from textual.widgets import Input

from kgtui.tui.dialogs.prompt import TextPrompt
from kgtui.tui.tree.widget import GroupTree
from tests.pilot.app_driver import app_on, main_screen, post_keys, sample_snapshot, settled, until

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.pilot import Pilot

    from kgtui.tui.app import KgtuiApp


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each key wait up to 60 s until the previous key has been handled, so that tests pass on a busy machine."""
    for name in ("HOLD_TIMEOUT", "ACTION_TIMEOUT"):
        monkeypatch.setattr(f"kgtui.tui.textual_compat.key_order.{name}", 60.0)


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


async def test_keys_and_clicks_delay_background_reads_but_mouse_moves_do_not(tmp_path: Path) -> None:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.hover(GroupTree)
        assert monitor.inputs == 0
        await pilot.press("down")
        assert monitor.inputs == 1
        await pilot.click(GroupTree)
        assert monitor.inputs > 1


async def test_a_choice_in_the_palette_followed_by_key_3_opens_pane_3(tmp_path: Path) -> None:
    """Enter selects a group in the palette, and key `3` opens the Assignments pane. Both keys arrive at once."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("n", "enter", "ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"orders.enrich")
        await until(pilot, lambda: app.screen._hit_count == 1)  # type: ignore[attr-defined]
        await pilot.press("down")
        post_keys(app, "enter", "3")
        await until(pilot, lambda: main_screen(app).detail.active == "assignments")
        assert main_screen(app).group == "orders.enrich"


class SlowPrompt(TextPrompt[None]):
    """A dialog with a slow action. Enter starts the action, which runs until the test sets the event `finish`."""

    PROMPT_TITLE = "Slow"

    def __init__(self) -> None:
        super().__init__()
        self.started, self.finish = asyncio.Event(), asyncio.Event()

    def compose_fields(self) -> ComposeResult:
        yield Input("folder")

    async def submit(self) -> None:
        self.started.set()
        await self.finish.wait()


async def start_slow_action(pilot: Pilot[Any], app: KgtuiApp, *keys: str) -> SlowPrompt:
    """Open a dialog, start its slow action with enter, press `keys` while it is running, and return the dialog."""
    await settled(pilot)
    dialog = SlowPrompt()
    await app.push_screen(dialog)
    await settled(pilot)
    post_keys(app, "enter", *keys)
    await dialog.started.wait()
    return dialog


async def test_a_key_pressed_while_a_dialog_is_busy_reaches_the_main_screen(tmp_path: Path) -> None:
    """The app handles the key after the dialog has closed. The key is neither lost nor typed into the dialog."""
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        dialog = await start_slow_action(pilot, app, "p")
        await settled(pilot)
        assert dialog.query_one(Input).value == "folder"
        dialog.finish.set()
        await until(pilot, lambda: monitor.paused)
        assert app.screen is main_screen(app)


async def test_the_escape_key_closes_a_dialog_while_its_action_is_running(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await start_slow_action(pilot, app)
        post_keys(app, "escape")
        await until(pilot, lambda: app.screen is main_screen(app))

"""`t` on a live screen: a recording over it, with the same view, and back to what goes on below."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.parser import parse_args
from kgtui.commands.sessions import SessionOpener
from kgtui.tui import recording
from kgtui.tui.dialogs.recordings import OpenRecordingDialog
from kgtui.tui.messages import TimeRequested
from kgtui.tui.panes import HistoryPane
from kgtui.tui.screens.main import MainScreen
from tests.pilot.history import made
from tests.pilot.shell import app_on, main_screen, screen_text, settled
from tests.pilot.shell import until as shell_until
from tests.pilot.watching import HandWatch, snapshot_of
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from kgtui.tui.app import KgtuiApp

until = partial(shell_until, seconds=60)
"""Reading a lake takes seconds on a busy machine."""

LIVE = [(group, "consumer", "consumer", "Stable", 1) for group in (made.GROUP, "always", "only-live")]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of whoever runs the tests."""
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("KGTUI_LAKE", raising=False)


@asynccontextmanager
async def live(tmp_path: Path) -> AsyncIterator[tuple[KgtuiApp, HandWatch, Pilot[int]]]:
    """A live screen that can open recordings as the program does."""
    async with AsyncExitStack() as stack:
        opener = SessionOpener(parse_args([]), stack)
        app, watch = app_on(snapshot_of(LIVE), tmp_path, open_recording=opener.recording, admin=ScriptedAdmin())
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await settled(pilot)
            yield app, watch, pilot


def said(app: KgtuiApp) -> str:
    """The words on the screen, wherever their lines end."""
    return " ".join(re.sub("[│▌▊▐▎]", " ", screen_text(app)).split())


def top(app: KgtuiApp) -> MainScreen:
    """The screen in front."""
    assert isinstance(app.screen, MainScreen)
    return app.screen


async def looked_back(pilot: Pilot[int], app: KgtuiApp, lake: Path, moment: str = "") -> MainScreen:
    """Ask for a recording at a moment, and wait until it is there."""
    await pilot.press("t")
    await until(pilot, lambda: isinstance(app.screen, OpenRecordingDialog))
    dialog = app.screen
    assert isinstance(dialog, OpenRecordingDialog)
    dialog.lake.value, dialog.time.value = str(lake), moment
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen is not main_screen(app))
    await until(pilot, lambda: "REPLAY" in screen_text(app) and bool(top(app).snapshot.groups))
    return top(app)


async def test_there_and_back_with_everything_as_it_was(tmp_path: Path) -> None:
    """The filter, the group, the pane and the sorting come along; the live screen and its connection stay below."""
    lake = made.record(tmp_path / "prod")
    async with live(tmp_path) as (app, watch, pilot):
        below = main_screen(app)
        below.set_filter("payments")
        below.go_to(made.GROUP)
        await pilot.press("5", "s")
        await settled(pilot)
        session = app.session
        past = await looked_back(pilot, app, lake, "30m")
        assert past.session.read_only
        assert past.filter_bar.in_force == "payments"
        assert past.group_tree.model.sort == below.group_tree.model.sort == "lag"
        await until(pilot, lambda: past.group == made.GROUP)
        assert isinstance(past.detail.pane, HistoryPane)
        timeline = past.session.replay_position
        assert timeline is not None
        before = timeline.at
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: timeline.at < before)
        watch.publish(snapshot_of(LIVE, serial=2))
        await pilot.press("L")
        await until(pilot, lambda: app.screen is below)
        assert app.session is session
        assert below.snapshot.serial == 2
        assert (below.group, below.filter_bar.in_force) == (made.GROUP, "payments")
        await until(pilot, lambda: "LIVE" in said(app))
        assert len(app.screen_stack) == 2
        assert not [worker for worker in app.workers if worker.name == "replay" and worker.is_running]


async def test_every_write_is_off_and_escape_at_the_top_comes_back(tmp_path: Path) -> None:
    """Escape first drops the filter, then goes back."""
    lake = made.record(tmp_path / "prod")
    async with live(tmp_path) as (app, _, pilot):
        main_screen(app).go_to(made.GROUP)
        past = await looked_back(pilot, app, lake)
        await pilot.press("d")
        await settled(pilot)
        assert app.screen is past
        past.set_filter("payments")
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert app.screen is past
        assert past.filter_bar.in_force == ""
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))
        await pilot.press("escape", "L")
        await until(pilot, lambda: "there is no live cluster to return to" in said(app))


async def test_back_again_to_the_moment_that_was_left(tmp_path: Path) -> None:
    lake = made.record(tmp_path / "prod")
    async with live(tmp_path) as (app, _, pilot):
        past = await looked_back(pilot, app, lake, "30m")
        assert past.session.replay_position is not None
        at = past.session.replay_position.at
        await pilot.press("L")
        await until(pilot, lambda: app.screen is main_screen(app))
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, OpenRecordingDialog))
        dialog = app.screen
        assert isinstance(dialog, OpenRecordingDialog)
        assert dialog.lake.value == str(lake)
        await until(pilot, lambda: "recorded from" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen is not main_screen(app))
        again = top(app).session.replay_position
        assert again is not None
        assert again.at == at


async def test_the_lake_that_is_meant_is_there_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That where R records to, once there is one; the one of the environment before it."""
    usual = made.record(tmp_path / "lakes" / "prod-eu")
    async with live(tmp_path) as (app, _, pilot):
        for wanted in (usual, tmp_path / "other"):
            await pilot.press("t")
            await until(pilot, lambda: isinstance(app.screen, OpenRecordingDialog))
            dialog = app.screen
            assert isinstance(dialog, OpenRecordingDialog)
            await until(pilot, lambda there=dialog, path=wanted: there.lake.value == str(path))  # type: ignore[misc]
            assert app.focused is dialog.time
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main_screen(app))
            monkeypatch.setenv("KGTUI_LAKE", str(tmp_path / "other"))


async def test_what_is_wrong_is_said_in_the_dialog(tmp_path: Path) -> None:
    """No recording yet, a folder that is none, a moment that is none, one before the first."""
    lake = made.record(tmp_path / "prod")
    async with live(tmp_path) as (app, _, pilot):
        await pilot.press("t")
        await until(pilot, lambda: "This cluster has no recording yet" in said(app))
        dialog = app.screen
        assert isinstance(dialog, OpenRecordingDialog)
        assert app.focused is dialog.lake
        await pilot.press("enter")
        await until(pilot, lambda: "type the folder of a recording" in said(app))
        for folder, moment, words in (
            (tmp_path / "[/nowhere]", "", "does not exist"),
            (lake, "yesterday", "the moment takes a time"),
            (lake, "90d", "the recording starts at"),
        ):
            dialog.lake.value, dialog.time.value = str(folder), moment
            await pilot.press("enter")
            await until(pilot, lambda wanted=words: wanted in said(app))  # type: ignore[misc]
        # What a folder covers is told a moment after it was typed.
        await until(pilot, lambda: "[/nowhere]" not in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))


async def test_the_recording_under_way_goes_on_meanwhile(tmp_path: Path) -> None:
    """The header says so in the past too, and the end of the program ends it."""
    lake = made.record(tmp_path / "prod")
    ended = []

    class Going(recording.Recording):
        async def end(self) -> None:
            ended.append(self.path)

    async with live(tmp_path) as (app, _, pilot):
        app.session.recording = Going(app.session, lake, lambda *_: None, lambda: None)
        await looked_back(pilot, app, lake)
        assert "REC" in screen_text(app)
        assert not ended
    assert ended == [lake]


async def test_a_line_of_the_live_history_leads_to_the_recording(tmp_path: Path) -> None:
    """Enter on it asks for the recording, with the line's moment filled in."""
    lake = made.record(tmp_path / "lakes" / "prod-eu")
    async with live(tmp_path) as (app, _, pilot):
        main_screen(app).post_message(TimeRequested(made.seconds(20)))
        await until(pilot, lambda: isinstance(app.screen, OpenRecordingDialog))
        dialog = app.screen
        assert isinstance(dialog, OpenRecordingDialog)
        await until(pilot, lambda: dialog.lake.value == str(lake))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen is not main_screen(app))
        timeline = top(app).session.replay_position
        assert timeline is not None
        assert timeline.at == made.seconds(20)


async def test_without_the_extra_it_says_which_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "find_spec", lambda name: None if name == "pyarrow" else object())
    recording.missing_library.cache_clear()
    try:
        async with live(tmp_path) as (app, _, pilot):
            await pilot.press("t")
            await until(pilot, lambda: "pip install 'kgtui[history]'" in said(app))
            assert app.screen is main_screen(app)
    finally:
        recording.missing_library.cache_clear()

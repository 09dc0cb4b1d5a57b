"""Tests of key `t`, which opens a recording on a new screen.

The new screen covers the screen of the running cluster (the "live screen"), which is still updated.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.parser import parse_args
from kgtui.commands.sessions import SessionOpener
from kgtui.tui import recording
from kgtui.tui.dialogs.recordings import OpenRecordingDialog
from kgtui.tui.messages import TimeRequested
from kgtui.tui.panes.history import HistoryPane
from kgtui.tui.screens.main import MainScreen
from tests.pilot.app_driver import app_on, main_screen, screen_text, screen_words, settled
from tests.pilot.app_driver import until as shell_until
from tests.pilot.history import sample_history
from tests.pilot.scripted_monitor import ScriptedMonitor, snapshot_of
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from kgtui.tui.app import KgtuiApp

until = partial(shell_until, seconds=60)
"""Wait up to a minute for a condition, because reading a recording can take seconds on a busy machine."""

LIVE = [(group, "consumer", "consumer", "Stable", 1) for group in (sample_history.GROUP, "always", "only-live")]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set empty configuration and state folders, so that tests do not use the folders of the user who runs them."""
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("KGTUI_LAKE", raising=False)


@asynccontextmanager
async def live(tmp_path: Path) -> AsyncIterator[tuple[KgtuiApp, ScriptedMonitor, Pilot[int]]]:
    """Run the app on a fake cluster (`ScriptedMonitor`), in a session that can open recordings."""
    async with AsyncExitStack() as stack:
        opener = SessionOpener(parse_args([]), stack)
        app, monitor = app_on(snapshot_of(LIVE), tmp_path, open_recording=opener.recording, admin=ScriptedAdmin())
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await settled(pilot)
            yield app, monitor, pilot


def top(app: KgtuiApp) -> MainScreen:
    assert isinstance(app.screen, MainScreen)
    return app.screen


async def open_recording(pilot: Pilot[int], app: KgtuiApp, lake: Path, time: str = "") -> MainScreen:
    """Open the recording in the folder `lake` with key `t`, and wait until the recorded groups are shown.

    `time` is the time to show, such as `30m` (before the end of the recording); empty for the end.
    """
    await pilot.press("t")
    await until(pilot, lambda: isinstance(app.screen, OpenRecordingDialog))
    dialog = app.screen
    assert isinstance(dialog, OpenRecordingDialog)
    dialog.lake.value, dialog.time.value = str(lake), time
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen is not main_screen(app))
    await until(pilot, lambda: "REPLAY" in screen_text(app) and bool(top(app).snapshot.groups))
    return top(app)


async def test_opening_a_recording_keeps_the_filter_and_the_selected_group(tmp_path: Path) -> None:
    """The recording is shown with the filter, selected group, open pane and sort order of the live cluster's screen.

    The live cluster's screen keeps its own filter and selected group. It still receives snapshots while the recording
    is shown.
    """
    lake = sample_history.record(tmp_path / "prod")
    async with live(tmp_path) as (app, monitor, pilot):
        below = main_screen(app)
        below.set_filter("payments")
        below.go_to(sample_history.GROUP)
        await pilot.press("5", "s")
        await settled(pilot)
        session = app.session
        recorded = await open_recording(pilot, app, lake, "30m")
        assert recorded.session.read_only
        assert recorded.filter_bar.active_filter == "payments"
        assert recorded.group_tree.model.sort == below.group_tree.model.sort == "lag"
        await until(pilot, lambda: recorded.group == sample_history.GROUP)
        assert isinstance(recorded.detail.pane, HistoryPane)
        position = recorded.session.replay_position
        assert position is not None
        before = position.at
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: position.at < before)
        monitor.publish(snapshot_of(LIVE, serial=2))
        await pilot.press("L")
        await until(pilot, lambda: app.screen is below)
        assert app.session is session
        assert below.snapshot.serial == 2
        assert (below.group, below.filter_bar.active_filter) == (sample_history.GROUP, "payments")
        await until(pilot, lambda: "LIVE" in screen_words(app))
        assert len(app.screen_stack) == 2
        assert not [worker for worker in app.workers if worker.name == "replay" and worker.is_running]


async def test_the_escape_key_closes_the_recording_and_returns_to_the_live_cluster(tmp_path: Path) -> None:
    """If a filter is set, the first escape clears the filter, and the second escape closes the recording.

    Key `d` has no effect, because groups in a recording cannot be deleted.
    """
    lake = sample_history.record(tmp_path / "prod")
    async with live(tmp_path) as (app, _, pilot):
        main_screen(app).go_to(sample_history.GROUP)
        recorded = await open_recording(pilot, app, lake)
        await pilot.press("d")
        await settled(pilot)
        assert app.screen is recorded
        recorded.set_filter("payments")
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert app.screen is recorded
        assert recorded.filter_bar.active_filter == ""
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))
        await pilot.press("escape", "L")
        await until(pilot, lambda: "there is no live cluster to return to" in screen_words(app))


async def test_a_recording_reopens_at_the_time_that_was_shown_last(tmp_path: Path) -> None:
    lake = sample_history.record(tmp_path / "prod")
    async with live(tmp_path) as (app, _, pilot):
        recorded = await open_recording(pilot, app, lake, "30m")
        assert recorded.session.replay_position is not None
        at = recorded.session.replay_position.at
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


async def test_the_open_recording_dialog_suggests_the_folder_of_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dialog suggests the folder in the environment variable `KGTUI_LAKE`.

    If this variable is not set, the dialog suggests the default folder for recordings of the cluster.
    """
    usual = sample_history.record(tmp_path / "lakes" / "prod-eu")
    async with live(tmp_path) as (app, _, pilot):
        for expected in (usual, tmp_path / "other"):
            await pilot.press("t")
            await until(pilot, lambda: isinstance(app.screen, OpenRecordingDialog))
            dialog = app.screen
            assert isinstance(dialog, OpenRecordingDialog)
            await until(pilot, lambda shown=dialog, path=expected: shown.lake.value == str(path))  # type: ignore[misc]
            assert app.focused is dialog.time
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main_screen(app))
            monkeypatch.setenv("KGTUI_LAKE", str(tmp_path / "other"))


async def test_the_open_recording_dialog_explains_invalid_input(tmp_path: Path) -> None:
    """The inputs are: no folder, a folder that does not exist, an invalid time, and a time before the first poll."""
    lake = sample_history.record(tmp_path / "prod")
    async with live(tmp_path) as (app, _, pilot):
        await pilot.press("t")
        await until(pilot, lambda: "This cluster has no recording yet" in screen_words(app))
        dialog = app.screen
        assert isinstance(dialog, OpenRecordingDialog)
        assert app.focused is dialog.lake
        await pilot.press("enter")
        await until(pilot, lambda: "type the folder of a recording" in screen_words(app))
        for folder, time, message in (
            (tmp_path / "[/nowhere]", "", "does not exist"),
            (lake, "yesterday", "not 'yesterday'"),
            (lake, "90d", "the recording starts at"),
        ):
            dialog.lake.value, dialog.time.value = str(folder), time
            await pilot.press("enter")
            await until(pilot, lambda expected=message: expected in screen_words(app))  # type: ignore[misc]
        # The dialog must no longer show the error about the folder `[/nowhere]`, because the folder that was entered
        # last exists.
        await until(pilot, lambda: "[/nowhere]" not in screen_text(app))
        await until(pilot, lambda: "recorded from" in screen_words(app))
        dialog.lake.value = ""
        await until(pilot, lambda: "This cluster has no recording yet" in screen_words(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))


async def test_the_recorder_continues_while_a_recording_is_replayed(tmp_path: Path) -> None:
    """While the user replays a recording, the recorder still runs, and the header shows REC.

    The recorder stops when the app ends.
    """
    lake = sample_history.record(tmp_path / "prod")
    ended = []

    class Ongoing(recording.Recording):
        async def end(self) -> None:
            ended.append(self.path)

    async with live(tmp_path) as (app, _, pilot):
        app.session.recording = Ongoing(app.session, lake, lambda *_: None, lambda: None)
        await open_recording(pilot, app, lake)
        assert "REC" in screen_text(app)
        assert not ended
    assert ended == [lake]


async def test_going_to_a_past_time_suggests_opening_the_recording_of_the_cluster(
    tmp_path: Path,
) -> None:
    lake = sample_history.record(tmp_path / "lakes" / "prod-eu")
    async with live(tmp_path) as (app, _, pilot):
        main_screen(app).post_message(TimeRequested(sample_history.time_of_poll(20)))
        await until(pilot, lambda: isinstance(app.screen, OpenRecordingDialog))
        dialog = app.screen
        assert isinstance(dialog, OpenRecordingDialog)
        await until(pilot, lambda: dialog.lake.value == str(lake))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen is not main_screen(app))
        position = top(app).session.replay_position
        assert position is not None
        assert position.at == sample_history.time_of_poll(20)


async def test_opening_a_recording_without_pyarrow_shows_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "find_spec", lambda name: None if name == "pyarrow" else object())
    recording.missing_library.cache_clear()
    try:
        async with live(tmp_path) as (app, _, pilot):
            await pilot.press("t")
            await until(pilot, lambda: "pip install 'kgtui[history]'" in screen_words(app))
            assert app.screen is main_screen(app)
    finally:
        recording.missing_library.cache_clear()

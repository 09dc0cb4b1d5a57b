"""Tests of the key `R`, which records the cluster until the key is pressed again or the app ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from textual.widgets import Input

from kgtui.config import StateFolder
from kgtui.history import RecordingReader
from kgtui.lake.delta import RecordedTable
from kgtui.lake.folder import LakeFolder
from kgtui.lake.lock import recorder_lock
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui import recording
from kgtui.tui.app import KgtuiApp
from kgtui.tui.dialogs.recordings import RecordDialog
from kgtui.tui.session import ClusterLabel, Session
from tests.pilot.app_driver import app_on, main_screen, sample_snapshot, screen_text, screen_words, settled, until
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot


def live(tmp_path: Path) -> KgtuiApp:
    """Return an app that polls a fake cluster (`ScriptedAdmin`) with one group."""
    admin = ScriptedAdmin()
    admin.add("payment", lag=5)
    session = Session(ClusterLabel("prod [/eu]", "b:9092"), Monitor(admin, MonitorOptions(interval=0.1)), admin=admin)
    session.state_folder = StateFolder(tmp_path)
    return KgtuiApp(session)


async def submit_dialog(pilot: Pilot[int], app: KgtuiApp, folder: str | None = None) -> None:
    """Open the Record dialog with `R`, type `folder` unless it is None, and press enter."""
    await until(pilot, lambda: "payment" in screen_text(app))
    await pilot.press("R")
    await until(pilot, lambda: isinstance(app.screen, RecordDialog))
    if folder is not None:
        app.screen.query_one(Input).value = folder
    await pilot.press("enter")


def notices(app: KgtuiApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return an empty list. From now on, the text of each notice that the app shows is appended to this list."""
    messages: list[str] = []
    notify = app.notify

    def recorded(message: str, **more: Any) -> None:
        messages.append(message)
        notify(message, **more)

    monkeypatch.setattr(app, "notify", recorded)
    return messages


async def recording_started(pilot: Pilot[int], app: KgtuiApp) -> None:
    """Wait until the first poll has been written to the recording and the Record dialog has been closed."""
    await until(pilot, lambda: "● REC" in screen_text(app))
    ongoing = app.session.recording
    assert ongoing is not None
    await until(pilot, lambda: ongoing.status is not None and ongoing.status.polls > 0)
    await until(pilot, lambda: app.screen is main_screen(app))


async def test_key_shift_r_starts_and_stops_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = live(tmp_path)
    messages = notices(app, monkeypatch)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await submit_dialog(pilot, app)
        await recording_started(pilot, app)
        await pilot.press("R")
        await until(
            pilot, lambda: "● REC" not in screen_text(app) and any("recorded" in message for message in messages)
        )
    lake = RecordingReader(tmp_path / "lakes" / "prod-eu")
    assert list(lake.at().listings) == ["payment"]
    assert not (lake.path / "recorder.lock").exists()


async def test_quitting_the_app_finishes_the_recording(tmp_path: Path) -> None:
    app = live(tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await submit_dialog(pilot, app, str(tmp_path / "own"))
        session = app.session
        await recording_started(pilot, app)
        await pilot.press("q")
    assert session.recording is None
    assert list(RecordingReader(tmp_path / "own").at().listings) == ["payment"]
    assert not tmp_path.joinpath("own", "recorder.lock").exists()


async def test_recording_into_a_folder_that_another_process_uses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Record dialog stays open, and shows the id of the process that already records into this folder.

    The app shows no notice.
    """
    folder = LakeFolder.of(tmp_path / "in-use")
    folder.prepare()
    lock = recorder_lock(folder.lock)
    lock.take()
    try:
        app = live(tmp_path)
        messages = notices(app, monkeypatch)
        async with app.run_test(size=(120, 30)) as pilot:
            await submit_dialog(pilot, app, str(folder.path))
            await until(pilot, lambda: f"process {os.getpid()}" in screen_text(app).replace("│\n", ""))
            assert "● REC" not in screen_text(app)
            await pilot.press("escape")
            await settled(pilot)
            assert app.session.recording is None
            assert not messages
    finally:
        lock.release()


async def test_the_record_dialog_refuses_a_folder_that_contains_other_files(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("meow", encoding="utf-8")
    app = live(tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await submit_dialog(pilot, app, str(tmp_path / "photos"))
        await until(pilot, lambda: "not empty and is not a lake" in screen_words(app))


async def test_recording_continues_after_the_disk_was_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the disk is full, the header says `REC: cannot write`. When there is space again, kgtui records again."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    app = live(tmp_path)
    messages = notices(app, monkeypatch)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        with monkeypatch.context() as disk:
            disk.setattr(RecordedTable, "append", full)
            await submit_dialog(pilot, app)
            await until(pilot, lambda: any("No space left on device" in message for message in messages))
            await until(pilot, lambda: "REC: cannot write" in screen_text(app))
            await until(pilot, lambda: app.screen is main_screen(app))
        await pilot.press("R")
        await until(pilot, lambda: any("recorded" in message for message in messages))
    assert list(RecordingReader(tmp_path / "lakes" / "prod-eu").at().listings) == ["payment"]


async def test_recording_without_deltalake_shows_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "missing_library", lambda: "deltalake")
    app = live(tmp_path)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await until(pilot, lambda: "payment" in screen_text(app))
        await pilot.press("R")
        await until(pilot, lambda: "pip install 'kgtui[history]'" in screen_words(app))


async def test_recording_is_refused_if_no_cluster_is_open(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("R")
        await until(pilot, lambda: "no cluster is open" in screen_words(app))


async def test_a_starting_recording_ends_if_the_record_dialog_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Enter, the dialog stays open for a moment, so that it can show an error that occurs immediately.

    In this test, the user presses escape during this moment, which also ends the recording. Afterward, the user can
    record again.
    """
    monkeypatch.setattr(recording, "FIRST_ERRORS_WAIT", 60)
    app = live(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await submit_dialog(pilot, app, str(tmp_path / "lake"))
        await until(pilot, lambda: app.session.recording is not None)
        await pilot.press("escape")
        await until(pilot, lambda: app.session.recording is None)
        monkeypatch.undo()
        await submit_dialog(pilot, app, str(tmp_path / "lake"))
        await until(pilot, lambda: app.screen is main_screen(app))
        assert app.session.recording is not None


async def test_polling_cannot_be_paused_during_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If polling is paused when the user starts a recording, kgtui resumes polling."""
    app = live(tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        monitor = app.session.monitor
        assert monitor is not None
        await until(pilot, lambda: "payment" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: monitor.paused)
        await submit_dialog(pilot, app, str(tmp_path / "lake"))
        await until(pilot, lambda: not monitor.paused and app.screen is main_screen(app))
        shown = notices(app, monkeypatch)
        await pilot.press("p")
        await until(pilot, lambda: any("press R to end the recording first" in message for message in shown))
        assert not monitor.paused

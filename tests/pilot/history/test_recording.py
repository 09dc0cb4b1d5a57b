"""`R`: recording in the process of the screen; begun, seen in the header, ended by key and with the screen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from textual.widgets import Input

from kgtui.history import RecordingReader
from kgtui.lake.delta import RecordedTable
from kgtui.lake.folder import LakeFolder
from kgtui.lake.lock import RecorderLock
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui import recording
from kgtui.tui.app import KgtuiApp
from kgtui.tui.dialogs.recordings import RecordDialog
from kgtui.tui.session import Session, Target
from tests.pilot.shell import app_on, company, main_screen, screen_text, screen_words, settled, until
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot


def live(tmp_path: Path) -> KgtuiApp:
    """The screen on a cluster of one group."""
    admin = ScriptedAdmin()
    admin.add("payment", lag=5)
    session = Session(Target("prod [/eu]", "b:9092"), Monitor(admin, MonitorOptions(interval=0.1)), admin=admin)
    session.state_folder = tmp_path
    return KgtuiApp(session)


async def asked(pilot: Pilot[int], app: KgtuiApp, folder: str | None = None) -> None:
    """The dialog, with a folder typed."""
    await until(pilot, lambda: "payment" in screen_text(app))
    await pilot.press("R")
    await until(pilot, lambda: isinstance(app.screen, RecordDialog))
    if folder is not None:
        app.screen.query_one(Input).value = folder
    await pilot.press("enter")


def heard(app: KgtuiApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the app says from now on, also what has vanished from the screen."""
    said: list[str] = []
    notify = app.notify

    def listening(message: str, **more: Any) -> None:
        said.append(message)
        notify(message, **more)

    monkeypatch.setattr(app, "notify", listening)
    return said


async def begun(pilot: Pilot[int], app: KgtuiApp) -> None:
    """Wait until the first poll is in the lake."""
    await until(pilot, lambda: "● REC" in screen_text(app))
    going = app.session.recording
    assert going is not None
    await until(pilot, lambda: going.status is not None and going.status.polls > 0)
    await until(pilot, lambda: app.screen is main_screen(app))


async def test_recording_until_the_key_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = live(tmp_path)
    said = heard(app, monkeypatch)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await asked(pilot, app)
        await begun(pilot, app)
        await pilot.press("R")
        await until(pilot, lambda: "● REC" not in screen_text(app) and any("recorded" in words for words in said))
    lake = RecordingReader(tmp_path / "lakes" / "prod-eu")
    assert list(lake.at().listings) == ["payment"]
    assert not lake.path.joinpath("recorder.lock").exists()


async def test_the_end_of_the_screen_ends_the_recording_cleanly(tmp_path: Path) -> None:
    app = live(tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await asked(pilot, app, str(tmp_path / "mine"))
        session = app.session
        await begun(pilot, app)
        await pilot.press("q")
    assert session.recording is None
    assert list(RecordingReader(tmp_path / "mine").at().listings) == ["payment"]
    assert not tmp_path.joinpath("mine", "recorder.lock").exists()


async def test_a_lake_that_another_process_records_is_refused(tmp_path: Path) -> None:
    """The dialog stays with who has it; another folder can be typed."""
    folder = LakeFolder.of(tmp_path / "taken")
    folder.prepare()
    lock = RecorderLock(folder.lock)
    lock.take()
    try:
        app = live(tmp_path)
        async with app.run_test(size=(120, 30)) as pilot:
            await asked(pilot, app, str(folder.path))
            await until(pilot, lambda: f"process {os.getpid()}" in screen_text(app).replace("│\n", ""))
            assert "● REC" not in screen_text(app)
            await pilot.press("escape")
            await settled(pilot)
            assert app.session.recording is None
    finally:
        lock.release()


async def test_a_folder_that_is_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("meow", encoding="utf-8")
    app = live(tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await asked(pilot, app, str(tmp_path / "photos"))
        await until(pilot, lambda: "not empty and is not a lake" in screen_words(app))


async def test_a_full_disk_is_said_and_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    app = live(tmp_path)
    said = heard(app, monkeypatch)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        with monkeypatch.context() as disk:
            disk.setattr(RecordedTable, "append", full)
            await asked(pilot, app)
            await until(pilot, lambda: any("No space left on device" in words for words in said))
            await until(pilot, lambda: "REC: cannot write" in screen_text(app))
            await until(pilot, lambda: app.screen is main_screen(app))
        await pilot.press("R")
        await until(pilot, lambda: any("recorded" in words for words in said))
    assert list(RecordingReader(tmp_path / "lakes" / "prod-eu").at().listings) == ["payment"]


async def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "missing_library", lambda: "deltalake")
    app = live(tmp_path)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await until(pilot, lambda: "payment" in screen_text(app))
        await pilot.press("R")
        await until(pilot, lambda: "pip install 'kgtui[history]'" in screen_words(app))


async def test_a_cluster_that_nobody_can_ask_is_not_recorded(tmp_path: Path) -> None:
    app, _ = app_on(company(), tmp_path)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("R")
        await until(pilot, lambda: "no cluster is open" in screen_words(app))

"""Tests of errors that occur while the app exits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kgtui.config import StateFolder
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui.app import KgtuiApp
from kgtui.tui.session import ClusterLabel, Session
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from pathlib import Path


async def test_an_error_during_the_exit_writes_no_crash_report(tmp_path: Path) -> None:
    """The error occurs after the app has begun to exit with code 143. The error must not change the exit code."""
    admin = ScriptedAdmin()
    monitor = Monitor(admin, MonitorOptions(interval=0.1))
    app = KgtuiApp(Session(ClusterLabel("test", "b:9092"), monitor, admin, state_folder=StateFolder(tmp_path)))
    async with app.run_test() as pilot:
        await pilot.pause()
        app.exit(return_code=143)
        app._handle_exception(RuntimeError("nothing to mount on"))
    assert app.return_code == 143
    assert not [name for name in os.listdir(tmp_path) if name.startswith("crash")]

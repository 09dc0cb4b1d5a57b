"""Fixtures for tests of commands. Each test module defines the fixture `admin`, which is the fake cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.commands.checking import Script
from tests.unit.commands.runs import Completed, runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scripted import ScriptedAdmin


@pytest.fixture
def run(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Completed]:
    """Return a function that runs a command on the cluster `admin`."""
    return runner(admin, monkeypatch, capfd)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Replace the clock of `kgtui check` with a fake clock that advances without waiting, and return the fake clock."""
    script = Script()
    monkeypatch.setattr("kgtui.commands.group_watch.Clock", lambda: script)
    return script

"""Fixtures for tests of actions: a fake cluster (`ScriptedAdmin`) and a state folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.config import StateFolder
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def admin() -> ScriptedAdmin:
    """Return a fake cluster without groups."""
    return ScriptedAdmin()


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    """Return a `StateFolder` whose folder does not exist on disk yet."""
    return StateFolder(tmp_path / "state")

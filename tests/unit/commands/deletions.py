"""A fake cluster for tests of `kgtui delete`, `kgtui backups` and `kgtui audit`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator
    from pathlib import Path

    import pytest


def deletable_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedAdmin:
    """Return a fake cluster with three groups, and make the commands connect to this cluster.

    The groups `idle-a` and `idle-b` are Empty, and the group `live` has a member.
    """
    scripted = ScriptedAdmin()
    scripted.add("idle-a", state="Empty", lag=5)
    scripted.add("idle-b", "share", state="Empty", lag=5, coordinator=2)
    scripted.add("live", members=(member(),), lag=5)

    @asynccontextmanager
    async def connected(_args: argparse.Namespace) -> AsyncIterator[ScriptedAdmin]:
        yield scripted

    monkeypatch.setattr("kgtui.commands.delete.connected", connected)
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    for name in ("KGTUI_READ_ONLY", "KGTUI_CLUSTER", "KGTUI_BOOTSTRAP_SERVER", "KGTUI_COMMAND_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return scripted

"""`kgtui replay`: the ordinary screen on a recorded moment, with every write gone."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from kgtui.commands.parser import parse_args
from kgtui.commands.replay import ReplayOpener, opened
from kgtui.tui.app import KgtuiApp
from tests.pilot.shell import screen_text, until
from tests.unit.history.test_lake import seen, write

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


async def test_the_screen_shows_the_moment_and_follows_a_seek(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lake's name and REPLAY in the header, its groups in the tree; another moment brings another tree."""
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    write(tmp_path / "prod", seen(100, groups=("before",)), seen(120, groups=("after",)))
    args = parse_args(["replay", str(tmp_path / "prod"), "--at", "10s"])
    admin = await opened(args.lake, args.at)
    async with AsyncExitStack() as stack:
        session = ReplayOpener(args, stack).replay(admin)
        assert session.read_only
        app = KgtuiApp(session)
        async with app.run_test(size=(120, 30)) as pilot:
            await until(pilot, lambda: "before" in screen_text(app))
            assert "REPLAY prod" in screen_text(app)
            assert "after" not in screen_text(app)
            await admin.seek(None)
            assert session.monitor is not None
            session.monitor.refresh()
            await until(pilot, lambda: "after" in screen_text(app) and "before" not in screen_text(app))

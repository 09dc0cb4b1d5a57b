"""In a recording: playing at a speed, and comparing two moments."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from kgtui.commands.connecting import open_recording
from kgtui.commands.parser import parse_args
from kgtui.commands.sessions import LakeReplayPosition, SessionOpener
from kgtui.tui.app import KgtuiApp
from kgtui.tui.screen_actions import replay
from kgtui.tui.screens.comparison import ComparisonScreen
from tests.pilot.history import made
from tests.pilot.shell import main_screen, screen_text, screen_words, settled, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot

    from kgtui.history.replay import ReplayAdmin


@asynccontextmanager
async def replaying(tmp_path: Path, at: str) -> AsyncIterator[tuple[KgtuiApp, Pilot[int], ReplayAdmin]]:
    """The screen on a recording."""
    args = parse_args(["replay", str(made.record(tmp_path / "prod"))])
    admin = await open_recording(args.lake, at)
    async with AsyncExitStack() as stack:
        app = KgtuiApp(SessionOpener(args, stack).replay(admin))
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await until(pilot, lambda: made.GROUP in screen_text(app))
            main_screen(app).go_to(made.GROUP)
            await settled(pilot)
            yield app, pilot, admin


async def test_playing_goes_on_until_the_end_or_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header tells the speed; p stops; a step stops too; at the end it stops by itself and says so."""
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr(replay, "PLAY_INTERVAL", 0.02)
    monkeypatch.setattr(replay, "MIN_PAUSE", 0.02)
    async with replaying(tmp_path, "30m") as (app, pilot, admin):
        start = admin.poll.at
        await pilot.press("plus", "plus", "P")
        await until(pilot, lambda: admin.poll.at > start and "REPLAY x300" in screen_text(app))
        await pilot.press("plus")
        await until(pilot, lambda: "REPLAY x600" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "REPLAY x" not in screen_text(app))
        stopped = admin.poll.at
        await pilot.pause(0.3)
        assert admin.poll.at == stopped
        await pilot.press("P")
        await until(pilot, lambda: admin.poll.at > stopped)
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: "REPLAY x" not in screen_text(app))
        await pilot.press(*["plus"] * 5, "P")
        await until(pilot, lambda: "this is the end of the recording" in screen_words(app))
        assert admin.poll == admin.recording.last


async def test_advancing_keeps_what_is_too_short_and_goes_over_gaps(tmp_path: Path) -> None:
    args = parse_args(["replay", str(made.record(tmp_path / "prod"))])
    admin = await open_recording(args.lake, None)
    timeline = LakeReplayPosition(admin)
    await timeline.seek(made.seconds(3))
    for _ in range(4):
        assert await timeline.advance(10.0)
    assert timeline.at == made.seconds(4)
    assert await timeline.advance(made.EVERY * 10.0)
    assert timeline.at == made.seconds(14)
    await timeline.seek(made.seconds(made.GAP - 1))
    assert await timeline.advance(1.0)
    assert timeline.at == made.seconds(made.GAP)
    await timeline.seek(made.seconds(made.POLLS))
    assert not await timeline.advance(1.0)


async def test_two_moments_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything, one kind alone, one group alone; enter closes with the cursor on the row's group."""
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    async with replaying(tmp_path, "0s") as (app, pilot, admin):
        await pilot.press("M")
        await until(pilot, lambda: "press m to remember this time" in screen_words(app))
        await pilot.press("m")
        await until(pilot, lambda: "is remembered" in screen_text(app))
        await admin.seek(made.seconds(0))
        await until(pilot, lambda: "early" in screen_text(app))
        await pilot.press("M")
        await until(pilot, lambda: isinstance(app.screen, ComparisonScreen) and bool(app.screen.table.rows))
        screen = app.screen
        assert isinstance(screen, ComparisonScreen)
        kinds = [(row.verb, row.group) for row in screen.table.rows if row.view == "groups"]
        assert kinds == [("joined", "late"), ("left", "early")]
        assert {row.what for row in screen.table.rows if row.group == made.GROUP and row.view == "members"} == {
            "member settle-2", "member settle-3",
        }  # fmt: skip
        everything = len(screen.table.rows)
        await pilot.press("l")
        await until(pilot, lambda: {row.group for row in screen.table.rows} == {made.GROUP})
        await pilot.press("l")
        await until(pilot, lambda: len(screen.table.rows) == everything)
        await pilot.press("v")
        assert [row.view for row in screen.table.rows] == ["groups", "groups"]
        await pilot.press("end", "enter")  # the other one is not there at this moment
        await until(pilot, lambda: app.screen is main_screen(app))
        await until(pilot, lambda: main_screen(app).group == "early")


async def test_moments_that_do_not_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    async with replaying(tmp_path, "0s") as (app, pilot, admin):
        found = admin.recording.compare(admin.poll, admin.poll)
        await app.push_screen(ComparisonScreen(found))
        await until(pilot, lambda: screen_text(app).count("no differences") == 2)

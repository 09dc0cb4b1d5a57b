"""Tests of the keys that play a recording, change its playing speed, and compare two points in time."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from kgtui.commands.connecting import open_recording
from kgtui.commands.parser import parse_args
from kgtui.commands.sessions import LakeReplayPosition, SessionOpener
from kgtui.model.problem import Problem
from kgtui.tui import text
from kgtui.tui.app import KgtuiApp
from kgtui.tui.screen_actions import replay
from kgtui.tui.screens.comparison import ComparisonScreen
from kgtui.tui.widgets.header import ClusterHeader
from tests.pilot.app_driver import main_screen, screen_text, screen_words, settled, until
from tests.pilot.history import sample_history

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot

    from kgtui.history.replay import ReplayAdmin


@asynccontextmanager
async def replaying(tmp_path: Path, at: str) -> AsyncIterator[tuple[KgtuiApp, Pilot[int], ReplayAdmin]]:
    """Run the app on a recording, and select the example group.

    `at` is the shown time, counted back from the end of the recording, such as `30m`.
    """
    args = parse_args(["replay", str(sample_history.record(tmp_path / "prod"))])
    admin = await open_recording(args.lake, at)
    async with AsyncExitStack() as stack:
        app = KgtuiApp(SessionOpener(args, stack).replay(admin))
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await until(pilot, lambda: sample_history.GROUP in screen_text(app))
            main_screen(app).go_to(sample_history.GROUP)
            await settled(pilot)
            yield app, pilot, admin


async def test_playback_stops_after_key_p_or_a_step_back_and_at_the_last_poll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Key `P` starts playback, and `p` stops playback. Key `[` goes one poll back.

    During playback, the header shows the speed, such as `x120`.
    """
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr(replay, "PLAY_INTERVAL", 0.02)
    monkeypatch.setattr(replay, "MIN_PAUSE", 0.02)
    async with replaying(tmp_path, "1h") as (app, pilot, admin):
        start = admin.poll.at
        await pilot.press("plus", "P")
        await until(pilot, lambda: admin.poll.at > start and "REPLAY x120" in screen_text(app))
        await pilot.press("plus")
        await until(pilot, lambda: "REPLAY x300" in screen_text(app))
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


async def test_short_replay_steps_reach_the_next_poll_and_skip_gaps(tmp_path: Path) -> None:
    """The recorded polls are 30 s apart, so a few steps of 10 s reach the next poll.

    At a gap in the recording, a single step of 1 s moves to the first poll after the gap.
    """
    args = parse_args(["replay", str(sample_history.record(tmp_path / "prod"))])
    admin = await open_recording(args.lake, None)
    position = LakeReplayPosition(admin)
    await position.seek(sample_history.time_of_poll(3))
    for _ in range(4):
        assert await position.advance(10.0)
    assert position.at == sample_history.time_of_poll(4)
    assert await position.advance(sample_history.POLL_INTERVAL * 10.0)
    assert position.at == sample_history.time_of_poll(14)
    await position.seek(sample_history.time_of_poll(sample_history.GAP - 1))
    assert await position.advance(1.0)
    assert position.at == sample_history.time_of_poll(sample_history.GAP)
    await position.seek(sample_history.time_of_poll(sample_history.POLLS))
    assert not await position.advance(1.0)


async def test_a_narrow_header_still_shows_the_replayed_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    async with replaying(tmp_path, "0s") as (app, pilot, admin):
        await pilot.resize_terminal(50, 24)
        await settled(pilot)
        problems = {Problem.STOP: 11, Problem.FLAPPING: 22, Problem.BEHIND: 33, Problem.EMPTY: 204}
        app.screen.query_one(ClusterHeader).show(main_screen(app).snapshot, problems=problems)
        header = screen_text(app).splitlines()[0]
        assert text.date(admin.poll.at).split(" ")[1] in header
        assert "11 stopped · 259 more" in header


async def test_comparing_two_times_lists_the_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Key `v` limits the table to one kind of difference, and `l` to the selected group.

    Enter closes the comparison, and moves the tree cursor to the group in the selected row of the comparison.
    """
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    async with replaying(tmp_path, "0s") as (app, pilot, admin):
        await pilot.press("M")
        await until(pilot, lambda: "press m to remember this time" in screen_words(app))
        await pilot.press("m")
        await until(pilot, lambda: "is remembered" in screen_text(app))
        await admin.seek(sample_history.time_of_poll(0))
        await until(pilot, lambda: "early" in screen_text(app))
        await pilot.press("M")
        await until(pilot, lambda: isinstance(app.screen, ComparisonScreen) and bool(app.screen.table.rows))
        screen = app.screen
        assert isinstance(screen, ComparisonScreen)
        changed_groups = [(row.verb, row.group) for row in screen.table.rows if row.kind == "groups"]
        assert changed_groups == [("appeared", "late"), ("disappeared", "early")]
        members = {
            row.description
            for row in screen.table.rows
            if (row.group, row.kind) == (sample_history.GROUP, "members")
        }  # fmt: skip
        assert members == {"member client-2", "member client-3"}
        everything = len(screen.table.rows)
        await pilot.press("l")
        await until(pilot, lambda: {row.group for row in screen.table.rows} == {sample_history.GROUP})
        await pilot.press("l")
        await until(pilot, lambda: len(screen.table.rows) == everything)
        await pilot.press("v")
        assert [row.kind for row in screen.table.rows] == ["groups", "groups"]
        # Enter can select only a group that exists at the replayed time. The group `early` in the last row exists then,
        # but the group `late` in the first row does not.
        await pilot.press("end", "enter")
        await until(pilot, lambda: app.screen is main_screen(app))
        await until(pilot, lambda: main_screen(app).group == "early")


async def test_comparing_a_point_in_time_with_itself_shows_no_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    async with replaying(tmp_path, "0s") as (app, pilot, admin):
        comparison = admin.recording.compare(admin.poll, admin.poll)
        await app.push_screen(ComparisonScreen(comparison))
        await until(pilot, lambda: screen_text(app).count("no differences") == 2)

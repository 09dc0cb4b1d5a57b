"""Tests of `kgtui replay`, which shows a recording of a cluster on the main screen, in a read-only session."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from textual.widgets import Input

from kgtui.commands.connecting import open_recording
from kgtui.commands.parser import parse_args
from kgtui.commands.sessions import SessionOpener
from kgtui.config import StateFolder
from kgtui.model.group import Listing
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui.app import KgtuiApp
from kgtui.tui.session import ClusterLabel, Session
from tests.pilot.app_driver import screen_text, screen_words, until
from tests.scripted import ScriptedAdmin
from tests.unit.history.test_recording_reader import poll_of, write

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


async def test_the_replay_shows_the_poll_at_the_chosen_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header shows REPLAY and the name of the recording's folder. The tree shows the groups at the chosen time."""
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    write(tmp_path / "prod", poll_of(100, groups=("before",)), poll_of(120, groups=("after",)))
    args = parse_args(["replay", str(tmp_path / "prod"), "--at", "10s"])
    admin = await open_recording(args.lake, args.at)
    async with AsyncExitStack() as stack:
        session = SessionOpener(args, stack).replay(admin)
        assert session.read_only
        app = KgtuiApp(session)
        async with app.run_test(size=(120, 30)) as pilot:
            await until(pilot, lambda: "before" in screen_text(app))
            assert screen_text(app).lstrip().startswith("prod  REPLAY")
            assert "after" not in screen_text(app)
            await admin.seek(None)
            assert session.monitor is not None
            session.monitor.refresh()
            await until(pilot, lambda: "after" in screen_text(app) and "before" not in screen_text(app))


async def test_keys_move_a_replay_to_earlier_and_later_polls_of_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys `[` and `]` go to the previous and to the next poll. Key `t` goes to a time that the user types.

    At the first poll, key `[` only shows a message.
    """
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    times = (1_763_719_200, 1_763_719_210, 1_763_719_220)
    write(tmp_path / "prod", *(poll_of(at, groups=("always", f"at-{at % 100}")) for at in times))
    args = parse_args(["replay", str(tmp_path / "prod")])
    admin = await open_recording(args.lake, args.at)
    async with AsyncExitStack() as stack:
        app = KgtuiApp(SessionOpener(args, stack).replay(admin))
        async with app.run_test(size=(120, 30), notifications=True) as pilot:

            async def press_until(key: str, expected: str) -> None:
                await pilot.press(key)
                await until(pilot, lambda: expected in screen_text(app))

            await until(pilot, lambda: "at-20" in screen_text(app))
            await press_until("[", "at-10")
            await press_until("[", "at-0")
            await press_until("[", "this is the first poll")
            await press_until("]", "at-10")
            await press_until("t", "recorded from")
            await pilot.press(*"yesterday", "enter")
            await until(pilot, lambda: "not 'yesterday'" in screen_text(app))
            app.screen.query_one(Input).value = "0s"
            await press_until("enter", "at-20")


async def test_the_cluster_page_of_a_recording_lists_the_recorded_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the replay is at a poll before the first change, the page says that there are no changes up to this poll.

    The page must not contain `kgtui started`, because this text is only for live clusters.
    """
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    empty = Listing("consumer", "consumer", "Empty", 1)
    write(tmp_path / "prod", poll_of(listing=empty), poll_of(listing=empty), poll_of())
    args = parse_args(["replay", str(tmp_path / "prod")])
    admin = await open_recording(args.lake, args.at)
    async with AsyncExitStack() as stack:
        app = KgtuiApp(SessionOpener(args, stack).replay(admin))
        async with app.run_test(size=(160, 44)) as pilot:
            await until(pilot, lambda: "state Empty → Stable" in screen_words(app))
            await pilot.press("[")
            await until(pilot, lambda: "the recording has no changes from" in screen_words(app))
            await until(pilot, lambda: "Empty since before the recording" in screen_words(app))
            assert "kgtui started" not in screen_words(app)


async def test_replay_keys_on_a_live_cluster_show_how_to_open_a_recording(tmp_path: Path) -> None:
    admin = ScriptedAdmin()
    admin.add("payment")
    session = Session(ClusterLabel("test", "b:9092"), Monitor(admin, MonitorOptions(interval=0.1)), admin=admin)
    session.state_folder = StateFolder(tmp_path)
    app = KgtuiApp(session)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await until(pilot, lambda: "payment" in screen_text(app))
        await pilot.press("[")
        await until(pilot, lambda: "press R to record it, or t to open a recording" in screen_words(app))
        await pilot.press("t")
        await until(pilot, lambda: "Run kgtui replay LAKE" in screen_words(app))

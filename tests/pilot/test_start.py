"""Tests of the start screen, which is shown while no cluster is open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual.widgets import Button, Input

from kgtui.config import StateFolder
from kgtui.errors import UnreachableError
from kgtui.tui.app import KgtuiApp
from kgtui.tui.dialogs.clusters import ClusterDialog
from kgtui.tui.screens.main import MainScreen
from kgtui.tui.screens.start import StartScreen
from kgtui.tui.session import ClusterChoice
from tests.pilot.app_driver import sample_snapshot, screen_text, session_of, settled, until
from tests.pilot.scripted_monitor import ScriptedMonitor

if TYPE_CHECKING:
    from kgtui.tui.session import Session


def start_app(tmp_path: Path) -> tuple[KgtuiApp, list[str]]:
    """Return the app with its start screen, and a list of the addresses to which the app has tried to connect.

    Only connections to `good:9092` succeed.
    """
    addresses: list[str] = []

    async def connect(address: str) -> Session:
        addresses.append(address)
        if address != "good:9092":
            raise UnreachableError("no broker answers", ((address, "[/red] connection refused"),))
        return session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(tmp_path))

    async def demo() -> Session:
        return await connect("good:9092")

    tried = (("localhost:9092", "connection refused"),)
    session = session_of(
        None,
        state_folder=StateFolder(tmp_path),
        open_address=connect,
        open_demo=demo,
        failed_attempts=tried,
        config_file=Path("/home/me/c.toml"),
    )
    return KgtuiApp(session), addresses


async def test_the_start_screen_shows_failed_connections_and_the_configuration_file_path(tmp_path: Path) -> None:
    app, _ = start_app(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert isinstance(app.screen, StartScreen)
        shown = screen_text(app)
        assert "localhost:9092: connection refused" in shown
        assert "c.toml" in shown
        assert isinstance(app.focused, Input)


async def test_another_address_can_be_typed_after_a_failed_connection(tmp_path: Path) -> None:
    app, addresses = start_app(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"bad:1", "enter")
        await until(pilot, lambda: "bad:1: [/red] connection refused" in screen_text(app))
        await pilot.press(*["backspace"] * 5, *"good:9092", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        await settled(pilot)
        assert addresses == ["bad:1", "good:9092"]
        assert isinstance(app.screen, MainScreen)
        assert "payments.settle" in screen_text(app)


async def test_the_demo_button_can_be_pressed_with_the_keyboard(tmp_path: Path) -> None:
    app, _ = start_app(tmp_path)
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot)
        await pilot.press("tab")
        assert isinstance(app.focused, Button)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        await settled(pilot)
        assert isinstance(app.screen, MainScreen)


async def test_ctrl_c_without_selected_text_quits_the_app(tmp_path: Path) -> None:
    app, _ = start_app(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert app.return_code == 0
    assert not app.is_running


async def test_ctrl_c_copies_selected_text_instead_of_quitting(tmp_path: Path) -> None:
    app, _ = start_app(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"good:9092", "ctrl+a", "shift+home")
        field = app.screen.query_one(Input)
        field.select_all()
        await pilot.press("ctrl+c")
        assert app.clipboard == "good:9092"
        assert app.is_running


async def test_a_configured_cluster_can_be_opened_from_the_start_screen(tmp_path: Path) -> None:
    """The screen says that no default cluster is configured.

    It shows no example of a configuration file, because the user has already configured clusters.
    """

    async def another(name: str) -> Session:
        return session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(tmp_path))

    choices = tuple(ClusterChoice(name, f"{name}:9092") for name in ("dev", "[b]prod", "qa", "test"))
    session = session_of(
        None,
        state_folder=StateFolder(tmp_path),
        clusters=choices,
        open_cluster=another,
        failed_attempts=(("localhost:9092", "no"),),
    )
    app = KgtuiApp(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        shown = screen_text(app)
        assert "No default cluster is configured" in shown
        assert "(dev, [b]prod, qa" in shown
        assert "[clusters." not in shown
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(app.screen, ClusterDialog)
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(app.screen, StartScreen)
        await pilot.press("enter")
        await settled(pilot)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        await settled(pilot)
        assert "payments.settle" in screen_text(app)

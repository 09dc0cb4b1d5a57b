"""Deleting in the whole app: from the key in the tree to the group that is gone, over a real monitor."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from textual import events
from textual.widgets import Input

from kgtui.actions.state_folder import StateFolder
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui.app import KgtuiApp
from kgtui.tui.dialogs.delete import DeleteDialog, DeleteResultDialog
from kgtui.tui.session import Session, Target
from kgtui.tui.widgets.filter_bar import FilterBar
from tests.pilot.shell import main_screen
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.pilot import Pilot


@pytest.fixture
def admin() -> ScriptedAdmin:
    """One group is Empty, its twin is not, a third one is Empty too."""
    scripted = ScriptedAdmin()
    scripted.add("payment", state="Empty", lag=5)
    scripted.add("p\u0430yment", members=(member(), member("m-2")))
    scripted.add("third", "consumer", state="Empty", coordinator=2)
    return scripted


async def until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    """Wait for what the app does on its own; fails after a minute."""
    async with asyncio.timeout(60):
        while not true():
            await pilot.pause(0.02)


@asynccontextmanager
async def running(
    admin: ScriptedAdmin, folder: Path, *, read_only: bool = False
) -> AsyncIterator[tuple[KgtuiApp, Pilot[int]]]:
    """The app with every group listed, none selected yet."""
    monitor = Monitor(admin, MonitorOptions(interval=0.1))
    session = Session(Target("test", "b:9092"), monitor, admin, read_only=read_only, state_folder=folder)
    app = KgtuiApp(session)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: len(monitor.snapshot.groups) == 3)
        yield app, pilot


async def select(app: KgtuiApp, pilot: Pilot[int], group: str) -> None:
    """Put the cursor on a group and wait until it has been described."""
    screen = main_screen(app)
    screen.group_tree.reveal_later(group)
    await until(pilot, lambda: screen.group == group and group in screen.snapshot.details)


async def test_from_the_key_to_the_gone_group(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """`d`, the name, enter, the result, escape: the group leaves the tree, its twin stays."""
    async with running(admin, tmp_path) as (app, pilot):
        await select(app, pilot, "payment")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        await pilot.pause()
        app.screen.query_one("#typed", Input).focus()
        await pilot.press(*"payment", "enter")
        await until(pilot, lambda: isinstance(app.screen, DeleteResultDialog))
        await pilot.pause()
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))
        await until(pilot, lambda: set(main_screen(app).snapshot.groups) == {"p\u0430yment", "third"})
    assert StateFolder(tmp_path).audit.exists()


async def test_what_was_deleted_goes_at_once(
    admin: ScriptedAdmin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marked groups that nobody looks at; no list has told of it yet."""
    async with running(admin, tmp_path) as (app, pilot):
        screen = main_screen(app)
        await select(app, pilot, "p\u0430yment")
        monkeypatch.setattr(Monitor, "refresh", lambda _: None)
        await pilot.press("p")
        screen.group_tree.set_marks(("payment", "third"), marked=True)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        await pilot.pause()
        await pilot.press("2", "enter")
        await until(pilot, lambda: isinstance(app.screen, DeleteResultDialog))
        await pilot.pause()
        await pilot.press("escape")
        await until(pilot, lambda: set(screen.snapshot.groups) == {"p\u0430yment"})


async def test_typing_goes_to_the_field(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """Cancel has the focus, and yet the name can be typed at once, even one that begins with a key of the app."""
    admin.add("quit", state="Empty")
    admin.groups.pop("third")
    async with running(admin, tmp_path) as (app, pilot):
        await select(app, pilot, "quit")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        await pilot.pause()
        dialog = app.screen
        assert dialog.focused is dialog.query_one("#cancel")
        await pilot.press(*"quit")
        assert dialog.query_one("#typed", Input).value == "quit"
        assert not dialog.query_one("#delete").disabled


async def test_a_burst_of_keys_arrives_whole(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """Keys that come faster than the focus moves are neither lost nor do they change places."""
    async with running(admin, tmp_path) as (app, pilot):
        await select(app, pilot, "payment")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        await pilot.pause()
        dialog = app.screen
        assert dialog.focused is dialog.query_one("#cancel")
        for key in (*"payment-of-1", "backspace"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        field = dialog.query_one("#typed", Input)
        await until(pilot, lambda: field.value == "payment-of-")


async def test_keys_wait_for_the_focus_that_the_one_before_moves(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """Filter, its words, enter, and a key for the tree, all at once: each goes where it would go if typed slowly."""
    async with running(admin, tmp_path) as (app, pilot):
        await select(app, pilot, "third")
        for key in ("slash", *"third", "enter", "space", "d"):
            app.post_message(events.Key(key, {"slash": "/", "space": " "}.get(key, key if len(key) == 1 else None)))
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        assert main_screen(app).query_one(FilterBar).query_one(Input).value == "third"


async def test_a_live_group_tells_why_and_opens_nothing(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """The greyed key answers when it is pressed."""
    async with running(admin, tmp_path) as (app, pilot):
        await select(app, pilot, "p\u0430yment")
        assert main_screen(app).why_unavailable("delete") == "Stable with 2 members: stop them first"
        await pilot.press("d")
        await until(pilot, lambda: any("stop them first" in str(toast.render()) for toast in app.screen.query("Toast")))
        assert app.screen is main_screen(app)


async def test_what_is_selected_meanwhile_does_not_matter(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """The dialog is about the group that it was opened for, though the cursor has moved on under it."""
    async with running(admin, tmp_path) as (app, pilot):
        await select(app, pilot, "payment")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        dialog = app.screen
        await select(app, pilot, "third")
        await pilot.pause()
        dialog.query_one("#typed", Input).value = "third"
        await pilot.pause()
        assert dialog.query_one("#delete").disabled
        dialog.query_one("#typed", Input).value = "payment"
        dialog.query_one("#typed").focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DeleteResultDialog))
        await pilot.pause()
    assert set(admin.groups) == {"p\u0430yment", "third"}


async def test_read_only_has_no_delete(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """Neither key nor footer nor palette; nothing opens and nothing is sent."""
    async with running(admin, tmp_path, read_only=True) as (app, pilot):
        await select(app, pilot, "payment")
        assert "delete" not in {active.binding.id for active in app.screen.active_bindings.values() if active.enabled}
        await pilot.press("d")
        await pilot.pause()
        assert app.screen is main_screen(app)
    assert "delete_groups" not in {call for call, _ in admin.calls}


async def test_a_delete_without_outcome_is_told_at_the_start(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """What an earlier session left open is looked into by the next."""
    from kgtui.actions.audit import read_entries
    from kgtui.actions.execute import execute
    from kgtui.actions.plan import plan
    from kgtui.model.answer import Fault, Outcome

    folder = StateFolder(tmp_path)
    admin.add("old", state="Empty")
    admin.delete_outcomes["old"] = Outcome("old", Fault("NO_ANSWER", "lost", group="old"), uncertain=True)
    await execute(admin, await plan(admin, ["old"]), folder)
    del admin.groups["old"], admin.descriptions["old"]
    async with running(admin, tmp_path) as (app, pilot):
        await until(pilot, lambda: any("the group is gone" in str(t.render()) for t in app.screen.query("Toast")))
    assert read_entries(folder.audit)[0][0].outcome is not None

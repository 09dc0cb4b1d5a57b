"""Tests of deleting groups in the whole app, from the key `d` until the groups disappear from the tree."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual import events
from textual.widgets import Input

from kgtui.config import StateFolder
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui.app import KgtuiApp
from kgtui.tui.dialogs.delete import DeleteDialog
from kgtui.tui.dialogs.delete_table import DeleteResultDialog
from kgtui.tui.session import ClusterLabel, Session
from kgtui.tui.widgets.filter_bar import FilterBar
from tests.pilot.app_driver import main_screen
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.pilot import Pilot


@pytest.fixture
def admin() -> ScriptedAdmin:
    """Return a test double of a cluster with the Empty groups `payment` and `third`, and a group with members.

    The id of the group with members looks like `payment`, but has a Cyrillic letter.
    """
    scripted = ScriptedAdmin()
    scripted.add("payment", state="Empty", lag=5)
    scripted.add("p\u0430yment", members=(member(), member("m-2")))
    scripted.add("third", "consumer", state="Empty", coordinator=2)
    return scripted


async def until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    """Let the app run until a condition is true; fail after 60 s."""
    async with asyncio.timeout(60):
        while not true():
            await pilot.pause(0.02)


@asynccontextmanager
async def running(
    admin: ScriptedAdmin, folder: Path, *, read_only: bool = False
) -> AsyncIterator[tuple[KgtuiApp, Pilot[int]]]:
    """Run the app on `admin`, a test double of a cluster, and wait until the app has listed all three groups."""
    monitor = Monitor(admin, MonitorOptions(interval=0.1))
    session = Session(
        ClusterLabel("test", "b:9092"), monitor, admin, read_only=read_only, state_folder=StateFolder(folder)
    )
    app = KgtuiApp(session)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: len(monitor.snapshot.groups) == 3)
        yield app, pilot


async def select(app: KgtuiApp, pilot: Pilot[int], group: str) -> None:
    """Put the cursor of the tree on a group, and wait until the monitor has read the group's description."""
    screen = main_screen(app)
    screen.group_tree.reveal_later(group)
    await until(pilot, lambda: screen.group == group and group in screen.snapshot.details)


async def test_a_deleted_group_disappears_from_the_tree(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """Only the group whose id was typed is deleted. Another group, whose id looks the same, stays in the tree."""
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


async def test_deleted_groups_disappear_from_the_tree_without_a_poll(
    admin: ScriptedAdmin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polling is paused, so the app must remove the deleted groups without a new list of groups from the brokers."""
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


async def test_typed_letters_go_into_the_text_field_although_the_cancel_button_has_focus(
    admin: ScriptedAdmin, tmp_path: Path
) -> None:
    """The group id `quit` is typed into the field, although its first letter is the key that usually quits the app."""
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


async def test_letters_typed_in_one_burst_reach_the_text_field_in_order(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """The first typed character moves the focus to the text field. No character is lost."""
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


async def test_keys_without_a_pause_work_like_slowly_typed_keys(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """All keys arrive at once: `/`, a filter, enter, space (mark the group) and `d` (open the delete dialog)."""
    async with running(admin, tmp_path) as (app, pilot):
        await select(app, pilot, "third")
        for key in ("slash", *"third", "enter", "space", "d"):
            app.post_message(events.Key(key, {"slash": "/", "space": " "}.get(key, key if len(key) == 1 else None)))
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        assert main_screen(app).query_one(FilterBar).query_one(Input).value == "third"


async def test_key_d_explains_why_a_group_with_members_cannot_be_deleted(admin: ScriptedAdmin, tmp_path: Path) -> None:
    async with running(admin, tmp_path) as (app, pilot):
        await select(app, pilot, "p\u0430yment")
        assert main_screen(app).why_unavailable("delete") == "Stable with 2 members: stop them first"
        await pilot.press("d")
        await until(pilot, lambda: any("stop them first" in str(toast.render()) for toast in app.screen.query("Toast")))
        assert app.screen is main_screen(app)


async def test_key_d_is_available_for_an_empty_group_without_a_description(
    admin: ScriptedAdmin, tmp_path: Path
) -> None:
    """For an Empty group, key `d` works without a description, because the delete dialog reads the description itself.

    For a group in any other state, the key is unavailable until the monitor has read the description.
    """
    async with running(admin, tmp_path) as (app, pilot):
        screen = main_screen(app)
        for group, reason in (("payment", None), ("p\u0430yment", "the group has not been described yet")):
            await select(app, pilot, group)
            screen.snapshot = replace(screen.snapshot, details={})
            assert screen.why_unavailable("delete") == reason


async def test_key_d_is_available_for_an_empty_group_whose_description_is_old(
    admin: ScriptedAdmin, tmp_path: Path
) -> None:
    """The key is available, because the delete dialog reads the description again.

    For a group that has members according to its old description, the key is unavailable.
    """
    async with running(admin, tmp_path) as (app, pilot):
        screen = main_screen(app)
        for group, reason in (("payment", None), ("p\u0430yment", "Stable with 2 members")):
            await select(app, pilot, group)
            old = replace(screen.snapshot.details[group], at=screen.snapshot.taken_at - 60)
            screen.snapshot = replace(screen.snapshot, details={group: old})
            assert (screen.why_unavailable("delete") or "").startswith(reason or "")
            assert (screen.why_unavailable("delete") is None) == (reason is None)


async def test_the_delete_dialog_ignores_a_change_of_the_selected_group(admin: ScriptedAdmin, tmp_path: Path) -> None:
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


async def test_a_read_only_session_cannot_delete_groups(admin: ScriptedAdmin, tmp_path: Path) -> None:
    """Key `d` has no effect: no dialog opens, and no delete request is sent."""
    async with running(admin, tmp_path, read_only=True) as (app, pilot):
        await select(app, pilot, "payment")
        assert "delete" not in {active.binding.id for active in app.screen.active_bindings.values() if active.enabled}
        await pilot.press("d")
        await pilot.pause()
        assert app.screen is main_screen(app)
    assert "delete_groups" not in {call for call, _ in admin.calls}


async def test_the_app_reports_at_start_whether_a_deletion_without_response_succeeded(
    admin: ScriptedAdmin, tmp_path: Path
) -> None:
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
        await until(
            pilot,
            lambda: any("the group no longer exists" in str(toast.render()) for toast in app.screen.query("Toast")),
        )
    assert read_entries(folder.audit)[0][0].outcome is not None

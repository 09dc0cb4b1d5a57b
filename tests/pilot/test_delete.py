"""Tests of the delete dialog: what it shows, which deletions it refuses, and what is reported after a deletion."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from textual.app import App
from textual.widgets import Button, Input, Static

from kgtui.actions.audit import read_entries
from kgtui.actions.execute import execute
from kgtui.actions.plan import plan
from kgtui.errors import UnreachableError
from kgtui.model.answer import Fault, Outcome
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui import text
from kgtui.tui.dialogs.delete import DeleteDialog
from kgtui.tui.dialogs.delete_table import DeleteTable
from kgtui.tui.session import ClusterLabel, Session
from kgtui.tui.startup_notices import show_unfinished_deletes
from tests.pilot.delete_dialog import DeleteDialogApp, dialog_on, paste, result_shown, screen_text, text_to_type, until
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from kgtui.config import StateFolder


async def test_the_delete_dialog_shows_what_will_be_lost(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The dialog also shows the group's id and type, the backup folder, and the equivalent command of Kafka's tool.

    The Cancel button has the focus.
    """
    admin.add("payments", "consumer", state="Empty", lag=5)
    async with dialog_on(admin, folder, "payments", size=(140, 40)) as (app, _):
        shown = screen_text(app)
        for words in (
            "Delete group payments",
            "no: the group has not read 5 records, and its position would be lost",
            "5 records",
            "consumer",
            "offsets of 1 partition in 1 topic, 5 unread records",
            "Last commit none observed since kgtui started",
            "Offsets can be restored. Not restored: commit time and expiry",
            "kafka-consumer-groups.sh --bootstrap-server b1:9092,b2:9092",
            "To confirm, type the group id:",
        ):
            assert words in shown.replace("│", ""), shown
        assert str(folder.backups)[:40] in shown
        assert text_to_type(app) == "payments"
        assert app.focused is app.screen.query_one("#cancel")
        assert app.screen.query_one("#delete", Button).disabled


async def test_the_delete_dialog_shows_the_time_of_the_last_commit(admin: ScriptedAdmin, folder: StateFolder) -> None:
    admin.add("payments", "consumer", state="Empty", lag=5)
    monitor, at = Monitor(admin), datetime(2026, 11, 23, 10, 0, tzinfo=UTC).timestamp()
    for seconds, position in ((0, 1), (5, 3), (10, 3)):
        offsets = GroupOffsets((CommittedOffset("t", 0, position),), bounds={("t", 0): PartitionBounds(0, 9)})
        monitor.series.add("payments", at + seconds, 9 - position, 0, offsets=offsets)
    async with dialog_on(admin, folder, "payments", size=(140, 40), monitor=monitor) as (app, _):
        assert f"Last commit {text.date(at + 5)}" in screen_text(app)


async def test_the_delete_dialog_is_updated_when_a_member_joins_or_leaves(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """A member joins and leaves while the dialog is open. The user must then type the confirmation text again."""
    admin.add("g", state="Empty", lag=0)
    monitor = Monitor(admin, MonitorOptions(interval=0.05))
    monitor.set_view("g", ("g",))
    async with dialog_on(admin, folder, "g", monitor=monitor) as (app, pilot):
        app.run_worker(monitor.run())
        await until(pilot, lambda: "yes: the group has read all records" in screen_text(app))
        await paste(app, pilot, "g")
        assert not app.screen.query_one("#delete", Button).disabled
        admin.add("g", members=(member(),), lag=0)
        await until(pilot, lambda: "no: Stable with 1 member: stop it first" in screen_text(app))
        assert not app.screen.query_one("#typed").display
        assert app.screen.query_one("#delete", Button).disabled
        admin.add("g", state="Empty", lag=7)
        await until(pilot, lambda: "7 records" in screen_text(app))
        assert "uncertain: all members left" in screen_text(app)
        assert app.screen.query_one("#typed", Input).value == ""
        assert app.screen.query_one("#delete", Button).disabled


async def test_deleting_a_group_with_members_is_refused_with_a_reason(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    admin.add("g", members=(member(), member("m-2")))
    async with dialog_on(admin, folder, "g") as (app, _):
        shown = screen_text(app)
        assert "Stable with 2 members: stop them first" in shown
        assert "Nothing can be deleted" in shown
        assert not app.screen.query_one("#typed").display


async def test_deleting_a_group_is_refused_after_a_member_has_joined(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """The dialog first finds that the group can be deleted. A member joins while the user types the confirmation."""
    admin.add("g", state="Empty")
    async with dialog_on(admin, folder, "g") as (app, pilot):
        admin.add("g", members=(member(),))
        await paste(app, pilot, "g")
        await pilot.press("enter")
        await result_shown(app, pilot)
        shown = screen_text(app)
        assert "1 refused" in shown
        assert "Stable with 1 member" in shown
    assert "delete_groups" not in {call for call, _ in admin.calls}


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 60)])
@pytest.mark.parametrize("many", [False, True])
async def test_the_delete_dialog_fits_every_supported_terminal_size(
    admin: ScriptedAdmin, folder: StateFolder, size: tuple[int, int], many: bool
) -> None:
    """The question, the text fields and the buttons are fully visible, even if a group id is long."""
    names = ["n" * 249, "b"] if many else ["n" * 249]
    for name in names:
        admin.add(name, "streams", state="Empty", lag=3)
        admin.bounds[f"t-{name}", 0] = PartitionBounds(None, None, 3)
    async with dialog_on(admin, folder, *names, size=size) as (app, _):
        for control in ("#question", "#typed", "#second-word", "#cancel", "#delete"):
            placed = app.screen.find_widget(app.screen.query_one(control))
            assert placed.region.height >= 1, control
            assert placed.visible_region == placed.region, control
        assert "To confirm, type " in screen_text(app)


async def test_the_delete_dialog_deletes_only_the_groups_that_it_shows(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    admin.add("g", state="Empty")
    admin.add("other", state="Empty")
    async with dialog_on(admin, folder, "g") as (app, pilot):
        app.groups = ("other",)
        await paste(app, pilot, "g")
        await pilot.press("enter")
        await result_shown(app, pilot)
    assert set(admin.groups) == {"other"}


async def test_the_escape_key_does_not_close_the_delete_dialog_during_a_deletion(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    admin.add("g", state="Empty")
    async with dialog_on(admin, folder, "g") as (app, pilot):
        admin.gate = asyncio.Event()
        await paste(app, pilot, "g")
        await pilot.press("enter")
        dialog = app.screen
        assert isinstance(dialog, DeleteDialog)
        await until(pilot, lambda: dialog.deleting)
        await pilot.press("escape")
        assert app.screen is dialog
        admin.gate.set()
        await result_shown(app, pilot)
    assert "g" not in admin.groups


async def test_the_delete_dialog_shows_that_the_cluster_is_unreachable(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """The dialog shows the connection error, and the user can close the dialog."""

    async def away(groups: object, *, timeout: float = 30.0) -> object:
        raise UnreachableError("no broker answers at b1:9092")

    admin.describe_groups = away  # type: ignore[assignment,method-assign]
    session = Session(ClusterLabel("test"), admin=admin, state_folder=folder)
    app = DeleteDialogApp(session, ("g",))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog))
        await until(pilot, lambda: "no broker answers at b1:9092" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.result is None)


async def test_a_delete_dialog_for_10000_groups_has_few_widgets(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """One widget draws all rows of the table, because a widget per row would make the dialog slow."""
    names = [f"g-{number:05}" for number in range(10_000)]
    for name in names:
        admin.add(name, state="Empty")
    async with dialog_on(admin, folder, *names) as (app, _):
        table = app.screen.query_one(DeleteTable)
        assert len(table.table.rows) == 10_000
        assert len(table.query(Static)) < 10


async def leave_unfinished_delete(admin: ScriptedAdmin, folder: StateFolder, group: str) -> None:
    """Simulate a deletion with an unknown outcome: the broker deletes the group, but the broker's response is lost."""
    lost = Fault("NO_ANSWER", "no answer", group=group)
    admin.delete_outcomes[group] = Outcome(group, lost, uncertain=True)
    await execute(admin, await plan(admin, [group]), folder)
    del admin.groups[group], admin.descriptions[group]


async def test_a_deletion_without_a_response_is_checked_later_and_reported_once(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """Later, the app checks whether the group still exists, except in a read-only session.

    The group id contains markup, which the notice must show as text.
    """
    admin.add("[/red]", state="Empty")
    await leave_unfinished_delete(admin, folder, "[/red]")
    session = Session(ClusterLabel("test"), admin=admin, state_folder=folder)
    app = App[None]()
    async with app.run_test(notifications=True) as pilot:
        await show_unfinished_deletes(app, replace(session, read_only=True))
        assert read_entries(folder.audit)[0][0].outcome is None
        await show_unfinished_deletes(app, session)
        await until(pilot, lambda: "[/red]: a later check found" in screen_text(app))
        calls = len(admin.calls)
        await show_unfinished_deletes(app, session)
        assert len(admin.calls) == calls
    outcome = read_entries(folder.audit)[0][0].outcome
    assert outcome is not None
    assert outcome["found_later"]

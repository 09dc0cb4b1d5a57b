"""Tests of confirming a deletion by typing a text in the delete dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import Button, Input

from kgtui.actions.backup import list_backups
from kgtui.actions.results import DeletionStatus, Results
from kgtui.errors import UnreachableError
from kgtui.model.offsets import PartitionBounds
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui.dialogs.delete import DeleteDialog
from kgtui.tui.dialogs.delete_table import DeleteTable
from tests.pilot.delete_dialog import dialog_on, paste, result_shown, screen_text, text_to_type, until
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from kgtui.config import StateFolder


def ascii_id(value: str) -> str:
    """Return the first 20 characters of a group id in ASCII, with other characters escaped, for pytest's test ids."""
    return ascii(value)[:20]


async def test_the_typed_confirmation_text_is_kept_when_the_lag_changes(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    admin.add("g", state="Empty", lag=1)
    monitor = Monitor(admin, MonitorOptions(interval=0.05))
    monitor.set_view("g", ("g",))
    async with dialog_on(admin, folder, "g", monitor=monitor) as (app, pilot):
        app.run_worker(monitor.run())
        await paste(app, pilot, "g")
        admin.bounds["t-g", 0] = PartitionBounds(0, 1009)
        await until(pilot, lambda: "the group has not read 9 records" in screen_text(app))
        assert app.screen.query_one("#typed", Input).value == "g"
        assert not app.screen.query_one("#delete", Button).disabled


async def test_typing_the_group_id_and_pressing_enter_deletes_the_group(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """After the deletion, the dialog shows the result. When the user closes the dialog, the app gets this result."""
    admin.add("g", state="Empty", lag=5)
    async with dialog_on(admin, folder, "g") as (app, pilot):
        app.screen.query_one("#typed").focus()
        await pilot.press("g")
        assert not app.screen.query_one("#delete", Button).disabled
        await pilot.press("enter")
        await result_shown(app, pilot)
        shown = screen_text(app)
        assert "1 deleted" in shown
        assert str(folder.audit)[:30] in shown
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.result, Results))
        assert isinstance(app.result, Results)
        assert app.result.by_group["g"].status is DeletionStatus.DELETED
        assert "g" not in admin.groups
        assert list_backups(folder)[0][0].group == "g"


async def test_a_deletion_that_could_not_start_can_be_tried_again(
    admin: ScriptedAdmin, folder: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(**_: object) -> None:
        raise UnreachableError("no broker answers")

    admin.add("g", state="Empty")
    async with dialog_on(admin, folder, "g") as (app, pilot):
        await paste(app, pilot, "g")
        with monkeypatch.context() as outage:
            outage.setattr(admin, "cluster", unreachable)
            await pilot.press("enter")
            await until(pilot, lambda: "No delete request was sent" in screen_text(app))
        assert not any(app.screen.query_one(field).disabled for field in ("#typed", "#cancel", "#delete"))
        await pilot.click("#delete")
        await result_shown(app, pilot)
        assert "1 deleted" in screen_text(app)


@pytest.mark.parametrize("wrong", ["", "G", "g ", " g", "gg", "1", "y", "yes"])
async def test_typing_a_wrong_confirmation_text_deletes_nothing(
    admin: ScriptedAdmin, folder: StateFolder, wrong: str
) -> None:
    admin.add("g", state="Empty")
    async with dialog_on(admin, folder, "g") as (app, pilot):
        await paste(app, pilot, wrong)
        assert app.screen.query_one("#delete", Button).disabled
        await pilot.press("enter")
        await until(pilot, lambda: "Nothing was deleted, because the typed text differs" in screen_text(app))
        assert isinstance(app.screen, DeleteDialog)
        assert not app.screen.deleting
        await paste(app, pilot, "g")
        await until(pilot, lambda: "Nothing was deleted" not in screen_text(app))
    assert "g" in admin.groups


@pytest.mark.parametrize("key", ["escape", "enter"])
async def test_canceling_the_delete_dialog_deletes_nothing_and_writes_no_file(
    admin: ScriptedAdmin, folder: StateFolder, key: str
) -> None:
    """The user presses escape, or presses enter while the Cancel button has the focus."""
    admin.add("g", state="Empty")
    async with dialog_on(admin, folder, "g") as (app, pilot):
        await pilot.press(key)
        await until(pilot, lambda: app.result is None)
    assert "g" in admin.groups
    assert not folder.path.exists()


async def test_deleting_several_groups_is_confirmed_by_typing_their_number(
    admin: ScriptedAdmin, folder: StateFolder
) -> None:
    """The dialog has one row per group. The user must type the number of groups that can be deleted.

    This number is 3, because one of the 4 groups has a member.
    """
    for name in ("a", "b", "c"):
        admin.add(name, state="Empty", lag=1)
    admin.add("live", members=(member(),))
    async with dialog_on(admin, folder, "live", "a", "b", "c") as (app, pilot):
        rows = app.screen.query_one(DeleteTable).table.rows
        assert [(row.group, row.status) for row in rows] == [
            ("a", "delete"), ("b", "delete"), ("c", "delete"), ("live", "refused"),
        ]  # fmt: skip
        shown = screen_text(app)
        assert "Delete 4 groups?" in shown
        assert "To confirm, type the number of groups:" in shown
        assert text_to_type(app) == "3"
        await paste(app, pilot, "4")
        assert app.screen.query_one("#delete", Button).disabled
        await paste(app, pilot, "3")
        await pilot.click("#delete")
        await result_shown(app, pilot)
        assert "3 deleted, 1 refused" in screen_text(app)
    assert set(admin.groups) == {"live"}


async def test_an_irreversible_deletion_needs_two_confirmation_texts(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Offsets of deleted topics cannot be restored, so the user must also type `irreversible`."""
    admin.add("g", state="Empty", lag=1)
    admin.bounds["t-g", 0] = PartitionBounds(None, None, 3)
    async with dialog_on(admin, folder, "g") as (app, pilot):
        assert "irreversible: offsets of 1 deleted partition" in screen_text(app)
        await paste(app, pilot, "g")
        assert app.screen.query_one("#delete", Button).disabled
        assert "type irreversible here as well" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.focused is app.screen.query_one("#second-word"))
        await pilot.press("x", "enter")
        await until(pilot, lambda: "because the second text is not irreversible" in screen_text(app))
        app.screen.query_one("#second-word", Input).value = "irreversible"
        await pilot.pause()
        assert not app.screen.query_one("#delete", Button).disabled


@pytest.mark.parametrize(
    ("name", "to_type"),
    [
        ("[/red]", "[/red]"),
        ("p\u0430yment", r"p\u0430yment"),
        ("a\nb", r"a\nb"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202eevil", r"\u202eevil"),
        ("x" * 32_000, "xxxxxxxxxxxx 32000"),
        (r"back\u0430", r"back\\u0430"),
    ],
    ids=ascii_id,
)
async def test_groups_with_unusual_ids_can_be_deleted(
    admin: ScriptedAdmin, folder: StateFolder, name: str, to_type: str
) -> None:
    """The user types the id as the dialog shows it: escaped or shortened. Only the group with this id is deleted."""
    admin.add(name, state="Empty")
    admin.add("payment", state="Empty")
    async with dialog_on(admin, folder, name, size=(80, 24)) as (app, pilot):
        shown = screen_text(app)
        assert text_to_type(app) == to_type
        assert "\x1b" not in shown
        await paste(app, pilot, to_type)
        await pilot.press("enter")
        await result_shown(app, pilot)
    assert set(admin.groups) == {"payment"}

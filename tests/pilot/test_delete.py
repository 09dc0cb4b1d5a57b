"""The delete dialog, driven by keys."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.app import App
from textual.widgets import Button, Input, Static

from kgtui.actions.audit import read_entries
from kgtui.actions.backup import list_backups
from kgtui.actions.execute import execute
from kgtui.actions.plan import plan
from kgtui.actions.results import DeletionStatus, Results
from kgtui.actions.state_folder import StateFolder
from kgtui.errors import UnreachableError
from kgtui.model.answer import Fault, Outcome
from kgtui.model.offsets import PartitionBounds
from kgtui.tui.dialogs.delete import DeleteDialog, DeleteResultDialog
from kgtui.tui.dialogs.delete_table import DeleteTable
from kgtui.tui.session import Session, Target
from kgtui.tui.startup_notices import show_unfinished_deletes
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.pilot import Pilot


def ascii_id(value: str) -> str:
    """A test's id that fits on a line."""
    return ascii(value)[:20]


ROLES = {f"kg-{role}": "#888888" for role in ("ok", "warn", "error", "muted", "accent", "stale")}


class Host(App[None]):
    """An app with nothing but the dialog."""

    def __init__(self, session: Session, groups: tuple[str, ...]) -> None:
        super().__init__()
        self.session = session
        self.groups = groups
        self.answer: Results | str | None = "not answered"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return ROLES

    def on_mount(self) -> None:
        self.push_screen(DeleteDialog(self.session, self.groups), self.answered)

    def answered(self, answer: Results | None) -> None:
        """Keep the dialog's answer."""
        self.answer = answer


@pytest.fixture
def admin() -> ScriptedAdmin:
    """A cluster without groups."""
    return ScriptedAdmin()


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    """Where backups go."""
    return StateFolder(tmp_path / "state")


@asynccontextmanager
async def opened(
    admin: ScriptedAdmin, folder: StateFolder, *groups: str, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[Host, Pilot[None]]]:
    """An app whose dialog has its plan."""
    target = Target("test", "b1:9092,b2:9092", command_config="/etc/client.properties")
    session = Session(target, admin=admin, state_folder=folder.path)
    app = Host(session, groups)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        await pilot.pause()
        yield app, pilot


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Wait for what the app does in workers and threads; fails after a minute."""
    async with asyncio.timeout(60):
        while not true():
            await pilot.pause(0.01)


async def result_shown(app: App[None], pilot: Pilot[None]) -> None:
    """Wait until the result is on the screen."""
    await until(pilot, lambda: isinstance(app.screen, DeleteResultDialog) and app.screen.is_mounted)
    await pilot.pause()


def screen_text(app: App[None]) -> str:
    """What a person can read on the screen."""
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


def asked_for(app: App[None]) -> str:
    """What the dialog asks to be typed, as read from the screen."""
    lines = [line.strip(" │") for line in screen_text(app).splitlines()]
    (at,) = (index for index, line in enumerate(lines) if line.startswith("Type ") and line.endswith(":"))
    return lines[at + 1]


async def type_in(app: Host, pilot: Pilot[None], words: str) -> None:
    """Type into the field as a person would paste."""
    app.screen.query_one("#typed", Input).focus()
    app.screen.query_one("#typed", Input).value = words
    await pilot.pause()


async def test_it_says_what_will_be_lost(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Name, type, what is lost, where the backup goes, the equivalent command; Cancel has the focus."""
    admin.add("payments", "consumer", state="Empty", lag=5)
    async with opened(admin, folder, "payments", size=(140, 40)) as (app, _):
        shown = screen_text(app)
        for words in (
            "Delete group payments",
            "consumer",
            "offsets of 1 partition in 1 topic, 5 unread records",
            "Last commit unknown",
            "Offsets can be restored; this cannot: commit time and expiry",
            "kafka-consumer-groups.sh --bootstrap-server b1:9092,b2:9092",
            "Type its name to delete it:",
        ):
            assert words in shown.replace("│", ""), shown
        assert str(folder.backups)[:40] in shown
        assert asked_for(app) == "payments"
        assert app.focused is app.screen.query_one("#cancel")
        assert app.screen.query_one("#delete", Button).disabled


async def test_typed_name_deletes_and_shows_the_result(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """By keyboard alone: tab to the field, the name, enter; the result; escape."""
    admin.add("g", state="Empty", lag=5)
    async with opened(admin, folder, "g") as (app, pilot):
        app.screen.query_one("#typed").focus()
        await pilot.press("g")
        assert not app.screen.query_one("#delete", Button).disabled
        await pilot.press("enter")
        await result_shown(app, pilot)
        shown = screen_text(app)
        assert "1 deleted" in shown
        assert str(folder.audit)[:30] in shown
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.answer, Results))
        assert isinstance(app.answer, Results)
        assert app.answer.by_group["g"].status is DeletionStatus.DELETED
        assert "g" not in admin.groups
        assert list_backups(folder)[0][0].group == "g"


@pytest.mark.parametrize("wrong", ["", "G", "g ", " g", "gg", "1", "y", "yes"])
async def test_anything_else_does_nothing(admin: ScriptedAdmin, folder: StateFolder, wrong: str) -> None:
    """Only the exact name will do."""
    admin.add("g", state="Empty")
    async with opened(admin, folder, "g") as (app, pilot):
        await type_in(app, pilot, wrong)
        assert app.screen.query_one("#delete", Button).disabled
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, DeleteDialog)
        assert not app.screen.deleting
    assert "g" in admin.groups


@pytest.mark.parametrize("key", ["escape", "enter"])
async def test_cancel(admin: ScriptedAdmin, folder: StateFolder, key: str) -> None:
    """Escape, or enter on the focused Cancel: nothing was done and nothing written."""
    admin.add("g", state="Empty")
    async with opened(admin, folder, "g") as (app, pilot):
        await pilot.press(key)
        await until(pilot, lambda: app.answer is None)
    assert "g" in admin.groups
    assert not folder.path.exists()


async def test_a_live_group_is_refused_with_why(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """There is nothing to type."""
    admin.add("g", members=(member(), member("m-2")))
    async with opened(admin, folder, "g") as (app, _):
        shown = screen_text(app)
        assert "Stable with 2 members: stop them first" in shown
        assert "Nothing can be deleted" in shown
        assert not app.screen.query_one("#typed").display


async def test_active_in_between_is_refused(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """While the person was typing, an application joined."""
    admin.add("g", state="Empty")
    async with opened(admin, folder, "g") as (app, pilot):
        admin.add("g", members=(member(),))
        await type_in(app, pilot, "g")
        await pilot.press("enter")
        await result_shown(app, pilot)
        shown = screen_text(app)
        assert "1 refused" in shown
        assert "Stable with 1 member" in shown
    assert "delete_groups" not in {call for call, _ in admin.calls}


async def test_many_groups_ask_for_their_number(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """One line each, allowed and refused apart; the number typed is that of the allowed."""
    for name in ("a", "b", "c"):
        admin.add(name, state="Empty", lag=1)
    admin.add("live", members=(member(),))
    async with opened(admin, folder, "live", "a", "b", "c") as (app, pilot):
        rows = app.screen.query_one(DeleteTable).table.rows
        assert [(row.group, row.status) for row in rows] == [
            ("a", "delete"), ("b", "delete"), ("c", "delete"), ("live", "refused"),
        ]  # fmt: skip
        shown = screen_text(app)
        assert "Delete 4 groups?" in shown
        assert "Type the number of groups to delete them:" in shown
        assert asked_for(app) == "3"
        await type_in(app, pilot, "4")
        assert app.screen.query_one("#delete", Button).disabled
        await type_in(app, pilot, "3")
        await pilot.click("#delete")
        await result_shown(app, pilot)
        assert "3 deleted, 1 refused" in screen_text(app)
    assert set(admin.groups) == {"live"}


async def test_irreversible_asks_twice(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Offsets of deleted topics cannot be restored: a second word has to be typed as well."""
    admin.add("g", state="Empty", lag=1)
    admin.bounds["t-g", 0] = PartitionBounds(None, None, 3)
    async with opened(admin, folder, "g") as (app, pilot):
        assert "irreversible: offsets of deleted topics (1)" in screen_text(app)
        await type_in(app, pilot, "g")
        assert app.screen.query_one("#delete", Button).disabled
        assert "type irreversible here as well" in screen_text(app)
        app.screen.query_one("#irreversible", Input).value = "irreversible"
        await pilot.pause()
        assert not app.screen.query_one("#delete", Button).disabled


@pytest.mark.parametrize(
    ("name", "asked"),
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
async def test_hostile_names(admin: ScriptedAdmin, folder: StateFolder, name: str, asked: str) -> None:
    """Shown harmless, asked for in a form that can be typed, deleted under the exact name."""
    admin.add(name, state="Empty")
    admin.add("payment", state="Empty")
    async with opened(admin, folder, name, size=(80, 24)) as (app, pilot):
        shown = screen_text(app)
        assert asked_for(app) == asked
        assert "\x1b" not in shown
        await type_in(app, pilot, asked)
        await pilot.press("enter")
        await result_shown(app, pilot)
    assert set(admin.groups) == {"payment"}


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 60)])
@pytest.mark.parametrize("many", [False, True])
async def test_it_fits(admin: ScriptedAdmin, folder: StateFolder, size: tuple[int, int], many: bool) -> None:
    """On every screen the question, the field and the buttons are in sight, also with a long name."""
    names = ["n" * 249, "b"] if many else ["n" * 249]
    for name in names:
        admin.add(name, "streams", state="Empty", lag=3)
        admin.bounds[f"t-{name}", 0] = PartitionBounds(None, None, 3)
    async with opened(admin, folder, *names, size=size) as (app, _):
        for control in ("#question", "#typed", "#irreversible", "#cancel", "#delete"):
            placed = app.screen.find_widget(app.screen.query_one(control))
            assert placed.region.height >= 1, control
            assert placed.visible_region == placed.region, control
        assert "Type " in screen_text(app)


async def test_it_is_about_the_group_it_was_opened_for(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Whatever is selected or listed meanwhile."""
    admin.add("g", state="Empty")
    admin.add("other", state="Empty")
    async with opened(admin, folder, "g") as (app, pilot):
        app.groups = ("other",)
        await type_in(app, pilot, "g")
        await pilot.press("enter")
        await result_shown(app, pilot)
    assert set(admin.groups) == {"other"}


async def test_it_stays_open_while_it_writes(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Escape does not walk away from a request under way."""
    admin.add("g", state="Empty")
    async with opened(admin, folder, "g") as (app, pilot):
        admin.gate = asyncio.Event()
        await type_in(app, pilot, "g")
        await pilot.press("enter")
        dialog = app.screen
        assert isinstance(dialog, DeleteDialog)
        await until(pilot, lambda: dialog.deleting)
        await pilot.press("escape")
        assert app.screen is dialog
        admin.gate.set()
        await result_shown(app, pilot)
    assert "g" not in admin.groups


async def test_a_cluster_that_is_away(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Said in the dialog; nothing was sent, and the app goes on."""

    async def away(groups: object, *, timeout: float = 30.0) -> object:
        raise UnreachableError("no broker answers at b1:9092")

    admin.describe_groups = away  # type: ignore[assignment,method-assign]
    session = Session(Target("test"), admin=admin, state_folder=folder.path)
    app = Host(session, ("g",))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog))
        await until(pilot, lambda: "no broker answers at b1:9092" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.answer is None)


async def test_ten_thousand_groups_open_quickly(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Only the lines in sight are drawn."""
    names = [f"g-{number:05}" for number in range(10_000)]
    for name in names:
        admin.add(name, state="Empty")
    async with opened(admin, folder, *names) as (app, _):
        table = app.screen.query_one(DeleteTable)
        assert len(table.table.rows) == 10_000
        assert len(table.query(Static)) < 10


async def left_behind(admin: ScriptedAdmin, folder: StateFolder, group: str) -> None:
    """A delete of an earlier session whose answer was lost, and which was carried out."""
    lost = Fault("NO_ANSWER", "no answer", group=group)
    admin.delete_outcomes[group] = Outcome(group, lost, uncertain=True)
    await execute(admin, await plan(admin, [group]), folder)
    del admin.groups[group], admin.descriptions[group]


async def test_earlier_deletes_are_looked_into(admin: ScriptedAdmin, folder: StateFolder) -> None:
    """Their end is said once and logged; names are harmless; read-only leaves them alone."""
    admin.add("[/red]", state="Empty")
    await left_behind(admin, folder, "[/red]")
    session = Session(Target("test"), admin=admin, state_folder=folder.path)
    app = App[None]()
    async with app.run_test(notifications=True) as pilot:
        await show_unfinished_deletes(app, replace(session, read_only=True))
        assert read_entries(folder.audit)[0][0].outcome is None
        await show_unfinished_deletes(app, session)
        await until(pilot, lambda: "[/red]: checked at a later start" in screen_text(app))
        asked = len(admin.calls)
        await show_unfinished_deletes(app, session)
        assert len(admin.calls) == asked
    outcome = read_entries(folder.audit)[0][0].outcome
    assert outcome is not None
    assert outcome["found_later"]

"""An app that shows only the delete dialog, and functions that use the dialog as a user does."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from textual.app import App
from textual.widgets import Input

from kgtui.tui.dialogs.delete import DeleteDialog
from kgtui.tui.dialogs.delete_table import DeleteResultDialog
from kgtui.tui.session import ClusterLabel, Session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.pilot import Pilot

    from kgtui.actions.results import Results
    from kgtui.config import StateFolder
    from kgtui.monitor import Monitor
    from tests.scripted import ScriptedAdmin


ROLES = {f"kg-{role}": "#888888" for role in ("ok", "warn", "error", "muted", "accent", "stale")}


class DeleteDialogApp(App[None]):
    """An app that shows only the delete dialog."""

    def __init__(self, session: Session, groups: tuple[str, ...]) -> None:
        super().__init__()
        self.session = session
        self.groups = groups
        self.result: Results | str | None = "not closed yet"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return ROLES

    def on_mount(self) -> None:
        self.push_screen(DeleteDialog(self.session, self.groups), self.store_result)

    def store_result(self, result: Results | None) -> None:
        self.result = result


@asynccontextmanager
async def dialog_on(
    admin: ScriptedAdmin,
    folder: StateFolder,
    *groups: str,
    size: tuple[int, int] = (100, 30),
    monitor: Monitor | None = None,
) -> AsyncIterator[tuple[DeleteDialogApp, Pilot[None]]]:
    """Run an app with the delete dialog for `groups`, and wait until the dialog shows which groups can be deleted."""
    target = ClusterLabel("test", "b1:9092,b2:9092", command_config="/etc/client.properties")
    session = Session(target, monitor=monitor, admin=admin, state_folder=folder)
    app = DeleteDialogApp(session, groups)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.plan is not None)
        await pilot.pause()
        yield app, pilot


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Let the app run until the condition `true` holds; fail after 60 s."""
    async with asyncio.timeout(60):
        while not true():
            await pilot.pause(0.01)


async def result_shown(app: App[None], pilot: Pilot[None]) -> None:
    """Wait until the dialog with the result of the deletion is shown."""
    await until(pilot, lambda: isinstance(app.screen, DeleteResultDialog) and app.screen.is_mounted)
    await pilot.pause()


def screen_text(app: App[None]) -> str:
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


def text_to_type(app: App[None]) -> str:
    """Return the text that the dialog asks the user to type."""
    lines = [line.strip(" │") for line in screen_text(app).splitlines()]
    (at,) = (index for index, line in enumerate(lines) if line.startswith("To confirm, type ") and line.endswith(":"))
    return lines[at + 1]


async def paste(app: DeleteDialogApp, pilot: Pilot[None], value: str) -> None:
    """Put `value` into the confirmation field of the dialog, as if the user had pasted this text."""
    app.screen.query_one("#typed", Input).focus()
    app.screen.query_one("#typed", Input).value = value
    await pilot.pause()

"""At the start of a session: deletes of earlier ones whose end was never logged."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgtui.errors import KgtuiError
from kgtui.tui import text

if TYPE_CHECKING:
    from textual.app import App

    from kgtui.tui.session import Session

_SHOWN_SECONDS = 20.0


async def look_into_unfinished(app: App[Any], session: Session) -> None:
    """Find out and log what became of them, and say so; run it in a worker of the app.

    A read-only session leaves them to one that may write its log. What cannot be learned now is tried at the next
    start.
    """
    if session.admin is None or session.read_only:
        return
    await asyncio.to_thread(import_module, "kgtui.actions.verification")
    from kgtui.actions.state_folder import StateFolder
    from kgtui.actions.verification import unfinished

    folder = StateFolder(session.state_folder)
    try:
        found = await unfinished(session.admin, folder)
    except KgtuiError:
        return
    except OSError as error:
        app.notify(f"the audit log {folder.audit} cannot be used: {error.strerror or error}", severity="warning",
                   markup=False)  # fmt: skip
        return
    for result in found:
        words = f"{text.plain(result.group, 60, cut='middle')}: {result.reason}"
        app.notify(words, title="An earlier delete", severity="warning", timeout=_SHOWN_SECONDS, markup=False)

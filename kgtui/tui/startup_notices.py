"""Notices when kgtui starts: invalid presets (saved filters), invalid colors, warnings, unfinished deletions."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgtui.errors import KgtuiError, QueryError
from kgtui.model.query import parse
from kgtui.tui import text
from kgtui.tui.themes import parse_color

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.app import App

    from kgtui.tui.session import Session

_NOTICE_SECONDS = 15.0
_UNFINISHED_SECONDS = 20.0
_MAX_LINES = 6
_MAX_LINE_WIDTH = 160


def valid_presets(presets: Mapping[str, str]) -> dict[str, str]:
    """Return the presets (saved filters) with a valid expression as a dict: name → expression, sorted by name."""
    invalid = dict(invalid_presets(presets))
    return {name: presets[name] for name in sorted(presets) if name not in invalid}


def invalid_presets(presets: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (name, error) of each preset (saved filter) with an invalid expression, sorted by name."""
    invalid = []
    for name, expression in sorted(presets.items()):
        try:
            parse(expression)
        except QueryError as error:
            invalid.append((name, str(error)))
    return invalid


def show_invalid_presets(app: App[Any], presets: Mapping[str, str]) -> None:
    """Show one notice about all presets (saved filters) with an invalid expression. If all are valid, show nothing."""
    lines = [f"{name}: {error}" for name, error in invalid_presets(presets)]
    _show(app, lines, "Invalid presets" if len(lines) > 1 else "Invalid preset")


def show_warnings(app: App[Any], session: Session) -> None:
    """Show one notice with all warnings about the cluster's configuration. Without warnings, show nothing."""
    color = session.target.color
    invalid = bool(color) and parse_color(color) is None
    color_warning = [f"unknown color {color!r}: use a name such as red, or a code such as #b01030"] if invalid else []
    title = f"Configuration of {text.plain(session.target.name, 40, cut='middle')}"
    _show(app, [*session.warnings, *color_warning], title)


def _show(app: App[Any], messages: Iterable[str], title: str) -> None:
    lines = [text.plain(" ".join(message.split()), _MAX_LINE_WIDTH) for message in messages]
    if len(lines) > _MAX_LINES:
        lines[_MAX_LINES - 1 :] = [f"and {len(lines) - _MAX_LINES + 1} more"]
    if lines:
        app.notify("\n".join(lines), title=title, severity="warning", timeout=_NOTICE_SECONDS, markup=False)


async def show_unfinished_deletes(app: App[Any], session: Session) -> None:
    """Show the results of deletions that an earlier run of kgtui began, but could not finish.

    The audit log (a file that lists all changes to clusters) has no results for these deletions, because kgtui ended
    too soon. For each of their groups, find out whether the group still exists, show this, and add the result to the
    audit log. In a read-only session, do nothing.
    """
    if session.admin is None or session.read_only:
        return
    await asyncio.to_thread(import_module, "kgtui.actions.verification")
    from kgtui.actions.verification import unfinished

    folder = session.state_folder
    try:
        results = await unfinished(session.admin, folder)
    except KgtuiError:
        return
    except OSError as error:
        app.notify(f"{error.filename or folder.audit} cannot be used: {error.strerror or error}", severity="warning",
                   markup=False)  # fmt: skip
        return
    for result in results:
        message = f"{text.plain(result.group, 60, cut='middle')}: {result.reason}"
        app.notify(
            message, title="Unfinished delete", severity="warning", timeout=_UNFINISHED_SECONDS, markup=False
        )  # fmt: skip

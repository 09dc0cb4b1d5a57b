"""Ignore a request to dismiss a screen that has already been dismissed.

In Textual 8.2.8, `Screen.dismiss` removes the screen at the top of the stack, even if it is called for another screen.
If the user clicks the background of the command palette twice, the second click therefore removes the screen below the
palette. A third click may find no screen at all and cause an exception.
"""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.screen import Screen

_textual_dismiss = Screen.dismiss


def prevent_repeated_dismissal() -> None:
    """Patch `Screen.dismiss` so that it does nothing if the screen is no longer the active one."""
    setattr(Screen, "dismiss", _dismiss)  # noqa: B010 - mypy forbids a plain assignment to a method


def _dismiss(screen: Screen[Any], result: Any = None) -> AwaitComplete:
    return _textual_dismiss(screen, result) if screen.is_active else AwaitComplete()

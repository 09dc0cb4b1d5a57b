"""Dismiss a screen only while it is the active screen.

In Textual 8.2.8, `Screen.dismiss` removes the screen at the top of the stack, whichever it is. If two quick clicks
dismiss a screen, the second one removes the screen below it. The third one may find no screen, which is an error.
This happens if the background of the command palette is clicked several times.
"""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.screen import Screen

_textual_dismiss = Screen.dismiss


def prevent_repeated_dismissal() -> None:
    """Patch `Screen.dismiss` so that it has no effect on a screen that is not active any more."""
    setattr(Screen, "dismiss", _dismiss)  # noqa: B010 - mypy forbids a plain assignment to a method


def _dismiss(screen: Screen[Any], result: Any = None) -> AwaitComplete:
    return _textual_dismiss(screen, result) if screen.is_active else AwaitComplete()

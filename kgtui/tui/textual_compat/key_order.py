"""Send each key to the right widget, in the order in which the keys were typed, even if a key moves the focus.

In Textual 8.2.8, each widget has its own message queue, and the app forwards a key to the widget that has the focus
when the key arrives. Several keys may arrive at the same time, for example over a slow connection. If the first one
moves the focus, Textual forwards the next ones before the focus has moved: to the wrong widget, where letters are lost
or swapped. Therefore this module holds each key back until the widgets have handled the key before it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

from textual import events
from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import App
    from textual.message_pump import MessagePump
    from textual.widget import Widget

ROUNDS = 3
"""After a key, the focused widget and all its ancestors empty their message queues in this many rounds.

In the first round, the widgets handle the key itself; in the second round, a message that the key causes, such as
`Input.Submitted`; and in the third round, a message that is posted in response to that message. Then the next key is
forwarded.
"""

HOLD_TIMEOUT = 3.0
"""A key waits at most this many seconds until the widgets have handled the previous key.

On an idle computer, widgets handle a key in a few milliseconds. Without this limit, the key would wait forever if a
widget stopped handling messages.
"""

ACTION_TIMEOUT = 10.0
"""A key waits at most this many seconds until the screen has finished an action.

A dialog closes when its action is done. The action of the main screen is to select the match of an accepted filter.
"""

CLOSING_KEYS = frozenset({"escape", "ctrl+c", "ctrl+q"})
"""Keys that are never held back while the screen runs an action, so that the user can always end the action."""

KEYS_WITHOUT_FOCUS_CHANGE = frozenset({
    "up", "down", "left", "right", "pageup", "pagedown", "home", "end", "backspace", "delete",
})  # fmt: skip
"""Keys that never move the focus. A key that follows one of them is not held back."""


class KeyOrder:
    """Delays keys until the widgets have handled the key before them.

    Args:
        app: the app that receives the keys.
        forward: sends a key to the widget that has the focus.
    """

    def __init__(self, app: App[int], forward: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._forward = forward
        self._held: deque[events.Event] = deque()
        self._in_progress: asyncio.Task[None] | None = None

    async def send(self, event: events.Event) -> None:
        """Forward a key or pasted text immediately, or as soon as the widgets have handled all earlier keys."""
        if self._in_progress is None:
            await self._send(event)
        elif isinstance(event, events.Key) and event.key in CLOSING_KEYS and _running_action(self._app) is not None:
            await self._forward(event)
        else:
            self._held.append(event)

    async def _send(self, event: events.Event) -> None:
        focused = self._app.focused
        waits = bool(self._held) or _may_move_focus(event, focused)
        self._in_progress = asyncio.create_task(self._wait_until_handled(_path(self._app))) if waits else None
        await self._forward(event)

    async def _wait_until_handled(self, path: list[MessagePump]) -> None:
        screen = self._app.screen
        await _wait_for_queues(path)
        done = _running_action(self._app)
        if done is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), ACTION_TIMEOUT)
            await _wait_for_queues(path)
        if self._app.screen is not screen:
            # The key has closed a dialog or opened a screen. Before the next key is sent, the screen that is now active
            # must handle its queued messages.
            await _wait_for_queues(_path(self._app))
        if self._held:
            # `_send` runs in the app and not in this task, so that the app handles an exception that the key causes.
            self._app.call_later(self._send, self._held.popleft())
        else:
            self._in_progress = None


def _path(app: App[int]) -> list[MessagePump]:
    """Return the widgets that may handle messages after a key: the focused widget and its ancestors, up to the app.

    In a dialog, all widgets are included, because a key in one widget can cause messages to another one.
    """
    screen = app.screen
    path: list[MessagePump] = [*(app.focused or screen).ancestors_with_self]
    if isinstance(screen, ModalScreen):
        return [*(widget for widget in screen.walk_children() if widget not in path), *path]
    return path


def _running_action(app: App[int]) -> asyncio.Event | None:
    """Return the event that the screen or dialog sets when its action is done; None if no action is running."""
    done = getattr(app.screen, "action_done", None)
    return done if isinstance(done, asyncio.Event) and not done.is_set() else None


async def _wait_for_queues(path: list[MessagePump]) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(_all_queues_handled(path), HOLD_TIMEOUT)


def _may_move_focus(event: events.Event, focused: Widget | None) -> bool:
    if not isinstance(event, events.Key):
        return False
    if isinstance(focused, Input):
        return not event.is_printable and event.key not in KEYS_WITHOUT_FOCUS_CHANGE
    return event.key not in KEYS_WITHOUT_FOCUS_CHANGE


async def _all_queues_handled(path: list[MessagePump]) -> None:
    """Wait until each widget in `path` has handled its queued messages. The app is the last one in the path."""
    for _ in range(ROUNDS):
        for widget in path:
            handled = asyncio.Event()
            if widget.call_later(handled.set):
                await handled.wait()


async def run_binding(app: App[Any], key: str) -> bool:
    """Run the action of a key immediately. Return whether the key has an action.

    Textual 8.2.8 would run the action later, after it has passed the key through the message queue of each ancestor of
    the focused widget.
    """
    return await app._check_bindings(key)

"""Send each key to the right widget, in the typed order, even if a key moves the focus.

Textual 8.2.8 sends a key to the focused widget immediately, even if an earlier key has not been handled yet and will
move the focus. Therefore, after a key that may move the focus, this module holds further keys back until that key has
been handled.
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
"""Number of times that `KeyOrder` waits for the widgets to handle their messages, before it sends the next key.

One wait is not enough, because a widget that handles a message can post new messages, such as `Input.Submitted`.
"""

HOLD_TIMEOUT = 3.0
"""Maximum time for which `KeyOrder` waits until the widgets have handled their messages, in seconds.

Meanwhile, further keys are held back. Without this limit, a widget that hangs would block all keys.
"""

ACTION_TIMEOUT = 10.0
"""Maximum time for which further keys wait for the end of an action, such as opening a recording, in seconds."""

CLOSING_KEYS = frozenset({"escape", "ctrl+c", "ctrl+q"})
"""Keys that never wait for the end of a running action, so that the user can cancel the action."""

KEYS_WITHOUT_FOCUS_CHANGE = frozenset({
    "up", "down", "left", "right", "pageup", "pagedown", "home", "end", "backspace", "delete",
})  # fmt: skip
"""Keys that never move the focus to another widget. The next key can be sent before such a key has been handled."""


class KeyOrder:
    """Sends keys to the focused widget, in the typed order.

    After a key that can move the focus, further keys are held back until the widgets have handled that key.

    Args:
        forward: sends a key to the focused widget.
    """

    def __init__(self, app: App[int], forward: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._forward = forward
        self._held: deque[events.Event] = deque()
        self._in_progress: asyncio.Task[None] | None = None

    async def send(self, event: events.Event) -> None:
        """Forward a key or pasted text to the focused widget.

        Normally, forward the event immediately. But if the widgets have not yet handled an earlier key that can move
        the focus, store the event, and forward it later. Exception: while an action is running, Escape and the other
        keys in `CLOSING_KEYS` are always forwarded immediately.
        """
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
            # The key has opened or closed a screen. Wait until the new top screen has handled its messages as well.
            await _wait_for_queues(_path(self._app))
        if self._held:
            # Let the app call `_send`, so that an exception in `_send` reaches the app's exception handler.
            self._app.call_later(self._send, self._held.popleft())
        else:
            self._in_progress = None


def _path(app: App[int]) -> list[MessagePump]:
    """Return the widgets whose messages must be handled before the next key: the focused widget and its ancestors.

    If a dialog is open, return all of its widgets, because they send messages to each other.
    """
    screen = app.screen
    path: list[MessagePump] = [*(app.focused or screen).ancestors_with_self]
    if isinstance(screen, ModalScreen):
        return [*(widget for widget in screen.walk_children() if widget not in path), *path]
    return path


def _running_action(app: App[int]) -> asyncio.Event | None:
    """Return the asyncio event that the screen sets at the end of its running action; None if no action is running."""
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
    for _ in range(ROUNDS):
        for widget in path:
            handled = asyncio.Event()
            if widget.call_later(handled.set):
                await handled.wait()


async def run_binding(app: App[Any], key: str) -> bool:
    """Immediately run the action that is bound to a key. Return False if no action is bound to it.

    Without this function, Textual 8.2.8 would first pass the key through the message queues of all ancestor widgets.
    """
    return await app._check_bindings(key)

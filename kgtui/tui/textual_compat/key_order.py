"""Handle keys in the order in which they were typed, even when one of them moves the focus.

Textual 8.2.8 gives each widget its own queue and forwards a key to the widget that has the focus at that time. If keys
arrive in one burst (typed fast over a slow connection, or pasted) and the first key moves the focus, Textual forwards
the others before the focus has moved, and letters get lost or change places. Therefore this module holds each key back
until the widgets have handled the key before it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

from textual import events
from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import App
    from textual.message_pump import MessagePump
    from textual.widget import Widget

ROUNDS = 3
"""Times to wait for all queues from the widget to the app: for the key, its message, and the message after that."""

HOLD_TIMEOUT = 0.3
"""Maximum time that a key is held back, in seconds, so that keys do not wait forever for a busy widget."""

KEYS_WITHOUT_FOCUS_CHANGE = frozenset({
    "up", "down", "left", "right", "pageup", "pagedown", "home", "end", "backspace", "delete",
})  # fmt: skip
"""Keys that never move the focus. A key that follows one of them is not held back."""


class KeyOrder:
    """Holds keys back while an earlier one is being handled.

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
        """Forward a key or a pasted text, now or as soon as the earlier one was handled."""
        if self._in_progress is None:
            await self._send(event)
        else:
            self._held.append(event)

    async def _send(self, event: events.Event) -> None:
        focused = self._app.focused
        path: list[MessagePump] = [*(focused or self._app.screen).ancestors_with_self]
        waits = bool(self._held) or _may_move_focus(event, focused)
        self._in_progress = asyncio.create_task(self._wait_until_handled(path)) if waits else None
        await self._forward(event)

    async def _wait_until_handled(self, path: list[MessagePump]) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_all_queues_handled(path), HOLD_TIMEOUT)
        if self._held:
            # Let the app call this function, so that the app also handles an exception from the action of the key.
            self._app.call_later(self._send, self._held.popleft())
        else:
            self._in_progress = None


def _may_move_focus(event: events.Event, focused: Widget | None) -> bool:
    if not isinstance(event, events.Key):
        return False
    if isinstance(focused, Input):
        return not event.is_printable and event.key not in KEYS_WITHOUT_FOCUS_CHANGE
    return event.key not in KEYS_WITHOUT_FOCUS_CHANGE


async def _all_queues_handled(path: list[MessagePump]) -> None:
    """Return when each widget of the path, one after the other, has handled the messages in its queue."""
    for _ in range(ROUNDS):
        for widget in path:
            handled = asyncio.Event()
            if widget.call_later(handled.set):
                await handled.wait()


async def run_binding(app: App[Any], key: str) -> bool:
    """Run the action that a key is bound to, at once; return whether it is bound.

    Textual 8.2.8 passes a key up through the queue of every ancestor before the app looks for its binding.
    """
    return await app._check_bindings(key)

"""Keys in the order in which they were typed, also when one of them moves the focus.

Textual gives each widget a queue of its own and sends a key to what has the focus at that moment. Of keys that come
in one burst (typed fast over a slow line, or pasted), the later ones are sent while the first, which moves the
focus, still waits in a queue: letters are lost or change places. So a key waits here until the one before has been
through the widgets that it concerned.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING

from textual import events
from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import App
    from textual.message_pump import MessagePump
    from textual.widget import Widget

ROUNDS = 3
"""Walks from the widget to the app: the key, the message that it caused, and what that one caused."""

PATIENCE = 0.3
"""Seconds after which the next key does not wait any longer: a widget may be busy, and keys must not die with it."""

STAYING = frozenset({"up", "down", "left", "right", "pageup", "pagedown", "home", "end", "backspace", "delete"})
"""Keys that leave the focus where it is: the next one needs not wait, however many come."""


class KeyOrder:
    """Holds keys back while the one before is on its way."""

    def __init__(self, app: App[int], deliver: Callable[[events.Event], Awaitable[None]]) -> None:
        """Keys in order.

        Args:
            app: whose keys they are.
            deliver: sends a key to what has the focus.
        """
        self._app = app
        self._deliver = deliver
        self._held: deque[events.Event] = deque()
        self._under_way: asyncio.Task[None] | None = None

    async def send(self, event: events.Event) -> None:
        """Send a key or a pasted text, now or when the one before has arrived."""
        if self._under_way is None:
            await self._send(event)
        else:
            self._held.append(event)

    async def _send(self, event: events.Event) -> None:
        focused = self._app.focused
        way: list[MessagePump] = [*(focused or self._app.screen).ancestors_with_self]
        waits = bool(self._held) or _may_move_focus(event, focused)
        self._under_way = asyncio.create_task(self._arrive(way)) if waits else None
        await self._deliver(event)

    async def _arrive(self, way: list[MessagePump]) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_walked(way), PATIENCE)
        if self._held:
            # Sent by the app itself, so that what an action does, and a defect in it, are the app's.
            self._app.call_later(self._send, self._held.popleft())
        else:
            self._under_way = None


def _may_move_focus(event: events.Event, focused: Widget | None) -> bool:
    if not isinstance(event, events.Key):
        return False
    if isinstance(focused, Input):
        return not event.is_printable and event.key not in STAYING
    return event.key not in STAYING


async def _walked(way: list[MessagePump]) -> None:
    """Return when each widget on the way, one after the other, has handled what it had."""
    for _ in range(ROUNDS):
        for widget in way:
            handled = asyncio.Event()
            if widget.call_later(handled.set):
                await handled.wait()

"""Read the events of a recording in the hour before the displayed time.

The node page lists these events under *Recent changes*. kgtui shows the node page, instead of the panes of a group,
while the tree's cursor is on a node that contains groups, such as a group type.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.event import Event
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import ReplayPosition

_log = logging.getLogger(__name__)

RECENT = 3_600.0
"""Length of the time span for which events are listed, in seconds. The time span ends at the displayed time."""


class RecentEvents:
    """Reads and stores the events of a recording in the hour before the displayed time.

    Args:
        position: the displayed time in the recording; None for a live cluster, for which no events are read.
    """

    def __init__(self, position: ReplayPosition | None) -> None:
        self._position = position
        self._events: Sequence[Event] = ()
        self._read_at: float | None = None
        self._error = ""
        self._reading = False

    def start_reading(self) -> bool:
        """Return whether the caller must now call `read`.

        This is necessary if the displayed time in the recording has changed since the last call of `read`. But return
        False on a live cluster, and while `read` is running.
        """
        if self._reading or self._position is None or self._read_at == self._position.at:
            return False
        self._reading = True
        return True

    async def read(self) -> None:
        """Read the events in the hour before the displayed time. If the displayed time changes meanwhile, read again.

        Errors are not raised. Instead, `placeholder` returns the error message.
        """
        position = self._position
        try:
            while position is not None and self._read_at != position.at:
                at = position.at
                try:
                    self._events, self._error = await position.events(at - RECENT, at), ""
                except KgtuiError as error:
                    _log.warning("the recent changes cannot be read: %s", error)
                    self._events, self._error = (), str(error)
                self._read_at = at
        finally:
            self._reading = False

    def with_events(self, snapshot: Snapshot) -> Snapshot:
        """Return a copy of the snapshot with the events that `read` has found.

        If `read` has found no events, return the snapshot itself.
        """
        if self._position is None or not self._events:
            return snapshot
        return replace(snapshot, events=self._events)

    def placeholder(self) -> str:
        """Return the text that is shown if there are no events. The text says why there are none."""
        position = self._position
        if position is None:
            return "no changes since kgtui started"
        if self._read_at is None:
            return f"reading the recording{text.marks().ellipsis}"
        if self._error:
            return text.plain(self._error, 200)
        begin = max(position.span[0], self._read_at - RECENT)
        return f"the recording has no changes from {text.clock(begin)} to {text.clock(self._read_at)}"

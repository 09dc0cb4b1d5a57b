"""Writes the output of `kgtui events` as a table or as JSON: one line per event (a change in the cluster)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible
from kgtui.output.formats import VERSION, json_bytes
from kgtui.output.table import GAP, cell_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.event import Event

_TITLES = ("TIME", "EVENT", "GROUP", "WHAT")

_MIN_WIDTHS = (20, 12, 24, 0)
"""Minimum width of each column, in terminal cells. Most texts fit, so a column rarely gets wider."""

_MAX_WIDTH = 36
"""Maximum width of a column, in terminal cells. A longer text is not cut off, but shifts the cells to its right."""


class EventTableWriter:
    """Formats events as lines of one table. Call `lines` whenever new events arrive.

    A long text makes its column wider, up to `_MAX_WIDTH`. The column keeps this width in all later lines.
    """

    def __init__(self) -> None:
        self._header = True
        self._widths = list(_MIN_WIDTHS)

    def lines(self, events: Sequence[Event]) -> str:
        """Return one line per event, with control characters escaped. The first call also returns the header."""
        rows: list[tuple[str, ...]] = [_TITLES] if self._header else []
        rows += [tuple(map(visible, _cells(event))) for event in events]
        self._header = False
        for column, cells in enumerate(zip(*rows, strict=True)):
            widest = min(max(map(cell_width, cells)), _MAX_WIDTH)
            self._widths[column] = max(self._widths[column], widest)
        return "".join(f"{self._line(row)}\n" for row in rows)

    def _line(self, row: tuple[str, ...]) -> str:
        cells = (cell + " " * (width - cell_width(cell)) for cell, width in zip(row, self._widths, strict=True))
        return GAP.join(cells).rstrip(" ")


def _cells(event: Event) -> tuple[str, str, str, str]:
    return (rfc3339(event.at, "seconds"), event.kind.value, "–" if event.group is None else event.group, event.detail)


def as_json(events: Iterable[Event]) -> bytes:
    """Encode each event as a JSON object in a line of its own. Times are RFC 3339 in UTC."""
    return b"".join(json_bytes(_object(event), one_line=True) for event in events)


def _object(event: Event) -> dict[str, object]:
    listing = event.listing
    return {
        "version": VERSION,
        "at": rfc3339(event.at),
        "kind": event.kind.value,
        "group": event.group,
        "type": listing and listing.type,
        "protocol": listing and listing.protocol,
        "state": listing and listing.state,
        "coordinator": listing and listing.coordinator,
        "broker": event.broker,
        "before": event.before,
        "after": event.after,
        "subject": event.subject or None,
        "count": event.number,
        "text": event.text,
    }

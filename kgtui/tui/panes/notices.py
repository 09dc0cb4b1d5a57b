"""What stands above a pane when its reading is old, partial or missing: what happened, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.tui import text
from kgtui.tui.panes.cells import ERROR, MUTED, STALE, WARN, Cell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kgtui.model.answer import Fault
    from kgtui.model.snapshot import Reading, Snapshot

Line = tuple[Cell, ...]


def notices(snapshot: Snapshot, group: str, readings: Mapping[str, Reading[Any]], what: str) -> list[Line]:
    """Lines to show above a reading of `group`; none when it is there and fresh.

    Args:
        readings: the mapping of the snapshot that the pane draws from.
        what: names the reading, such as `members`.
    """
    lines: list[Line] = []
    reading = readings.get(group)
    if group not in snapshot.groups:
        lines.append((Cell("! no longer listed: deleted, or expired; ", WARN), *_last(reading)))
    fault = reading.fault if reading is not None else None
    fault = fault or _fault_of(snapshot, group)
    if fault is not None:
        lines += _explained(fault, reading)
    elif reading is None and group in snapshot.groups:
        lines.append((Cell(f"reading {what}{text.marks().ellipsis}", MUTED),))
    return lines


def _fault_of(snapshot: Snapshot, group: str) -> Fault | None:
    """The group's own fault, else that of its coordinator."""
    own = snapshot.group_faults.get(group)
    if own is not None:
        return own
    listing = snapshot.groups.get(group)
    broker = snapshot.brokers.get(listing.coordinator) if listing is not None else None
    return broker.fault if broker is not None else None


def _explained(fault: Fault, reading: Reading[Any] | None) -> list[Line]:
    age: Line = ()
    if reading is not None:
        age = (Cell(f"as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", STALE), Cell(": ", STALE))
    lines: list[Line] = [(Cell(f"{text.marks().fault} ", ERROR), *age, Cell(one_line(fault.message or fault.name)))]
    if fault.advice:
        lines.append((Cell("  "), Cell(one_line(fault.advice), MUTED)))
    return lines


def _last(reading: Reading[Any] | None) -> Line:
    if reading is None:
        return (Cell("nothing was read of it", WARN),)
    return (Cell(f"this is as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", WARN),)


def one_line(message: str) -> str:
    """A message, perhaps a broker's, without line breaks."""
    return " ".join(message.split())

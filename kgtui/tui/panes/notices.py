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


def notices(
    snapshot: Snapshot, group: str, readings: Mapping[str, Reading[Any]], *, faults_below: bool = False
) -> list[Line]:
    """Lines to show above a reading of `group`; none when it is there and fresh.

    Args:
        readings: the mapping of the snapshot that the pane draws from.
        faults_below: the pane tells the faults itself, so only the reading's age is said here.
    """
    lines: list[Line] = []
    reading = readings.get(group)
    if group not in snapshot.groups:
        lines.append((Cell("! no longer listed: deleted, or expired; ", WARN), *_last(reading)))
    fault = reading.fault if reading is not None else None
    fault = fault or _fault_of(snapshot, group)
    if fault is not None:
        lines += _aged(reading) if faults_below else _explained(fault, reading)
    return lines


def awaited(snapshot: Snapshot, group: str, readings: Mapping[str, Reading[Any]], what: str) -> str:
    """What is said in the place of a reading that has not come yet; empty when it is there, or cannot come."""
    if group in readings or group not in snapshot.groups or _fault_of(snapshot, group) is not None:
        return ""
    return f"reading {what}{text.marks().ellipsis}"


def _fault_of(snapshot: Snapshot, group: str) -> Fault | None:
    """The group's own fault, else that of its coordinator."""
    own = snapshot.group_faults.get(group)
    if own is not None:
        return own
    listing = snapshot.groups.get(group)
    broker = snapshot.brokers.get(listing.coordinator) if listing is not None else None
    return broker.fault if broker is not None else None


def _aged(reading: Reading[Any] | None) -> list[Line]:
    if reading is None:
        return []
    return [(Cell(f"{text.marks().fault} as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", STALE),)]


def _explained(fault: Fault, reading: Reading[Any] | None) -> list[Line]:
    age: Line = ()
    if fault.name == "NOT_SUPPORTED":
        said = one_line(fault.message)
        return [(Cell(f"{said[:1].upper()}{said[1:]}.", MUTED), Cell(f" {one_line(fault.advice)}", MUTED))]
    if reading is not None and not _empty(reading):
        age = (Cell(f"as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", STALE), Cell(": ", STALE))
    lines: list[Line] = [(Cell(f"{text.marks().fault} ", ERROR), *age, Cell(one_line(fault.message or fault.name)))]
    if fault.advice:
        lines.append((Cell("  "), Cell(one_line(fault.advice), MUTED)))
    return lines


def _empty(reading: Reading[Any]) -> bool:
    """Whether nothing was ever read: the reading only carries its fault."""
    return isinstance(reading.value, tuple) and not reading.value


def _last(reading: Reading[Any] | None) -> Line:
    if reading is None:
        return (Cell("nothing was read of it", WARN),)
    return (Cell(f"this is as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", WARN),)


def one_line(message: str) -> str:
    """A message, perhaps a broker's, without line breaks."""
    return " ".join(message.split())

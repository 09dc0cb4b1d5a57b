"""The lines above the footer that show errors of brokers and of the whole cluster."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import Static

from kgtui.model.number_format import counted
from kgtui.tui import text

if TYPE_CHECKING:
    from kgtui.model.answer import Fault
    from kgtui.model.snapshot import BrokerStatus, Snapshot

MAX_LINES = 3
NO_ANSWER_FAULTS = frozenset({"NO_ANSWER", "NOT_CONNECTED", "DISCONNECTED", "UNREGISTERED"})
"""kgtui's names for errors of a broker that did not respond. All other errors are error codes in a response."""


class FaultLines(Static):
    """One line per error of a broker or of the cluster. The widget is hidden while there are no errors."""

    DEFAULT_CSS = """
    FaultLines { height: auto; max-height: 4; padding: 0 1; background: $panel; color: $kg-error; display: none; }
    FaultLines.-visible { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._lines: list[str] = []

    def show(self, snapshot: Snapshot) -> None:
        """Show the errors in a snapshot. Textual lays out the screen again only if the number of lines changes."""
        lines = fault_lines(snapshot)
        if lines == self._lines:
            return
        width = max(self.app.size.width - 2, 1)
        taller = _height(lines, width) != _height(self._lines, width)
        self._lines = lines
        self.set_class(bool(lines), "-visible")
        self.update(Text("\n".join(lines)), layout=taller)


def _height(lines: list[str], width: int) -> int:
    return sum(1 + cell_len(line) // width for line in lines)


def fault_lines(snapshot: Snapshot) -> list[str]:
    """Return one line per error of a broker or of the whole cluster, at most `MAX_LINES` lines.

    Errors of brokers come first, beginning with the broker that has not responded for the longest time. If there are
    more than `MAX_LINES` errors, the last line says how many errors are not shown.
    """
    failing = [status for status in snapshot.brokers.values() if status.fault is not None]
    failing.sort(key=lambda status: (status.answered_at or 0.0, status.node))
    groups = Counter[int]()
    for listing, ids in snapshot.by_listing.items() if failing else ():
        groups[listing.coordinator] += len(ids)
    lines = [broker_line(status, groups[status.node]) for status in failing]
    messages = {status.fault.message for status in failing if status.fault}
    lines += [cluster_line(fault) for fault in snapshot.faults if fault.message not in messages]
    if len(lines) > MAX_LINES:
        hidden = len(lines) - MAX_LINES + 1
        lines = [*lines[: MAX_LINES - 1], f"{text.marks().fault} {hidden} more errors are not shown"]
    return lines


def broker_line(status: BrokerStatus, groups: int) -> str:
    """Return a line about the error of a broker; empty if the broker has no error.

    For example: `! broker 4 has not responded for 12 s; its 218 groups are as of 10:04:11`

    Args:
        groups: number of groups in the last list of groups that this broker sent.
    """
    fault = status.fault
    if fault is None:
        return ""
    broker = f"{text.marks().fault} broker {status.node}"
    if status.answered_at is None:
        return f"{broker} ({status.address}) has never responded: {_one_line(fault)}"
    if fault.name not in NO_ANSWER_FAULTS:
        return f"{broker}: {_one_line(fault)}"
    why = "" if fault.name == "NO_ANSWER" else f": {_one_line(fault)}"
    since = f"{broker} has not responded for {text.ago(status.answered_at)}"
    if not groups:
        return f"{since}{why}"
    count = f"{counted(groups, 'group')} {'is' if groups == 1 else 'are'}"
    return f"{since}; its {count} as of {text.clock(status.answered_at)}{why}"


def cluster_line(fault: Fault) -> str:
    """Return the line about an error of the whole cluster: the message, and advice on what to do, if there is any."""
    advice = f" {text.marks().arrow} {fault.advice}" if fault.advice else ""
    return f"{text.marks().fault} {_one_line(fault)}{advice}"


def _one_line(fault: Fault) -> str:
    return text.plain(" ".join((fault.message or fault.name).split()), 240)

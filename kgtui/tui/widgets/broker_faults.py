"""What does not answer: a line per broker with how old its part of the screen is, and one per fault of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import Static

from kgtui.tui import text

if TYPE_CHECKING:
    from kgtui.model.answer import Fault
    from kgtui.model.snapshot import BrokerStatus, Snapshot

MOST_LINES = 3
SILENCE = frozenset({"NO_ANSWER", "NOT_CONNECTED", "DISCONNECTED"})
"""Faults of brokers that said nothing; any other is an answer."""


class BrokerFaults(Static):
    """Fault lines above the footer; takes no room when all is well."""

    DEFAULT_CSS = """
    BrokerFaults { height: auto; max-height: 4; padding: 0 1; background: $panel; color: $kg-error; display: none; }
    BrokerFaults.-some { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._lines: list[str] = []

    def show(self, snapshot: Snapshot) -> None:
        """Show what fails in this snapshot. Redraws only when the words differ, and lays out only for more lines."""
        lines = fault_lines(snapshot)
        if lines == self._lines:
            return
        width = max(self.app.size.width - 2, 1)
        taller = _height(lines, width) != _height(self._lines, width)
        self._lines = lines
        self.set_class(bool(lines), "-some")
        self.update(Text("\n".join(lines)), layout=taller)


def _height(lines: list[str], width: int) -> int:
    return sum(1 + cell_len(line) // width for line in lines)


def fault_lines(snapshot: Snapshot) -> list[str]:
    """Brokers that fail, worst first, and the cluster's faults; the last line counts those left out."""
    failing = [status for status in snapshot.brokers.values() if status.fault is not None]
    failing.sort(key=lambda status: (status.answered_at or 0.0, status.node))
    lines = [broker_line(status) for status in failing]
    known = {status.fault.message for status in failing if status.fault}
    lines += [fault_line(fault) for fault in snapshot.faults if fault.message not in known]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"{text.marks().fault} and {len(lines) - MOST_LINES + 1} more"]
    return lines


def broker_line(status: BrokerStatus) -> str:
    """`! broker 4: no answer for 12 s (its 218 groups are as of 10:04:11)`."""
    fault = status.fault
    if fault is None:
        return ""
    where = f"{text.marks().fault} broker {status.node}"
    if status.answered_at is None:
        return f"{where} ({status.address}): never answered: {_words(fault)}"
    if fault.name not in SILENCE:
        return f"{where}: {_words(fault)}"
    why = "" if fault.name == "NO_ANSWER" else f": {_words(fault)}"
    since = f"{where}: no answer for {text.ago(status.answered_at)}"
    if not status.groups:
        return f"{since}{why}"
    count = "1 group is" if status.groups == 1 else f"{text.exact(status.groups)} groups are"
    return f"{since} (its {count} as of {text.clock(status.answered_at)}){why}"


def _words(fault: Fault) -> str:
    return text.plain(" ".join((fault.message or fault.name).split()), 240)


def fault_line(fault: Fault) -> str:
    """A fault of the cluster with what to do about it."""
    advice = f" {text.marks().arrow} {fault.advice}" if fault.advice else ""
    return f"{text.marks().fault} {_words(fault)}{advice}"

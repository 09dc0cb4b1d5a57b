"""What does not answer: a line per broker with how old its part of the screen is, and one per fault of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.widgets import Static

from kgtui.tui import text

if TYPE_CHECKING:
    from kgtui.model.answer import Fault
    from kgtui.model.snapshot import BrokerStatus, Snapshot

MOST_LINES = 3


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
        more = len(lines) != len(self._lines)
        self._lines = lines
        self.set_class(bool(lines), "-some")
        shown = [text.cell(line, max(self.app.size.width - 2, 10)) for line in lines]
        self.update(Text("\n").join(shown), layout=more)


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
        what = f"{where} ({status.address}): never answered"
    elif fault.name in ("NO_ANSWER", "NOT_CONNECTED", "DISCONNECTED"):
        what = f"{where}: no answer for {text.ago(status.answered_at)}"
    else:
        return f"{where}: {fault.message or fault.name}"
    if status.groups and status.answered_at is not None:
        count = "1 group is" if status.groups == 1 else f"{text.exact(status.groups)} groups are"
        return f"{what} (its {count} as of {text.clock(status.answered_at)}): {fault.message}"
    return f"{what}: {fault.message}"


def fault_line(fault: Fault) -> str:
    """A fault of the cluster with what to do about it."""
    advice = f" {text.marks().arrow} {fault.advice}" if fault.advice else ""
    return f"{text.marks().fault} {fault.message or fault.name}{advice}"

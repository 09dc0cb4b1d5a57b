"""Rows of event lists. Many events of one group share one row.

Otherwise, a group that rebalances every few seconds would hide the events of all other groups.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.event import EventKind
from kgtui.tui import text
from kgtui.tui.panes.cells import SafeText, event_text, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.event import Event


class EventRow(NamedTuple):
    """One event, or several events of one group.

    Attributes:
        event: the event; in a row of several events, the newest event.
        folded: (kind of event, number of events) per kind, the most frequent kind first; empty for one event.
    """

    event: Event
    folded: tuple[tuple[str, int], ...] = ()

    @property
    def key(self) -> object:
        """Key of the row. After a refresh, the cursor stays on the row with this key."""
        return ("folded", self.event.group) if self.folded else self.event

    @property
    def kind(self) -> str:
        """The kind of the event; `more` for a row of several events."""
        return "more" if self.folded else self.event.kind.value

    @property
    def text(self) -> SafeText:
        """The event, or the number of events of each kind, in one line without control characters."""
        if not self.folded:
            return event_text(self.event)
        every = sum(number for _, number in self.folded)
        return SafeText(f"{text.exact(every)} more: " + ", ".join(_counted(kind, n) for kind, n in self.folded))

    @property
    def detail(self) -> SafeText:
        """The text of the row without the name of the kind, for tables with a separate column for the kind."""
        return self.text if self.folded else event_text(self.event, with_kind=False)


_NOUNS = {
    EventKind.STATE: "state change", EventKind.EPOCH: "new epoch", EventKind.COORDINATOR: "coordinator change",
    EventKind.MOVED: "move", EventKind.RESET: "reset", EventKind.CONFIG: "config change", EventKind.VERDICT: "verdict",
}  # fmt: skip
"""Kind of event → noun after a number, such as `2 moves`. Other kinds are used as they are, as in `2 joined`."""


def _counted(kind: str, number: int) -> str:
    noun = _NOUNS.get(EventKind(kind))
    return f"{text.exact(number)} {kind}" if noun is None else plural(number, noun)


def event_rows(events: Iterable[Event], rows_per_group: int) -> list[EventRow]:
    """Return rows for events, in the same order. The first `rows_per_group` events of a group have one row each.

    If at least two more events of the group follow, they share one row. Each event of a broker has its own row.
    """
    events = list(events)
    of_group = Counter(event.group for event in events)
    listed: Counter[str] = Counter()
    folded: dict[str, Counter[str]] = {}
    kept: list[Event] = []
    for event in events:
        group = event.group
        if group is not None and listed[group] >= rows_per_group and of_group[group] >= rows_per_group + 2:
            kinds = folded.setdefault(group, Counter())
            if not kinds:
                kept.append(event)
            kinds[event.kind.value] += 1
        else:
            kept.append(event)
            listed[group or ""] += 1
    rows = []
    for event in reversed(kept):
        kinds = folded.pop(event.group or "", Counter())
        rows.append(EventRow(event, tuple(kinds.most_common())))
    return rows[::-1]

"""The rows in lists of events.

Older events of one group share a row, so that a group that rebalances often does not fill the list.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.event import EVENT_KINDS, EventKind
from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.panes.cells import SafeText, event_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.event import Event


class EventRow(NamedTuple):
    """One row of a list of events: one event, or several events of one group.

    Attributes:
        event: the event of the row; in a row of several events, the newest of them.
        folded: in a row of several events, `(kind, number of events)` for each kind of event, the most frequent first.
            In a row of one event, this is empty.
    """

    event: Event
    folded: tuple[tuple[str, int], ...] = ()

    @property
    def key(self) -> object:
        """A value that identifies the row. After a refresh of the list, the cursor stays on the row with this value."""
        return ("folded", self.event.group) if self.folded else self.event

    @property
    def kind(self) -> str:
        """The kind of the event, such as `joined`; `more` for a row of several events."""
        return "more" if self.folded else self.event.kind.value

    @property
    def text(self) -> SafeText:
        """The text of the row, with escaped control characters.

        The text describes the event or, in a row of several events, says how many events of each kind there are.
        """
        if not self.folded:
            return event_text(self.event)
        every = sum(number for _, number in self.folded)
        return SafeText(f"{text.exact(every)} more: " + ", ".join(_counted(kind, n) for kind, n in self.folded))

    @property
    def detail(self) -> SafeText:
        """The text of the row without the kind of the event, for tables that have a separate column for the kind."""
        return self.text if self.folded else event_text(self.event, with_kind=False)


def _counted(kind: str, number: int) -> str:
    noun = EVENT_KINDS[EventKind(kind)].noun
    return counted(number, noun) if noun else f"{text.exact(number)} {kind}"


def event_rows(events: Iterable[Event], rows_per_group: int) -> list[EventRow]:
    """Return the rows for a list of events. The events must be sorted, newest first.

    The rows are sorted in the same way. Each of the newest `rows_per_group` events of a group has
    its own row. If the group has two or more older events, the older events share one row. A single
    older event has its own row. Each event of a broker has its own row.
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

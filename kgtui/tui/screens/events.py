"""The Events screen: changes to groups and brokers, newest first, with a filter and a time span."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from kgtui.errors import KgtuiError
from kgtui.model.event import EVENT_KINDS, EventKind
from kgtui.model.number_format import counted
from kgtui.model.query import parse
from kgtui.tui import text
from kgtui.tui.event_rows import EventRow, event_rows
from kgtui.tui.messages import SnapshotArrived
from kgtui.tui.panes.base import SummaryLine, join_with_dots, single_line
from kgtui.tui.panes.cells import ACCENT, MUTED, WARN, Cell, PaneLine, SafeText
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable
from kgtui.tui.screen_actions.action import UTC_KEY
from kgtui.tui.startup_notices import valid_presets
from kgtui.tui.widgets.filter_bar import FilterBar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from kgtui.model.event import Event
    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.screens.cluster import ClusterScreen

SPANS = (600.0, 3_600.0, 21_600.0, 86_400.0)
"""Lengths of the time spans for which events are listed, in seconds. Key `v` switches to the next length.

Each time span ends at the current time or, in a recording, at the displayed time.
"""

KEYS = "enter go to group  / filter  v time  o kind  l selected group  esc close"

_KINDS: dict[str, frozenset[EventKind]] = {
    "all events": frozenset(EventKind),
    **{
        shown.about: frozenset(kind for kind, other in EVENT_KINDS.items() if other.about == shown.about)
        for shown in EVENT_KINDS.values()
    },
}
"""Selections of events: name of the selection, such as `all events` → kinds of events that the selection shows.

Key `o` switches to the next selection.
"""

_SELECTIONS = tuple(_KINDS)

MAX_EVENTS = 2_000
"""Maximum number of events in the list. If there are more, only the newest are listed."""

_WIDEST_TEXT = "-" * 200
"""A text whose width is the preferred width of the column WHAT.

The width is not computed from the texts of the events, because measuring all of them would take too long.
"""

ROWS_PER_GROUP = 5
"""Number of newest events of a group that have their own rows in the list. Two or more older events share one row.

Without this limit, a group that rebalances often would fill the list. The limit does not apply if the list shows only
one group.
"""


def _kind(row: EventRow) -> Cell:
    return Cell(row.kind, MUTED if row.folded else EVENT_KINDS[row.event.kind].role)


COLUMNS: tuple[Column[EventRow], ...] = (
    Column("at", "TIME", lambda _: "00:00:00", lambda row: Cell(SafeText(text.clock(row.event.at)), MUTED)),
    Column("kind", "EVENT", lambda row: row.kind, _kind, min_width=11),
    Column("group", "GROUP", lambda row: row.event.group or text.marks().none, min_width=14, max_width=30,
           cut="middle"),
    Column("what", "WHAT", lambda _: _WIDEST_TEXT, lambda row: Cell(row.detail, MUTED if row.folded else ""),
           min_width=20, max_width=len(_WIDEST_TEXT)),
)  # fmt: skip


class EventSelection(NamedTuple):
    """The conditions that an event must meet to be shown.

    Attributes:
        query: filter that the group of the event must match. An event of a broker matches only an empty filter.
        kinds: kinds of events that are shown.
        group: id of the only group whose events are shown; None for all groups and brokers.
        since: time in epoch seconds; only later events are shown.
    """

    query: Query
    kinds: frozenset[EventKind]
    group: str | None
    since: float

    def apply(self, events: Sequence[Event], snapshot: Snapshot) -> list[Event]:
        """Return the events that meet the conditions, newest first. `events` must be sorted, oldest first."""
        return [
            event
            for event in reversed(events)
            if event.at > self.since
            and event.kind in self.kinds
            and self.group in (None, event.group)
            and self.query.matches_event(event, snapshot)
        ]


class EventTable(LineTable[EventRow]):
    """The table of events. In a row with one event, Enter goes to the group of the event.

    In a row that stands for several events, Enter lists all events of the group.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.choose", "To the group", id="open", show=False)]
    """
    | key | does |
    |---|---|
    | enter | go to the group of this row; in a row that stands for several events, list all events of the group |
    """


class EventsScreen(ModalScreen["str | None"]):
    """Shows the events of a live cluster, or the events of a recording up to the displayed time.

    When the screen closes, its result is the id of the group that the user has chosen, or None.
    """

    DEFAULT_CSS = """
    EventsScreen {
        & #box {
            width: 100%; height: 100%; background: $surface; border: round $kg-accent;
            border-title-color: $kg-accent; border-subtitle-color: $kg-muted; padding: 0 1;
        }
    }
    """

    # If `BLANK` is true, Textual fills the background with one color, which is faster than rendering the widget. The
    # background is not visible anyway, because the container `#box` covers the whole screen.
    BLANK = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,E", "dismiss(None)", "Close", show=False),
        Binding("slash", "filter", "Filter", show=False),
        Binding("v", "span", "Next time span", show=False),
        Binding("o", "kind", "Next kind", show=False),
        Binding("l", "only", "Show only the selected group", show=False),
        Binding(UTC_KEY, "utc", "UTC", show=False),
    ]
    """
    | key | does |
    |---|---|
    | / | type a filter, so that only events of matching groups are shown |
    | v | show the events of the last 10 minutes, hour, 6 hours or day |
    | o | show the next selection: all events, groups, members, offsets, "verdicts and configs" or brokers |
    | l | switch between the events of the selected group and the events of all groups and brokers |
    | U | switch between UTC and local time |
    | escape, q, E | close |
    """

    def __init__(self, main: ClusterScreen) -> None:
        super().__init__()
        self._main = main
        self._span, self._kind = 0, 0
        self._only_group: str | None = None
        self._query = parse("")
        self._events: Sequence[Event] = ()
        self._read_since: float | None = None
        self._unsubscribe: Callable[[], None] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = "Events"
            box.border_subtitle = KEYS
            yield FilterBar("", valid_presets(self._main.session.presets))
            yield SummaryLine()
            yield DetailedTable(EventTable(COLUMNS, lambda row: row.key, id="events"))

    @property
    def table(self) -> EventTable:
        return self.query_one("#events", EventTable)

    def on_mount(self) -> None:
        """List the events. On a live cluster, list them again when new events arrive."""
        self.table.focus()
        if self._main.session.replay_position is None:
            # `_post` must not draw anything, because the monitor can call it in an asyncio task that lacks the app's
            # display settings. Therefore, `_post` only posts a message.
            self._unsubscribe = self._main.monitor.subscribe(self._post)
        self._list(fresh=True)

    def on_unmount(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

    def _post(self, snapshot: Snapshot) -> None:
        self.post_message(SnapshotArrived(snapshot))

    @on(SnapshotArrived)
    def _snapshot_arrived(self, message: SnapshotArrived) -> None:
        if message.snapshot.events is not self._events:
            # If the cursor is in the first row, it stays there, so that the user sees the newest event. Otherwise, the
            # cursor stays on the same event.
            self._list(fresh=self.table.cursor == 0)

    @property
    def _now(self) -> float:
        position = self._main.session.replay_position
        return text.display_settings().now() if position is None else position.at

    @work(exclusive=True, group="events", description="events")
    async def _list(self, *, fresh: bool) -> None:
        position, snapshot = self._main.session.replay_position, self._main.monitor.snapshot
        since = self._now - SPANS[self._span]
        if position is None:
            self._events = snapshot.events
        elif self._read_since != since:
            self.table.set_placeholder(f"reading the recording{text.marks().ellipsis}")
            try:
                self._events = await position.events(since, position.at)
            except KgtuiError as error:
                self._events = ()
                self.table.set_placeholder(single_line(str(error)))
                self.table.set_rows((), fresh=True)
                return
            self._read_since = since
        selection = EventSelection(self._query, _KINDS[_SELECTIONS[self._kind]], self._only_group, since)
        found = await asyncio.to_thread(selection.apply, self._events, snapshot)
        if self.is_attached:
            self._show(found, fresh=fresh)

    def _show(self, found: Sequence[Event], *, fresh: bool) -> None:
        self.query_one(SummaryLine).set_cells(join_with_dots(self._summary(found)))
        rows = event_rows(found[:MAX_EVENTS], ROWS_PER_GROUP if self._only_group is None else MAX_EVENTS)
        self.table.set_placeholder("kgtui has found no changes in this time span")
        self.table.set_rows(rows, fresh=fresh)

    def _summary(self, found: Sequence[Event]) -> list[PaneLine]:
        parts: list[PaneLine] = [
            (Cell(counted(len(found), "event"), ACCENT), Cell(f" in {text.age(SPANS[self._span])}")),
            (Cell("shown: ", MUTED), Cell(_SELECTIONS[self._kind], ACCENT if self._kind else "")),
        ]
        if len(found) > MAX_EVENTS:
            parts.append((Cell(f"only the newest {text.exact(MAX_EVENTS)} are listed", WARN),))
        if self._only_group is not None:
            parts.append((Cell("group ", MUTED), Cell(text.plain(self._only_group, 40, cut="middle"), ACCENT)))
        began = self._main.monitor.snapshot.events_since
        if began is not None and began > self._now - SPANS[self._span]:
            parts.append((Cell(SafeText(f"no events before {text.clock(began)}, when kgtui started"), WARN),))
        return parts

    @on(FilterBar.Changed)
    def _filter_changed(self, message: FilterBar.Changed) -> None:
        self._query = message.query
        self._list(fresh=True)

    @on(FilterBar.Done)
    def _filter_done(self) -> None:
        self.table.focus()

    def action_filter(self) -> None:
        """Focus the filter bar."""
        self.query_one(FilterBar).begin()

    def action_span(self) -> None:
        """Show the events of the next longer time span, such as 6 hours. After the longest, use the shortest again."""
        self._span = (self._span + 1) % len(SPANS)
        self._list(fresh=True)

    def action_kind(self) -> None:
        """Show the next selection of events in `_KINDS`, such as the events of members.

        After the last selection, show all events.
        """
        self._kind = (self._kind + 1) % len(_SELECTIONS)
        self._list(fresh=True)

    def action_only(self) -> None:
        """Switch between the events of the selected group and the events of all groups and brokers."""
        if self._only_group is None and self._main.group is None:
            self.notify("no group is selected in the tree", timeout=6, markup=False)
            return
        self._only_group = self._main.group if self._only_group is None else None
        self._list(fresh=True)

    def action_utc(self) -> None:
        """Switch between UTC and local time."""
        settings = text.display_settings()
        settings.utc = not settings.utc
        self.table.refresh()
        self._list(fresh=False)

    def action_choose(self) -> None:
        """Close the screen, and put the tree's cursor on the group of the current row.

        If the row stands for several events, list all events of the group instead. If the group no longer exists, show
        a message.
        """
        row = self.table.row
        group = None if row is None else row.event.group
        if row is None or group is None:
            return
        if row.folded:
            self._only_group = group
            self._list(fresh=True)
        elif group in self._main.snapshot.groups:
            self.dismiss(group)
        else:
            self.notify(f"{text.plain(group, 80, cut='middle')} no longer exists", timeout=6, markup=False)

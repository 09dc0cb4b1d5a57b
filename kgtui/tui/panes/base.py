"""What every pane is: a widget that is shown a snapshot and a group, and draws again only what differs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual import work
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from kgtui.model.explanation import faults_of
from kgtui.tui import text
from kgtui.tui.panes.cells import (
    ERROR,
    MUTED,
    STALE,
    WARN,
    Cell,
    PaneLine,
    SafeText,
    safe_text,
    unknown_cell,
    wrap_cells,
)
from kgtui.tui.panes.table import LineTable
from kgtui.tui.textual_compat.rendering import NoRelayout

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.model.answer import Fault
    from kgtui.model.command_line import View
    from kgtui.model.series import SeriesStore
    from kgtui.model.snapshot import Reading, Snapshot
    from kgtui.tui.session import ReplayPosition

NO_GROUP_HINT = "Put the cursor on a group: right opens a node, n goes to the next."

MOST_ITEMS_INLINE = 400
"""Items that are prepared at once; more would hold up the loop for longer than a frame, and go to a thread."""


class AutoHeightText(Static, NoRelayout):
    """Lines that take room only while there is something to say.

    A layout draws the whole screen again, and ages grow with every snapshot: it is asked for only for more lines or
    fewer.
    """

    DEFAULT_CSS = """
    Said { height: auto; display: none; }
    Said.-said { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._shape = (0, 0)

    def wrapped_lines(self, width: int) -> list[PaneLine]:
        """What to say, each line of at most `width` cells; none hide the widget."""
        raise NotImplementedError

    def write(self) -> None:
        """Show what is to be said now."""
        # Hidden, it has no width yet: that of what it stands in spares a second layout once it is seen.
        around = self.parent.content_size.width if isinstance(self.parent, Widget) else 0
        width = max(16, self.size.width or around or 80)
        lines = self.wrapped_lines(width)
        self.set_class(bool(lines), "-said")
        self.update(to_content(lines), layout=(width, len(lines)) != self._shape)
        self._shape = (width, len(lines))

    def on_resize(self) -> None:
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self.write)


class Notice(AutoHeightText):
    """Lines above a pane about the state of its reading."""

    DEFAULT_CSS = "Notice { max-height: 4; }"

    def __init__(self) -> None:
        super().__init__()
        self._shown_lines: list[PaneLine] = []

    def set_lines(self, lines: list[PaneLine]) -> None:
        """Show these lines, wrapped; no lines hide the notice."""
        if lines != self._shown_lines:
            self._shown_lines = lines
            self.write()

    def wrapped_lines(self, width: int) -> list[PaneLine]:
        return [piece for line in self._shown_lines for piece in wrap_cells(line, width)]


class Pane(Vertical):
    """One view of one group."""

    DEFAULT_CSS = """
    Pane { background: $surface; padding: 0 0 0 1; }
    """

    BLANK = True

    reading_field: ClassVar[str] = "details"
    """The field of the snapshot that the pane draws from."""
    reading_name: ClassVar[str] = "the group"
    """What that reading is called while it is awaited."""
    tool_view: ClassVar[View] = "state"
    """The view of Kafka's tools that shows the same."""

    shows_faults: ClassVar[bool] = False
    """Whether the pane tells the group's faults itself."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.snapshot: Snapshot | None = None
        self.group: str | None = None
        self.placeholder = ""
        """What the pane says while there is no group, or its reading has not come yet."""
        self._drawn: tuple[object, ...] | None = None
        self._fresh = True
        self.command_config: str | None = None
        """Path of the client properties, for the equivalent command."""
        self.series: SeriesStore | None = None
        """The monitor's samples, for the trend of the lag."""
        self.replay_position: ReplayPosition | None = None
        """The way through the recording that is shown; None of what is live."""

    def show(self, snapshot: Snapshot, group: str | None) -> None:
        """Draw this group of this snapshot; never moves cursor, scroll or focus while the group is the same."""
        other = group != self.group
        self.snapshot, self.group = snapshot, group
        if self.is_mounted:
            self._update(fresh=other)

    def redraw(self) -> None:
        """Draw again though the reading is the same, as when times are written otherwise."""
        self._drawn = None
        if self.is_mounted:
            self._update(fresh=False)

    def on_mount(self) -> None:
        self._update(fresh=True)

    @property
    def readings(self) -> Mapping[str, Reading[Any]]:
        """The snapshot's readings that the pane draws from."""
        return getattr(self.snapshot, self.reading_field) if self.snapshot is not None else {}

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        """What the pane draws from: it is drawn again when one of these is another object."""
        return (self.readings.get(group),)

    def item_count(self, snapshot: Snapshot, group: str) -> int:
        """How many items `prepare` goes through."""
        return 0

    def prepare(self, snapshot: Snapshot, group: str) -> Any:
        """Make what is drawn from the snapshot: pure, and done in a thread where it takes long."""
        raise NotImplementedError

    def draw(self, prepared: Any, *, fresh: bool) -> None:
        """Draw what was prepared. `fresh`: it is of another group than before."""
        raise NotImplementedError

    def clear(self) -> None:
        """Draw nothing: no group is selected."""
        raise NotImplementedError

    def focus_target(self) -> Widget:
        """What gets the focus when the pane is entered."""
        return self

    def action_only(self) -> None:
        """Show only what needs a look, and all again; most panes have nothing to leave out."""

    def action_view(self) -> None:
        """Go to the next view; most panes have one."""

    def _update(self, *, fresh: bool) -> None:
        if not self.children:
            return  # the app is ending, which leaves what was just mounted without its children
        if self.snapshot is None or self.group is None:
            self._drawn, self._fresh = None, True
            self._show_notices([])
            self._set_placeholder(NO_GROUP_HINT if self.snapshot is not None and self.snapshot.groups else "")
            self.clear()
            return
        self._show_notices(reading_notices(self.snapshot, self.group, self.readings, faults_below=self.shows_faults))
        self._set_placeholder(awaited_text(self.snapshot, self.group, self.readings, self.reading_name))
        draw_inputs = self.draw_inputs(self.snapshot, self.group)
        self._fresh = self._fresh or fresh
        if not self._fresh and self._drawn is not None and _same(self._drawn, draw_inputs):
            return
        self._drawn = draw_inputs
        if self.item_count(self.snapshot, self.group) <= MOST_ITEMS_INLINE:
            self.workers.cancel_group(self, "prepare")
            self._put(self.prepare(self.snapshot, self.group))
        else:
            if fresh:
                self.clear()
            self._prepare_aside(self.snapshot, self.group)

    # The description keeps Textual from writing out the arguments, a whole snapshot among them.
    @work(exclusive=True, group="prepare", description="prepare")
    async def _prepare_aside(self, snapshot: Snapshot, group: str) -> None:
        prepared = await asyncio.to_thread(self.prepare, snapshot, group)
        if group == self.group:
            self._put(prepared)

    def _put(self, prepared: Any) -> None:
        fresh, self._fresh = self._fresh, False
        self.draw(prepared, fresh=fresh)

    def _set_placeholder(self, words: str) -> None:
        self.placeholder = words
        for table in self.query(LineTable):
            table.set_placeholder(words)

    def _show_notices(self, lines: list[PaneLine]) -> None:
        self.query_one(Notice).set_lines(lines)


def to_content(lines: Iterable[Iterable[Cell]]) -> Content:
    """Lines of cells as one text in the roles' colours, whatever the theme; nothing in it is markup."""
    parts: list[tuple[str, str] | str] = []
    for index, line in enumerate(lines):
        if index:
            parts.append("\n")
        parts += [(safe_text(cell.text), f"${cell.role}" if cell.role else "") for cell in line]
    return Content.assemble(*parts)


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def join_with_dots(parts: Iterable[Cell | Sequence[Cell]]) -> PaneLine:
    """Parts with a dot between them."""
    cells: list[Cell] = []
    for part in parts:
        if cells:
            cells.append(Cell(f" {text.marks().dot} ", MUTED))
        cells += [part] if isinstance(part, Cell) else part
    return tuple(cells)


class SummaryLine(AutoHeightText):
    """Says its cells, wrapped, with a hint at the end where there is room; repaints only when they differ."""

    DEFAULT_CSS = "SummaryLine { max-height: 3; color: $foreground; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._cells: PaneLine = ()
        self._hint = ""

    def set_cells(self, cells: PaneLine, *, hint: str = "") -> None:
        """Show these cells, and the keys that help where there is room; nothing hides the line."""
        if (cells, hint) != (self._cells, self._hint):
            self._cells, self._hint = cells, hint
            self.write()

    def wrapped_lines(self, width: int) -> list[PaneLine]:
        return with_hint(wrap_cells(self._cells, width), self._hint, width) if self._cells else []


def with_hint(lines: list[PaneLine], hint: str, width: int) -> list[PaneLine]:
    """Lines with a hint flush right on the last, if three cells stay free before it."""
    if not hint or not lines:
        return lines
    free = width - sum(cell_len(cell.text) for cell in lines[-1]) - cell_len(hint)
    if free < 3:
        return lines
    return [*lines[:-1], (*lines[-1], Cell(SafeText(" " * free + hint), MUTED))]


def reading_notices(
    snapshot: Snapshot, group: str, readings: Mapping[str, Reading[Any]], *, faults_below: bool = False
) -> list[PaneLine]:
    """Lines to show above a reading of `group`; none when it is there and fresh.

    Args:
        readings: the mapping of the snapshot that the pane draws from.
        faults_below: the pane tells the faults itself, so only the reading's age is said here.
    """
    lines: list[PaneLine] = []
    reading = readings.get(group)
    if group not in snapshot.groups:
        lines.append((Cell("! no longer listed: deleted, or expired; ", WARN), *_last(reading)))
    fault = reading.fault if reading is not None else None
    fault = fault or _fault_of(snapshot, group)
    if fault is not None:
        lines += _aged(reading) if faults_below else _explained(fault, reading)
    return lines


def awaited_text(snapshot: Snapshot, group: str, readings: Mapping[str, Reading[Any]], reading_name: str) -> str:
    """What is said in the place of a reading that has not come yet; empty when it is there, or cannot come."""
    if group in readings or group not in snapshot.groups or _fault_of(snapshot, group) is not None:
        return ""
    return f"reading {reading_name}{text.marks().ellipsis}"


def _fault_of(snapshot: Snapshot, group: str) -> Fault | None:
    """The group's own fault, else that of its coordinator."""
    own = snapshot.group_faults.get(group)
    if own is not None:
        return own
    listing = snapshot.groups.get(group)
    broker = snapshot.brokers.get(listing.coordinator) if listing is not None else None
    return broker.fault if broker is not None else None


def _aged(reading: Reading[Any] | None) -> list[PaneLine]:
    if reading is None:
        return []
    return [(Cell(f"{text.marks().fault} as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", STALE),)]


def _explained(fault: Fault, reading: Reading[Any] | None) -> list[PaneLine]:
    age: PaneLine = ()
    if fault.name == "NOT_SUPPORTED":
        said = single_line(fault.message)
        return [(Cell(f"{said[:1].upper()}{said[1:]}.", MUTED), Cell(f" {single_line(fault.advice)}", MUTED))]
    if reading is not None and not _empty(reading):
        age = (Cell(f"as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", STALE), Cell(": ", STALE))
    lines: list[PaneLine] = [
        (Cell(f"{text.marks().fault} ", ERROR), *age, Cell(single_line(fault.message or fault.name)))
    ]
    if fault.advice:
        lines.append((Cell("  "), Cell(single_line(fault.advice), MUTED)))
    return lines


def _empty(reading: Reading[Any]) -> bool:
    """Whether nothing was ever read: the reading only carries its fault."""
    return isinstance(reading.value, tuple) and not reading.value


def _last(reading: Reading[Any] | None) -> PaneLine:
    if reading is None:
        return (Cell("nothing was read of it", WARN),)
    return (Cell(f"this is as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", WARN),)


def missing_cells(snapshot: Snapshot, group: str) -> PaneLine:
    """Why something is not there: forbidden, failed, or not read yet."""
    found = faults_of(snapshot, group)
    if any(fault.name.endswith("AUTHORIZATION_FAILED") for fault in found):
        return (Cell("unknown (access denied)", ERROR),)
    return unknown_cell(), Cell("  could not be read" if found else "  not read yet", MUTED)


def single_line(message: str) -> str:
    """A message, perhaps a broker's, without line breaks."""
    return " ".join(message.split())

"""`Pane`, the base class of the panes, and the widgets at its top: the notice about old data, and the summary line."""

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
from kgtui.model.facts import hidden_offsets_fault
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

NO_GROUP_HINT = "No group is selected. Press n to select the next group."

MOST_ITEMS_INLINE = 400
"""Maximum number of rows (`Pane.item_count`) that `Pane.prepare` processes in the event loop.

If there are more rows, `Pane.prepare` runs in a thread.
"""


class AutoHeightText(Static, NoRelayout):
    """A widget with a few lines of text. It is hidden while it has no text.

    When the text changes, Textual computes the layout of the whole screen again only if the width of this widget or the
    number of its lines has changed.
    """

    DEFAULT_CSS = """
    AutoHeightText { height: auto; display: none; }
    AutoHeightText.-visible { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._shape = (0, 0)

    def wrapped_lines(self, width: int) -> list[PaneLine]:
        """Return the text in lines of at most `width` terminal cells. If the list is empty, the widget is hidden."""
        raise NotImplementedError

    def write(self) -> None:
        """Wrap the text to the current width and show it, or hide the widget if there is no text."""
        # While this widget is hidden, its width is 0. Use the width of the parent widget instead, because this widget
        # will be as wide as its parent when it is shown.
        parent_width = self.parent.content_size.width if isinstance(self.parent, Widget) else 0
        width = max(16, self.size.width or parent_width or 80)
        lines = self.wrapped_lines(width)
        self.set_class(bool(lines), "-visible")
        self.update(to_content(lines), layout=(width, len(lines)) != self._shape)
        self._shape = (width, len(lines))

    def on_resize(self) -> None:
        # Textual ignores layout requests during a resize, so the text is written after the resize.
        self.call_after_refresh(self.write)


class Notice(AutoHeightText):
    """Lines at the top of a pane that say why the data of the group is old, incomplete or missing."""

    DEFAULT_CSS = "Notice { max-height: 4; }"

    def __init__(self) -> None:
        super().__init__()
        self._shown_lines: list[PaneLine] = []

    def set_lines(self, lines: list[PaneLine]) -> None:
        """Show these lines, wrapped to the width of the notice. An empty list hides the notice."""
        if lines != self._shown_lines:
            self._shown_lines = lines
            self.write()

    def wrapped_lines(self, width: int) -> list[PaneLine]:
        return [piece for line in self._shown_lines for piece in wrap_cells(line, width)]


class Pane(Vertical):
    """Base class of the panes. A pane is a widget with one kind of data about one group, such as its members."""

    DEFAULT_CSS = """
    Pane { background: $surface; padding: 0 0 0 1; }
    """

    BLANK = True

    reading_field: ClassVar[str] = "details"
    """Name of the `Snapshot` attribute that contains the data of this pane: `details`, `offsets` or `configs`."""
    reading_name: ClassVar[str] = "the group"
    """Name of this pane's data in the placeholder, such as `the members` in `reading the members…`."""
    tool_view: ClassVar[View] = "state"
    """Kind of data that this pane shows, such as `members`.

    The value selects the command of Kafka's tools that shows the same data. The user can copy this command.
    """

    shows_faults: ClassVar[bool] = False
    """Whether the pane itself lists the faults of the group (errors that occurred when kgtui read the group).

    If true, the notice at the top of the pane does not explain these errors, so that no error is shown twice.
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.snapshot: Snapshot | None = None
        self.group: str | None = None
        self.placeholder = ""
        """The text in the empty pane, such as `reading the members…` while the data of the group has not been read."""
        self._drawn: tuple[object, ...] | None = None
        self._fresh = True
        self.command_config: str | None = None
        """Path of the client config file for `--command-config` in displayed commands; None to omit the option."""
        self.series: SeriesStore | None = None
        """Past lags and rates of groups, for trends and plots; None if there are none."""
        self.replay_position: ReplayPosition | None = None
        """The displayed position in a recording; None for a live cluster."""

    def show(self, snapshot: Snapshot, group: str | None) -> None:
        """Show the data of a group from a snapshot. If `group` is None, empty the pane.

        If a different group was shown before, scroll to the top.
        """
        other = group != self.group
        self.snapshot, self.group = snapshot, group
        if self.is_mounted:
            self._update(fresh=other)

    def release_snapshot(self) -> None:
        """Drop the snapshot, because the pane is now hidden, and old snapshots of large clusters need much memory."""
        self.snapshot = self._drawn = None

    def redraw(self) -> None:
        """Draw the pane again from the same data, for example after a switch to UTC."""
        self._drawn = None
        if self.is_mounted:
            self._update(fresh=False)

    def on_mount(self) -> None:
        self._update(fresh=True)

    @property
    def readings(self) -> Mapping[str, Reading[Any]]:
        """Group id → `Reading`: the data that this pane shows, and the time when kgtui read this data."""
        return getattr(self.snapshot, self.reading_field) if self.snapshot is not None else {}

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        """Return the objects in the snapshot that contain the data of the pane.

        When a new snapshot arrives, the pane is drawn again only if at least one of these objects is not the same
        Python object as in the previous snapshot.
        """
        return (self.readings.get(group),)

    def item_count(self, snapshot: Snapshot, group: str) -> int:
        """Return the number of rows (members or partitions) that `prepare` processes (see `MOST_ITEMS_INLINE`)."""
        return 0

    def prepare(self, snapshot: Snapshot, group: str) -> Any:
        """Compute and return the data that `draw` shows.

        For a group with more than `MOST_ITEMS_INLINE` rows, this method runs in a thread. Therefore, it must not use
        widgets.
        """
        raise NotImplementedError

    def draw(self, prepared: Any, *, fresh: bool) -> None:
        """Show the data that `prepare` returned.

        Args:
            fresh: whether the pane showed a different group or no group before this call.
        """
        raise NotImplementedError

    def clear(self) -> None:
        """Empty the pane, because no group is selected, or because the data of the group is not available yet."""
        raise NotImplementedError

    def focus_target(self) -> Widget:
        """Return the widget that gets the focus when the user enters the pane."""
        return self

    def action_only(self) -> None:
        """Show only a part of the rows, such as partitions with lag. When called again, show all rows.

        Subclasses can override this method. In a pane that has no such filter, it does nothing.
        """

    def action_view(self) -> None:
        """Switch to the next view of the data, for example from a list to a grid. A pane with one view does nothing."""

    def _update(self, *, fresh: bool) -> None:
        if not self.children:
            # Draw nothing, because the child widgets have already been removed. This can happen while the app exits.
            return
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

    # Give the worker a `description`. Otherwise, Textual makes one from the `repr` of all arguments, and the `repr` of
    # a snapshot is slow.
    @work(exclusive=True, group="prepare", description="prepare")
    async def _prepare_aside(self, snapshot: Snapshot, group: str) -> None:
        prepared = await asyncio.to_thread(self.prepare, snapshot, group)
        if group == self.group:
            self._put(prepared)

    def _put(self, prepared: Any) -> None:
        fresh, self._fresh = self._fresh, False
        self.draw(prepared, fresh=fresh)

    def _set_placeholder(self, content: str) -> None:
        self.placeholder = content
        for table in self.query(LineTable):
            table.set_placeholder(content)

    def _show_notices(self, lines: list[PaneLine]) -> None:
        self.query_one(Notice).set_lines(lines)


def to_content(lines: Iterable[Iterable[Cell]]) -> Content:
    """Convert lines of cells (pieces of colored text) to a Textual `Content`. Markup in the text is not interpreted."""
    parts: list[tuple[str, str] | str] = []
    for index, line in enumerate(lines):
        if index:
            parts.append("\n")
        parts += [(safe_text(cell.text), f"${cell.role}" if cell.role else "") for cell in line]
    return Content.assemble(*parts)


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def join_with_dots(parts: Iterable[Cell | Sequence[Cell]]) -> PaneLine:
    """Join pieces of text, such as `3 members` and `1 idle`, into one line, separated by ` · `."""
    cells: list[Cell] = []
    for part in parts:
        if cells:
            cells.append(Cell(f" {text.marks().dot} ", MUTED))
        cells += [part] if isinstance(part, Cell) else part
    return tuple(cells)


class SummaryLine(AutoHeightText):
    """One to three lines above the table of a pane: the most important numbers, and a hint about keys."""

    DEFAULT_CSS = "SummaryLine { max-height: 3; color: $foreground; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._cells: PaneLine = ()
        self._hint = ""

    def set_cells(self, cells: PaneLine, *, hint: str = "") -> None:
        """Show pieces of text and, if it fits on the last line, a hint about keys. Without text, hide the widget.

        Args:
            hint: text about keys, such as `v next view`.
        """
        if (cells, hint) != (self._cells, self._hint):
            self._cells, self._hint = cells, hint
            self.write()

    def wrapped_lines(self, width: int) -> list[PaneLine]:
        return with_hint(wrap_cells(self._cells, width), self._hint, width) if self._cells else []


def with_hint(lines: list[PaneLine], hint: str, width: int) -> list[PaneLine]:
    """Return the lines with a hint about keys at the right end of the last line, if the hint fits there."""
    if not hint or not lines:
        return lines
    free = width - sum(cell_len(cell.text) for cell in lines[-1]) - cell_len(hint)
    if free < 3:
        return lines
    return [*lines[:-1], (*lines[-1], Cell(SafeText(" " * free + hint), MUTED))]


def reading_notices(
    snapshot: Snapshot, group: str, readings: Mapping[str, Reading[Any]], *, faults_below: bool = False
) -> list[PaneLine]:
    """Return lines that say why the group's data is old, incomplete or missing; empty if the data is current.

    Args:
        readings: group id → the data that the pane shows.
        faults_below: whether the pane itself explains the group's errors. If true, the returned lines do not explain
            errors, but still say how old the data is.
    """
    lines: list[PaneLine] = []
    reading = readings.get(group)
    if group not in snapshot.groups:
        lines.append((Cell("! the group is no longer listed: it was deleted or has expired; ", WARN), *_last(reading)))
    fault = reading.fault if reading is not None else None
    fault = fault or _fault_of(snapshot, group)
    if fault is not None:
        lines += _aged(reading) if faults_below else _explained(fault, reading)
    elif readings is snapshot.offsets and (hidden := hidden_offsets_fault(snapshot, group)) is not None:
        lines += _explained(hidden, None)
    return lines


def awaited_text(snapshot: Snapshot, group: str, readings: Mapping[str, Reading[Any]], reading_name: str) -> str:
    """Return a text such as `reading the members…` while the group's data has not been read; otherwise an empty text.

    If the read has failed, or if the group does not exist, the text is empty, because the pane shows a notice instead.

    Args:
        readings: group id → the data that the pane shows.
        reading_name: name of the data, such as `the members`.
    """
    if group in readings or group not in snapshot.groups or _fault_of(snapshot, group) is not None:
        return ""
    return f"reading {reading_name}{text.marks().ellipsis}"


def _fault_of(snapshot: Snapshot, group: str) -> Fault | None:
    """Return the fault (error) of the group or, if the group has none, of its coordinator; None if neither has one."""
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
        message = single_line(fault.message)
        return [(Cell(f"{message[:1].upper()}{message[1:]}.", MUTED), Cell(f" {single_line(fault.advice)}", MUTED))]
    if reading is not None and not _never_read(reading):
        age = (Cell(f"as of {text.clock(reading.at)} ({text.ago(reading.at)} ago)", STALE), Cell(": ", STALE))
    lines: list[PaneLine] = [
        (Cell(f"{text.marks().fault} ", ERROR), *age, Cell(single_line(fault.message or fault.name)))
    ]
    if fault.advice:
        lines.append((Cell("  "), Cell(single_line(fault.advice), MUTED)))
    return lines


def _never_read(reading: Reading[Any]) -> bool:
    return isinstance(reading.value, tuple) and not reading.value


def _last(reading: Reading[Any] | None) -> PaneLine:
    if reading is None:
        return (Cell("never read", WARN),)
    return (Cell(f"last read at {text.clock(reading.at)} ({text.ago(reading.at)} ago)", WARN),)


def missing_cells(snapshot: Snapshot, group: str) -> PaneLine:
    """Return the text that is shown in place of missing data, such as `not read yet`. It says why data is missing."""
    found = faults_of(snapshot, group)
    if any(fault.name.endswith("AUTHORIZATION_FAILED") for fault in found):
        return (Cell("unknown (access denied)", ERROR),)
    return unknown_cell(), Cell("  could not be read" if found else "  not read yet", MUTED)


def single_line(message: str) -> str:
    """Replace the line breaks in a message with blanks. Error messages of brokers can have several lines."""
    return " ".join(message.split())

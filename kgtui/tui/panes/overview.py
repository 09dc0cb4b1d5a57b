"""The Overview pane: one group at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.widgets import Static

from kgtui.tui.panes.base import Notice, Pane, ink
from kgtui.tui.panes.cells import ACCENT, MUTED, Cell, wrap
from kgtui.tui.panes.overview_fields import sections

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.panes.cells import Section

LABEL = 13


def lay_out(parts: list[Section], width: int) -> list[tuple[Cell, ...]]:
    """Sections as lines of at most `width` cells: labels on the left, what is long wrapped beside them."""
    lines: list[tuple[Cell, ...]] = []
    for part in parts:
        if part.title:
            lines += [(), (Cell(part.title, ACCENT),)]
        for one in part.fields:
            indent = LABEL if one.label else 0
            label = Cell(one.label.ljust(indent), MUTED)
            for cells in one.lines:
                for piece in wrap(cells, max(8, width - indent)):
                    lines.append((label, *piece) if indent else piece)
                    label = Cell(" " * indent)
    return lines


class OverviewPane(Pane):
    """Type, state, coordinator, epochs, members, lag, permissions, faults, and the same in Kafka's own words."""

    DEFAULT_CSS = """
    OverviewPane VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    OverviewPane Static#fields { height: auto; }
    """

    reads: ClassVar[str] = "details"
    what: ClassVar[str] = "the description"
    tool: ClassVar[View] = "state"
    tells_faults: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._lines: list[tuple[Cell, ...]] = []

    def compose(self) -> ComposeResult:
        yield Notice()
        with VerticalScroll(id="overview-scroll"):
            yield Static(id="fields")

    def focus_target(self) -> Widget:
        return self.query_one("#overview-scroll")

    def basis(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        # Ages grow with every snapshot.
        return (snapshot,)

    def draw(self, snapshot: Snapshot, group: str, *, fresh: bool) -> None:
        scroll = self.query_one("#overview-scroll")
        width = max(20, scroll.size.width - 2)
        parts = sections(snapshot, group, command_config=self.command_config, series=self.series)
        lines = lay_out(parts, width)
        if fresh or lines != self._lines:
            self._lines = lines
            self.query_one("#fields", Static).update(ink(lines))
        if fresh:
            scroll.scroll_home(animate=False)

    def clear(self) -> None:
        self._lines = []
        self.query_one("#fields", Static).update("")

    def on_resize(self) -> None:
        # A layout asked for while this one is under way would be lost.
        self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        if self.snapshot is not None and self.group is not None:
            self.draw(self.snapshot, self.group, fresh=False)

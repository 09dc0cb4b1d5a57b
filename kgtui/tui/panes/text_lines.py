"""Scrolling text that can be selected with the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.strip import Strip

from kgtui.model.marks import ROLES
from kgtui.tui.panes.cells import PaneLine, safe_text
from kgtui.tui.textual_compat.line_view import LineView, movement_bindings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType
    from textual.selection import Selection


class TextLines(LineView, can_focus=True, inherit_bindings=False):
    """A widget for scrolling text that changes often.

    When the text changes, only the visible lines whose text has changed are redrawn.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"lines--{role}" for role in ROLES}
    """
    | class | description |
    |---|---|
    | `lines--kg-…` | text with the color role that follows `lines--`, such as `kg-ok` |
    """

    DEFAULT_CSS = """
    TextLines {
        height: 1fr; background: $surface; color: $foreground;
        scrollbar-background: $surface; scrollbar-background-hover: $surface; scrollbar-background-active: $surface;
        & > .lines--kg-ok { color: $kg-ok; }
        & > .lines--kg-warn { color: $kg-warn; }
        & > .lines--kg-error { color: $kg-error; }
        & > .lines--kg-muted { color: $kg-muted; }
        & > .lines--kg-accent { color: $kg-accent; }
        & > .lines--kg-stale { color: $kg-stale; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = movement_bindings(
        "scroll_up", "scroll_down", "page_up", "page_down", "scroll_home", "scroll_end"
    )
    """
    | key | does |
    |---|---|
    | up, k / down, j | scroll by one line |
    | pageup / pagedown | scroll by one page |
    | home, g / end, G | scroll to the first or to the last line |
    """

    def __init__(self, *, id: str | None = None, focus: bool = True) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.can_focus = focus
        self._lines: Sequence[PaneLine] = ()
        self._last_columns = 0

    @property
    def columns(self) -> int:
        """Width of a line in terminal cells, without the scroll bar.

        While the widget is hidden, this is the width that it had before.
        """
        self._last_columns = self.scrollable_content_region.width or self._last_columns
        return self._last_columns

    @property
    def plain_text(self) -> str:
        """The text of all lines, without colors."""
        return "\n".join("".join(safe_text(cell.text) for cell in line) for line in self._lines)

    def set_lines(self, lines: Sequence[PaneLine], *, fresh: bool = False) -> None:
        """Show these lines instead of the previous lines.

        Args:
            fresh: whether the text is about something else than before, for example a different group. If so, scroll to
                the top. Otherwise, keep the scroll position.
        """
        old, self._lines = self._lines, lines
        top = self.scroll_offset.y
        self.set_line_count(len(lines))
        self.set_top_line(0 if fresh else top)
        if self.scroll_offset.y != top:
            self.refresh()
            return
        # Redraw the visible lines that have changed. The height of a hidden widget is 0. Therefore, also redraw changed
        # lines that were visible before the widget was hidden, because they are still in the cache of rendered lines.
        height = max(self.size.height, max(self._line_cache, default=-1) + 1)
        for y in range(top, top + height):
            if old[y : y + 1] != lines[y : y + 1]:
                self.refresh_line(y)

    def render_line(self, y: int) -> Strip:
        """Render line `y` of the widget."""
        base, at = self.base_style, y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(self.columns, base)
        segments = [
            Segment(safe_text(cell.text), base + self.component_style(f"lines--{cell.role}") if cell.role else base)
            for cell in self._lines[at]
        ]
        strip = Strip(segments).adjust_cell_length(self.columns, base)
        return self._selected(strip, at).apply_offsets(0, at)

    def _selected(self, strip: Strip, at: int) -> Strip:
        span = self.text_selection.get_span(at) if self.text_selection is not None else None
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end < 0 else end
        style = self.screen.get_component_rich_style("screen--selection", partial=True)
        return Strip.join([
            strip.crop(0, start), strip.crop(start, end).apply_style(style), strip.crop(end, strip.cell_length),
        ])  # fmt: skip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self.plain_text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

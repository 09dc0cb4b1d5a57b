"""Lines to scroll whose number changes without a layout of the screen."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from kgtui.tui.widgets.inked import Inked
from kgtui.tui.widgets.sized import Sized

if TYPE_CHECKING:
    from typing import Self

    from textual.strip import Strip

T = TypeVar("T")


class _Bar(ScrollBar, Sized):
    """A scroll bar that comes with one layout."""


class Scrolled(Inked, ScrollView):
    """A scroll view that draws lines, with a scroll bar that always has its column; no border, no padding.

    Setting `virtual_size` lays out and repaints the whole screen, and so does a scroll bar that comes and goes: tens
    of milliseconds and of kilobytes over a slow line, at each step of the cursor.

    Lines stay as they were drawn until they are refreshed, and move when they are scrolled: a frame costs what is
    new in it.
    """

    FIXED: ClassVar[int] = 0
    """Lines at the top that are not scrolled, such as a heading."""

    DEFAULT_CSS = """
    Scrolled { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._kept: dict[int, Strip] = {}  # by line of the window

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar, made when it is first asked for."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = _Bar(vertical=True, name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    def notify_style_update(self) -> None:
        """Another theme, or the focus."""
        super().notify_style_update()
        self._kept.clear()

    # Lines as they were drawn

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Draw the lines of these regions again, or all of them."""
        if not regions:
            self._kept.clear()
        for region in regions:
            for y in region.line_range:
                self._kept.pop(y, None)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of the window; Textual asks for all of them whenever something beside one changes."""
        kept = self._kept
        for y in crop.line_range:
            if y not in kept:
                kept[y] = self.finished(self.render_line(y))
        lines = [kept[y] for y in crop.line_range]
        first, last = crop.column_span
        return lines if (first, last) == (0, self.outer_size.width) else [line.crop(first, last) for line in lines]

    def finished(self, strip: Strip) -> Strip:
        """A line as wide as the widget with its scroll bar, in the colours that the terminal has."""
        strip = strip.adjust_cell_length(self.outer_size.width, self.base)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return strip

    def scrolled_by(self, lines: int) -> None:
        """So many lines went out of sight at the top, or came into sight there where it is below zero."""
        self._kept = moved(self._kept, lines, self.FIXED, self.size.height)

    # Scrolling

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other lines are in view."""
        self._move_thumb(old_value, new_value)
        if by := round(new_value) - round(old_value):
            self.scrolled_by(by)
            super().refresh(self.size.region)

    def _move_thumb(self, before: float, now: float) -> None:
        """Draw those cells of the scroll bar again that look different."""
        bar = self.vertical_scrollbar
        bar.set_reactive(ScrollBar.position, now)
        old, new = self._thumb(before), self._thumb(now)
        if old != new and self.show_vertical_scrollbar:
            first, last = min(old.start, new.start) // 8, max(old.stop, new.stop) // 8
            bar.refresh(Region(0, first, 1, last - first + 1))

    def _thumb(self, top: float) -> range:
        """Where the scroll bar draws its thumb with this line at the top, in eighths of a cell."""
        height, lines = self.size.height, self.vertical_scrollbar.window_virtual_size
        if lines <= height:
            return range(height * 8)
        length = max(1, height * height / lines)
        start = int((height - length) * top / (lines - height) * 8)
        return range(start, start + ceil(length * 8))

    def set_height(self, lines: int) -> None:
        """Have so many lines; the scroll bar is drawn again only when it would look different."""
        height, old = self.size.height, self.virtual_size.height
        if lines == old:
            return
        self.set_reactive(Widget.virtual_size, Size(0, lines))
        crossed = (old > height) != (lines > height)
        if self.show_vertical_scrollbar and (
            crossed or (max(lines, old) > height and _thumb_moved(lines, old, height))
        ):
            self.vertical_scrollbar.window_virtual_size = lines

    def set_top(self, top: int) -> None:
        """Have this line at the top, or the nearest to it that leaves no blank lines; nothing is drawn again."""
        top = max(0, min(top, self.virtual_size.height - self.size.height))
        if top != self.scroll_offset.y:
            before = self.scroll_y
            self.set_reactive(Widget.scroll_y, float(top))
            self.set_reactive(Widget.scroll_target_y, float(top))
            self._move_thumb(before, float(top))


def moved(kept: dict[int, T], lines: int, fixed: int, height: int) -> dict[int, T]:
    """What was kept by line of the window, after a scroll."""
    return {
        y - (lines if y >= fixed else 0): what
        for y, what in kept.items()
        if y < fixed or fixed <= y - lines < height
    }  # fmt: skip


def _thumb_moved(lines: int, old: int, height: int) -> bool:
    """Whether the thumb's ends, which are drawn in eighths of a cell, are elsewhere."""
    return abs(lines - old) * height * 8 > old

"""`LineView`, a scrollable view of text lines. Changing its number of lines causes no new layout of the screen.

With Textual's own scroll view, selecting another group would cause a layout, which takes tens of milliseconds.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.binding import Binding
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from kgtui.tui.textual_compat.rendering import NoRelayout, StyleCache

if TYPE_CHECKING:
    from typing import Self

    from textual.binding import BindingType
    from textual.strip import Strip

T = TypeVar("T")


def movement_bindings(*actions: str) -> list[BindingType]:
    """Return key bindings for moving in a list or a text.

    Args:
        actions: names of the six Textual actions, in this order: one line up, one line down, one page up, one page
            down, first line, last line.
    """
    keys = (
        ("up,k", "Up", "up"),
        ("down,j", "Down", "down"),
        ("pageup", "Page up", "page-up"),
        ("pagedown", "Page down", "page-down"),
        ("home,g", "First", "first"),
        ("end,G", "Last", "last"),
    )
    return [
        Binding(pressed, action, title, id=name, show=False)
        for (pressed, title, name), action in zip(keys, actions, strict=True)
    ]


class _ScrollBar(ScrollBar, NoRelayout):
    """A scroll bar that can change the size of its thumb (the movable part) without a new layout of the screen."""


class LineView(StyleCache, ScrollView):
    """A scrollable view of text lines. Subclasses implement `render_line` and must not have a border or padding.

    Rendered lines are cached.
    """

    FIXED_LINES: ClassVar[int] = 0
    """Number of lines at the top, such as a heading, that stay in place while the other lines scroll."""

    DEFAULT_CSS = """
    LineView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._line_cache: dict[int, Strip] = {}  # line number in the widget → rendered line

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar, which is created at its first use."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = _ScrollBar(
                vertical=True, name="vertical", thickness=self.scrollbar_size_vertical
            )
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    def notify_style_update(self) -> None:
        """Clear the cache of rendered lines after a change of theme or focus, because the lines look different."""
        super().notify_style_update()
        self._line_cache.clear()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Redraw the lines in the given regions of the widget. If no region is given, redraw all lines."""
        if not regions:
            self._line_cache.clear()
        for region in regions:
            for y in region.line_range:
                self._line_cache.pop(y, None)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def refresh_if_different(self, y: int) -> None:
        """Draw line `y` of the widget again, but only if the line has changed since it was last drawn."""
        line = self.finish_line(self.render_line(y))
        if line != self._line_cache.get(y):
            self.refresh(Region(0, y, self.size.width, 1))
            self._line_cache[y] = line

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rendered lines in the region `crop`, from the cache if they have not changed."""
        cache = self._line_cache
        for y in crop.line_range:
            if y not in cache:
                cache[y] = self.finish_line(self.render_line(y))
        lines = [cache[y] for y in crop.line_range]
        first, last = crop.column_span
        return lines if (first, last) == (0, self.outer_size.width) else [line.crop(first, last) for line in lines]

    def finish_line(self, strip: Strip) -> Strip:
        """Cut or pad a line to the full width of the widget, and replace colors that the terminal cannot show."""
        strip = strip.adjust_cell_length(self.outer_size.width, self.base_style)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return strip

    def shift_cached_lines(self, lines: int) -> None:
        """Change the line numbers of the cached lines, because the view has scrolled down by `lines` lines.

        If the view has scrolled up, `lines` is negative.
        """
        self._line_cache = shift_lines(self._line_cache, lines, self.FIXED_LINES, self.size.height)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw the lines that scrolling has made visible. Lines that were visible before are taken from the cache."""
        self._move_thumb(old_value, new_value)
        if by := round(new_value) - round(old_value):
            self.shift_cached_lines(by)
            super().refresh(self.size.region)

    def _move_thumb(self, old_top: float, new_top: float) -> None:
        bar = self.vertical_scrollbar
        bar.set_reactive(ScrollBar.position, new_top)
        old, new = self._thumb(old_top), self._thumb(new_top)
        if old != new and self.show_vertical_scrollbar:
            first, last = min(old.start, new.start) // 8, max(old.stop, new.stop) // 8
            bar.refresh(Region(0, first, 1, last - first + 1))

    def _thumb(self, top: float) -> range:
        """Return the positions at which the thumb of the scroll bar begins and ends, in eighths of a cell.

        Args:
            top: number of the first visible line.
        """
        height, lines = self.size.height, self.vertical_scrollbar.window_virtual_size
        if lines <= height:
            return range(height * 8)
        length = max(1, height * height / lines)
        start = int((height - length) * top / (lines - height) * 8)
        return range(start, start + ceil(length * 8))

    def set_line_count(self, lines: int) -> None:
        """Set the number of lines. Redraw the scroll bar only if its appearance changes."""
        height, old = self.size.height, self.virtual_size.height
        if lines == old:
            return
        self.set_reactive(Widget.virtual_size, Size(0, lines))
        crossed = (old > height) != (lines > height)
        if self.show_vertical_scrollbar and (
            crossed or (max(lines, old) > height and _thumb_changed(lines, old, height))
        ):
            self.vertical_scrollbar.window_virtual_size = lines

    def set_top_line(self, top: int) -> None:
        """Scroll so that line number `top` becomes the first visible line.

        Near the end of the text, an earlier line becomes the first one, because the view does not scroll beyond the
        last line. Only the scroll bar is redrawn. The caller must redraw the lines.
        """
        top = max(0, min(top, self.virtual_size.height - self.size.height))
        if top != self.scroll_offset.y:
            before = self.scroll_y
            self.set_reactive(Widget.scroll_y, float(top))
            self.set_reactive(Widget.scroll_target_y, float(top))
            self._move_thumb(before, float(top))


def shift_lines(by_line: dict[int, T], lines: int, fixed: int, height: int) -> dict[int, T]:
    """Return a copy of the dict `by_line`, in which the keys are the line numbers after scrolling.

    Lines that are no longer visible are left out.

    Args:
        by_line: line number in the widget → value.
        lines: number of lines by which the widget is scrolled down; negative for up.
        fixed: number of lines at the top that are not scrolled.
        height: height of the widget in lines.
    """
    return {
        y - (lines if y >= fixed else 0): value
        for y, value in by_line.items()
        if y < fixed or fixed <= y - lines < height
    }  # fmt: skip


def _thumb_changed(lines: int, old: int, height: int) -> bool:
    """Return whether the scroll bar's thumb (movable part) visibly changes when the number of lines changes.

    Args:
        lines: new number of lines.
        old: previous number of lines.
        height: number of visible lines.
    """
    return abs(lines - old) * height * 8 > old

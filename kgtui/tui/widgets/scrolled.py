"""Lines to scroll whose number changes without a layout of the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.widget import Widget

if TYPE_CHECKING:
    from rich.style import Style


class Scrolled(ScrollView):
    """A scroll view that draws lines, with a scroll bar that always has its column.

    Setting `virtual_size` lays out and repaints the whole screen, and so does a scroll bar that comes and goes: tens
    of milliseconds and of kilobytes over a slow line, at each step of the cursor.
    """

    DEFAULT_CSS = """
    Scrolled { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """

    _base: Style | None = None

    @property
    def base(self) -> Style:
        """The widget's own style, kept until it changes: working it out costs more than drawing a line."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def notify_style_update(self) -> None:
        """Another theme, or the focus."""
        super().notify_style_update()
        self._base = None

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other lines are in view; the scroll bar is drawn again only when it would look different."""
        bar = self.vertical_scrollbar
        if self._thumb(old_value) == self._thumb(new_value):
            bar.set_reactive(ScrollBar.position, new_value)
        elif self.show_vertical_scrollbar:
            bar.position = new_value
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)

    def _thumb(self, top: float) -> int:
        """Where the thumb begins, in the eighths of a cell in which it is drawn."""
        return int(top * self.size.height * 8 / max(self.virtual_size.height, 1))

    def set_height(self, lines: int) -> None:
        """Have so many lines; the scroll bar is drawn again only when it would look different."""
        height, old = self.size.height, self.virtual_size.height
        if lines == old:
            return
        self.set_reactive(Widget.virtual_size, Size(0, lines))
        crossed = (old > height) != (lines > height)
        if self.show_vertical_scrollbar and (crossed or (max(lines, old) > height and _moved(lines, old, height))):
            self.vertical_scrollbar.window_virtual_size = lines

    def set_top(self, top: int) -> None:
        """Have this line at the top, or the nearest to it that leaves no blank lines; nothing is drawn again."""
        top = max(0, min(top, self.virtual_size.height - self.size.height))
        if top != self.scroll_offset.y:
            before = self.scroll_y
            self.set_reactive(Widget.scroll_y, float(top))
            self.set_reactive(Widget.scroll_target_y, float(top))
            if self.show_vertical_scrollbar and self._thumb(before) != self._thumb(top):
                self.vertical_scrollbar.position = float(top)
            else:
                self.vertical_scrollbar.set_reactive(ScrollBar.position, float(top))


def _moved(lines: int, old: int, height: int) -> bool:
    """Whether the thumb's ends, which are drawn in eighths of a cell, are elsewhere."""
    return abs(lines - old) * height * 8 > old

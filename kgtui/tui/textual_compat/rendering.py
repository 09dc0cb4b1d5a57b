"""Base classes for widgets that are drawn faster, and a patch against reference cycles in strips (rendered lines)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.geometry import Size
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.style import Style


class StyleCache(Widget):
    """Base class of widgets that draw their own lines. It caches styles until the theme or the focus changes.

    Textual 8.2.8 computes styles at every refresh, which is slow.
    """

    _base_style: Style | None = None
    _component_style_cache: dict[str, Style]
    _terminal_style_cache: dict[tuple[str, ...], Style]

    @property
    def base_style(self) -> Style:
        """The style of the widget itself, without the styles of its component classes."""
        if self._base_style is None:
            self._base_style, self._component_style_cache, self._terminal_style_cache = self.rich_style, {}, {}
        return self._base_style

    def component_style(self, component: str) -> Style:
        """Return the style of a component class (CSS class for a part of the widget), without the widget's own style.

        If `component` is empty, return `base_style`, the widget's own style.
        """
        base = self.base_style
        if not component:
            return base
        style = self._component_style_cache.get(component)
        if style is None:
            style = self._component_style_cache[component] = self.get_component_rich_style(component, partial=True)
        return style

    def terminal_style(self, *components: str) -> Style:
        """Return the widget's own style plus the styles of component classes, in colors that the terminal supports."""
        combined = self.base_style
        style = self._terminal_style_cache.get(components)
        if style is None:
            for component in components:
                combined += self.component_style(component)
            for line_filter in self.get_line_filters():
                (filtered,) = line_filter.apply([Segment(" ", combined)], self.background_colors[1])
                combined = filtered.style or combined
            style = self._terminal_style_cache[components] = combined
        return style

    def notify_style_update(self) -> None:
        """Clear the cache of styles after a change of the theme or the focus."""
        super().notify_style_update()
        self._base_style = None


class NoRelayout(Widget):
    """Base class for widgets that do not scroll. A change of their size in a layout causes no second layout.

    If a class has several base classes, `NoRelayout` must be the last one, because Textual takes default styles from
    the first one.
    """

    virtual_size = Reactive(Size(0, 0))


_textual_divide = Strip.divide


def prevent_strip_cycles() -> None:
    """Patch `Strip.divide`, because a strip (one rendered line) that is divided into a single part refers to itself.

    Without the patch, scrolling creates thousands of reference cycles per second, and garbage collection is slow.
    """
    setattr(Strip, "divide", _divide)  # noqa: B010 - mypy forbids a plain assignment to a method


def _divide(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    length = strip.cell_length
    cuts = [cut for cut in cuts if cut <= length]
    return [strip] if cuts == [length] else _textual_divide(strip, cuts)

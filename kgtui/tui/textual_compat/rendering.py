"""Cheaper rendering of widgets: cached styles, no layout for a new size, and strips without reference cycles."""

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
    """A widget that draws its own lines, with computed styles that stay cached until the theme or the focus changes.

    Textual 8.2.8 also caches styles, but clears its cache on every refresh. To compute a style takes longer than to
    draw a line with it.
    """

    _base_style: Style | None = None
    _component_style_cache: dict[str, Style]
    _terminal_style_cache: dict[tuple[str, ...], Style]

    @property
    def base_style(self) -> Style:
        """The widget's own style."""
        if self._base_style is None:
            self._base_style, self._component_style_cache, self._terminal_style_cache = self.rich_style, {}, {}
        return self._base_style

    def component_style(self, component: str) -> Style:
        """Return the style of a component class without its background; for ``""`` the widget's own style."""
        base = self.base_style
        if not component:
            return base
        style = self._component_style_cache.get(component)
        if style is None:
            style = self._component_style_cache[component] = self.get_component_rich_style(component, partial=True)
        return style

    def terminal_style(self, *components: str) -> Style:
        """Return the widget's own style combined with those of component classes, in the colors of the terminal."""
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
        """Clear the cache, because the theme or the focus changed."""
        super().notify_style_update()
        self._base_style = None


class NoRelayout(Widget):
    """A widget whose own new size does not cause another layout of the screen, as it does in Textual 8.2.8.

    Use this class only for widgets whose content always fits. It must be the last of the base classes, because Textual
    takes the default styles from the first base class.
    """

    virtual_size = Reactive(Size(0, 0))


_textual_divide = Strip.divide


def prevent_strip_cycles() -> None:
    """Patch `Strip.divide` so that a strip that is drawn whole does not refer to itself.

    Textual 8.2.8 divides each line among the widgets in it, and caches the parts on the strip. Where one widget fills
    the line, the strip becomes its own part: a cycle of about twenty objects per line, thousands per second while
    scrolling. With 100,000 groups the garbage collector must have as little work as possible.
    """
    setattr(Strip, "divide", _divide)  # noqa: B010 - mypy forbids a plain assignment to a method


def _divide(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    length = strip.cell_length
    cuts = [cut for cut in cuts if cut <= length]
    return [strip] if cuts == [length] else _textual_divide(strip, cuts)

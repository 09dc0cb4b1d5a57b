"""Styles of a widget's parts, kept while they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.widget import Widget

if TYPE_CHECKING:
    from rich.style import Style


class Inked(Widget):
    """A widget that draws its own lines. Working a style out costs more than drawing a line with it.

    Textual keeps them too, but forgets them whenever the widget is refreshed.
    """

    _base: Style | None = None
    _inks: dict[str, Style]
    _worn: dict[tuple[str, ...], Style]

    @property
    def base(self) -> Style:
        """The widget's own style."""
        if self._base is None:
            self._base, self._inks, self._worn = self.rich_style, {}, {}
        return self._base

    def ink(self, component: str) -> Style:
        """The colour and style of a component class, without its background; of none, the widget's own."""
        base = self.base
        if not component:
            return base
        found = self._inks.get(component)
        if found is None:
            found = self._inks[component] = self.get_component_rich_style(component, partial=True)
        return found

    def worn(self, *components: str) -> Style:
        """The widget's own style under those of component classes, in the colours that the terminal has."""
        style = self.base
        found = self._worn.get(components)
        if found is None:
            for component in components:
                style += self.ink(component)
            for line_filter in self.get_line_filters():
                (filtered,) = line_filter.apply([Segment(" ", style)], self.background_colors[1])
                style = filtered.style or style
            found = self._worn[components] = style
        return found

    def notify_style_update(self) -> None:
        """Another theme, or the focus."""
        super().notify_style_update()
        self._base = None

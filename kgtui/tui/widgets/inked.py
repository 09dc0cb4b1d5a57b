"""Styles of a widget's parts, kept while they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from rich.style import Style


class Inked(Widget):
    """A widget that draws its own lines. Working a style out costs more than drawing a line with it.

    Textual keeps them too, but forgets them whenever the widget is refreshed.
    """

    _base: Style | None = None
    _inks: dict[str, Style]

    @property
    def base(self) -> Style:
        """The widget's own style."""
        if self._base is None:
            self._base, self._inks = self.rich_style, {}
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

    def notify_style_update(self) -> None:
        """Another theme, or the focus."""
        super().notify_style_update()
        self._base = None

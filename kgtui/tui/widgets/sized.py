"""Widgets that take the size that a layout gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from textual.geometry import Size


class Sized(Widget):
    """A widget for which a new size is no reason to lay the screen out again, as it is for Textual's.

    Only for what never has more inside than fits.
    """

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)

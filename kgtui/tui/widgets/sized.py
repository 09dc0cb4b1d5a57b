"""Widgets that take the size that a layout gives them."""

from __future__ import annotations

from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget


class Sized(Widget):
    """A widget for which a new size is no reason to lay the screen out again, as it is for Textual's.

    Only for what never has more inside than fits. It is the last of the bases: styles come from the first.
    """

    virtual_size = Reactive(Size(0, 0))

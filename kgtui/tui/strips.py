"""Textual's strips, without the cycle that each makes of itself when it is drawn.

A line that is drawn is divided among the widgets in it. Where that is one, its strip remembers itself as its only part:
a cycle of some twenty objects for each line, thousands a second while one scrolls. With 100,000 groups the garbage
collector is to have nothing to do (`kgtui.monitor.collector`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_divide = Strip.divide


def without_cycles() -> None:
    """From now on no strip remembers itself."""
    setattr(Strip, "divide", _divided)  # noqa: B010 - an assignment to a method is none to mypy


def _divided(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    length = strip.cell_length
    cuts = [cut for cut in cuts if cut <= length]
    return [strip] if cuts == [length] else _divide(strip, cuts)

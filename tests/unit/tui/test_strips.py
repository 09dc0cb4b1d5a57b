"""A line that is drawn leaves nothing to the garbage collector."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from rich.segment import Segment
from textual.strip import Strip

from kgtui.tui import strips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@pytest.fixture(autouse=True)
def _as_textual_has_it() -> Iterator[None]:
    before = Strip.divide
    yield
    setattr(Strip, "divide", before)  # noqa: B010


def left_behind(divide: Callable[[Strip, Iterable[int]], Sequence[Strip]], *cuts: int) -> int:
    """Objects in cycles after a line of eight cells was divided into itself alone."""
    strip = Strip([Segment("payments")])
    gc.collect()
    gc.disable()
    try:
        assert divide(strip, cuts) == [strip]
        del strip
        return gc.collect()
    finally:
        gc.enable()


def test_a_strip_that_is_drawn_whole_is_freed_with_its_last_reference() -> None:
    assert left_behind(strips._divide, 8) > 5, "Textual has mended it: kgtui.tui.strips can go"
    strips.without_cycles()
    assert left_behind(Strip.divide, 8) == 0


def test_a_strip_that_ends_before_the_last_cut_is_freed_too() -> None:
    """As each line of the tree, which ends at the scroll bar."""
    strips.without_cycles()
    assert left_behind(Strip.divide, 8, 10) == 0


def test_strips_are_divided_as_before() -> None:
    strip = Strip([Segment("pay"), Segment("ments")])
    cuts: tuple[list[int], ...] = ([8], [3, 8], [2, 5], [4], [8, 12], [])
    before = [[part.text for part in strips._divide(strip, some)] for some in cuts]
    strips.without_cycles()
    assert [[part.text for part in strip.divide(some)] for some in cuts] == before

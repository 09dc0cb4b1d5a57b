"""Work in slices: a generator that yields where other work may run, and returns its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")


def drained(steps: Generator[None, None, T]) -> T:
    """Run it to its end at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result

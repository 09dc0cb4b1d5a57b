"""The garbage collector's pauses: off while a poll is taken in, frozen once after the first load.

With 100,000 groups a full collection stops the loop for about 0.2 s. Off for good, or frozen at every poll, it would
leak the cycles that a screen makes.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MANY = 10_000  # groups from which freezing pays


class Collector:
    """Counts who wants the collector to stay out of the way."""

    def __init__(self) -> None:
        self._holders = 0
        self._frozen = False
        self._restore = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """The collector is off until the last holder leaves; it stays off if it was off before."""
        self._holders += 1
        if self._holders == 1:
            self._restore = gc.isenabled()
            gc.disable()
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0 and self._restore:
                gc.enable()

    def freeze_once(self, groups: int) -> None:
        """After the first load of many groups: they will stay, so the collector need not look at them again."""
        if not self._frozen and groups >= _MANY:
            self._frozen = True
            gc.collect()
            gc.freeze()

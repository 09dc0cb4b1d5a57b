"""The garbage collector's pauses: off while a poll is taken in, frozen once, and full passes only while nobody looks.

With 100,000 groups a full collection stops the loop for up to 0.2 s, since it visits every mapping and list of them.
Off for good, or frozen at every poll, it would leak the cycles that a screen makes; those die young, and the passes
over what is young go on.

With so many groups the C library is told, too, to keep no large blocks that were freed.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MANY = 10_000  # groups from which freezing pays
_THRESHOLDS = (2_000, 10, 1_000_000)  # passes over what is young come by themselves, over few objects each
_AWAY = 60.0  # seconds without a look at anything else after which nobody minds a pause
_MMAP_THRESHOLD, _LARGE = -3, 256 * 1024  # glibc's option, and the bytes from which a block is mapped by itself
_RARELY = 600.0  # seconds between two full passes


class Collector:
    """Counts who wants the collector to stay out of the way."""

    def __init__(self) -> None:
        self._holders = 0
        self._frozen = False
        self._ours = False  # we turned it off
        self._thresholds: tuple[int, int, int] | None = None
        self._tidied = 0.0

    @contextmanager
    def held(self) -> Iterator[None]:
        """The collector is off until the last holder leaves; it stays off if it was off before.

        With many groups it then has a turn of the loop to itself: what was made meanwhile takes milliseconds to look
        through, which would come on top of whatever is done next.
        """
        self._holders += 1
        if self._holders == 1 and gc.isenabled():
            self._ours = True
            gc.disable()
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0 and self._ours:
                if self._frozen:
                    asyncio.get_running_loop().call_soon(self._look_through)
                else:
                    self._on_again()

    def _look_through(self) -> None:
        if self._holders == 0:
            gc.collect(1)
            self._on_again()

    def _on_again(self) -> None:
        if self._ours:
            self._ours = False
            gc.enable()

    def freeze_once(self, groups: int) -> None:
        """After the first load of many groups: they will stay, so the collector need not look at them again.

        What is garbage by then is frozen with them, for nobody is to wait for a full pass now; `tidy` makes up for it.
        """
        if not self._frozen and groups >= _MANY:
            self._frozen = True
            gc.freeze()
            self._thresholds = gc.get_threshold()
            gc.set_threshold(*_THRESHOLDS)
            _give_back()

    def tidy(self, now: float, looked: float) -> None:
        """A full pass now and then, while nobody looks.

        Args:
            now: seconds of a clock.
            looked: when somebody last looked at something else, by the same clock.
        """
        if self._frozen and now - looked > _AWAY and now - self._tidied > _RARELY:
            first, self._tidied = not self._tidied, now
            if first:
                gc.unfreeze()
            gc.collect()
            if first:
                gc.freeze()

    def release(self) -> None:
        """Leave the collector as it was found."""
        self._on_again()
        if self._thresholds is not None:
            gc.set_threshold(*self._thresholds)
            gc.unfreeze()
            self._thresholds, self._frozen = None, False


def _give_back() -> None:
    """Have glibc give large blocks back as soon as they are free; other C libraries are left as they are.

    By itself it keeps blocks as large as a list's answer or a mapping of all groups in its heap, once it has seen one
    come and go, with holes between them: 15 to 20 MB with 100,000 groups.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and hasattr(library, "malloc_trim"):
        library.mallopt(_MMAP_THRESHOLD, _LARGE)
        library.malloc_trim(0)

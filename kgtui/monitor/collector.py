"""The garbage collector's pauses: off while a poll is taken in, and with many groups nearly always.

With 100,000 groups a full collection stops the loop for up to 0.2 s, since it visits every mapping and list of them,
and one of what is young for 10 to 20 ms, since each poll makes new ones. Reference counts free nearly all; what is left
to the collector are cycles, of errors and of dialogs that were closed. So a pass comes only when much more is allocated
than after the last one, and freezes what it has seen. Cycles that die after they were
frozen are left to a pass over everything while nobody looks.

With so many groups the C library is told, too, to keep no large blocks that were freed.
"""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MANY = 10_000  # groups from which freezing pays
_GROWN = 100_000  # blocks of memory more than after the last pass, beside those that are expected: about 8 MB
_EXPECTED = 4  # blocks for what is kept of each group that has been read
_AWAY = 60.0  # seconds without a look at anything else after which nobody minds a pause
_MMAP_THRESHOLD, _LARGE = -3, 256 * 1024  # glibc's option, and the bytes from which a block is mapped by itself
_RARELY = 600.0  # seconds between two passes over everything


class Collector:
    """Counts who wants the collector to stay out of the way.

    Args:
        read: how many groups have been read.
    """

    def __init__(self, read: Callable[[], int] = lambda: 0) -> None:
        self._read = read
        self._holders = 0
        self._frozen = False
        self._ours = False  # we turned it off
        self._tidied = 0.0
        self._blocks = 0  # of memory, after the last pass

    @contextmanager
    def held(self) -> Iterator[None]:
        """The collector is off until the last holder leaves; it stays off if it was off before, or with many groups."""
        self._holders += 1
        self._off()
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0 and not self._frozen:
                self._on_again()

    def _off(self) -> None:
        if gc.isenabled():
            self._ours = True
            gc.disable()

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
            self._off()
            gc.freeze()
            self._blocks = self._allocated()
            _give_back()

    def tidy(self, now: float, looked: float) -> None:
        """A pass once memory has grown, and over everything now and then while nobody looks.

        Args:
            now: seconds of a clock.
            looked: when somebody last looked at something else, by the same clock.
        """
        if not self._frozen:
            return
        self._blocks = min(self._blocks, blocks := self._allocated())
        if now - looked > _AWAY and now - self._tidied > _RARELY:
            self._tidied = now
            gc.unfreeze()
            self._collect()
        elif blocks - self._blocks > _GROWN:
            self._collect()

    def _collect(self) -> None:
        gc.collect()
        gc.freeze()
        self._blocks = self._allocated()

    def _allocated(self) -> int:
        """Blocks of memory, without those that are expected to be."""
        return sys.getallocatedblocks() - _EXPECTED * self._read()

    def release(self) -> None:
        """Leave the collector as it was found."""
        self._on_again()
        if self._frozen:
            gc.unfreeze()
            self._frozen = False


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

"""The garbage collector's pauses: off while a poll is taken in, and with many groups nearly always.

With 100,000 groups a full collection stops the loop for up to 0.2 s, since it visits every mapping and list of them,
and one of what is young for 10 to 20 ms, since each poll makes new ones. So the first load is frozen, and what is made
of all groups later is set apart: no cycle goes through it. What is left to the collector are few objects, and few
cycles: of errors, of layouts, of dialogs that were closed. A pass comes once memory has grown, and freezes what it has
seen; cycles that die after they were frozen are left to a pass over everything while nobody looks.

With so many groups the C library is told, too, to keep no large blocks that were freed, and to give back what else it
can after each pass.
"""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

_MANY = 10_000  # groups from which freezing pays
_GROWN = 20_000  # blocks of memory more than after the last pass: about 2 MB
_AWAY = 60.0  # seconds without a look at anything else after which nobody minds a pause
_MMAP_THRESHOLD, _LARGE = -3, 256 * 1024  # glibc's option, and the bytes from which a block is mapped by itself
_RARELY = 600.0  # seconds between two passes over everything


class Collector:
    """Counts who wants the collector to stay out of the way."""

    def __init__(self) -> None:
        self._holders = 0
        self._frozen = False
        self._ours = False  # we turned it off
        self._tidied = 0.0
        self._blocks = 0  # of memory, after the last pass
        self._trim: Callable[[int], object] | None = None

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
            self._blocks = sys.getallocatedblocks()
            self._trim = _give_back()
            _begin_to_set_apart()

    def tidy(self, now: float, looked: float) -> None:
        """A pass once memory has grown, and over everything now and then while nobody looks.

        Args:
            now: seconds of a clock.
            looked: when somebody last looked at something else, by the same clock.
        """
        if not self._frozen:
            return
        self._blocks = min(self._blocks, blocks := sys.getallocatedblocks())
        if now - looked > _AWAY and now - self._tidied > _RARELY:
            self._tidied = now
            gc.unfreeze()
            self._collect()
        elif blocks - self._blocks > _GROWN:
            self._collect()

    def _collect(self) -> None:
        gc.collect()
        gc.freeze()
        self._blocks = sys.getallocatedblocks()
        if self._trim is not None:
            # Milliseconds, without Python's lock.
            Thread(target=self._trim, args=(0,), name="give memory back", daemon=True).start()

    def release(self) -> None:
        """Leave the collector as it was found."""
        self._on_again()
        if self._frozen:
            gc.unfreeze()
            self._frozen = False


_untrack: Callable[[object], None] | None = None


def set_apart(data: T) -> T:
    """The same data, which the collector does not look at from now on; nothing happens before there were many groups.

    Args:
        data: a list, a mapping or a value with slots that is part of no cycle. One that is changed later may come back
            to the collector.
    """
    if _untrack is not None:
        _untrack(data)
    return data


def _begin_to_set_apart() -> None:
    global _untrack
    if sys.implementation.name != "cpython":
        return
    import ctypes

    _untrack = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("PyObject_GC_UnTrack", ctypes.pythonapi))


def _give_back() -> Callable[[int], object] | None:
    """Have glibc give large blocks back as soon as they are free; returns what has it give back smaller ones, once.

    By itself it keeps blocks as large as a list's answer or a mapping of all groups in its heap, once it has seen one
    come and go, with holes between them: 15 to 20 MB with 100,000 groups. Other C libraries are left as they are.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and hasattr(library, "malloc_trim"):
        library.mallopt(_MMAP_THRESHOLD, _LARGE)
        library.malloc_trim(0)
        return cast("Callable[[int], object]", library.malloc_trim)
    return None

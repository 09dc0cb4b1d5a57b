"""Keeps Python's garbage collector from stopping the event loop in a cluster with many groups.

With 100,000 groups, a full collection takes up to 0.2 s, because it visits every mapping and list of groups. A
collection of young objects takes 10 to 20 ms, because each poll creates many. Therefore the collector is off while a
poll is stored. With many groups it stays off: the objects of the first load are frozen (`gc.freeze`), and those created
later for every group are untracked, because they are never part of a cycle. What is left for the collector are a few
cycles, from exceptions, layouts and closed dialogs. They are collected when memory has grown, and the survivors are
frozen. A collection of all objects runs only while the user is away.

With many groups, glibc is also configured to return large freed blocks to the system.
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

_FREEZE_FROM = 10_000
"""Number of groups from which freezing objects (`gc.freeze`) pays off."""

_GROWTH = 20_000
"""Number of memory blocks allocated since the last collection after which the next one is due; about 2 MB."""

_AWAY_AFTER = 60.0
"""Time without a change of the view after which the user counts as away, in seconds."""

_FULL_COLLECTION_INTERVAL = 600.0
"""Shortest time between two collections of all objects, in seconds."""

_M_MMAP_THRESHOLD = -3
"""The option of glibc's `mallopt` for the size from which a block is mapped on its own."""

_MMAP_THRESHOLD = 256 * 1024
"""Size from which a memory block is mapped on its own, in bytes, so that it can be returned to the system."""


class GcTuning:
    """Switches Python's garbage collector off and on, and collects when the user notices it least."""

    def __init__(self) -> None:
        self._pauses = 0
        self._frozen = False
        self._switched_off = False
        self._full_collection_at = 0.0
        self._blocks = 0  # number of memory blocks after the last collection
        self._trim: Callable[[int], object] | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the collector off inside the block, and inside blocks that overlap it.

        Afterwards it is as before: it stays off if it was off, and with many groups.
        """
        self._pauses += 1
        self._disable()
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0 and not self._frozen:
                self._enable()

    def _disable(self) -> None:
        if gc.isenabled():
            self._switched_off = True
            gc.disable()

    def _enable(self) -> None:
        if self._switched_off:
            self._switched_off = False
            gc.enable()

    def freeze_once(self, groups: int) -> None:
        """Freeze all objects after the first load of many groups. Call it once the groups are on the screen.

        Garbage is frozen too, because a full collection would delay the user now. `tidy` frees it later.

        Args:
            groups: number of groups; nothing happens if there are few.
        """
        if not self._frozen and groups >= _FREEZE_FROM:
            self._frozen = True
            self._disable()
            gc.freeze()
            self._blocks = sys.getallocatedblocks()
            self._trim = _return_large_blocks()
            _begin_to_untrack()

    def tidy(self, now: float, last_view: float) -> None:
        """Collect if memory has grown, and collect all objects now and then while the user is away.

        Args:
            now: current time, in seconds of any clock.
            last_view: time of the last change of the view, by the same clock.
        """
        if not self._frozen:
            return
        self._blocks = min(self._blocks, blocks := sys.getallocatedblocks())
        if now - last_view > _AWAY_AFTER and now - self._full_collection_at > _FULL_COLLECTION_INTERVAL:
            self._full_collection_at = now
            gc.unfreeze()
            self._collect()
        elif blocks - self._blocks > _GROWTH:
            self._collect()

    def _collect(self) -> None:
        gc.collect()
        gc.freeze()
        self._blocks = sys.getallocatedblocks()
        if self._trim is not None:
            # In a thread, because it takes milliseconds and releases Python's global lock.
            Thread(target=self._trim, args=(0,), name="return memory", daemon=True).start()

    def release(self) -> None:
        """Restore the garbage collector to its state before the first pause."""
        self._enable()
        if self._frozen:
            gc.unfreeze()
            self._frozen = False


_untrack: Callable[[object], None] | None = None


def untrack(data: T) -> T:
    """Hide an object from the garbage collector and return it. Nothing happens until there are many groups.

    Args:
        data: a list, a mapping or an object with slots that is not part of a cycle. Python may track it again when it
            is changed.
    """
    if _untrack is not None:
        _untrack(data)
    return data


def _begin_to_untrack() -> None:
    global _untrack
    if sys.implementation.name != "cpython":
        return
    import ctypes

    _untrack = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("PyObject_GC_UnTrack", ctypes.pythonapi))


def _return_large_blocks() -> Callable[[int], object] | None:
    """Make glibc return large blocks to the system when they are freed. Other C libraries are left alone.

    By default, glibc keeps blocks of the size of a list's answer in its heap once it has seen one freed, which costs 15
    to 20 MB with 100,000 groups.

    Returns:
        `malloc_trim`, which returns the free smaller blocks when it is called; None where it does not exist.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and hasattr(library, "malloc_trim"):
        library.mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)
        library.malloc_trim(0)
        return cast("Callable[[int], object]", library.malloc_trim)
    return None

"""Keeps Python's garbage collector from stopping the event loop in a cluster with many groups.

With 100,000 groups, a full collection takes up to 0.2 s, because it visits every mapping and list of groups. A
collection of young objects takes 10 to 20 ms, because each poll creates many. Therefore the collector is off while a
poll is stored. With many groups it stays off. The objects of the first load are frozen (`gc.freeze`). The objects that
are created for every group after that are untracked, because they are never part of a cycle. Only a few cycles are left
for the collector, from exceptions, layouts and closed dialogs. They are collected when memory has grown, and the
objects that survive are frozen. A collection of all objects runs only while the user is away.

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
"""Objects are frozen (`gc.freeze`) in clusters with at least this number of groups."""

_GROWTH = 20_000
"""When this number of memory blocks (about 2 MB) has been allocated since the last collection, the next one is due."""

_AWAY_AFTER = 60.0
"""If the view has not changed for this many seconds, the user is considered to be away."""

_FULL_COLLECTION_INTERVAL = 600.0
"""Minimum time between two collections of all objects, in seconds."""

_M_MMAP_THRESHOLD = -3
"""The number of glibc's `mallopt` option M_MMAP_THRESHOLD."""

_MMAP_THRESHOLD = 256 * 1024
"""Value of M_MMAP_THRESHOLD in bytes.

glibc allocates larger blocks with `mmap`, so that it can return each of them to the system.
"""


class GcTuning:
    """Switches Python's garbage collector off and on, and runs collections when the user notices them least."""

    def __init__(self) -> None:
        self._pauses = 0
        self._frozen = False
        self._switched_off = False
        self._full_collection_at = 0.0
        self._blocks = 0  # number of allocated memory blocks after the last collection
        self._trim: Callable[[int], object] | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Switch the collector off inside the block.

        Blocks may overlap; the collector is off until the last of them ends. After that, the collector is switched on
        again, unless it was off before or objects are frozen because there are many groups.
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

        Objects that are garbage are frozen too, because finding them now takes a full collection, which would delay the
        user. `tidy` frees them later.

        Args:
            groups: number of groups. With few groups, this method does nothing.
        """
        if not self._frozen and groups >= _FREEZE_FROM:
            self._frozen = True
            self._disable()
            gc.freeze()
            self._blocks = sys.getallocatedblocks()
            self._trim = _return_large_blocks()
            _begin_to_untrack()

    def tidy(self, now: float, last_view: float) -> None:
        """Run a collection if memory has grown. While the user is away, collect all objects from time to time.

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
            # Run this in a thread, because it takes milliseconds. It releases Python's global lock, so the event loop
            # keeps running.
            Thread(target=self._trim, args=(0,), name="return memory", daemon=True).start()

    def release(self) -> None:
        """Restore the garbage collector to its state before the first pause."""
        self._enable()
        if self._frozen:
            gc.unfreeze()
            self._frozen = False


_untrack: Callable[[object], None] | None = None


def untrack(data: T) -> T:
    """Remove an object from the garbage collector's tracking, and return the object.

    Args:
        data: a list, a mapping or an object with slots. It must not be part of a cycle. Python may track it again when
            it is changed.
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

    By default, once a large block has been freed, glibc keeps later blocks of this size in its heap. The responses to
    ListGroups are such blocks. With 100,000 groups, this costs 15 to 20 MB.

    Returns:
        glibc's function `malloc_trim`, which returns the free smaller blocks to the system when it is called; None if
        the C library does not have it.
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

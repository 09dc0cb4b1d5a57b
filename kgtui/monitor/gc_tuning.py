"""Tune Python's garbage collector, so that it does not block the event loop in a cluster with many groups.

With 100,000 groups, a full collection takes up to 0.2 s. Therefore, automatic collections are disabled while the data
of a poll is stored. In a cluster with many groups, they are always disabled, and all objects that exist after the first
read of the groups are frozen (`gc.freeze`). Data that is read later is untracked, so that the collector does not visit
it. This is safe, because the data is never part of a reference cycle.

`GcTuning.tidy` collects the few remaining cycles when memory has grown or when the user does nothing. It also freezes
objects, so that no collection takes longer than 20 ms.
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
"""If the cluster has at least this many groups, objects are frozen, so that collections skip them (`gc.freeze`)."""

_GROWTH = 20_000
"""A garbage collection is due if over this many memory blocks (about 2 MB) were added since the last collection."""

_YOUNG = 12_000
"""A garbage collection is postponed if there are more new objects than this, because it would take over 5 ms.

Most new objects belong to responses that are being stored, and will soon be freed.
"""

_POSTPONED_MOST = 30
"""After a garbage collection was postponed this many times in a row, all objects are frozen (`gc.freeze`).

Collections skip frozen objects.
"""

_OLD = 20_000
"""If more objects than this have survived garbage collections, all objects are frozen, so that collections skip them.

Objects that are already frozen do not count.
"""

_AWAY_AFTER = 60.0
"""If the selected and visible groups have not changed for this many seconds, the user counts as away.

While the user is away, a longer garbage collection disturbs nobody.
"""

_FULL_COLLECTION_INTERVAL = 600.0
"""Minimum time, in seconds, between two collections that visit all objects that are not frozen."""

_RETURN_INTERVAL = 30.0
"""Minimum time, in seconds, between two returns of free memory to the operating system."""

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""The numbers of two options of glibc, M_MMAP_THRESHOLD and M_ARENA_MAX, which `mallopt` sets.

kgtui sets M_ARENA_MAX to 1, so that all threads share one memory pool. Its few threads rarely allocate at the same
time, and each further pool would keep some megabytes of free memory.
"""

_MMAP_THRESHOLD = 256 * 1024
"""Value of the glibc option M_MMAP_THRESHOLD, in bytes.

glibc uses `mmap` to allocate a memory block that is larger than this value, and returns the block to the operating
system when it is freed.
"""


class GcTuning:
    """Disables automatic garbage collections, and runs collections itself when they delay the user least."""

    def __init__(self) -> None:
        self._pauses = 0
        self._frozen = False
        self._switched_off = False
        self._full_collection_at = 0.0
        self._blocks = 0  # smallest number of allocated memory blocks since the last garbage collection
        self._postponed = 0
        self._returned_at = 0.0
        self._trim: Callable[[int], object] | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context manager that disables automatic garbage collections. Several such contexts can overlap.

        At the end of the last one, automatic collections are enabled again, unless `freeze_once` has disabled them.
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
        """Freeze all objects, and disable automatic collections, if there are at least `_FREEZE_FROM` groups.

        Garbage collections skip frozen objects (`gc.freeze`). Call this after the terminal UI has drawn the groups. If
        the objects were already frozen by an earlier call, do nothing.

        Args:
            groups: number of groups in the cluster.
        """
        if not self._frozen and groups >= _FREEZE_FROM:
            self._frozen = True
            self._disable()
            gc.freeze()
            self._blocks = sys.getallocatedblocks()
            _begin_to_untrack()
            self._trim = _return_large_blocks()

    def tidy(self, now: float, last_view: float) -> None:
        """Collect garbage if a collection is due, and return free memory to the operating system.

        A collection of new objects is due if over `_GROWTH` memory blocks were added since the last collection. While
        the user is away (`_AWAY_AFTER`), a collection of all objects that are not frozen is due every ten minutes. If
        there are more than `_YOUNG` new objects, the collection is postponed. After `_POSTPONED_MOST` postponements in
        a row, all objects are frozen instead.

        Free memory is returned at most every `_RETURN_INTERVAL` seconds. Before `freeze_once` has frozen objects, this
        method does nothing.

        Args:
            now: current time, in seconds.
            last_view: time of the last change of the selected or visible groups, on the same clock as `now`.
        """
        if not self._frozen:
            return
        if now - self._returned_at > _RETURN_INTERVAL:
            self._returned_at = now
            self._return_memory()
        self._blocks = min(self._blocks, blocks := sys.getallocatedblocks())
        young = gc.get_count()[0]
        away = now - last_view > _AWAY_AFTER and now - self._full_collection_at > _FULL_COLLECTION_INTERVAL
        if not away and blocks - self._blocks <= _GROWTH:
            return
        if young <= _YOUNG:
            if away:
                self._full_collection_at = now
            self._collect(2 if away else 1)
        elif self._postponed < _POSTPONED_MOST:
            self._postponed += 1
        else:
            self._freeze()

    def _collect(self, generation: int) -> None:
        gc.collect(generation)
        if len(gc.get_objects(generation=2)) > _OLD:
            self._freeze()
        self._start_again()

    def _freeze(self) -> None:
        gc.freeze()
        self._start_again()

    def _start_again(self) -> None:
        self._postponed = 0
        self._blocks = sys.getallocatedblocks()

    def _return_memory(self) -> None:
        if self._trim is not None:
            # `malloc_trim` takes milliseconds, so it runs in a thread. The thread does not block the event loop,
            # because ctypes releases the GIL during the call.
            Thread(target=self._trim, args=(0,), name="return memory", daemon=True).start()

    def release(self) -> None:
        """Unfreeze all objects, and enable automatic collections again if this `GcTuning` has disabled them."""
        self._enable()
        if self._frozen:
            gc.unfreeze()
            self._frozen = False


_untrack: Callable[[object], None] | None = None


def untrack(data: T) -> T:
    """Stop the garbage collector from visiting an object, and return the object.

    This has an effect only after `GcTuning.freeze_once`.

    Args:
        data: a list, a mapping or an object with slots. It must not be part of a reference cycle. If a list or mapping
            is changed later, Python may make the garbage collector visit it again.
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
    """Make glibc return large memory blocks to the operating system when they are freed.

    By default, glibc would keep the memory of ListGroups responses, which is 15 to 20 MB for 100,000 groups.

    Returns:
        The function `malloc_trim` of glibc, which returns small free blocks, too; None with other C libraries.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and hasattr(library, "malloc_trim"):
        library.mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)
        library.mallopt(_M_ARENA_MAX, 1)
        return cast("Callable[[int], object]", library.malloc_trim)
    return None

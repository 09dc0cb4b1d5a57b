"""Tune Python's garbage collector, so that it does not block the event loop in a cluster with many groups.

With 100,000 groups, a full collection takes up to 0.2 s, because it visits every mapping and list of groups. A
collection of young objects takes 10 to 20 ms, because each poll creates many objects. Therefore:

- In all clusters, automatic collections are disabled while the data of a poll is stored.
- With many groups, they stay disabled. The objects of the first load, which contain hardly any garbage, are frozen
  (`gc.freeze`), so that no collection visits them. Objects that are later created for each group are untracked, because
  they are never part of a cycle.
- Reference cycles then remain only after exceptions, layouts and closed dialogs. `GcTuning.tidy` collects the cycles
  among new objects when memory has grown, and all other cycles while the user is away. If too many objects are not
  frozen, `tidy` freezes them, so that no collection takes longer than 20 ms.

With many groups, glibc is also configured to return large freed blocks to the operating system.
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
"""Objects are frozen (`gc.freeze`) if the cluster has at least this many groups."""

_GROWTH = 20_000
"""Number of memory blocks, about 2 MB, that must be allocated after a collection before the next one starts."""

_YOUNG = 12_000
"""If more objects than this were created since the last collection and still exist, the next collection is postponed.

Most of these objects are responses that are being processed and will soon be freed. A collection that visits them takes
longer than 5 ms, and twice as long on a busy machine.
"""

_POSTPONED_MOST = 30
"""Maximum number of times in a row that a collection is postponed. After that, the new objects are frozen instead."""

_OLD = 20_000
"""Maximum number of objects that have survived a collection and are not frozen. If there are more, they are frozen."""

_AWAY_AFTER = 60.0
"""Time without a change of the view, in seconds, after which the user is considered to be away."""

_FULL_COLLECTION_INTERVAL = 600.0
"""Minimum time, in seconds, between two collections that visit all objects that are not frozen."""

_M_MMAP_THRESHOLD = -3
"""Constant M_MMAP_THRESHOLD of glibc. As first argument of `mallopt`, it selects the option to set."""

_MMAP_THRESHOLD = 256 * 1024
"""Value to which option M_MMAP_THRESHOLD is set, in bytes.

glibc allocates larger blocks with `mmap`, so that it can return each of them to the operating system.
"""


class GcTuning:
    """Disables automatic garbage collections, and runs collections at times when they hardly disturb the user."""

    def __init__(self) -> None:
        self._pauses = 0
        self._frozen = False
        self._switched_off = False
        self._full_collection_at = 0.0
        self._blocks = 0  # smallest observed number of allocated memory blocks since the last garbage collection
        self._postponed = 0
        self._old = 0  # number of objects that have survived a collection and are not frozen
        self._trim: Callable[[int], object] | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context manager in which automatic garbage collections are disabled.

        Contexts can overlap. At the end of the last one, automatic collections are enabled again if they were enabled
        before the first one. After `freeze_once` has frozen objects, automatic collections stay disabled.
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
        """Freeze all objects after the first load of many groups, and disable automatic collections from then on.

        Call this method after the groups have been drawn. Only the first call with enough groups has an effect. Garbage
        is frozen too, because finding it would take a full collection, for which the user would have to wait.

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
            self._return_memory()

    def tidy(self, now: float, last_view: float) -> None:
        """Collect garbage among new objects if the number of memory blocks has grown by more than `_GROWTH`.

        While the user is away, also run a collection that visits all objects that are not frozen, once per ten minutes.
        This method has no effect before `freeze_once` has frozen objects.

        Args:
            now: current time, in seconds of any clock.
            last_view: time of the last change of the view, by the same clock.
        """
        if not self._frozen:
            return
        self._blocks = min(self._blocks, blocks := sys.getallocatedblocks())
        young = gc.get_count()[0]
        away = now - last_view > _AWAY_AFTER and now - self._full_collection_at > _FULL_COLLECTION_INTERVAL
        if not away and blocks - self._blocks <= _GROWTH:
            return
        if young <= _YOUNG:
            if away:
                self._full_collection_at = now
            self._collect(2 if away else 1, young)
        elif self._postponed < _POSTPONED_MOST:
            self._postponed += 1
        else:
            self._freeze()

    def _collect(self, generation: int, young: int) -> None:
        freed = gc.collect(generation)
        self._old = max(self._old + young - freed, 0)
        if self._old > _OLD:
            self._freeze()
        self._start_again()

    def _freeze(self) -> None:
        gc.freeze()
        self._old = 0
        self._start_again()

    def _start_again(self) -> None:
        self._postponed = 0
        self._blocks = sys.getallocatedblocks()
        self._return_memory()

    def _return_memory(self) -> None:
        if self._trim is not None:
            # `malloc_trim` takes milliseconds. In a thread, it does not block the event loop, because ctypes releases
            # the GIL during the call.
            Thread(target=self._trim, args=(0,), name="return memory", daemon=True).start()

    def release(self) -> None:
        """Unfreeze all objects, and enable automatic collections again if they were enabled before the first pause."""
        self._enable()
        if self._frozen:
            gc.unfreeze()
            self._frozen = False


_untrack: Callable[[object], None] | None = None


def untrack(data: T) -> T:
    """Stop the garbage collector from visiting an object, and return the object.

    Before `GcTuning.freeze_once` has frozen objects, this function only returns the object.

    Args:
        data: a list, a mapping or an object with slots. It must not be part of a reference cycle. When it is changed,
            Python may track it again.
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
    """Make glibc return large blocks to the operating system when they are freed. Do nothing with other C libraries.

    By default, after the first large block has been freed, glibc keeps later blocks of this size even when they are
    free. Responses to ListGroups are such blocks: with 100,000 groups, 15 to 20 MB would stay allocated.

    Returns:
        glibc's function `malloc_trim`, which returns smaller free blocks to the operating system; None with other C
        libraries.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and hasattr(library, "malloc_trim"):
        library.mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)
        return cast("Callable[[int], object]", library.malloc_trim)
    return None

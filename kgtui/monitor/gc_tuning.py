"""Tuning of Python's garbage collector, so that it does not block the event loop in a cluster with many groups.

With 100,000 groups, a full collection takes up to 0.2 s, because it visits every mapping and list of groups. A
collection of young objects takes 10 to 20 ms, because each poll creates many objects. Therefore:

- In all clusters, automatic collections are disabled while a poll is stored.
- With many groups, they stay disabled. The objects of the first load are frozen (`gc.freeze`), so that no collection
  visits them. Objects that are created for every group later are untracked, because they are never part of a cycle.
- Only exceptions, layouts and closed dialogs then leave reference cycles. `GcTuning.tidy` collects these cycles when
  memory has grown, and freezes the objects that remain. While the user is away, it also visits the frozen objects.

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
"""The next collection starts when this number of memory blocks, about 2 MB, has been added since the last one."""

_AWAY_AFTER = 60.0
"""Time without a change of the view, in seconds, after which the user is considered to be away."""

_FULL_COLLECTION_INTERVAL = 600.0
"""Minimum time between two collections that visit all objects, including frozen ones, in seconds."""

_M_MMAP_THRESHOLD = -3
"""Constant M_MMAP_THRESHOLD of glibc, which selects the option that `mallopt` sets."""

_MMAP_THRESHOLD = 256 * 1024
"""Value of M_MMAP_THRESHOLD in bytes.

glibc allocates larger blocks with `mmap`, so that it can return each of them to the system.
"""


class GcTuning:
    """Disables automatic garbage collections, and runs collections when the user notices them least."""

    def __init__(self) -> None:
        self._pauses = 0
        self._frozen = False
        self._switched_off = False
        self._full_collection_at = 0.0
        self._blocks = 0  # smallest observed number of allocated memory blocks since the last garbage collection
        self._trim: Callable[[int], object] | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context manager in which automatic garbage collections are disabled.

        Contexts may overlap. The end of the last one enables automatic collections again if they were enabled before
        the first one. After `freeze_once` has frozen objects, automatic collections stay disabled.
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

        Call this after the groups were drawn. Only the first call with enough groups has an effect. Garbage is frozen
        too, because finding it would take a full collection, for which the user would have to wait. `tidy` frees it
        later.

        Args:
            groups: number of groups in the cluster.
        """
        if not self._frozen and groups >= _FREEZE_FROM:
            self._frozen = True
            self._disable()
            gc.freeze()
            self._blocks = sys.getallocatedblocks()
            self._trim = _return_large_blocks()
            _begin_to_untrack()

    def tidy(self, now: float, last_view: float) -> None:
        """Run a collection if the number of memory blocks has grown by more than `_GROWTH`.

        While the user is away, also run a full collection, which visits frozen objects too, once per ten minutes. This
        method has no effect before `freeze_once` has frozen objects.

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
            # Return free memory to the system in a thread, because this takes milliseconds. The call does not block
            # the event loop, because ctypes releases the GIL.
            Thread(target=self._trim, args=(0,), name="return memory", daemon=True).start()

    def release(self) -> None:
        """Restore the garbage collector to its state before the first pause."""
        self._enable()
        if self._frozen:
            gc.unfreeze()
            self._frozen = False


_untrack: Callable[[object], None] | None = None


def untrack(data: T) -> T:
    """Stop the garbage collector from visiting an object, and return the object.

    This has no effect before `GcTuning.freeze_once` has frozen objects.

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
    """Make glibc return large blocks to the system when they are freed. With other C libraries, do nothing.

    By default, once a large block has been freed, glibc keeps later blocks of this size in its heap, even after they
    were freed. The responses to ListGroups are such blocks. With 100,000 groups, 15 to 20 MB stay allocated.

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

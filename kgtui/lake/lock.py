"""The locks of a lake on a local disk. Only one process can record into the lake, and only one can run the pipeline.

A lock file names the process that holds the lock. Normally, this process deletes the file when it ends. If the file
exists, but the named process is no longer running, the process has crashed.

On one machine, the kernel's file lock (`flock`) prevents a second process from taking the lock. A process on a
different machine counts as running as long as it keeps renewing the lock file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kgtui.errors import RefusedError
from kgtui.lake.lock_holder import STALE, LakeLock, held_by, parse_holder, this_process
from kgtui.lake.store import StorePath
from kgtui.private_files import open_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kgtui.lake.lock_holder import Holder
    from kgtui.lake.store import LakePath

_LONGEST = 4_096


class RecorderLock(LakeLock):
    """A lock of a lake on a local disk: the recorder's or the pipeline's. Only one process at a time can hold it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self.crashed_holder: Holder | None = None
        self.enforced = True

    def take(self) -> None:
        while True:
            file = open_private(self._path, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not self._is_current(file):
                    # Another process removed this file between `open` and `flock`. Try again with a new file.
                    os.close(file)
                    continue
                before = _read(file)
                self._refuse_running_holder(file, before)
            except BlockingIOError:
                holder = _read(file)
                os.close(file)
                raise RefusedError(held_by(self._path, holder)) from None
            except BaseException:
                with contextlib.suppress(OSError):
                    os.close(file)
                raise
            self.crashed_holder = before
            _write(file, this_process())
            self._file = file
            return

    def renew(self) -> None:
        """Update the modification time of the lock file, so that other processes see that its holder is running.

        Errors are ignored.
        """
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.utime(self._file)

    def release(self, clean: bool = True) -> None:
        if self._file is not None:
            if clean:
                with contextlib.suppress(OSError):
                    self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def hand_back(self) -> None:
        if self._file is not None and self.crashed_holder is not None:
            _write(self._file, self.crashed_holder)
            self.release(clean=False)
        else:
            self.release()

    def _refuse_running_holder(self, file: int, before: Holder | None) -> None:
        """Raise `RefusedError` if a process on another machine holds the lock.

        A process on another machine counts as holding the lock if it renewed the lock in the last `STALE` seconds.

        Args:
            before: the process that the lock file names; None if it names no process.
        """
        # The kernel's file lock does not always work between machines, so also check the age of the lock file.
        foreign = before is not None and not before.is_local
        if foreign and time.time() - os.fstat(file).st_mtime < STALE:
            raise RefusedError(held_by(self._path, before))

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))
        except FileNotFoundError:
            return False


@contextmanager
def held(lock: LakeLock, on_lost: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock until the end of the `with` block. A background thread renews the lock regularly.

    Args:
        on_lost: function that is called in the background thread, with a message for the user, if another process has
            taken the lock.

    Raises:
        RefusedError: another process holds the lock.
        OSError: the lock file cannot be written.
    """
    lock.take()
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(STALE / 4):
            try:
                lock.renew()
            except RefusedError as error:
                on_lost(str(error))
                return
            except OSError:
                continue  # The store cannot be written now. Try again after the next pause.

    thread = threading.Thread(target=renew, name="renew the lock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        lock.release()


def current_holder(path: LakePath) -> Holder | None:
    """Return the running process that holds a lock; None if there is none or the lock file cannot be read.

    Args:
        path: the lock file.
    """
    if isinstance(path, StorePath):
        from kgtui.lake.store_lock import current_store_holder

        return current_store_holder(path)
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        holder, renewed = _read(file), os.fstat(file).st_mtime
    finally:
        os.close(file)
    return holder if holder is not None and holder.is_alive(time.time() - renewed) else None


def recorder_lock(path: LakePath) -> LakeLock:
    """Return the recorder's or the pipeline's lock of a lake. It is not held until its method `take` is called.

    Args:
        path: the lock file.
    """
    if isinstance(path, StorePath):
        from kgtui.lake.store_lock import StoreLock

        return StoreLock(path)
    return RecorderLock(path)


def _read(file: int) -> Holder | None:
    try:
        return parse_holder(os.pread(file, _LONGEST, 0))
    except OSError:
        return None


def _write(file: int, holder: Holder) -> None:
    os.ftruncate(file, 0)
    os.pwrite(file, holder.encode(), 0)
    os.fsync(file)

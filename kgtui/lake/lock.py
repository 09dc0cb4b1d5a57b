"""The lock file of a lake, so that only one process records into it.

On the same machine the kernel's file lock shows whether the holder is alive. For a holder on another machine with the
same shared folder, the modification time of the file does; the holder renews it. A lock file that nobody holds means
that the last recorder did not shut down properly.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kgtui.errors import RefusedError
from kgtui.model.text import visible

if TYPE_CHECKING:
    from pathlib import Path

STALE = 120.0
"""Seconds since the last renewal after which a holder on another machine counts as dead."""

_LONGEST = 4_096


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds the lock.

    Attributes:
        since: when it took the lock, in seconds since the epoch.
    """

    host: str
    pid: int
    since: float

    def __str__(self) -> str:
        return f"process {self.pid} on {visible(self.host)}"


class RecorderLock:
    """The lock of one lake, held from `take` to `release`.

    Attributes:
        crashed_holder: the previous holder if it ended without releasing the lock; None otherwise.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self.crashed_holder: Holder | None = None

    def take(self) -> None:
        """Take the lock.

        Raises:
            RefusedError: another process holds it; the message names its host and process id.
            OSError: the file cannot be written.
        """
        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not self._is_current(file):  # another process has just released and removed it
                    os.close(file)
                    continue
                before = _read(file)
                self._refuse_living(file, before)
            except BlockingIOError:
                holder = _read(file)
                os.close(file)
                raise RefusedError(_held_by(self._path, holder)) from None
            except BaseException:
                with contextlib.suppress(OSError):
                    os.close(file)
                raise
            self.crashed_holder = before
            _write(file, Holder(socket.gethostname(), os.getpid(), round(time.time(), 3)))
            self._file = file
            return

    def renew(self) -> None:
        """Update the modification time of the file, so that other machines see that the holder is alive."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.utime(self._file)

    def release(self, clean: bool = True) -> None:
        """Release the lock. With `clean` the file is removed; otherwise the next holder reports a crash."""
        if self._file is not None:
            if clean:
                with contextlib.suppress(OSError):
                    self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def hand_back(self) -> None:
        """Release the lock and restore the file as it was found.

        Used by maintenance, so that the next recorder still learns that the recorder before crashed.
        """
        if self._file is not None and self.crashed_holder is not None:
            _write(self._file, self.crashed_holder)
            self.release(clean=False)
        else:
            self.release()

    def _refuse_living(self, file: int, before: Holder | None) -> None:
        """Refuse a live holder on another machine, where the kernel's lock may not be visible."""
        foreign = before is not None and before.host != socket.gethostname()
        if foreign and time.time() - os.fstat(file).st_mtime < STALE:
            raise RefusedError(_held_by(self._path, before))

    def _is_current(self, file: int) -> bool:
        """Whether the open file still has the name of the lock file."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))
        except FileNotFoundError:
            return False


def current_holder(path: Path) -> Holder | None:
    """Return the process that holds a lock, without touching the file; None when nobody holds it."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        holder, renewed = _read(file), os.fstat(file).st_mtime
    finally:
        os.close(file)
    if holder is None:
        return None
    if holder.host != socket.gethostname():
        return holder if time.time() - renewed < STALE else None
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return holder
    return holder


def _held_by(path: Path, holder: Holder | None) -> str:
    name = str(holder) if holder is not None else "another process"
    return f"{name} is recording into {path.parent} already. Only one process can record into a lake."


def _read(file: int) -> Holder | None:
    try:
        values = json.loads(os.pread(file, _LONGEST, 0))
        return Holder(str(values["host"]), int(values["pid"]), float(values["since"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(file: int, holder: Holder) -> None:
    data = json.dumps(asdict(holder)).encode()
    os.ftruncate(file, 0)
    os.pwrite(file, data, 0)
    os.fsync(file)

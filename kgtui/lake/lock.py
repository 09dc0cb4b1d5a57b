"""One recorder per lake: a lock file that names who holds it.

On one machine the kernel's lock tells whether the holder lives; for another machine, on a shared folder, the file's
time does, which the holder renews. A file that is left behind tells of a recorder that did not come to its end.
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
"""Seconds without a sign of life after which a holder on another machine counts as gone."""

_LONGEST = 4_096


@dataclass(frozen=True, slots=True)
class Holder:
    """Who records.

    Attributes:
        since: seconds since the epoch.
    """

    host: str
    pid: int
    since: float

    def __str__(self) -> str:
        return f"process {self.pid} on {visible(self.host)}"


class RecorderLock:
    """The lock of one lake, held from `take` to `release`.

    Attributes:
        left_by: the holder before, when it ended without releasing; None otherwise.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self.left_by: Holder | None = None

    def take(self) -> None:
        """Take the lock.

        Raises:
            RefusedError: another process records; names its host and process.
            OSError: the file cannot be written.
        """
        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not self._current(file):  # released, and so removed, by another just now
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
            self.left_by = before
            _write(file, Holder(socket.gethostname(), os.getpid(), round(time.time(), 3)))
            self._file = file
            return

    def renew(self) -> None:
        """Give a sign of life to other machines."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.utime(self._file)

    def release(self, clean: bool = True) -> None:
        """Let go of it; the file goes too, unless the next holder shall be told that something is amiss."""
        if self._file is not None:
            if clean:
                with contextlib.suppress(OSError):
                    self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def hand_back(self) -> None:
        """Let go of it and leave it as it was found: the next recorder learns of the one before, not of this holder."""
        if self._file is not None and self.left_by is not None:
            _write(self._file, self.left_by)
            self.release(clean=False)
        else:
            self.release()

    def _refuse_living(self, file: int, before: Holder | None) -> None:
        """On another machine the kernel's lock may not be seen."""
        foreign = before is not None and before.host != socket.gethostname()
        if foreign and time.time() - os.fstat(file).st_mtime < STALE:
            raise RefusedError(_held_by(self._path, before))

    def _current(self, file: int) -> bool:
        """Whether the open file is still the one under the lock's name."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))
        except FileNotFoundError:
            return False


def current_holder(path: Path) -> Holder | None:
    """Who holds a lock, as far as its file tells without touching it; None when nobody does."""
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
    who = str(holder) if holder is not None else "another process"
    return f"{path.parent} is being recorded by {who}: a lake has one recorder"


def _read(file: int) -> Holder | None:
    try:
        told = json.loads(os.pread(file, _LONGEST, 0))
        return Holder(str(told["host"]), int(told["pid"]), float(told["since"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(file: int, holder: Holder) -> None:
    data = json.dumps(asdict(holder)).encode()
    os.ftruncate(file, 0)
    os.pwrite(file, data, 0)
    os.fsync(file)

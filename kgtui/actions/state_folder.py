"""Where backups and the audit log lie: `backups/`, `audit.jsonl` and a lock in the state folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


def private_folder(path: Path) -> Path:
    """Make a folder that only its owner can read, with its parents. Raises OSError."""
    path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    return path


def write_new(path: Path, data: bytes) -> None:
    """Write a new file, 0600: under its name it is whole and on the disk, or not there. Raises OSError.

    The name itself is on the disk after `sync_folder`, which serves several files at once.
    """
    private_folder(path.parent)
    if path.exists():
        raise FileExistsError(errno.EEXIST, "there is a file of this name", str(path))
    draft = path.with_name(f".{path.name}.part")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Put the names in a folder on the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def append_line(path: Path, line: bytes) -> None:
    """Append one line, 0600, and put it on the disk; several processes may do so at once.

    A line that does not fit on the disk is taken back whole. A line torn by a crash is closed first, so that it spoils
    no other. Raises OSError.
    """
    private_folder(path.parent)
    fresh = not path.exists()
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _FILE_MODE)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        try:
            _write_all(file, (b"\n" if torn else b"") + line + b"\n")
            os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file, size)
            raise
    finally:
        os.close(file)
    if fresh:
        sync_folder(path.parent)


def _write_all(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


@contextlib.contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Held while writes are under way; the kernel lets go of it when the process dies. Raises OSError."""
    private_folder(path.parent)
    file = os.open(path, os.O_RDWR | os.O_CREAT, _FILE_MODE)
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield
    finally:
        os.close(file)


@contextlib.contextmanager
def sole_lock(path: Path) -> Iterator[bool]:
    """Yields whether nobody holds the shared lock now, and keeps others from taking it meanwhile. Raises OSError."""
    private_folder(path.parent)
    file = os.open(path, os.O_RDWR | os.O_CREAT, _FILE_MODE)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(file)


@dataclass(frozen=True, slots=True)
class StateFolder:
    """The folder that survives a session."""

    path: Path

    @property
    def backups(self) -> Path:
        """One JSON-lines file and one CSV for each deleted group."""
        return self.path / "backups"

    @property
    def audit(self) -> Path:
        """The audit log."""
        return self.path / "audit.jsonl"

    @property
    def lock(self) -> Path:
        """Held, shared, by every process that is in the middle of a write."""
        return self.path / "writing.lock"

    def check(self) -> None:
        """Try to write there. Raises `RefusedError` with the reason: what cannot be backed up is not deleted."""
        try:
            private_folder(self.path)
            with tempfile.NamedTemporaryFile(dir=private_folder(self.backups)) as probe:
                probe.write(b"\0" * 4096)
                probe.flush()
                os.fsync(probe.fileno())
            sync_folder(self.path)
        except OSError as error:
            why = error.strerror or error
            raise RefusedError(f"backups and audit log cannot be written to {self.path}: {why}") from error

"""Writes backups and the audit log as files that only the user can read, and syncs them to disk."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
from typing import TYPE_CHECKING

from kgtui.config.state_folder import private_folder
from kgtui.errors import RefusedError
from kgtui.private_files import open_private, write_synced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kgtui.config import StateFolder


def write_new(path: Path, data: bytes) -> None:
    """Write a new file with mode 0600, and sync its contents to disk.

    If this raises OSError, no new file is left behind. This function does not sync the folder. Therefore, call
    `sync_folder` after the last new file in a folder.
    """
    private_folder(path.parent, inside=True)
    if path.exists():
        raise FileExistsError(errno.EEXIST, "a file with this name exists", str(path))
    draft = path.with_name(f".{path.name}.part")
    try:
        write_synced(draft, data, os.O_EXCL)
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)


def has_drafts(folder: Path) -> bool:
    """Return whether a folder contains incomplete files, for example of a process that was killed during `write_new`.

    Raises OSError.
    """
    return any(True for _ in _drafts(folder))


def remove_drafts(folder: Path) -> None:
    """Remove incomplete files of processes that were killed while they wrote the files. Raises OSError.

    Hold `sole_lock` during this call. Otherwise, the call could remove a backup that another process is writing.
    """
    for draft in _drafts(folder):
        draft.unlink(missing_ok=True)


def _drafts(folder: Path) -> Iterable[Path]:
    return () if folder.is_symlink() else folder.glob(".*.part")


def sync_folder(path: Path) -> None:
    """Sync the directory entries of a folder to disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def append_line(path: Path, line: bytes) -> None:
    """Append one line to a file with mode 0600, and sync the file to disk. Raises OSError.

    Several processes can append at the same time. If the write fails, the file is unchanged.
    """
    private_folder(path.parent)
    fresh = not path.exists()
    file = open_private(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        # A crash can leave an incomplete last line in the file. In this case, begin a new line.
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
    """Hold a shared lock on a file while groups are deleted, so that `sole_lock` yields False in other processes.

    If the process is killed, the operating system releases the lock. Raises OSError.
    """
    private_folder(path.parent)
    file = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield
    finally:
        os.close(file)


@contextlib.contextmanager
def sole_lock(path: Path) -> Iterator[bool]:
    """Try to take an exclusive lock on a file.

    Yield True if this process now holds the lock, and False if a different process holds a lock on the file.

    Raises OSError.
    """
    private_folder(path.parent)
    file = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(file)


def check_writable(folder: StateFolder) -> None:
    """Check that backups can be written, by writing a temporary file.

    Raises `RefusedError` if that fails, because no group is deleted without a backup.
    """
    try:
        private_folder(folder.path)
        with tempfile.NamedTemporaryFile(dir=private_folder(folder.backups, inside=True)) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
            os.fsync(probe.fileno())
        sync_folder(folder.path)
    except OSError as error:
        why = error.strerror or error
        raise RefusedError(f"backups and the audit log cannot be written to {folder.path}: {why}") from error

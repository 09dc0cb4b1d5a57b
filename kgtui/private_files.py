"""Files that only their owner can read: how every part of kgtui opens, replaces and creates them."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def open_private(path: Path, flags: int) -> int:
    """Open a file with `os.open`, and return its file descriptor. A new file gets mode 0600.

    Raises:
        OSError: the file cannot be opened, or is a symbolic link.
    """
    try:
        return os.open(path, flags | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            error.strerror = "the file is a symbolic link; remove it"
        raise


def write_synced(path: Path, data: bytes, flags: int) -> None:
    """Write a file with mode 0600 and sync it to disk.

    Args:
        flags: flags of `os.open`, in addition to those for writing and for creating the file.

    Raises:
        OSError: the file cannot be written. It may then be incomplete.
    """
    with open(open_private(path, os.O_WRONLY | os.O_CREAT | flags), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_private(path: Path, data: bytes) -> None:
    """Write a file with mode 0600, completely or not at all, in place of an existing file, and sync it to disk.

    Raises:
        OSError: the file cannot be written. The existing file is unchanged.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_synced(draft, data, os.O_TRUNC)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def owner_only() -> Iterator[None]:
    """Context manager in which all threads and new subprocesses create files with permissions for their owner only."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)

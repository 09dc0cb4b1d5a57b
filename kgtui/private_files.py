"""Creates, opens and replaces private files of kgtui (mode 0600), and reads files whose paths come from the user."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


LARGEST_INPUT = 1_000_000
"""Maximum size of a file with settings, client properties, keys or certificates, in bytes. A larger file is refused."""

_NOT_REGULAR = "this is not a regular file"
_PIPES = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""Path prefixes of the pipes that `read_input` accepts, such as a shell's pipe for `<(COMMAND)`."""


def read_input(path: Path, limit: int | None = LARGEST_INPUT) -> bytes:
    """Return the content of a file whose path comes from the user.

    Devices and named pipes are refused, because reading them could take forever. The only exceptions are `/dev/null`,
    and the pipes that a shell creates for `<(COMMAND)` or as standard input.

    Args:
        limit: largest size in bytes; None for no limit.

    Raises:
        OSError: the file cannot be read, is too large, or is refused. The attribute `strerror` contains the reason.
    """
    # Without O_NONBLOCK, opening a named pipe would wait for a process that writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if stat.S_ISCHR(mode) and status.st_rdev == os.stat(os.devnull).st_rdev:
            return b""
        if stat.S_ISFIFO(mode) and str(path).startswith(_PIPES):
            os.set_blocking(descriptor, True)
        elif not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, _NOT_REGULAR, str(path))
        data = file.read(-1 if limit is None else limit + 1)
    if limit is not None and len(data) > limit:
        raise OSError(errno.EFBIG, f"the file has more than {limit:,} bytes", str(path))
    return data


def open_private(path: Path, flags: int) -> int:
    """Open a file with `os.open`, and return its descriptor. A new file gets mode 0600.

    Raises:
        OSError: the file cannot be opened, or is a symbolic link, a pipe or a device.
    """
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            error.strerror = "the file is a symbolic link; remove it"
        elif error.errno == errno.ENXIO:
            error.strerror = f"{_NOT_REGULAR}; remove it"
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, f"{_NOT_REGULAR}; remove it", str(path))
    return file


def write_synced(path: Path, data: bytes, flags: int) -> None:
    """Write a file and sync it to disk. A new file gets mode 0600.

    Args:
        flags: additional flags for `os.open`, such as `O_TRUNC`.

    Raises:
        OSError: the file was not written completely.
    """
    with open(open_private(path, os.O_WRONLY | os.O_CREAT | flags), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_private(path: Path, data: bytes) -> None:
    """Write `data` to a new file of mode 0600, sync it to disk, and atomically replace the file at `path` with it.

    Raises:
        OSError: the new file cannot be written. The file at `path` is unchanged.
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
    """While the `with` block runs, set the umask so that new files can be read and written only by their owner.

    The umask belongs to the whole process. Therefore, it also applies to files that other threads and new subprocesses
    create.
    """
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)

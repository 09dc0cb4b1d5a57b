"""Handling of an output stream whose reader has exited, as in `kgtui ls | head -1`."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def redirect_to_devnull(stream: TextIO) -> None:
    """Discard the buffer of the stream and everything that is written to the stream from now on.

    Without this, the interpreter's last flush would print an error and change the exit code of the process.
    """
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(devnull, stream.fileno())
        finally:
            os.close(devnull)

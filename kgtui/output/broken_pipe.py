"""Handles broken pipes: the process that reads kgtui's output has exited, as in `kgtui ls | head -1`."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def redirect_to_devnull(stream: TextIO) -> None:
    """Discard the buffer of the stream, and everything that is written to the stream from now on.

    Otherwise the interpreter would flush the stream when it exits, fail, print an error, and change the exit code.
    """
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(devnull, stream.fileno())
        finally:
            os.close(devnull)

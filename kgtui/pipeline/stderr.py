"""What a JVM says on standard error, without what no user of ours has any use for."""

from __future__ import annotations

import os
import re
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOISE = re.compile(
    rb"(?m)^(?:WARNING: Using incubator modules: "
    rb"|Streaming ForeachBatch worker (?:is starting|Started|Completed) )[^\n]*(?:\n|\Z)"
)
"""Said at every start of a JVM with Spark's own options; and by Spark Connect of each stream, with the server's token,
and of each of its batches."""

_BEGINS = (b"WARNING: Using", b"Streaming ForeachBatch")

_CHUNK = 65_536


@contextmanager
def without_noise() -> Iterator[None]:
    """What processes that are started meanwhile write to standard error, as long as they run, goes through a filter."""
    sys.stderr.flush()
    ours = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    threading.Thread(target=_pass_on, args=(reading, ours), name="stderr of the JVM", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(ours, 2)


def _pass_on(reading: int, to: int) -> None:
    line = b""  # one that may become noise, not yet whole
    try:
        while chunk := os.read(reading, _CHUNK):
            whole, end, line = (line + chunk).rpartition(b"\n")
            if not any(begin.startswith(line[: len(begin)]) for begin in _BEGINS):
                whole, end, line = whole + end, line, b""
            _write(to, _NOISE.sub(b"", whole + end))
        _write(to, _NOISE.sub(b"", line))
    except OSError:  # nobody listens any more
        return
    finally:
        os.close(reading)
        os.close(to)


def _write(to: int, said: bytes) -> None:
    while said:
        said = said[os.write(to, said) :]

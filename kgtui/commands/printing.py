"""Results on stdout, everything else on stderr, one line each; a reader that went away ends the program quietly."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kgtui.model.text import visible
from kgtui.output import marks

if TYPE_CHECKING:
    from typing import TextIO


def put_text(text: str) -> None:
    """Print a table, in the terminal's encoding; marks that it does not have are written in ASCII."""
    sys.stdout.write(_fitting(text, sys.stdout))
    sys.stdout.flush()


def put_bytes(data: bytes) -> None:
    """Print a machine format, in UTF-8 whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say(message: str) -> None:
    """One line on stderr, with the program's name before it; what is not text in it is made harmless."""
    sys.stderr.write(_fitting(f"kgtui: {visible(message)}\n", sys.stderr))
    sys.stderr.flush()


def _fitting(text: str, stream: TextIO) -> str:
    if text.isascii():
        return text
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(marks.ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text

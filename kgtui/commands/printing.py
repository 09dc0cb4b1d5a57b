"""Results on stdout, everything else on stderr, one line each; a reader that went away ends the program quietly."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.model.text import visible
from kgtui.output import marks
from kgtui.output.broken_pipe import redirect_to_devnull

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from kgtui.output.formats import Format


def print_text(text: str) -> None:
    """Print a table, in the terminal's encoding; marks that it does not have are written in ASCII.

    Raises:
        KgtuiError: it cannot be written there, as when the disk is full.
    """
    with _to_stdout():
        sys.stdout.write(_fitting(text, sys.stdout))
        sys.stdout.flush()


def print_bytes(data: bytes) -> None:
    """Print a machine format, in UTF-8 whatever the locale. Raises as `print_text`."""
    with _to_stdout():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def print_result(
    output_format: Format,
    *,
    table: Callable[[], str],
    json: Callable[[], bytes],
    csv: Callable[[], bytes] | None = None,
) -> None:
    """Print a result in the format that `--format` names; only the function for that format is called."""
    if output_format == "json":
        print_bytes(json())
    elif output_format == "csv" and csv is not None:
        print_bytes(csv())
    else:
        print_text(table())


def terminal_width() -> int | None:
    """Cells of a line of the terminal that is printed to; None where that is none."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def notify(message: str) -> None:
    """One line on stderr, with the program's name before it; what is not text in it is made harmless."""
    sys.stderr.write(_fitting(f"kgtui: {visible(message)}\n", sys.stderr))
    sys.stderr.flush()


@contextmanager
def _to_stdout() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        redirect_to_devnull(sys.stdout)
        raise KgtuiError(f"the output cannot be written: {error.strerror or error}") from error


def _fitting(text: str, stream: TextIO) -> str:
    if text.isascii():
        return text
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(marks.ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text

"""Prints results on stdout, and messages and progress on stderr.

If the program that reads stdout, such as `head` in a pipe, has exited, kgtui ends without a message.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVarTuple

from kgtui.errors import KgtuiError
from kgtui.model.marks import TO_ASCII
from kgtui.model.text import visible, visible_sentence
from kgtui.output import redirect_to_devnull

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType
    from typing import Self, TextIO

    from kgtui.model.answer import Fault
    from kgtui.output.formats import Format


Data = TypeVarTuple("Data")

_MOST_CHARACTERS = 4_000
"""Maximum length of a message on stderr, in characters."""

_CLEAR = "\x1b[H\x1b[2J"


def print_text(text: str) -> None:
    """Print text on stdout. Characters that the encoding of stdout lacks are replaced with ASCII or escaped.

    Raises:
        KgtuiError: stdout cannot be written, for example because a disk is full.
        BrokenPipeError: the program that reads stdout has exited.
    """
    with _to_stdout():
        sys.stdout.write(_encodable(text, sys.stdout))
        sys.stdout.flush()


def print_bytes(data: bytes) -> None:
    """Write UTF-8 data, such as JSON, to stdout unchanged, even if stdout has another encoding.

    Raises the same errors as `print_text`.
    """
    with _to_stdout():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def stdout_is_closed() -> bool:
    """Return whether the program that reads stdout has exited, or the terminal is closed.

    This function does not write to stdout. If the state of stdout cannot be determined, the result is False.
    """
    from select import poll

    watcher = poll()
    try:
        watcher.register(sys.stdout.fileno(), 0)  # With the event mask 0, `poll` reports only errors and closed pipes.
    except (OSError, ValueError):
        return False
    return bool(watcher.poll(0))


def print_result(
    output_format: Format,
    writers: Mapping[Format, Callable[[*Data], str | bytes]],
    *data: *Data,
    clear: bool = False,
) -> None:
    """Print data on stdout in the format that the option `--format` names.

    Args:
        writers: format → function that takes `data`, and returns text or UTF-8 bytes.
        clear: whether to clear the screen first, if stdout is a terminal and the result is text.

    Raises:
        KeyError: `writers` has no function for the format.
    """
    result = writers[output_format](*data)
    terminal = sys.stdout.isatty()
    if isinstance(result, str):
        print_text(_CLEAR + result if clear and terminal else result)
    elif output_format == "csv" and terminal:
        # Escape control characters on a terminal. In files and pipes, keep them, because programs that read CSV would
        # not decode the escapes.
        lines = result.decode("utf-8", "surrogateescape").split("\n")
        print_bytes("\n".join(map(visible, lines)).encode())
    else:
        print_bytes(result)


def terminal_width() -> int | None:
    """Return the width of the terminal, in cells; None if stdout is not a terminal."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def notify(message: str) -> None:
    """Print one line on stderr, with the prefix `kgtui:` and with control characters escaped.

    The middle of a very long message is left out, because a broker can send megabytes of text.
    """
    if len(message) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2
        message = f"{message[:half]} … ({len(message) - 2 * half:,} characters left out) … {message[-half:]}"
    print_error(f"kgtui: {visible_sentence(message)}\n")


stderr_failed = False
"""Whether writing text to stderr has failed. If so, the exit code is 1 instead of 0."""


def print_error(text: str) -> None:
    """Print text on stderr. If this fails, set `stderr_failed`, and let the command continue."""
    global stderr_failed
    try:
        sys.stderr.write(_encodable(text, sys.stderr))
        sys.stderr.flush()
    except OSError:
        stderr_failed = True
        redirect_to_devnull(sys.stderr)


def notify_faults(faults: Iterable[Fault]) -> None:
    """Print the errors on stderr, one per line.

    If several groups have the same error, the line names only the first group, and the number of the other groups.
    """
    lines: dict[tuple[str, int | None], str] = {}
    counts: dict[tuple[str, int | None], int] = {}
    for fault in faults:
        key = (fault.name, None if fault.group is not None else fault.broker)
        where = f"group {fault.group}: " if fault.group is not None else ""
        if not where and fault.broker is not None:
            where = f"broker {fault.broker}: "
        advice = f" ({fault.advice})" if fault.advice else ""
        lines.setdefault(key, f"{where}{fault.message} [{fault.name}]{advice}")
        counts[key] = counts.get(key, 0) + 1
    for key, line in lines.items():
        notify(line + (f" (and {counts[key] - 1} more with the same error)" if counts[key] > 1 else ""))


@contextmanager
def _to_stdout() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        redirect_to_devnull(sys.stdout)
        raise KgtuiError(f"cannot write the output: {error.strerror or error}") from error


def _encodable(text: str, stream: TextIO) -> str:
    if text.isascii():
        return text
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(TO_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text


_REDRAW = 0.1
"""Minimum time between two updates of the progress line on a terminal, in seconds."""
_PROGRESS_INTERVAL = 10.0
"""Minimum time between two progress lines that `Progress` prints if its stream is not a terminal, in seconds."""
_ERASE = "\x1b[2K\r"


class Progress:
    """Context manager that shows a progress line on a terminal, and erases the line at the end.

    Args:
        stream: where the line is shown; None for stderr. If the stream is not a terminal, updates are printed as
            separate lines on stderr, at most one every `_PROGRESS_INTERVAL` seconds.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._every = _REDRAW if self._live else _PROGRESS_INTERVAL
        self._last = time.monotonic() if not self._live else -_REDRAW
        self._shown = False

    def update(self, sentence: str) -> None:
        """Show a sentence. If the last sentence was shown too recently, ignore the new one.

        The minimum time between two sentences is `_REDRAW` on a terminal, otherwise `_PROGRESS_INTERVAL`.
        """
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        if self._live:
            self._stream.write(f"{_ERASE}kgtui: {visible_sentence(sentence)}")
            self._stream.flush()
            self._shown = True
        else:
            notify(sentence)

    def end(self) -> None:
        """Erase the progress line."""
        if self._shown:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

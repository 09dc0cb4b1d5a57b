"""Shows progress on stderr: on a terminal as one line that is redrawn, otherwise as a new line every 10 s."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kgtui.commands.printing import notify
from kgtui.model.text import visible

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self, TextIO

_REDRAW = 0.1
"""Minimum time between two updates of the line on a terminal, in seconds."""
_REPEAT = 10.0
"""Minimum time between two lines if stderr is not a terminal, in seconds."""
_ERASE = "\x1b[2K\r"


class Progress:
    """Shows the progress of an operation. As a context manager, it erases the progress line at the end.

    Args:
        stream: where the line is written; stderr by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._every = _REDRAW if self._live else _REPEAT
        self._last = time.monotonic() if not self._live else -_REDRAW
        self._shown = False

    def update(self, sentence: str) -> None:
        """Show the sentence. It is dropped if the previous one has been shown for less than the minimum time."""
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        if self._live:
            self._stream.write(f"{_ERASE}kgtui: {visible(sentence)}")
            self._stream.flush()
            self._shown = True
        else:
            notify(sentence)

    def end(self) -> None:
        """Erase the line."""
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

"""One line on stderr that tells how far long work is: rewritten on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kgtui.commands.printing import notify
from kgtui.model.text import visible

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self, TextIO

_REDRAW, _REPEAT = 0.1, 10.0
_ERASE = "\x1b[2K\r"


class Progress:
    """How far the work is; as a context manager, the line is gone at the end.

    Args:
        stream: by default stderr.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._every = _REDRAW if self._live else _REPEAT
        self._last = time.monotonic() if not self._live else -_REDRAW
        self._shown = False

    def tell(self, sentence: str) -> None:
        """How far it is now; shown if the last time was long enough ago."""
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
        """Take the line away."""
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

"""The driver of the terminal: Textual's, with fewer bytes in a frame, and without an end when the terminal has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.output.nowhere import lead_nowhere
from kgtui.tui.frugal import frugal

if TYPE_CHECKING:
    from typing import TextIO

    from textual.driver import Driver


def driver_on(driver: type[Driver]) -> type[Driver]:
    """A driver that is like this one but for what it writes, and where to."""

    class KgtuiDriver(driver):  # type: ignore[misc, valid-type]
        """Writes frugal frames to a terminal that may go away."""

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            file: TextIO | None = getattr(self, "_file", None)
            if file is not None:
                self._file = Enduring(file)

        def write(self, data: str) -> None:
            super().write(frugal(data))

    return KgtuiDriver


class Enduring:
    """A terminal that takes what is written to it after its end, too.

    Textual writes in a thread, which an error would end; the frames behind would fill its queue, and the whole program
    wait for ever to put one more into it, its farewell to the terminal at the latest.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, words: str) -> int:
        """Write, or lose it; how many characters were taken."""
        try:
            return self._file.write(words)
        except OSError:
            lead_nowhere(self._file)
            return len(words)

    def flush(self) -> None:
        """Bring out what is written, or lose it."""
        try:
            self._file.flush()
        except OSError:
            lead_nowhere(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

"""A terminal driver that writes short frames, ignores invalid input, and survives a closed terminal.

- Frames: a frame is the text that Textual writes to the terminal for one update. Textual 8.2.8 writes the full style,
  about 40 bytes, for each run of cells with the same style. This driver writes only what differs from the style of the
  previous run.
- Input: an invalid UTF-8 byte or an unexpected escape sequence in the input makes Textual exit. This driver ignores
  both.
- Paste: if the pasted text contains an escape sequence, Textual handles the rest of the text as keys, so that a `q` in
  the text ends kgtui. This driver removes escape sequences from pasted text.
- Closed terminal: after a write error, Textual hangs. This driver discards all further output instead.
"""

from __future__ import annotations

import codecs
import locale
import logging
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.output import redirect_to_devnull

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from textual.driver import Driver


_log = logging.getLogger(__name__)


def with_workarounds(driver: type[Driver]) -> type[Driver]:
    """Return a subclass of Textual's driver with all workarounds of this module."""
    # The driver's module has imported `codecs.getincrementaldecoder`. Replace this name in the module, so that the
    # driver uses `input_decoder` instead.
    setattr(sys.modules[driver.__module__], "getincrementaldecoder", input_decoder)  # noqa: B010

    class KgtuiDriver(driver):  # type: ignore[misc, valid-type]  # mypy does not allow a variable as base class
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            file: TextIO | None = getattr(self, "_file", None)
            if file is not None:
                self._file = LossTolerantTerminal(file)

        def write(self, data: str) -> None:
            super().write(shorten_sgr(data))

        def _sigcont_application(self, *arguments: Any) -> None:
            # Ignore SIGCONT if kgtui was not suspended, because Textual would start a second input thread. For example,
            # such a SIGCONT can arrive together with SIGHUP.
            if self._must_signal_resume:
                super()._sigcont_application(*arguments)

        def run_input_thread(self) -> None:
            """Read keys, pastes and clicks until the app ends. Input that Textual cannot parse is discarded."""
            while not self.exit_event.is_set():
                try:
                    super().run_input_thread()
                except OSError:  # `os.read` fails if the terminal has been closed.
                    return
                except Exception as error:  # noqa: BLE001 - no input may end the app
                    _log.warning("input was discarded: %s", type(error).__name__)

    return KgtuiDriver


def input_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """Return a function that creates decoders for terminal input. The decoders ignore invalid bytes.

    The decoders also remove escape sequences from pasted text.

    Args:
        encoding: the encoding that Textual requests. It is used only if the encoding of the locale is ASCII.
            Otherwise, the decoders use the encoding of the locale.
    """
    of_locale = codecs.lookup(locale.getencoding()).name
    decoder = codecs.getincrementaldecoder(encoding if of_locale == "ascii" else of_locale)
    return lambda: _PasteCleaner(decoder(errors="ignore"))


class _PasteCleaner(codecs.IncrementalDecoder):
    """Decodes terminal input, and removes escape sequences from text between the two marks of a bracketed paste."""

    def __init__(self, decoder: codecs.IncrementalDecoder) -> None:
        super().__init__("ignore")
        self._decoder = decoder
        self._is_pasting = False
        # `_tail` has the last characters that were decoded outside a paste. A mark that starts a paste can begin in
        # them, and end in the input of the next call. `_held` has an escape sequence in pasted text that is incomplete
        # so far. The next call decodes the rest of the sequence.
        self._tail = ""
        self._held = ""

    def decode(self, data: Any, final: bool = False) -> str:
        rest = self._held + self._decoder.decode(data, final)
        self._held = ""
        shown: list[str] = []
        while rest:
            part, rest = self._clean_paste(rest, final) if self._is_pasting else self._copy_until_paste(rest)
            shown.append(part)
        return "".join(shown)

    def _copy_until_paste(self, text: str) -> tuple[str, str]:
        """Split a text after the first mark that starts a paste: return (text up to the end of the mark, rest).

        Without such a mark, the rest is empty.
        """
        # A mark can begin in the text of the previous call, so search `_tail` (the end of that text) as well. Do not
        # return `_tail` again, because the previous call has already returned it. That call could not wait for the rest
        # of the mark, because a mark begins with the code of the key Escape, which must be handled without delay.
        searched = self._tail + text
        before, mark, pasted = searched.partition(_PASTE_BEGINS)
        self._is_pasting = bool(mark)
        shown = (before + mark)[len(self._tail) :]
        self._tail = "" if mark else searched[1 - len(_PASTE_BEGINS) :]
        return shown, pasted

    def _clean_paste(self, text: str, final: bool) -> tuple[str, str]:
        """Split a text after the mark that ends the paste: return (text up to the end of the mark, rest).

        Without such a mark, the rest is empty. Escape sequences are removed from the pasted text before the mark.
        """
        pasted, mark, rest = text.partition(_PASTE_ENDS)
        if not mark and not final and (unfinished := _UNFINISHED.search(pasted)):
            pasted, self._held = pasted[: unfinished.start()], unfinished[0]
        self._is_pasting = not mark
        return _ESCAPE_SEQUENCE.sub("", pasted) + mark, rest


_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])?")
"""Matches an escape sequence (ECMA-48), or a single escape character."""
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]{0,30}[ -/]{0,5})?\Z")
"""Matches an escape sequence that is cut off at the end of a text."""


class LossTolerantTerminal:
    """A file object that writes to the terminal until the first error, and then discards all text."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, data: str) -> int:
        """Write the text. If this fails, discard the text. Return the length of the text in both cases."""
        try:
            return self._file.write(data)
        except OSError:
            redirect_to_devnull(self._file)
            return len(data)

    def flush(self) -> None:
        """Write the buffered text to the terminal. If this fails, discard the text."""
        try:
            self._file.flush()
        except OSError:
            redirect_to_devnull(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


_RESET = "\x1b[0m"
_RUN = re.compile(r"\x1b\[([0-9;]*[1-9][0-9;]*)m([^\x1b\r\n]*)\x1b\[0m((?:\r?\n|\x1b\[[0-9]+;[0-9]+H)*)")
"""Matches a run of cells with one style: SGR sequence, text, and reset sequence.

Newlines and cursor moves directly after the reset sequence also belong to the match.
"""
_MOVE = re.compile(r"\x1b\[[0-9]+;[0-9]+H\Z")
"""Matches an absolute cursor move at the end of a text.

Cursor moves and newlines directly before an absolute move can be dropped, because they have no effect.
"""

_VISIBLE_ON_BLANKS = frozenset({"4", "7", "9", "21", "53"})
"""SGR codes of styles that are visible even on blanks: underline, reverse, strike, double underline, overline."""


class _Style(NamedTuple):
    """A text style as SGR parameters (ECMA-48), such as `1` for bold."""

    attributes: frozenset[str] = frozenset()
    foreground: str = "39"
    background: str = "49"


_PLAIN = _Style()


def shorten_sgr(frame: str) -> str:
    """Shorten a frame (the text that Textual writes for one update) without changing what it draws.

    For each change of style, the result contains only the SGR codes that differ from the previous style.
    """
    written: list[str] = []
    current, end = _PLAIN, 0
    for run in _RUN.finditer(frame):
        codes, content, moves = run.groups()
        style = _parse(codes)
        # The style is None if the run of cells has an unknown SGR code. Skip this run; it is copied unchanged later.
        if style is None:
            continue
        if run.start() != end:
            written += [_transition(current, _PLAIN), frame[end : run.start()]]
            current = _PLAIN
        end = run.end()
        if content.isspace() and not _VISIBLE_ON_BLANKS & (style.attributes | current.attributes):
            style = _Style(current.attributes, current.foreground, style.background)
        last_move = _MOVE.search(moves) if moves else None
        written += [_transition(current, style), content, moves if last_move is None else last_move[0]]
        current = style
    written += [_transition(current, _PLAIN), frame[end:]]
    return "".join(written)


@lru_cache(maxsize=4096)
def _parse(codes: str) -> _Style | None:
    """Parse SGR parameters such as `1;31`, and return the style; None if a parameter is unknown."""
    attributes, foreground, background = set(), "39", "49"
    rest = codes.split(";")
    while rest:
        code = rest.pop(0)
        if code in ("38", "48"):
            length = {"2": 4, "5": 2}.get(rest[0] if rest else "")
            if length is None or len(rest) < length:
                return None
            color, rest = ";".join([code, *rest[:length]]), rest[length:]
            foreground, background = (color, background) if code == "38" else (foreground, color)
        elif code.isdecimal() and (30 <= int(code) <= 39 or 90 <= int(code) <= 97):
            foreground = code
        elif code.isdecimal() and (40 <= int(code) <= 49 or 100 <= int(code) <= 107):
            background = code
        elif code in _VISIBLE_ON_BLANKS or code in ("1", "2", "3", "5", "6", "8", "51", "52"):
            attributes.add(code)
        else:
            return None
    return _Style(frozenset(attributes), foreground, background)


@lru_cache(maxsize=4096)
def _transition(current: _Style, target: _Style) -> str:
    """Return an SGR escape sequence that changes the terminal's style from `current` to `target`; empty if equal."""
    if target == _PLAIN != current:
        return _RESET
    if current.attributes - target.attributes:
        # Some terminals cannot turn off a single attribute, such as bold. Therefore, turn off all attributes with code
        # 0, and set the attributes of `target` again.
        codes, current = ["0"], _PLAIN
    else:
        codes = []
    codes += sorted(target.attributes - current.attributes, key=int)
    codes += [target.foreground] if target.foreground != current.foreground else []
    codes += [target.background] if target.background != current.background else []
    return f"\x1b[{';'.join(codes)}m" if codes else ""

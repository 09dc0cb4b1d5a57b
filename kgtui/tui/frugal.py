"""Frames with fewer bytes in them, for terminals at the far end of a slow line.

Textual ends each run of cells with a reset and begins the next with its whole style again, about 40 bytes. Most
neighbours differ in one colour: only that is written, and nothing for the ink of blanks.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_RESET = "\x1b[0m"
_RUN = re.compile(r"\x1b\[([0-9;]*[1-9][0-9;]*)m([^\x1b\r\n]*)\x1b\[0m((?:\r?\n|\x1b\[[0-9]+;[0-9]+H)*)")
"""A style, cells in it, its end, and on the way to the next one newlines and moves of the cursor."""
_MOVE = re.compile(r"\x1b\[[0-9]+;[0-9]+H\Z")
"""A move says in full where the next cells stand: what came before it is not needed."""

_INKED = frozenset({"4", "7", "9", "21", "53"})
"""Underline, reverse, strike, double underline, overline: what shows on a blank."""


class _Style(NamedTuple):
    """What the terminal writes with: attributes such as bold, ink and ground, as parameters of SGR (ECMA-48)."""

    attributes: frozenset[str] = frozenset()
    ink: str = "39"
    ground: str = "49"


_PLAIN = _Style()


def frugal(data: str) -> str:
    """The same frame in fewer bytes; it begins and ends with the terminal's plain style, as Textual's do."""
    written: list[str] = []
    now, end = _PLAIN, 0
    for run in _RUN.finditer(data):
        codes, words, moves = run.groups()
        wanted = _style(codes)
        if wanted is None:  # a parameter that we do not know: left as it is
            continue
        if run.start() != end:
            written += [_change(now, _PLAIN), data[end : run.start()]]
            now = _PLAIN
        end = run.end()
        if words.isspace() and not _INKED & (wanted.attributes | now.attributes):
            wanted = now._replace(ground=wanted.ground)
        last = _MOVE.search(moves) if moves else None
        written += [_change(now, wanted), words, moves if last is None else last[0]]
        now = wanted
    written += [_change(now, _PLAIN), data[end:]]
    return "".join(written)


@lru_cache(maxsize=4096)
def _style(codes: str) -> _Style | None:
    """What a full style says; None where it holds what we do not know."""
    attributes, ink, ground = set(), "39", "49"
    rest = codes.split(";")
    while rest:
        code = rest.pop(0)
        if code in ("38", "48"):
            length = {"2": 4, "5": 2}.get(rest[0] if rest else "")
            if length is None or len(rest) < length:
                return None
            colour, rest = ";".join([code, *rest[:length]]), rest[length:]
            ink, ground = (colour, ground) if code == "38" else (ink, colour)
        elif code.isdecimal() and (30 <= int(code) <= 39 or 90 <= int(code) <= 97):
            ink = code
        elif code.isdecimal() and (40 <= int(code) <= 49 or 100 <= int(code) <= 107):
            ground = code
        elif code in _INKED or code in ("1", "2", "3", "5", "6", "8", "51", "52"):
            attributes.add(code)
        else:
            return None
    return _Style(frozenset(attributes), ink, ground)


@lru_cache(maxsize=4096)
def _change(now: _Style, wanted: _Style) -> str:
    """What brings a terminal from one style to another."""
    if wanted == _PLAIN != now:
        return _RESET
    if now.attributes - wanted.attributes:  # there is no common way to end a single one
        codes, now = ["0"], _PLAIN
    else:
        codes = []
    codes += sorted(wanted.attributes - now.attributes, key=int)
    codes += [wanted.ink] if wanted.ink != now.ink else []
    codes += [wanted.ground] if wanted.ground != now.ground else []
    return f"\x1b[{';'.join(codes)}m" if codes else ""

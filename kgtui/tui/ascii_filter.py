"""Draw only ASCII characters in ASCII mode.

The widgets of kgtui already use the ASCII symbols of `kgtui.model.marks`. However, Textual draws frames
and scroll bars with non-ASCII characters, so this module replaces these characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.filter import LineFilter
from textual.scrollbar import ScrollBarRender

if TYPE_CHECKING:
    from textual.color import Color

_LOOKALIKES = {
    "-": "─━┄┅┈┉╌╍═╴╶╸╺╼╾▀▁▂▃▄▅▆▇▔–—\u2010\u2011−·",
    "|": "│┃┆┇┊┋╎╏║╵╷╹╻╽╿▉▊▋▌▍▎▏▐▕",
    "#": "█▓▪■",
    "/": "\u2571",
    "\\": "╲",
    "x": "\u2573×✗",
    "X": "✘",
    "*": "•●✱",
    "~": "…↻",
    ">": "→▶▸≥",
    "<": "←◀◂≤",
    "^": "↑▲▴",
    "v": "↓▼▾",
    "'": "\u2018\u2019",
    '"': "\u201c\u201d",
}
_JUNCTIONS = dict.fromkeys(range(0x2500, 0x25A0), "+")
"""Maps all code points of the Unicode blocks Box Drawing and Block Elements to `+`.

For characters in `_LOOKALIKES`, such as `─`, `_REPLACEMENTS` contains a similar ASCII character instead of `+`.
"""


class _Replacements(dict[int, str]):
    """Maps code points to ASCII text of the same width. A character without an ASCII replacement becomes `?`."""

    def __missing__(self, code: int) -> str:
        return chr(code) if code < 0x80 else "?" * cell_len(chr(code))


_REPLACEMENTS = _Replacements(
    _JUNCTIONS | {ord(character): shown for shown, replaced in _LOOKALIKES.items() for character in replaced}
)


class AsciiFilter(LineFilter):
    """Replaces all non-ASCII characters in drawn lines. The text keeps its width and its style."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments (pieces of a drawn line) with all non-ASCII characters replaced."""
        return [
            segment if segment.text.isascii() else Segment(_ascii(segment.text), segment.style, segment.control)
            for segment in segments
        ]


def _ascii(text: str) -> str:
    # Pad the text to its old width, because an emoji with a variation selector can be wider than its replacement.
    return set_cell_size(text.translate(_REPLACEMENTS), cell_len(text))


class AsciiScrollBar(ScrollBarRender):
    """Draws scroll bars without block characters, so that they begin and end at the edge of a cell.

    `AsciiFilter` would replace the block characters at both ends with `-` or `|`, which would look like text.
    """

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * len(ScrollBarRender.VERTICAL_BARS)
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * len(ScrollBarRender.HORIZONTAL_BARS)

"""Tests of `shorten_sgr`, which shortens SGR sequences (colors and text styles) in the terminal output of Textual.

The shortened output must show the same terminal cells as the original output.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from kgtui.tui.textual_compat.terminal_driver import shorten_sgr

VISIBLE_ON_BLANKS = {"4", "7", "9"}


class Cell(NamedTuple):
    """The contents of a terminal cell. In a blank cell, no text color is visible, so `foreground` is empty."""

    char: str
    attributes: frozenset[str]
    foreground: str
    background: str


class Terminal:
    """A minimal terminal emulator. It keeps the contents of all cells and the current style."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], Cell] = {}
        self.x = self.y = 1
        self.set_style("0")

    def feed(self, data: str) -> None:
        for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[\s\S]", data):
            if not token.startswith("\x1b"):
                self.put(token)
            elif token.endswith("H"):
                self.y, self.x = (int(number) for number in token[2:-1].split(";"))
            elif token.endswith("m"):
                self.set_style(token[2:-1])

    def put(self, char: str) -> None:
        if char in "\r\n":
            self.x = 1
            self.y += char == "\n"
            return
        blank = char == " " and not self.attributes & VISIBLE_ON_BLANKS
        attributes, foreground = (frozenset[str](), "") if blank else (frozenset(self.attributes), self.foreground)
        self.cells[self.y, self.x] = Cell(char, attributes, foreground, self.background)
        self.x += 1

    def set_style(self, text: str) -> None:
        codes = text.split(";")
        while codes:
            code = codes.pop(0)
            if code == "0":
                self.attributes, self.foreground, self.background = set[str](), "39", "49"
            elif code in ("38", "48"):
                length = {"2": 4, "5": 2}[codes[0]]
                color, codes = ";".join(codes[:length]), codes[length:]
                if code == "38":
                    self.foreground = color
                else:
                    self.background = color
            elif code[0] in "39" and len(code) == 2:
                self.foreground = code
            elif len(code) > 1:
                self.background = code
            else:
                self.attributes.add(code)


def screen(data: str) -> tuple[dict[tuple[int, int], Cell], bool]:
    """Write `data` to a terminal. Return the terminal cells, and whether the default style is active at the end."""
    terminal = Terminal()
    terminal.feed(data)
    return terminal.cells, (terminal.attributes, terminal.foreground, terminal.background) == (set(), "39", "49")


COLORS = st.one_of(
    st.none(),
    st.integers(0, 255).map(Color.from_ansi),
    st.tuples(*[st.integers(0, 255)] * 3).map(lambda rgb: Color.from_rgb(*rgb)),
)
STYLES = st.builds(
    Style, color=COLORS, bgcolor=COLORS, bold=st.booleans(), italic=st.booleans(), underline=st.booleans(),
    reverse=st.booleans(),
)  # fmt: skip
TEXTS = st.text(st.sampled_from(" ab▆✓"), min_size=1, max_size=6)
ROWS = st.lists(st.lists(st.builds(Segment, TEXTS, STYLES), max_size=5), max_size=4)


def frame(rows: list[list[Segment]]) -> str:
    """Return terminal output as Textual writes it: for each row, a cursor movement and then the text of the row."""
    from rich.console import Console

    console = Console(force_terminal=True, color_system="truecolor", legacy_windows=False, file=None)
    written = ["\x1b[?2026h"]
    for y, row in enumerate(rows, 1):
        written += [f"\x1b[{2 * y};3H", Strip(row).render(console), "\r\n" if y % 2 else "\n"]
    return "".join([*written, f"\x1b[{9};1H"])


@given(ROWS)
def test_shortened_terminal_output_shows_the_same_cells_as_the_original(rows: list[list[Segment]]) -> None:
    full = frame(rows)
    shortened = shorten_sgr(full)
    assert screen(shortened) == screen(full)
    assert len(shortened) <= len(full) + 4


def test_background_color_of_several_adjacent_words_is_written_once() -> None:
    background = "48;2;19;21;25"
    full = "".join(f"\x1b[38;2;{n};0;0;{background}mword\x1b[0m" for n in range(9))
    shortened = shorten_sgr(full)
    assert shortened.count(background) == 1
    assert shortened.endswith("\x1b[0m")
    assert len(shortened) < 0.6 * len(full)


def test_text_color_of_spaces_is_omitted_unless_they_are_underlined() -> None:
    assert shorten_sgr("\x1b[31;44ma\x1b[0m\x1b[32;44m  \x1b[0m\x1b[31;44mb\x1b[0m") == "\x1b[31;44ma  b\x1b[0m"
    assert "32" in shorten_sgr("\x1b[31;44ma\x1b[0m\x1b[4;32;44m  \x1b[0m")


def test_unknown_escape_sequences_in_terminal_output_are_kept_unchanged() -> None:
    for data in ("plain", "\x1b[4:3mcurly\x1b[0m", "\x1b]52;c;aGk=\x07", "\x1b[?1049h\x1b[?25l", "\x1b[38;7mx\x1b[0m"):
        assert shorten_sgr(data) == data
    mixed = "\x1b[1ma\x1b[0m\x1b[38;9mx\x1b[0m\x1b[1mb\x1b[0m"
    assert shorten_sgr(mixed) == mixed

"""Frames with fewer bytes show the same cells."""

from __future__ import annotations

import re
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from kgtui.tui.frugal import frugal

BLANKLESS = {"4", "7", "9"}


class Cell(NamedTuple):
    """A cell as a terminal shows it; the ink of a blank is not seen."""

    char: str
    attributes: frozenset[str]
    ink: str
    ground: str


class Terminal:
    """A small terminal: what stands where, and the style it writes with."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], Cell] = {}
        self.x = self.y = 1
        self.styled("0")

    def take(self, data: str) -> None:
        for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[\s\S]", data):
            if not token.startswith("\x1b"):
                self.wrote(token)
            elif token.endswith("H"):
                self.y, self.x = (int(number) for number in token[2:-1].split(";"))
            elif token.endswith("m"):
                self.styled(token[2:-1])

    def wrote(self, char: str) -> None:
        if char in "\r\n":
            self.x = 1
            self.y += char == "\n"
            return
        blank = char == " " and not self.attributes & BLANKLESS
        attributes, ink = (frozenset[str](), "") if blank else (frozenset(self.attributes), self.ink)
        self.cells[self.y, self.x] = Cell(char, attributes, ink, self.ground)
        self.x += 1

    def styled(self, text: str) -> None:
        codes = text.split(";")
        while codes:
            code = codes.pop(0)
            if code == "0":
                self.attributes, self.ink, self.ground = set[str](), "39", "49"
            elif code in ("38", "48"):
                taken = {"2": 4, "5": 2}[codes[0]]
                colour, codes = ";".join(codes[:taken]), codes[taken:]
                self.ink, self.ground = (colour, self.ground) if code == "38" else (self.ink, colour)
            elif code[0] in "39" and len(code) == 2:
                self.ink = code
            elif len(code) > 1:
                self.ground = code
            else:
                self.attributes.add(code)


def screen(data: str) -> tuple[dict[tuple[int, int], Cell], bool]:
    """What a terminal shows after these bytes, and whether it ends plain."""
    terminal = Terminal()
    terminal.take(data)
    return terminal.cells, (terminal.attributes, terminal.ink, terminal.ground) == (set(), "39", "49")


COLOURS = st.one_of(
    st.none(),
    st.integers(0, 255).map(Color.from_ansi),
    st.tuples(*[st.integers(0, 255)] * 3).map(lambda rgb: Color.from_rgb(*rgb)),
)
STYLES = st.builds(
    Style, color=COLOURS, bgcolor=COLOURS, bold=st.booleans(), italic=st.booleans(), underline=st.booleans(),
    reverse=st.booleans(),
)  # fmt: skip
WORDS = st.text(st.sampled_from(" ab▆✓"), min_size=1, max_size=6)
ROWS = st.lists(st.lists(st.builds(Segment, WORDS, STYLES), max_size=5), max_size=4)


def frame(rows: list[list[Segment]]) -> str:
    """The bytes that Textual makes of rows, each at its place."""
    from rich.console import Console

    console = Console(force_terminal=True, color_system="truecolor", legacy_windows=False, file=None)
    written = ["\x1b[?2026h"]
    for y, row in enumerate(rows, 1):
        written += [f"\x1b[{2 * y};3H", Strip(row).render(console), "\r\n" if y % 2 else "\n"]
    return "".join([*written, f"\x1b[{9};1H"])


@given(ROWS)
def test_the_same_cells_stand_on_the_screen(rows: list[list[Segment]]) -> None:
    full = frame(rows)
    short = frugal(full)
    assert screen(short) == screen(full)
    assert len(short) <= len(full) + 4


def test_neighbours_of_one_ground_write_it_once() -> None:
    ground = "48;2;19;21;25"
    run = "".join(f"\x1b[38;2;{n};0;0;{ground}mword\x1b[0m" for n in range(9))
    short = frugal(run)
    assert short.count(ground) == 1
    assert short.endswith("\x1b[0m")
    assert len(short) < 0.6 * len(run)


def test_the_ink_of_a_blank_is_not_written() -> None:
    assert frugal("\x1b[31;44ma\x1b[0m\x1b[32;44m  \x1b[0m\x1b[31;44mb\x1b[0m") == "\x1b[31;44ma  b\x1b[0m"
    assert "32" in frugal("\x1b[31;44ma\x1b[0m\x1b[4;32;44m  \x1b[0m")


def test_what_is_not_known_is_left_as_it_is() -> None:
    for data in ("plain", "\x1b[4:3mcurly\x1b[0m", "\x1b]52;c;aGk=\x07", "\x1b[?1049h\x1b[?25l", "\x1b[38;7mx\x1b[0m"):
        assert frugal(data) == data
    mixed = "\x1b[1ma\x1b[0m\x1b[38;9mx\x1b[0m\x1b[1mb\x1b[0m"
    assert frugal(mixed) == mixed

"""What a pane says, before it is drawn: words with a role, never a colour.

A role is the name of a `$kg-…` theme variable without the `$`, or empty. The text of a cell is anything a cluster may
send: it goes through `kgtui.tui.text` when it is drawn.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, chop_cells

from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.offsets import PartitionLag
    from kgtui.tui.text import Cut

OK = "kg-ok"
WARN = "kg-warn"
ERROR = "kg-error"
MUTED = "kg-muted"
ACCENT = "kg-accent"
STALE = "kg-stale"
ROLES = (OK, WARN, ERROR, MUTED, ACCENT, STALE)


class SafeText(str):
    """Text that went through the door already: harmless as it is, and not to be escaped once more."""

    __slots__ = ()


def safe_text(value: str) -> SafeText:
    """A cluster's text, or one that was shown before, ready to be drawn."""
    return value if isinstance(value, SafeText) else SafeText(text.plain(value))


def fit_text(value: str, width: int, *, cut: Cut = "end") -> SafeText:
    """The same in at most `width` cells; a text of 32,000 characters costs no more than a short one."""
    if isinstance(value, SafeText):
        return SafeText(text.fit(value, width, cut=cut))
    return SafeText(text.plain(value, width, cut=cut))


class Cell(NamedTuple):
    """Words in one role; see `Shown` for words that are harmless already."""

    text: str
    role: str = ""


PaneLine = tuple[Cell, ...]
"""One line of text in a pane."""


class Field(NamedTuple):
    """A label and what stands beside it, one line or more."""

    label: str
    lines: tuple[PaneLine, ...]


class Section(NamedTuple):
    """Fields under a title; an empty title for the first."""

    title: str
    fields: tuple[Field, ...]


def one_line_field(label: str, *cells: Cell | str) -> Field:
    """A field of one line."""
    return Field(label, (tuple(Cell(one) if isinstance(one, str) else one for one in cells),))


def unknown_cell() -> Cell:
    """What nobody told."""
    return Cell(text.marks().unknown, MUTED)


def none_cell() -> Cell:
    """What is known not to be there."""
    return Cell(text.marks().none, MUTED)


def number_cell(value: int | None) -> Cell:
    """A number in full, `0` as 0 and `?` when unknown."""
    return unknown_cell() if value is None else Cell(text.exact(value))


def plural(count: int, one: str, many: str = "") -> str:
    """`1 member`, `3 members`, `2 processes`."""
    return f"{text.exact(count)} {one if count == 1 else many or one + 's'}"


def optional_cell(value: str | None) -> Cell:
    """A text that may be missing: `–` then."""
    return none_cell() if not value else Cell(value)


def no_value_cell(reason: str) -> Cell:
    """The mark of a missing offset or lag, from `PartitionLag.reason`: `–` no commit, `x` forbidden or deleted, `?`."""
    if reason == "no commit":
        return none_cell()
    if reason in ("forbidden", "topic deleted"):
        return Cell(text.marks().forbidden, ERROR if reason == "forbidden" else WARN)
    return unknown_cell()


def lag_cell(row: PartitionLag) -> Cell:
    """The lag of a partition, or the mark that says why there is none."""
    return no_value_cell(row.reason) if row.lag is None else Cell(text.exact(row.lag), MUTED if row.lag == 0 else "")


def wrap_cells(cells: Iterable[Cell], width: int) -> list[PaneLine]:
    """Cells as lines of at most `width` cells.

    A cell that fits on a line of its own is kept together, and with the label before it: one that ends, but does not
    begin, with a blank. A longer one is broken at blanks, a word longer than a line anywhere.
    """
    lines: list[list[Cell]] = [[]]
    used = 0
    for unit in _units(cells):
        if used and used + _length(unit) > width >= _length(unit):
            lines.append([])
            used = 0
        for cell in unit:
            for piece in _pieces(cell.text, width):
                said = piece
                if used and used + cell_len(said.rstrip()) > width:
                    lines.append([])
                    used = 0
                if not used and len(lines) > 1:
                    said = said.lstrip()
                _add(lines[-1], said, cell.role)
                used += cell_len(said)
    return [tuple(line) for line in lines]


def _units(cells: Iterable[Cell]) -> list[list[Cell]]:
    units: list[list[Cell]] = []
    glued = False
    for cell in cells:
        said = Cell(safe_text(cell.text), cell.role)
        if glued:
            units[-1].append(said)
        else:
            units.append([said])
        glued = said.text.endswith(" ") and not said.text.startswith(" ")
    return units


def _length(unit: list[Cell]) -> int:
    return cell_len("".join(cell.text for cell in unit).strip())


def _pieces(said: str, width: int) -> Iterable[str]:
    for word in re.findall(r"\S+\s*|\s+", said):
        if cell_len(word.rstrip()) > width:
            yield from chop_cells(word, width)
        else:
            yield word


def _add(line: list[Cell], said: str, role: str) -> None:
    if line and line[-1].role == role:
        line[-1] = Cell(SafeText(line[-1].text + said), role)
    elif said:
        line.append(Cell(SafeText(said), role))

"""Cells: pieces of text in one color, from which the lines of the panes are drawn.

The color is given as a color role, which is the name of a theme variable such as `kg-error`. When a cell is drawn,
control characters in its text are escaped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, chop_cells

from kgtui.model.marks import ROLES
from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.event import Event
    from kgtui.model.members import Tasks, TopicPartitions
    from kgtui.model.offsets import PartitionLag
    from kgtui.tui.text import Cut

OK, WARN, ERROR, MUTED, ACCENT, STALE = ROLES


class SafeText(str):
    """Text whose control characters have already been escaped. `safe_text` does not escape such a text again."""

    __slots__ = ()


def safe_text(value: str) -> SafeText:
    """Return the text with its control characters escaped. `SafeText` is returned unchanged."""
    return value if isinstance(value, SafeText) else SafeText(text.plain(value))


def fit_text(value: str, width: int, *, cut: Cut = "end") -> SafeText:
    """Return the text with its control characters escaped, shortened to at most `width` terminal cells.

    Args:
        cut: where a long text is shortened: an ellipsis replaces its `end` or its `middle`.
    """
    if isinstance(value, SafeText):
        return SafeText(text.fit(value, width, cut=cut))
    return SafeText(text.plain(value, width, cut=cut))


def event_text(event: Event, *, with_kind: bool = True) -> SafeText:
    """Return the text of an event (a change to a group or broker), with control characters escaped.

    Args:
        with_kind: whether the text includes the kind of the event, such as `joined`.
    """
    content = event.text if with_kind else event.detail
    return SafeText(text.plain(content.replace("→", text.marks().arrow)))


class Cell(NamedTuple):
    """A piece of text in one color. Drawing a cell escapes control characters, unless the text is a `SafeText`.

    Attributes:
        role: name of the theme variable for the color, without `$`; empty for the normal color.
    """

    text: str
    role: str = ""


PaneLine = tuple[Cell, ...]
"""One line of text in a pane, as a tuple of cells. A cell is a piece of text in one color."""


class Field(NamedTuple):
    """One field of a pane: a label with one or more lines of text beside it."""

    label: str
    lines: tuple[PaneLine, ...]


class Section(NamedTuple):
    """A section of a pane: a title and the fields below it. The first section of a pane has an empty title."""

    title: str
    fields: tuple[Field, ...]


def one_line_field(label: str, *cells: Cell | str) -> Field:
    """Return a field that has one line of text beside its label. The line consists of `cells`, from left to right."""
    return Field(label, (tuple(Cell(one) if isinstance(one, str) else one for one in cells),))


def note(content: str, role: str = MUTED) -> Cell:
    """Return a cell that explains the cell to its left. Two blanks at the start of the text separate the two cells."""
    return Cell(f"  {content}", role)


def unknown_cell() -> Cell:
    """Return the symbol `?`, which stands for a value that kgtui does not know."""
    return Cell(text.marks().unknown, MUTED)


def none_cell() -> Cell:
    """Return the symbol `–`, which stands for a value that does not exist."""
    return Cell(text.marks().none, MUTED)


def number_cell(value: int | None) -> Cell:
    """Return a cell with the number and its thousands separators, or with the symbol `?` for None."""
    return unknown_cell() if value is None else Cell(text.exact(value))


def optional_cell(value: str | None) -> Cell:
    """Return a cell with the text or, if the text is empty or None, with the symbol `–`."""
    return none_cell() if not value else Cell(value)


def no_value_cell(reason: str) -> Cell:
    """Return the symbol that is shown in place of an unknown offset or lag.

    The symbol is `–` if nothing was committed, `x` if access was denied or the topic was deleted, and otherwise `?`.

    Args:
        reason: why the offset or lag is unknown (`PartitionLag.reason`).
    """
    if reason == "no commit":
        return none_cell()
    if reason in ("forbidden", "topic deleted"):
        return Cell(text.marks().forbidden, ERROR if reason == "forbidden" else WARN)
    return unknown_cell()


def lag_cell(row: PartitionLag) -> Cell:
    """Return the cell with the lag of a partition. If the lag is unknown, the cell has a symbol that says why."""
    return no_value_cell(row.reason) if row.lag is None else Cell(text.exact(row.lag), MUTED if row.lag == 0 else "")


def format_partitions(tasks: Tasks | TopicPartitions) -> str:
    """Format partitions of topics, or tasks of subtopologies, as `orders:0-3,7 refunds:1`."""
    return " ".join(f"{name}:{format_ranges(parts)}" for name, parts in tasks)


def format_ranges(parts: tuple[int, ...]) -> str:
    """Format partition numbers as ranges, such as `0-3,7` for 0, 1, 2, 3 and 7."""
    runs: list[list[int]] = []
    for part in sorted(parts):
        if runs and part == runs[-1][1] + 1:
            runs[-1][1] = part
        else:
            runs.append([part, part])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def wrap_cells(cells: Iterable[Cell], width: int) -> list[PaneLine]:
    """Wrap cells (pieces of colored text) into lines of at most `width` terminal cells.

    A cell that ends (but does not begin) with a blank counts as a label. If a label and the cell after it fit on one
    line together, they are kept on the same line.
    """
    lines: list[list[Cell]] = [[]]
    used = 0
    for unit in _units(cells):
        content = "".join(cell.text for cell in unit).rstrip()
        if used and used + cell_len(content) > width >= cell_len(content.lstrip()):
            lines.append([])
            used = 0
        for cell in unit:
            for piece in _pieces(cell.text, width):
                content = piece
                if used and used + cell_len(content.rstrip()) > width:
                    lines.append([])
                    used = 0
                if not used and len(lines) > 1:
                    content = content.lstrip()
                _add(lines[-1], content, cell.role)
                used += cell_len(content)
    return [tuple(line) for line in lines]


def _units(cells: Iterable[Cell]) -> list[list[Cell]]:
    units: list[list[Cell]] = []
    glued = False
    for cell in cells:
        content = Cell(safe_text(cell.text), cell.role)
        if glued:
            units[-1].append(content)
        else:
            units.append([content])
        glued = content.text.endswith(" ") and not content.text.startswith(" ")
    return units


def _pieces(content: str, width: int) -> Iterable[str]:
    for word in re.findall(r"\S+\s*|\s+", content):
        if cell_len(word.rstrip()) > width:
            yield from chop_cells(word, width)
        else:
            yield word


def _add(line: list[Cell], content: str, role: str) -> None:
    if line and line[-1].role == role:
        line[-1] = Cell(SafeText(line[-1].text + content), role)
    elif content:
        line.append(Cell(SafeText(content), role))

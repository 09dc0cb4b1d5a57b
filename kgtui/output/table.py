"""Plain tables that stay aligned whatever the cells hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and whether it holds numbers, which are aligned to the right."""

    title: str
    number: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], *, indent: str = "", header: bool = True) -> str:
    """A table, one row a line, each line with its end; no blanks behind the last column.

    Cells are made harmless and aligned by the terminal cells that they take.
    """
    lines = [tuple(column.title for column in columns)] if header else []
    # A cell that is pure printable ASCII, as nearly all are, needs no second look.
    lines += [tuple(cell if _plain(cell) else visible(cell) for cell in row) for row in rows]
    measure = _measure(lines)
    widths = [max(map(measure, cells), default=0) for cells in zip(*lines, strict=True)]
    if measure is len:
        return _ascii(columns, lines, widths, indent)
    return "".join(_line(columns, cells, widths, indent, measure) for cells in lines)


def cell_width(text: str) -> int:
    """How many terminal cells a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and "\\" not in text


def _measure(lines: Sequence[Sequence[str]]) -> Callable[[str], int]:
    return len if all(cell.isascii() for line in lines for cell in line) else cell_width


def _ascii(columns: Sequence[Column], lines: Sequence[Sequence[str]], widths: Sequence[int], indent: str) -> str:
    """The same as `_line` for every line, by one format for all: a hundred thousand lines take no time."""
    last = len(columns) - 1
    fields = [
        f"{{:{'>' if column.number else '<'}{width}}}" if index < last or column.number else "{}"
        for index, (column, width) in enumerate(zip(columns, widths, strict=True))
    ]
    form = (indent + GAP.join(fields)).format
    return "".join([form(*cells).rstrip(" ") + "\n" for cells in lines])


def _line(
    columns: Sequence[Column],
    cells: Sequence[str],
    widths: Sequence[int],
    indent: str,
    measure: Callable[[str], int],
) -> str:
    padded = []
    for column, cell, width in zip(columns, cells, widths, strict=True):
        padding = " " * (width - measure(cell))
        padded.append(padding + cell if column.number else cell + padding)
    return (indent + GAP.join(padded)).rstrip(" ") + "\n"

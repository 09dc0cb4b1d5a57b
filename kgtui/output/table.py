"""Plain tables that stay aligned whatever the cells hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GAP = "  "
WIDEST = 120
"""Cells that a column is padded to at most: one id of 32,000 characters would make every other line as long."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and whether it holds numbers, which are aligned to the right."""

    title: str
    number: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], *, indent: str = "", header: bool = True) -> str:
    """A table, one row a line, each line with its end; no blanks behind the last column.

    Cells are made harmless and aligned by the terminal cells that they take.
    """
    titles = [[column.title for column in columns]] if header else []
    shown, odd = _harmless([*titles, *rows])
    if not shown:
        return ""
    widths = [min(max(map(len, cells)), WIDEST) for cells in zip(*shown, strict=True)]
    if odd:
        widths = [min(max(odd.get(cell) or len(cell) for cell in cells), WIDEST) for cells in zip(*shown, strict=True)]
        return "".join(_line(columns, cells, widths, indent, odd) for cells in shown)
    # One format for all lines: a hundred thousand of them take no time.
    last = len(columns) - 1
    fields = [
        f"{{:{'>' if column.number else '<'}{width}}}" if index < last or column.number else "{}"
        for index, (column, width) in enumerate(zip(columns, widths, strict=True))
    ]
    form = (indent + GAP.join(fields)).format
    return "".join([form(*cells).rstrip(" ") + "\n" for cells in shown])


def cell_width(text: str) -> int:
    """How many terminal cells a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _harmless(rows: Sequence[Sequence[str]]) -> tuple[Sequence[Sequence[str]], dict[str, int]]:
    """The rows with visible texts, and the width of each text that takes more or fewer cells than it has characters."""
    special = {cell for row in rows for cell in row if not cell.isascii() or not cell.isprintable() or "\\" in cell}
    if not special:
        return rows, {}
    replaced = {cell: visible(cell) for cell in special}
    # A dash is one cell wide, and by far the most frequent text that is not ASCII.
    odd = {text: cell_width(text) for text in replaced.values() if text != "–" and not text.isascii()}
    odd = {text: width for text, width in odd.items() if width != len(text)}
    return [[replaced.get(cell, cell) for cell in row] for row in rows], odd


def _line(
    columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int], indent: str, odd: dict[str, int]
) -> str:
    padded = []
    for column, cell, width in zip(columns, cells, widths, strict=True):
        padding = " " * (width - (odd.get(cell) or len(cell)))
        padded.append(padding + cell if column.number else cell + padding)
    return (indent + GAP.join(padded)).rstrip(" ") + "\n"

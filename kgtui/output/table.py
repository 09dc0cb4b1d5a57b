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
    lines: list[Sequence[str]] = [[column.title for column in columns]] if header else []
    lines += rows
    if not lines:
        return ""
    # Column by column: in most of them a few words stand again and again.
    padded = [_padded(column, cells) for column, cells in zip(columns, zip(*lines, strict=True), strict=True)]
    return "".join([(indent + line).rstrip(" ") + "\n" for line in map(GAP.join, zip(*padded, strict=True))])


def cell_width(text: str) -> int:
    """How many terminal cells a text takes."""
    # By far the most frequent text that is not ASCII is a dash: rich is not loaded for it.
    if text.isascii() or text == "–":
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(column: Column, cells: Sequence[str]) -> list[str]:
    """The cells of a column, made harmless, with as many blanks as align them."""
    distinct = set(cells)
    if _is_plain("".join(distinct)):
        width = min(max(map(len, distinct)), WIDEST)
        pad = str.rjust if column.number else str.ljust
        if len(distinct) == len(cells):
            return [pad(cell, width) for cell in cells]
        shown = {cell: pad(cell, width) for cell in distinct}
    else:
        texts = {cell: cell if _is_plain(cell) else visible(cell) for cell in distinct}
        takes = {text: cell_width(text) for text in texts.values()}
        width = min(max(takes.values()), WIDEST)
        shown = {cell: _aligned(column, text, width - takes[text]) for cell, text in texts.items()}
    return [shown[cell] for cell in cells]


def _is_plain(text: str) -> bool:
    """Whether a text can be shown as it is, and takes one terminal cell for each of its characters."""
    return text.isascii() and text.isprintable() and "\\" not in text


def _aligned(column: Column, text: str, blanks: int) -> str:
    return " " * blanks + text if column.number else text + " " * blanks

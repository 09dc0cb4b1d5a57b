"""Writes tables as plain text. Columns are aligned even if cells contain wide characters or control characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.marks import UNICODE
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.fields import Field, Row

GAP = "  "
MAX_PADDED_WIDTH = 120
"""Maximum width to which texts are padded, in terminal cells. Longer texts are not cut off.

Without this limit, one id of 32,000 characters would make every line of the table that long.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. A column of numbers is aligned to the right."""

    title: str
    number: bool = False


def columns_of(fields: Iterable[Field[Row]]) -> list[Column]:
    return [Column(field.title, number=field.align == "right") for field in fields]


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], *, indent: str = "", header: bool = True) -> str:
    """Format a table with one line per row. Trailing blanks are removed, and control characters are escaped.

    Args:
        header: whether to write the titles of the columns.
    """
    lines: list[Sequence[str]] = [[column.title for column in columns]] if header else []
    lines += rows
    if not lines:
        return ""
    # Most columns contain the same few texts many times, so `_padded` pads each distinct text only once.
    padded = [_padded(column, cells) for column, cells in zip(columns, zip(*lines, strict=True), strict=True)]
    return "".join([(indent + line).rstrip(" ") + "\n" for line in map(GAP.join, zip(*padded, strict=True))])


def cell_width(text: str) -> int:
    """Return the width of a text on a terminal, in cells."""
    # Use Rich only if the text is neither ASCII nor `–` (a frequent cell), because Rich is slow to import.
    if text.isascii() or text == UNICODE.none:
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(column: Column, cells: Sequence[str]) -> list[str]:
    """Escape control characters in the cells of a column, and pad all of these cells to the same width."""
    distinct = set(cells)
    if _is_plain("".join(distinct)):
        width = min(max(map(len, distinct)), MAX_PADDED_WIDTH)
        pad = str.rjust if column.number else str.ljust
        if len(distinct) == len(cells):
            return [pad(cell, width) for cell in cells]
        shown = {cell: pad(cell, width) for cell in distinct}
    else:
        texts = {cell: cell if _is_plain(cell) else visible(cell) for cell in distinct}
        widths = {text: cell_width(text) for text in texts.values()}
        width = min(max(widths.values()), MAX_PADDED_WIDTH)
        shown = {cell: _aligned(column, text, width - widths[text]) for cell, text in texts.items()}
    return [shown[cell] for cell in cells]


def _is_plain(text: str) -> bool:
    """Return whether each character of a text is one terminal cell wide and need not be escaped."""
    return text.isascii() and text.isprintable() and "\\" not in text


def _aligned(column: Column, text: str, blanks: int) -> str:
    return " " * blanks + text if column.number else text + " " * blanks

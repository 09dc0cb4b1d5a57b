"""Parse the tables that Kafka's own group tools print."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Row = dict[str, str]


def rows(printed: str, groups: Sequence[str] = ()) -> list[Row]:
    """Return the rows of all tables in the output of a tool. A row is a dict: column name → cell.

    A cell begins below its column header, unless the group id in its row is too long for the column or contains line
    breaks. `groups` must contain all such ids. Widths are counted in UTF-16 code units, as in Java.
    """
    text = _units(printed)
    ids = sorted(map(_units, groups), key=len, reverse=True)
    headers = list(re.finditer(r"^GROUP +[A-Z#][^\n]*", text, re.MULTILINE))
    all_rows: list[Row] = []
    for header, end in zip(headers, [*(later.start() for later in headers[1:]), len(text)], strict=True):
        all_rows += _table(header[0], text[header.end() + 1 : end], ids)
    return all_rows


def _table(header: str, body: str, ids: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of one table. The table ends at the first empty line in `body`.

    If a row begins with one of the group ids `ids`, the row is about this group. The id can contain line breaks.
    """
    columns = [(title[0], title.start()) for title in re.finditer(r"\S+(?: \(ID\))?", header)]
    width = columns[1][1]
    at = 0
    while at < len(body) and body[at] != "\n":
        group = next((name for name in ids if body.startswith(f"{name.ljust(width - 1)} ", at)), None)
        id_width = width if group is None else max(len(group) + 1, width)
        line, _, _ = body[at + id_width :].partition("\n")
        row = {columns[0][0]: body[at : at + id_width].rstrip(" ") if group is None else group}
        ends = [start - width for _, start in columns[2:]] + [max(len(line), columns[-1][1])]
        for (title, start), stop in zip(columns[1:], ends, strict=True):
            row[title] = line[start - width : stop].strip(" ")
        at += id_width + len(line) + 1
        yield {title: _text(cell) for title, cell in row.items()}


def _units(text: str) -> str:
    """Return `text` with one character per UTF-16 code unit, so that its length is as in Java: an emoji is two."""
    return "".join(map(chr, memoryview(text.encode("utf-16-le")).cast("H")))


def _text(units: str) -> str:
    """Convert a result of `_units`, or a part of such a result, back to normal text."""
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")

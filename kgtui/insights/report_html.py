"""The pieces of a page: text made harmless, elements, times."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 160
"""Characters of an id that are shown: an id of 32,000 would be a page of its own."""


def text(words: str) -> str:
    """Any text as HTML shows it: nothing in it is an element, acts or hides."""
    return escape(visible(words), quote=True)


def name(words: str) -> str:
    """An id, kept apart from what is around it where it is written from right to left; a very long one is cut."""
    shown = visible(words)
    cut = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
    return f"<bdi>{escape(cut, quote=True)}</bdi>"


def element(tag: str, inner: str, **attributes: str) -> str:
    """An element around HTML; `class_` is `class`."""
    told = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return f"<{tag}{told}>{inner}</{tag}>"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def moment(seconds: float) -> str:
    """A time in UTC, to the minute."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"

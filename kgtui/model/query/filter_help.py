"""The help on the filter language: a table with one row per filter term, and notes below the table."""

from __future__ import annotations

from typing import NamedTuple

from kgtui.model.query.sort_keys import joined
from kgtui.model.query.term_catalog import SORT, TERMS


class HelpRow(NamedTuple):
    """One row of the table of filter terms in the help."""

    term: str
    meaning: str
    example: str


HELP: tuple[HelpRow, ...] = (
    HelpRow("word", "The group id contains the word; case is ignored.", "payments"),
    HelpRow("/re/", "The group id matches the regular expression (RE2); case is ignored.", "/^team-.+v2/"),
    HelpRow(
        "not:TERM",
        "The group does not match the term. !TERM means the same, but needs single quotes in a shell.",
        "not:type:share",
    ),
    HelpRow(
        "a,b",
        "At least one of these values matches. Every term can have several values, separated by commas.",
        "state:Empty,Dead",
    ),
    *(HelpRow(entry.heading or f"{entry.key}:", entry.meaning, entry.example) for entry in TERMS),
    HelpRow(
        f"{SORT}:",
        f"Sort by {joined()}. A - after the name reverses the order.",
        "sort:lag-",
    ),
    HelpRow(
        '"a b"',
        r"In the terminal UI, quotes or \ protect blanks, commas and colons. Escapes such as \x1b and \u202e stand for "
        "characters. In a shell, use a regular expression instead, with a dot in place of each blank, comma or colon.",
        "/my.group/",
    ),
)

NOTES: tuple[str, ...] = (
    "Several terms are joined by AND. A word that contains a colon must be quoted or escaped.",
    "Neither lag:0 nor not:lag:0 finds a group whose lag is unknown, but lag:unknown does. This holds for all terms.",
)


def help_text(width: int = 16) -> str:
    """Return the help on the filter language as plain text: one line per filter term, then one line per note.

    Args:
        width: width of the column with examples, in characters.
    """
    rows = [f"  {row.example:<{width}}  {row.term:<12}  {row.meaning}" for row in HELP]
    return "\n".join([*rows, *(f"  {note}" for note in NOTES)])


def markdown() -> str:
    """Return the help on the filter language in Markdown, for the README: a table of the terms, then the notes."""
    lines = ["| term | meaning | example |", "|---|---|---|"]
    lines += [f"| `{row.term}` | {_cell(row.meaning)} | `{row.example}` |" for row in HELP]
    return "\n".join([*lines, "", *map(_cell, NOTES)])


def _cell(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\|*_<>[]`" else char for char in text)

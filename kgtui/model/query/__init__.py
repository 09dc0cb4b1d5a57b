"""The filter language: the same in the UI, in `ls` and for every command that chooses groups.

`parse` reads text, a `Query` is put to a `Snapshot`, `HELP` is the language in a table. Imports the rest of the model;
RE2 only when a regular expression is used.
"""

from __future__ import annotations

from kgtui.model.query.parser import parse
from kgtui.model.query.query import FilterCache, Query, SortKey, ordered
from kgtui.model.query.term_catalog import HELP, NOTES, SORT_KEYS, HelpRow, Need, help_text

__all__ = [
    "HELP",
    "NOTES",
    "SORT_KEYS",
    "FilterCache",
    "HelpRow",
    "Need",
    "Query",
    "SortKey",
    "help_text",
    "ordered",
    "parse",
]  # fmt: skip

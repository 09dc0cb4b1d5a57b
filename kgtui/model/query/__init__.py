"""The filter language of the terminal UI and the commands.

`parse` turns a text into a `Query`, which selects groups of a `Snapshot`. `HELP` describes all terms. The regular
expression library RE2 is imported only for filters that need it.

| module | contents |
|---|---|
| `lexer` | splits a filter into terms and values |
| `parser` | `parse`: parses a filter into a `Query`, or reports where the filter is wrong |
| `query` | `Query`: a parsed filter, which selects and sorts groups of a snapshot |
| `term_catalog` | `TERMS`: the filter terms, with their meanings and examples |
| `filter_help` | the help on the filter language, as plain text and in Markdown |
| `sort_keys` | `SORT_KEYS`: the values by which groups can be sorted, such as the lag |
| `terms` | classes of filter terms, which decide whether a group matches |
| `spelling` | finds names that are similar to a mistyped name, and the filter that the user probably meant |
| `verdict_terms` | the filter term `verdict:` |
| `patterns` | matches texts against wildcards, letter sequences and regular expressions |
| `ranges` | ranges of counts and times, such as `1k+` and `..5m` |
"""

from __future__ import annotations

from kgtui.model.facts import Need
from kgtui.model.query.filter_help import HELP, NOTES, HelpRow, help_text
from kgtui.model.query.parser import parse
from kgtui.model.query.query import FilterCache, Query, SortKey, ordered
from kgtui.model.query.sort_keys import SORT_KEYS

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

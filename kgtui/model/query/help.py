"""The filter language in a table: the README, `--help` and the in-app help are made from it.

`python -m kgtui.model.query` prints it in Markdown.

Every example is in a spelling that no shell touches; what needs quotes there is named in the meaning only.
"""

from __future__ import annotations

from typing import NamedTuple

from kgtui.model.group_types import KINDS, STATES, TYPES


class HelpRow(NamedTuple):
    """One kind of term."""

    term: str
    meaning: str
    example: str


HELP: tuple[HelpRow, ...] = (
    HelpRow("word", "the group id contains it, whatever the case", "payments"),
    HelpRow("/re/", "the group id matches a regular expression (RE2, whatever the case)", "/^team-.+v2/"),
    HelpRow("fuzzy:word", "the group id has these letters in this order", "fuzzy:pmtset"),
    HelpRow("not:TERM", "the term does not hold (also !TERM, which a shell may want quoted)", "not:type:share"),
    HelpRow("a,b", "either of several, inside any term", "state:Empty,Dead"),
    HelpRow("type:", f"{', '.join(TYPES)}, or unknown", "type:consumer"),
    HelpRow("protocol:", "protocol type: consumer, connect, sr, share, streams, any other", "protocol:connect"),
    HelpRow("state:", f"{', '.join(STATES)}, or unknown", "state:Empty"),
    HelpRow("kind:", ", ".join(KINDS), "kind:simple"),
    HelpRow("topic:", "subscribes to it or has offsets on it; % stands for any text (as does *), ? for one character",
            "topic:payments%"),
    HelpRow("client:", "a member has this client id (with wildcards)", "client:billing-%"),
    HelpRow("host:", "a member runs on this host (with wildcards)", "host:10.0.3.%"),
    HelpRow("member:", "a member has this id or instance id (with wildcards)", "member:worker-7%"),
    HelpRow("coordinator:", "coordinated by this broker: node id, host or host:port (with wildcards)", "coordinator:3"),
    HelpRow("members:", "number of members: 1k+ at least, ..5 at most, 2..5, 0, unknown (also >5, <5 in the UI)",
            "members:2+"),
    HelpRow("lag:", "summed lag in records, units k and M; unknown also finds what is known only in part", "lag:1k+"),
    HelpRow("timelag:", "the oldest unread record is so old; of groups that are watched: looked at, or by kgtui check",
            "timelag:5m+"),
    HelpRow("verdict:", "ok, warn, error (with + that or worse), stop, stall, rewind; of groups that are watched",
            "verdict:warn+"),
    HelpRow("empty:", "observed to be Empty for so long, units s, m, h, d", "empty:1h+"),
    HelpRow("age:", "members or offsets were read so long ago; unknown: never yet", "age:..30s"),
    HelpRow("fault:yes", "something could not be learned of it", "fault:yes"),
    HelpRow("marked:yes", "marked by hand", "marked:no"),
    HelpRow("sort:", "by name, state, members, lag, age, type or coordinator; - behind it turns the order round",
            "sort:lag-"),
    HelpRow('"a b"', r"where no shell is in between: quotes or \ keep blanks, commas and colons, and \x1b, \u202e name "
            "a character; in a shell, an expression with dots does it", "/my.group/"),
)  # fmt: skip

NOTES: tuple[str, ...] = (
    "Terms are joined by AND. A word with a colon in it is quoted or escaped.",
    "What is not known chooses no group, negated or not: look for it with unknown.",
)


def help_text(width: int = 16) -> str:
    """The table as plain text, one term a line."""
    rows = [f"  {row.example:<{width}}  {row.term:<12}  {row.meaning}" for row in HELP]
    return "\n".join([*rows, *(f"  {note}" for note in NOTES)])


def markdown() -> str:
    """The table as Markdown, for the README."""
    lines = ["| term | meaning | example |", "|---|---|---|"]
    lines += [f"| `{row.term}` | {_cell(row.meaning)} | `{row.example}` |" for row in HELP]
    return "\n".join([*lines, "", *map(_cell, NOTES)])


def _cell(text: str) -> str:
    """Text in which nothing is markup."""
    return "".join(f"\\{char}" if char in "\\|*_<>[]`" else char for char in text)

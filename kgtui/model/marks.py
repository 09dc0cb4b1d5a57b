"""The symbols that kgtui shows with their meanings, and the color roles of group states and health verdicts.

The terminal UI, its legend and all outputs use them. To change the symbol or color of a state or verdict, or to add a
symbol, change the tables of this module. A color role is the name of a theme variable without the `$`: `kg-ok` stands
for `$kg-ok`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kgtui.model import group_types as states


@dataclass(frozen=True, slots=True)
class Marks:
    """The symbols that the terminal UI draws, for example for group states.

    Each Unicode symbol consists of characters that are one cell wide in every terminal, so that columns stay aligned.
    """

    none: str = "–"
    unknown: str = "?"
    forbidden: str = "x"
    at_least: str = "≥ "
    at_most: str = "≤ "
    ellipsis: str = "…"
    opened: str = "▾"
    closed: str = "▸"
    marked: str = "✱"
    dot: str = "·"
    arrow: str = "→"
    fault: str = "!"
    warn: str = "▴"
    error: str = "✘"
    stable: str = "✓"
    rebalancing: str = "↻"
    empty: str = "◦"
    dead: str = "✗"
    not_ready: str = "⋯"
    odd: str = "?"
    bar: str = "▪"
    rule: str = "─"
    record: str = "●"


UNICODE = Marks()
ASCII = Marks(
    none="-", at_least=">=", at_most="<=", ellipsis="~", opened="v", closed=">", marked="*", dot="-", arrow="->",
    warn="^", error="X", stable="=", rebalancing="~", empty=".", dead="x", not_ready="_", bar="#", rule="-", record="*",
)  # fmt: skip

TO_ASCII = {
    ord(getattr(UNICODE, name).strip()): getattr(ASCII, name).strip() for name in ("none", "at_least", "ellipsis")
}
"""Table for `str.translate` that replaces the symbols in the output of commands, for terminals with ASCII only."""


class Look(NamedTuple):
    """How a value is shown.

    Attributes:
        mark: name of the attribute of `Marks` with the symbol.
        role: color role.
    """

    mark: str
    role: str


STATE_LOOKS: dict[str, Look] = {
    states.STABLE: Look("stable", "kg-ok"),
    **{state: Look("rebalancing", "kg-warn") for state in states.STATES if state in states.REBALANCING},
    states.EMPTY: Look("empty", "kg-muted"),
    states.DEAD: Look("dead", "kg-error"),
    states.NOT_READY: Look("not_ready", "kg-warn"),
}
"""Group state → how it is shown."""

UNKNOWN_STATE = Look("odd", "kg-muted")
"""How a state is shown that the broker has not reported, or that kgtui does not know."""


VERDICT_LOOKS: dict[str, Look] = {
    "OK": Look("stable", "kg-ok"),
    "WARN": Look("warn", "kg-warn"),
    "ERR": Look("error", "kg-error"),
}
"""Health verdict on a group → how it is shown."""

_MEANINGS = {
    "odd": "a state that the broker did not report, or a number that is not known yet",
    "warn": "health verdict WARN; key 1 shows the reason",
    "error": "health verdict ERR; key 1 shows the reason",
    "marked": "marked by you",
    "fault": "some data of the group could not be read; press e for an explanation",
    "none": "there is no value, for example no committed offset",
    "forbidden": "your user lacks the permission to read the value",
    "at_least": "at least this number, because a part of the sum is not known",
}
"""Name of an attribute of `Marks` → meaning of the symbol, for symbols other than those of states."""


def legend(marks: Marks) -> list[tuple[str, str]]:
    """Return the rows of the list of symbols in the help: a symbol and its meaning."""
    by_mark: dict[str, list[str]] = {}
    for state, look in STATE_LOOKS.items():
        by_mark.setdefault(look.mark, []).append(state)
    meanings = {mark: ", ".join(found) for mark, found in by_mark.items()} | _MEANINGS
    return [(getattr(marks, mark).strip(), meaning) for mark, meaning in meanings.items()]


def state_look(state: str | None) -> Look:
    """Return how a group state is shown; None is a state that the broker has not reported."""
    return STATE_LOOKS.get(state or "", UNKNOWN_STATE)

"""The symbols that kgtui shows, and for group states their color roles; the terminal UI and all outputs use them.

To change the symbol or color of a state, or to add a symbol, change the tables of this module. A color role is the name
of a theme variable without the `$`: `kg-ok` stands for `$kg-ok`.
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
    none="-", at_least=">=", ellipsis="~", opened="v", closed=">", marked="*", dot="-", arrow="->",
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
    states.EMPTY: Look("empty", "kg-muted"),
    states.DEAD: Look("dead", "kg-error"),
    states.NOT_READY: Look("not_ready", "kg-warn"),
} | dict.fromkeys(states.REBALANCING, Look("rebalancing", "kg-warn"))
"""Group state → how it is shown."""

UNKNOWN_STATE = Look("odd", "kg-muted")
"""How a state is shown that the broker has not reported, or that kgtui does not know."""


def state_look(state: str | None) -> Look:
    """Return how a group state is shown; None is a state that the broker has not reported."""
    return STATE_LOOKS.get(state or "", UNKNOWN_STATE)

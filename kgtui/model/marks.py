"""The symbols that kgtui shows, and the color roles of group states and verdicts.

A color role, such as `kg-ok`, is the name of a color that each of kgtui's Textual themes defines. In CSS, the color is
the variable `$kg-ok`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kgtui.model import group_types as states
from kgtui.model.problem import ABANDONED_TIME, Problem


@dataclass(frozen=True, slots=True)
class Marks:
    """A set of symbols for the terminal UI, such as `✱` for a marked group: `UNICODE` (the defaults) or `ASCII`.

    Each Unicode symbol is one cell wide in every terminal. Otherwise, columns would not be aligned.
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
    times: str = "×"
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
    none="-", at_least=">=", at_most="<=", ellipsis="~", opened="v", closed=">", marked="*", dot="-", times="x",
    arrow="->", warn="^", error="X", stable="=", rebalancing="~", empty=".", dead="x", not_ready="_", bar="#", rule="-",
    record="*",
)  # fmt: skip

TO_ASCII = {
    ord(getattr(UNICODE, name).strip()): getattr(ASCII, name).strip() for name in ("none", "at_least", "ellipsis")
}
"""Table for `str.translate`. It replaces the symbols in command output if the output cannot be encoded with them."""


OK, WARN, ERROR, MUTED, ACCENT, STALE = ROLES = ("kg-ok", "kg-warn", "kg-error", "kg-muted", "kg-accent", "kg-stale")
"""The color roles, which are names of colors. Every theme must define them as variables, such as `$kg-ok` in CSS."""


class Look(NamedTuple):
    """The symbol and the color of a state or verdict.

    Attributes:
        mark: the symbol, as the name of an attribute of `Marks`.
        role: name of the color, one of `ROLES`.
    """

    mark: str
    role: str


STATE_LOOKS: dict[str, Look] = {
    states.STABLE: Look("stable", OK),
    **{state: Look("rebalancing", WARN) for state in states.STATES if state in states.REBALANCING},
    states.EMPTY: Look("empty", MUTED),
    states.DEAD: Look("dead", ERROR),
    states.NOT_READY: Look("not_ready", WARN),
}
"""Maps each group state to its symbol and color."""

UNKNOWN_STATE = Look("odd", MUTED)
"""Symbol and color of a group state that the broker did not report, or that kgtui does not know."""

VERDICT_LOOKS: dict[str, Look] = {
    "OK": Look("stable", OK),
    "WARN": Look("warn", WARN),
    "ERR": Look("error", ERROR),
    "ABANDONED": Look("empty", MUTED),
    "UNKNOWN": Look("fault", ERROR),
}
"""Maps the name of a `GroupStatus` to its symbol and color.

The symbol for `UNKNOWN` is for a group that could not be read, not for a group that kgtui has not read yet. `NOT_FOUND`
has no symbol.
"""

PROBLEM_LOOKS: dict[Problem, Look] = {
    problem: VERDICT_LOOKS["ERR" if problem.harm >= Problem.REWIND.harm else "WARN"] for problem in Problem
} | {
    Problem.FLAPPING: Look("rebalancing", WARN),
    Problem.REBALANCING: Look("rebalancing", WARN),
    Problem.UNREADABLE: VERDICT_LOOKS["UNKNOWN"],
}
"""Maps each problem to its symbol and color. The UI shows them with the number of groups that have the problem."""

_MEANINGS = {
    "odd": "a state that the broker did not report, or a number that is not known yet",
    "empty": f"ABANDONED: the group has unread records and has been Empty for at least {ABANDONED_TIME}",
    "dot": "a Stable group that was not read often enough to be called OK",
    "warn": "WARN: the group has a problem; key 1 shows it",
    "error": "ERR: the group has a severe problem; key 1 shows it",
    "marked": "marked by you",
    "fault": "UNKNOWN: some data of the group could not be read; press e for an explanation",
    "none": "there is no value, for example no committed offset",
    "forbidden": "your user lacks the permission to read the value",
    "at_least": "at least this number, because a part of the sum is not known",
}
"""Maps the name of an attribute of `Marks` to the meaning of its symbol, for the help.

If the symbol also stands for group states (`STATE_LOOKS`), the help lists these states before the meaning.
"""


def legend(marks: Marks) -> list[tuple[str, str]]:
    """Return the list of symbols for the help, as pairs `(symbol, meaning)`."""
    states_by_mark: dict[str, list[str]] = {}
    for state, look in STATE_LOOKS.items():
        states_by_mark.setdefault(look.mark, []).append(state)
    meanings = {mark: [", ".join(found)] for mark, found in states_by_mark.items()}
    for mark, meaning in _MEANINGS.items():
        meanings.setdefault(mark, []).append(meaning)
    return [(getattr(marks, mark).strip(), "; ".join(found)) for mark, found in meanings.items()]


def state_look(state: str | None) -> Look:
    """Return the symbol and color of a group state. None stands for a state that the broker did not report."""
    return STATE_LOOKS.get(state or "", UNKNOWN_STATE)

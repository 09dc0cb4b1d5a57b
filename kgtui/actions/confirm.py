r"""What a person types to confirm: something that cannot be typed for another group by mistake.

One group: its name. A name that holds what no keyboard types, or that could be taken for another's, is asked for in
ASCII with escapes (`p\u0430yment`); a very long one by its end and its length. Many groups: their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 60
"""Characters of a spelling that a person is asked to type."""

_TAIL_CHARACTERS, _TAIL_SPELLING = 12, 24


@dataclass(frozen=True, slots=True)
class Challenge:
    """What has to be typed.

    Attributes:
        asked: printable ASCII; what the person is shown.
        accepted: every text that will do.
        what: what `asked` is, to follow "type": `its name`, `the number of groups`.
    """

    asked: str
    accepted: frozenset[str]
    what: str

    def met(self, typed: str) -> bool:
        """Whether this was typed, to the character."""
        return typed in self.accepted


def challenge(groups: Sequence[str]) -> Challenge:
    """What has to be typed to delete exactly these groups, of which there is at least one."""
    if len(groups) != 1:
        return Challenge(str(len(groups)), frozenset({str(len(groups))}), "the number of groups")
    (group,) = groups
    if not group:
        return Challenge("empty name", frozenset({"empty name"}), "these words, for its name is empty")
    spelled = spelling(group) if len(group) <= LONGEST else ""
    if spelled and len(spelled) <= LONGEST:
        what = "its name" if spelled == group else "its name as spelled here"
        return Challenge(spelled, frozenset({spelled, visible(group)}), what)
    tail = _tail(group)
    asked = f"{spelling(tail)} {len(group)}"
    return Challenge(
        asked, frozenset({asked, visible(group)}), f"its last {len(tail)} characters, a blank and its length"
    )


def spelling(name: str) -> str:
    """The name in printable ASCII, where different names never look the same; blanks at the ends are escaped too."""
    core = name.strip(" ")
    before = len(name) - len(name.lstrip(" ")) if core else 0
    escaped = "".join(_spelled(char) for char in core)
    return r"\x20" * before + escaped + r"\x20" * (len(name) - len(core) - before)


def _spelled(char: str) -> str:
    if char == "\\":
        return r"\\"
    if char.isascii() and char.isprintable():
        return char
    shown = visible(char)
    return shown if shown.isascii() else shown.encode("ascii", "backslashreplace").decode("ascii")


def _tail(group: str) -> str:
    count = _TAIL_CHARACTERS
    while count > 1 and len(spelling(group[-count:])) > _TAIL_SPELLING:
        count -= 1
    return group[-count:]

r"""The text that the user types to confirm a deletion, so that no group is deleted by mistake.

| groups | text |
|---|---|
| one | its id in printable ASCII, with escapes such as `p\u0430yment` |
| one with a very long id | the last characters and the length of the id |
| several | the number of groups |

If the deletion cannot be undone, the user must also type the word `irreversible`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 60
"""Maximum length of a group id that the user must type in full, in characters after the id was escaped.

For a longer id, the user types only its last characters and its length.
"""

_SECOND_WORD = "irreversible"

_TAIL_CHARACTERS, _TAIL_SPELLING = 12, 24


@dataclass(frozen=True, slots=True)
class Challenge:
    """The text that the user must type to confirm a deletion.

    Attributes:
        asked: the text that is shown to the user, in printable ASCII.
        accepted: all texts that confirm the deletion: `asked`, and for one group also its id with unescaped letters
            like `ü`.
        what: instruction that is shown after the words `To confirm, `, such as `type the group id`.
        second_word: word that the user must type as well; None if the deletion can be undone.
    """

    asked: str
    accepted: frozenset[str]
    what: str
    second_word: str | None

    def met(self, typed: str) -> bool:
        """Return whether the typed text is exactly one of the accepted texts."""
        return typed in self.accepted

    def second_word_met(self, typed: str) -> bool:
        """Return whether the typed second word is correct. Always true if no second word is required."""
        return self.second_word is None or typed == self.second_word


def challenge(groups: Sequence[str], *, irreversible: bool) -> Challenge:
    """Return the text that the user must type to delete the groups. There must be at least one group.

    Args:
        irreversible: whether the deletion cannot be undone.
    """
    asked, accepted, what = _first_text(groups)
    return Challenge(asked, accepted, what, _SECOND_WORD if irreversible else None)


def _first_text(groups: Sequence[str]) -> tuple[str, frozenset[str], str]:
    """Return the values of `Challenge.asked`, `Challenge.accepted` and `Challenge.what` for deleting these groups."""
    if len(groups) != 1:
        return str(len(groups)), frozenset({str(len(groups))}), "type the number of groups"
    (group,) = groups
    if not group:
        return "empty name", frozenset({"empty name"}), "type these words, because the group id is empty"
    spelled = spelling(group) if len(group) <= LONGEST else ""
    if spelled and len(spelled) <= LONGEST:
        what = "type the group id" if spelled == group else "type the group id as it is written here"
        return spelled, frozenset({spelled, visible(group)}), what
    tail = _tail(group)
    asked = f"{spelling(tail)} {len(group)}"
    what = f"type the last {len(tail)} characters and the length of the id"
    return asked, frozenset({asked, visible(group)}), what


def spelling(name: str) -> str:
    r"""Return a name in printable ASCII, so that two different names never look the same.

    Characters that are not printable ASCII are replaced with escapes such as `\u0430`. Spaces at the beginning and at
    the end become `\x20`.
    """
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

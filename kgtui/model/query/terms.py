"""The terms of a filter, and what each says of a group: yes, no, or None when the data to tell is not there.

None never counts as yes, negated or not: a filter must not choose a group for what nobody knows of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.group_types import STATES, TYPES
from kgtui.model.query.lexer import spelled
from kgtui.model.query.patterns import fuzzy_matcher, regex_matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kgtui.model.group import Listing
    from kgtui.model.query.patterns import Glob
    from kgtui.model.snapshot import Snapshot


class Need(Enum):
    """What must have been read of a group before a term or a sort key can answer."""

    DESCRIPTION = "members"
    OFFSETS = "offsets"
    WATCHING = "watching for a while"


def negation(negated: bool) -> str:
    """What stands before a negated term."""
    return "not:" if negated else ""


@dataclass(frozen=True, slots=True)
class IdMatch:
    """One alternative about the group id: `word`, `regex` or `fuzzy`."""

    kind: str
    text: str

    def matcher(self) -> Callable[[str], object]:
        """A function that is true of ids that match."""
        if self.kind == "regex":
            return regex_matcher(self.text)
        if self.kind == "fuzzy":
            fuzzy = fuzzy_matcher(self.text)
            return lambda group: fuzzy(group.lower())
        word = self.text.lower()
        return lambda group: word in group.lower()

    def spelled(self, *, first: bool) -> str:
        """The alternative as the filter language writes it."""
        if self.kind == "regex":
            return "/" + _escape_slashes(self.text) + "/"
        return spelled(self.text, first=first and self.kind == "word")


def _escape_slashes(source: str) -> str:
    # Only a slash that is not already behind a backslash ends the expression.
    out: list[str] = []
    escaped = False
    for char in source:
        out.append("\\/" if char == "/" and not escaped else char)
        escaped = char == "\\" and not escaped
    return "".join(out)


@dataclass(frozen=True, slots=True)
class IdTerm:
    """A term about the group id: any of the alternatives."""

    any_of: tuple[IdMatch, ...]
    negated: bool = False

    def filter(self, ids: Sequence[str]) -> Sequence[str]:
        """The ids that match, in their order."""
        if len(self.any_of) == 1 and self.any_of[0].kind == "word":
            word = self.any_of[0].text.lower()
            if self.negated:
                return [group for group in ids if word not in group.lower()]
            return [group for group in ids if word in group.lower()]
        matchers = [one.matcher() for one in self.any_of]
        try:
            return self._filter(ids, matchers)
        except UnicodeEncodeError:
            return self._filter(ids, [_tolerant(matcher) for matcher in matchers])

    def within(self, other: IdTerm) -> bool:
        """Whether it is plain that no id passes this term that does not pass the other: more letters of one word."""
        if self == other:
            return True
        if self.negated or other.negated or len(self.any_of) != 1 or len(other.any_of) != 1:
            return False
        longer, shorter = self.any_of[0], other.any_of[0]
        return longer.kind == shorter.kind == "word" and shorter.text.lower() in longer.text.lower()

    def _filter(self, ids: Sequence[str], matchers: list[Callable[[str], object]]) -> Sequence[str]:
        if len(matchers) == 1:
            match = matchers[0]
            return [group for group in ids if not match(group)] if self.negated else [g for g in ids if match(g)]
        wanted = not self.negated
        return [group for group in ids if any(match(group) for match in matchers) is wanted]

    def spelled(self) -> str:
        """The term as the filter language writes it."""
        key = "fuzzy:" if self.any_of[0].kind == "fuzzy" else ""
        values = [one.spelled(first=index == 0) for index, one in enumerate(self.any_of)]
        return negation(self.negated) + key + ",".join(values)


def _tolerant(match: Callable[[str], object]) -> Callable[[str], object]:
    return lambda text: match(text.encode(errors="replace").decode())


@dataclass(frozen=True, slots=True)
class ListingTerm:
    """A term that the list of groups answers: decided once for all groups that are listed alike.

    Attributes:
        key: `type`, `protocol`, `state`, `kind` or `coordinator`.
    """

    key: str
    any_of: tuple[Glob, ...]
    negated: bool = False

    def of_listing(self, listing: Listing, snapshot: Snapshot) -> bool | None:
        """Whether it holds for every group listed so; None when the list does not tell."""
        value = getattr(listing, self.key)
        if value is None:
            return None
        if self.key == "coordinator":
            return self._holds(_names_of_broker(snapshot, value))
        return self._holds((value,))

    def of_group(self, group: str, snapshot: Snapshot) -> bool | None:
        """Whether it holds for one group, whose describe may tell what the list does not."""
        listing = snapshot.groups[group]
        if self.key not in ("type", "state"):
            return self.of_listing(listing, snapshot)
        value = facts.type_of(snapshot, group) if self.key == "type" else snapshot.state_of(group)
        if value is not None:
            return self._holds((value,))
        return True if not self.negated and any(glob.text.lower() == "unknown" for glob in self.any_of) else None

    def _holds(self, values: Iterable[str]) -> bool:
        matchers = [glob.matcher() for glob in self.any_of]
        return any(match(value) for value in values for match in matchers) is not self.negated

    def spelled(self) -> str:
        """The term as the filter language writes it."""
        values = [f'"{glob.spelled()}"' if self._unheard_of(glob) else glob.spelled() for glob in self.any_of]
        return f"{negation(self.negated)}{self.key}:{','.join(values)}"

    def _unheard_of(self, glob: Glob) -> bool:
        # A plain unknown name is taken for a mistake; quotes say that it is meant.
        names = {"type": TYPES, "state": STATES}.get(self.key)
        return bool(names and glob.text and not glob.wild and glob.text not in (*names, "unknown"))


def _names_of_broker(snapshot: Snapshot, node: int) -> tuple[str, ...]:
    broker = snapshot.cluster.brokers.get(node)
    return (str(node),) if broker is None else (str(node), broker.host, broker.address)

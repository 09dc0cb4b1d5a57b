"""The terms of a filter, such as `lag:1k+`, and their evaluation for a group.

The result of a term is True, False or None. If a value that the term needs is unknown, the result
is None, even if the term is negated. There is one exception: a term that asks for unknown values,
such as `lag:unknown`, is then True. But for a group that kgtui has not read yet, the result of
`lag:unknown` is None, too. A filter selects a group only if the results of all its terms are True.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, cast

from kgtui.model.facts import is_lag_incomplete
from kgtui.model.query.lexer import spelled
from kgtui.model.query.patterns import fuzzy_matcher, regex_matcher
from kgtui.model.query.term_catalog import TERM_KEYS, UNKNOWN, FlagKey, ListingKey, NameKey, NumberKey

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kgtui.model.facts import Need
    from kgtui.model.group import Listing
    from kgtui.model.query.patterns import Glob
    from kgtui.model.query.ranges import Range
    from kgtui.model.snapshot import Snapshot

Tester = Callable[[str], bool | None]
"""Function that takes a group id, and returns the result of a term in one snapshot: True, False or None."""


def negation(negated: bool) -> str:
    """Return the prefix of a filter term: `not:` if the term is negated, otherwise an empty string."""
    return "not:" if negated else ""


@dataclass(frozen=True, slots=True)
class IdMatch:
    """One alternative in a filter term about the group id, such as `pay` in the term `pay,bill`.

    Attributes:
        kind: `word` (the id contains `text`), `regex`, or `fuzzy` (the id contains the letters of `text` in this
            order).
    """

    kind: str
    text: str

    def matcher(self) -> Callable[[str], object]:
        """Return a function that takes a group id, and returns a truthy value if the id matches."""
        if self.kind == "regex":
            return regex_matcher(self.text)
        if self.kind == "fuzzy":
            fuzzy = fuzzy_matcher(self.text)
            return lambda group: fuzzy(group.lower())
        word = self.text.lower()
        return lambda group: word in group.lower()

    def spelled(self, *, first: bool) -> str:
        """Return this alternative as it is written in a filter.

        Args:
            first: whether this is the first alternative of the term. In all others, `!` and `:`
                need no escape.
        """
        if self.kind == "regex":
            return "/" + _escape_slashes(self.text) + "/"
        return spelled(self.text, first=first and self.kind == "word")


def _escape_slashes(source: str) -> str:
    # In a filter, a slash ends the regular expression. A slash in the expression itself therefore gets a backslash.
    out: list[str] = []
    escaped = False
    for char in source:
        out.append("\\/" if char == "/" and not escaped else char)
        escaped = char == "\\" and not escaped
    return "".join(out)


@dataclass(frozen=True, slots=True)
class IdTerm:
    """A term about the group id.

    The term is true if at least one of its alternatives (`any_of`) matches the id. A negated term is true if none
    matches.
    """

    any_of: tuple[IdMatch, ...]
    negated: bool = False

    def filter(self, ids: Sequence[str]) -> Sequence[str]:
        """Return the ids for which the term is true, in the given order."""
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
        """Return whether every group id that matches this term also matches the other term; False if not certain.

        For example, every id that matches the term `payments` also matches the term `pay`.
        """
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
        passing = not self.negated
        return [group for group in ids if any(match(group) for match in matchers) is passing]

    def spelled(self) -> str:
        """Return the term as text in the filter language."""
        key = "fuzzy:" if self.any_of[0].kind == "fuzzy" else ""
        values = [one.spelled(first=index == 0) for index, one in enumerate(self.any_of)]
        return negation(self.negated) + key + ",".join(values)


def _tolerant(match: Callable[[str], object]) -> Callable[[str], object]:
    return lambda text: match(text.encode(errors="replace").decode())


@dataclass(frozen=True, slots=True)
class ListingTerm:
    """A term about the type, protocol, state, kind or coordinator of a group.

    Groups with the same type, protocol, state and coordinator share one `Listing`. If the `Listing` contains the value
    that the term needs, the term is evaluated once for all these groups.

    Attributes:
        key: key of a `ListingKey`, such as `state`.
        any_of: patterns. The term is true if at least one of them matches the value. A negated term is true if none of
            them matches.
    """

    key: str
    any_of: tuple[Glob, ...]
    negated: bool = False

    @property
    def _entry(self) -> ListingKey:
        return cast("ListingKey", TERM_KEYS[self.key])

    def of_listing(self, listing: Listing, snapshot: Snapshot) -> bool | None:
        """Return whether the term is true for groups with this type, protocol, state and coordinator.

        None if `listing` does not contain the value that the term needs. Then call `of_group` for each group.
        """
        texts = self._entry.of_listing(snapshot, listing)
        return None if texts is None else self._holds(texts)

    def of_group(self, group: str, snapshot: Snapshot) -> bool | None:
        """Return whether the term is true for one group; None if that is not known.

        For example, if the state of the group is unknown, the result of the term `state:unknown` is True, and the
        result of every other `state:` term is None.
        """
        read = self._entry.of_group
        if read is None:
            return self.of_listing(snapshot.groups[group], snapshot)
        value = read(snapshot, group)
        if value is not None:
            return self._holds((value,))
        return True if not self.negated and any(glob.text.lower() == UNKNOWN for glob in self.any_of) else None

    def _holds(self, texts: Iterable[str]) -> bool:
        matchers = [glob.matcher() for glob in self.any_of]
        return any(match(text) for text in texts for match in matchers) is not self.negated

    def spelled(self) -> str:
        """Return the term as text in the filter language."""
        values = [f'"{glob.spelled()}"' if self._needs_quotes(glob) else glob.spelled() for glob in self.any_of]
        return f"{negation(self.negated)}{self.key}:{','.join(values)}"

    def _needs_quotes(self, glob: Glob) -> bool:
        # In a term with a fixed set of values, such as `state:`, the parser accepts any other value only in quotes.
        accepted = self._entry.values if self._entry.quoted else ()
        return bool(accepted and glob.text and not glob.wild and glob.text not in accepted)


@dataclass(frozen=True, slots=True)
class NameTerm:
    """A term about names of a group, such as its topics.

    Attributes:
        key: key of a `NameKey`, such as `topic`.
        any_of: patterns. The term is true if at least one of them matches a name. A negated term is true if none of
            them matches a name.
    """

    key: str
    any_of: tuple[Glob, ...]
    negated: bool = False

    @property
    def _entry(self) -> NameKey:
        return cast("NameKey", TERM_KEYS[self.key])

    @property
    def needs(self) -> frozenset[Need]:
        """The data about a group that must be read to evaluate the term, in addition to the list of groups."""
        return self._entry.needs

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool | None:
        """Return whether the term is true for a group; None if the names were not read."""
        return self.tester(snapshot, marked)(group)

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Tester:
        """Return a function that takes a group id, and returns the same result as `of_group`."""
        matchers = [glob.matcher() for glob in self.any_of]
        read, negated = self._entry.names, self.negated
        # Thousands of groups can have the same names, such as the same topics, so results are cached by tuple of names.
        decided: dict[tuple[str, ...], bool] = {}

        def holds(group: str) -> bool | None:
            names = read(snapshot, group)
            if names is None:
                return None
            matches = decided.get(names)
            if matches is None:
                matches = decided[names] = any(match(name) for name in names for match in matchers)
            return matches is not negated

        return holds

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Return whether all names that the term needs, such as the topics of the group, were read."""
        return self._entry.names(snapshot, group) is not None

    def spelled(self) -> str:
        """Return the term as text in the filter language."""
        return f"{negation(self.negated)}{self.key}:{','.join(glob.spelled() for glob in self.any_of)}"


@dataclass(frozen=True, slots=True)
class NumberTerm:
    """A term that compares a number of a group with ranges.

    Attributes:
        key: key of a `NumberKey`, such as `lag`.
        any_of: ranges. The term is true if at least one of them contains the number. A negated term is true if none of
            them contains the number.
    """

    key: str
    any_of: tuple[Range, ...]
    negated: bool = False

    @property
    def _entry(self) -> NumberKey:
        return cast("NumberKey", TERM_KEYS[self.key])

    @property
    def needs(self) -> frozenset[Need]:
        """The data about a group that must be read to evaluate the term, in addition to the list of groups."""
        return self._entry.needs

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool | None:
        """Return whether the term is true for a group; None if that is not known.

        For example, it is not known whether `lag:5..10` is true if kgtui only knows that the lag is at least 7.
        """
        applies, value, at_least = self._entry.number(snapshot, group)
        answer = applies if applies is not True else self._holds(value, at_least)
        return None if answer is None else answer is not self.negated

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Tester:
        """Return a function that takes a group id, and returns the same result as `of_group`."""
        entry = self._entry
        if not entry.in_summary:
            return lambda group: self.of_group(group, snapshot, marked)
        # A summary holds values from the background reads of a group. Reading the number from it is faster than calling
        # `of_group`. But `of_group` is called for a group in `newer`, which is a mapping in the snapshot (such as
        # `offsets`) that may have newer data than the summary.
        summaries, newer = snapshot.summaries, getattr(snapshot, entry.newer_in)
        number, negated, is_lag = attrgetter(entry.in_summary), self.negated, entry.in_summary == "lag"

        def holds(group: str) -> bool | None:
            summary = summaries.get(group)
            if summary is None or group in newer or (is_lag and is_lag_incomplete(snapshot, group, summary)):
                return self.of_group(group, snapshot, marked)
            answer = self._holds(number(summary), at_least=False)
            return None if answer is None else answer is not negated

        return holds

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Return whether `Query.searched` counts a group as searched for this term.

        This is so if the group cannot have such a number, or if the data about the number was read. For the term
        `empty:`, the number itself must be known, too (`NumberKey.searched_without_value`).
        """
        entry = self._entry
        applies, value, _ = entry.number(snapshot, group)
        return applies is False or (applies is True and (entry.searched_without_value or value is not None))

    def _holds(self, value: float | None, at_least: bool) -> bool | None:
        if value is None:
            return True if any(one.unknown for one in self.any_of) else None
        if len(self.any_of) == 1:
            return self.any_of[0].holds(value, at_least)
        answers = [one.holds(value, at_least) for one in self.any_of]
        if True in answers:
            return True
        return None if None in answers else False

    def spelled(self) -> str:
        """Return the term as text in the filter language."""
        units = self._entry.units
        return f"{negation(self.negated)}{self.key}:{','.join(one.spelled(units) for one in self.any_of)}"


@dataclass(frozen=True, slots=True)
class FlagTerm:
    """A term with the value yes or no, such as `marked:yes`. `key` is the key of a `FlagKey`."""

    key: str
    value: bool
    negated: bool = False

    @property
    def _entry(self) -> FlagKey:
        return cast("FlagKey", TERM_KEYS[self.key])

    @property
    def needs(self) -> frozenset[Need]:
        """The data about a group that must be read before the term is evaluated.

        Without this data, the result can be wrong. For example, `problem:yes` would miss groups with a problem.
        """
        return self._entry.needs

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool:
        """Return whether the term is true for a group."""
        return (self._entry.holds(snapshot, group, marked) is self.value) is not self.negated

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Tester:
        """Return a function that takes a group id, and returns whether the term is true for this group."""
        holds, value, negated = self._entry.holds, self.value, self.negated
        return lambda group: (holds(snapshot, group, marked) is value) is not negated

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Return True, because the result of this term is always True or False, never None."""
        return True

    def spelled(self) -> str:
        """Return the term as text in the filter language."""
        return f"{negation(self.negated)}{self.key}:{'yes' if self.value else 'no'}"

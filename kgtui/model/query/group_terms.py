"""Terms about one group: names and numbers that only a describe or the offsets tell, and flags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.group_types import EMPTY
from kgtui.model.query.ranges import COUNT_UNITS, TIME_UNITS, Range
from kgtui.model.query.terms import IdTerm, ListingTerm, Need, negation

if TYPE_CHECKING:
    from collections.abc import Collection

    from kgtui.model.query.patterns import Glob
    from kgtui.model.query.verdict_terms import VerdictTerm
    from kgtui.model.snapshot import Snapshot

Tester = Callable[[str], bool | None]
"""What a term says of a group of one snapshot."""


def _hosts(snapshot: Snapshot, group: str) -> tuple[str, ...] | None:
    """Hosts with and without the slash that brokers write and nobody types: `/10.0.0.7`."""
    hosts = facts.hosts(snapshot, group)
    return None if hosts is None else hosts + tuple(host[1:] for host in hosts if host.startswith("/"))


_NAMES: dict[str, Callable[[Snapshot, str], tuple[str, ...] | None]] = {
    "topic": facts.topics,
    "client": facts.clients,
    "host": _hosts,
    "member": facts.member_ids,
}


@dataclass(frozen=True, slots=True)
class NameTerm:
    """A term about names that only a describe or the offsets tell: `topic`, `client`, `host`, `member`."""

    key: str
    any_of: tuple[Glob, ...]
    negated: bool = False

    @property
    def needs(self) -> frozenset[Need]:
        """What must have been read."""
        return frozenset({Need.DESCRIPTION, Need.OFFSETS} if self.key == "topic" else {Need.DESCRIPTION})

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool | None:
        """Whether it holds; None when the names are not known."""
        return self.tester(snapshot, marked)(group)

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Tester:
        """`of_group` for many groups of one snapshot."""
        matchers = [glob.matcher() for glob in self.any_of]
        read, negated = _NAMES[self.key], self.negated
        # Thousands of groups share the same few topics and hosts: each set of names is decided once.
        decided: dict[tuple[str, ...], bool] = {}

        def holds(group: str) -> bool | None:
            names = read(snapshot, group)
            if names is None:
                return None
            answer = decided.get(names)
            if answer is None:
                answer = any(match(name) for name in names for match in matchers) is not negated
                decided[names] = answer
            return answer

        return holds

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Whether the group has been searched."""
        return _NAMES[self.key](snapshot, group) is not None

    def spelled(self) -> str:
        """The term as the filter language writes it."""
        return f"{negation(self.negated)}{self.key}:{','.join(glob.spelled() for glob in self.any_of)}"


@dataclass(frozen=True, slots=True)
class NumberTerm:
    """A term about a number: `members`, `lag` (records), `timelag`, `empty`, `age` (seconds)."""

    key: str
    any_of: tuple[Range, ...]
    negated: bool = False

    @property
    def needs(self) -> frozenset[Need]:
        """What must have been read."""
        needs = {"members": Need.DESCRIPTION, "lag": Need.OFFSETS, "empty": Need.WATCHING, "timelag": Need.WATCHING}
        return frozenset({needs[self.key]} if self.key in needs else ())

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool | None:
        """Whether it holds; None when the number is not known, or only in part."""
        applies, value, at_least = self._value(group, snapshot)
        answer = applies if applies is not True else self._holds(value, at_least)
        return None if answer is None else answer is not self.negated

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Tester:
        """`of_group` for many groups of one snapshot."""
        if self.key not in ("lag", "members"):
            return lambda group: self.of_group(group, snapshot, marked)
        # The sweep's word is final for nearly all groups, and nearly always a number.
        summaries, other = snapshot.summaries, snapshot.offsets if self.key == "lag" else snapshot.details
        number, negated = attrgetter(self.key), self.negated

        def holds(group: str) -> bool | None:
            summary = summaries.get(group)
            if summary is None or group in other:
                return self.of_group(group, snapshot, marked)
            value = number(summary)
            answer = self._holds(value, self.key == "lag" and summary.lag_unknown > 0)
            return None if answer is None else answer is not negated

        return holds

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Whether the group has been searched."""
        applies, value, _ = self._value(group, snapshot)
        return applies is False or (applies is True and (self.key != "empty" or value is not None))

    def _holds(self, value: float | None, at_least: bool) -> bool | None:
        if value is None:
            return True if any(one.unknown for one in self.any_of) else None
        if len(self.any_of) == 1:
            return self.any_of[0].holds(value, at_least)
        answers = [one.holds(value, at_least) for one in self.any_of]
        if True in answers:
            return True
        return None if None in answers else False

    def _value(self, group: str, snapshot: Snapshot) -> tuple[bool | None, float | None, bool]:
        """Whether there is such a number (None: not read yet), the number, whether it is a lower bound."""
        if self.key == "members":
            read = group in snapshot.summaries or group in snapshot.details
            return (True if read else None), facts.member_count(snapshot, group), False
        if self.key == "lag":
            lag = facts.lag_total(snapshot, group)
            return (None, None, False) if lag is None else (True, lag.lag, lag.unknown > 0)
        if self.key == "timelag":
            health = snapshot.health.get(group)
            age = None if health is None else health.time_lag
            return (None if health is None else True), age.seconds if age else None, bool(age and age.at_least)
        if self.key == "age":
            at = facts.read_at(snapshot, group)
            return True, None if at is None else max(snapshot.taken_at - at, 0.0), False
        state = snapshot.state_of(group)
        since = snapshot.state_since.get(group)
        applies = None if state is None else state == EMPTY
        return applies, None if since is None else max(snapshot.taken_at - since, 0.0), False

    def spelled(self) -> str:
        """The term as the filter language writes it."""
        units = COUNT_UNITS if self.key in ("lag", "members") else TIME_UNITS
        return f"{negation(self.negated)}{self.key}:{','.join(one.spelled(units) for one in self.any_of)}"


@dataclass(frozen=True, slots=True)
class FlagTerm:
    """A term that is yes or no: `fault`, `marked`."""

    key: str
    value: bool
    negated: bool = False

    @property
    def needs(self) -> frozenset[Need]:
        """Nothing."""
        return frozenset()

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool:
        """Whether it holds."""
        fact = group in marked if self.key == "marked" else facts.has_fault(snapshot, group)
        return (fact is self.value) is not self.negated

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Tester:
        """`of_group` for many groups of one snapshot."""
        return lambda group: self.of_group(group, snapshot, marked)

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Always."""
        return True

    def spelled(self) -> str:
        """The term as the filter language writes it."""
        return f"{negation(self.negated)}{self.key}:{'yes' if self.value else 'no'}"


if TYPE_CHECKING:
    # Verdicts are loaded by the filters that ask for them.
    GroupTerm = NameTerm | NumberTerm | FlagTerm | VerdictTerm
    Term = IdTerm | ListingTerm | GroupTerm

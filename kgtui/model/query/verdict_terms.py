"""The filter term `verdict:`, which selects groups by their verdict or their problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kgtui.model.facts import Need
from kgtui.model.group_types import EMPTY
from kgtui.model.problem import PROBLEM_NAMES as PROBLEMS
from kgtui.model.problem import STATUS_NAMES as STATUSES
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.query.term_catalog import UNKNOWN
from kgtui.model.query.terms import negation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kgtui.model.judgment import Judgment
    from kgtui.model.snapshot import Snapshot

NAMES = (*STATUSES, *PROBLEMS)
LEVELS = tuple(STATUSES)
"""Verdicts to which a user can add `+`, as in `warn+`, to include worse verdicts."""
_RANK = {status: rank for rank, status in enumerate(STATUSES.values())}
_MEMBERLESS = frozenset({Problem.EMPTY, Problem.UNUSED, Problem.ABANDONED})
"""Problems that only groups in the state Empty can have."""
_SPELLINGS = {"err": "error", "warning": "warn"}


@dataclass(frozen=True, slots=True)
class VerdictMatch:
    """One value of a `verdict:` term: the name of a verdict or of a problem, or `unknown`.

    If `or_worse` is true, verdicts that are worse than `name` match, too.
    """

    name: str
    or_worse: bool = False

    def holds(self, judgment: Judgment) -> bool:
        """Return whether a group with this judgment matches the value."""
        problem, status = PROBLEMS.get(self.name), judgment.status
        if problem is not None:
            return problem in (judgment.kind, *judgment.others)
        if self.name == UNKNOWN:
            return status in (GroupStatus.UNKNOWN, GroupStatus.NOT_FOUND)
        required = STATUSES[self.name]
        return status in _RANK and _RANK[status] >= _RANK[required] if self.or_worse else status is required

    def spelled(self) -> str:
        """Return the value as text in the filter language."""
        return self.name + "+" * self.or_worse


def read_verdict(text: str) -> VerdictMatch | None:
    """Parse one value of a `verdict:` term, ignoring case; return None if the text is not a valid value.

    Valid values are a verdict such as `warn` or `warn+`, a problem such as `stall`, and `unknown`.
    """
    low = text.lower()
    name = low.removesuffix("+")
    name = _SPELLINGS.get(name, name)
    or_worse = low.endswith("+")
    if or_worse and name not in LEVELS:
        return None
    return VerdictMatch(name, or_worse) if name in NAMES or name == UNKNOWN else None


@dataclass(frozen=True, slots=True)
class VerdictTerm:
    """A term about the verdict on a group (`Snapshot.judgment`), such as `verdict:warn+` or `verdict:stop,stall`."""

    key: ClassVar[str] = "verdict"
    any_of: tuple[VerdictMatch, ...]
    negated: bool = False

    @property
    def needs(self) -> frozenset[Need]:
        """The data that kgtui must read to judge a group: its offsets at several polls."""
        return frozenset({Need.OFFSETS, Need.WATCHING})

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool | None:
        """Return whether the term is true for a group; None if the verdict on the group is not known."""
        judgment = snapshot.judgment(group)
        if any(one.holds(judgment) for one in self.any_of):
            return not self.negated
        if self._is_excluded_by_state(group, snapshot):
            return self.negated
        return None if judgment.status in (GroupStatus.UNKNOWN, GroupStatus.NOT_FOUND) else self.negated

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Callable[[str], bool | None]:
        """Return a function that takes a group id, and returns the same result as `of_group`."""
        return lambda group: self.of_group(group, snapshot)

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Return whether the term can be evaluated: the group has a verdict, or its state alone decides the result."""
        if self._is_excluded_by_state(group, snapshot):
            return True
        judgment = snapshot.judgment(group)
        return judgment.kind is not None or judgment.status is not GroupStatus.UNKNOWN

    def _is_excluded_by_state(self, group: str, snapshot: Snapshot) -> bool:
        """Return whether the state of the group is enough to know that no value of the term matches.

        This is so if all values are problems of Empty groups, such as `abandoned`, and the group is not Empty.
        """
        state = snapshot.state_of(group)
        asked = {PROBLEMS.get(one.name) for one in self.any_of}
        return state is not None and state != EMPTY and asked <= _MEMBERLESS

    def spelled(self) -> str:
        """Return the term as text in the filter language."""
        return f"{negation(self.negated)}{self.key}:{','.join(one.spelled() for one in self.any_of)}"

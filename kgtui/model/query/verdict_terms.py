"""The filter term `verdict:`, which compares the health verdict on a watched group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.burrow import Status
from kgtui.model.facts import Need
from kgtui.model.query.term_catalog import UNKNOWN
from kgtui.model.query.terms import negation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kgtui.model.snapshot import Snapshot

NAMES: dict[str, Status] = {
    "ok": Status.OK,
    "warn": Status.WARN,
    "error": Status.ERR,
    "stop": Status.STOP,
    "stall": Status.STALL,
    "rewind": Status.REWIND,
}
"""Name of a verdict in the filter language → status, from the best to the worst."""
LEVELS = ("ok", "warn", "error")
"""Verdicts that may be followed by `+`, as in `warn+`, which includes worse verdicts."""
_SPELLINGS = {"err": "error", "warning": "warn"}


@dataclass(frozen=True, slots=True)
class VerdictMatch:
    """One value of a term `verdict:`: a verdict of `NAMES` or `unknown`.

    If `or_worse` is True, worse verdicts match too.
    """

    name: str
    or_worse: bool = False

    def holds(self, status: Status | None, kind: Status | None) -> bool:
        """Return whether a group has this verdict.

        Args:
            status: status of the group, at most `ERR`; None if it is not known.
            kind: status of the group's worst partition, such as `STOP`, which is compared with `stop`, `stall` and
                `rewind`.
        """
        if status is None or status is Status.NOT_FOUND:
            return self.name == UNKNOWN
        if self.name == UNKNOWN:
            return False
        required = NAMES[self.name]
        if required > Status.ERR:
            return kind is required
        return status >= required if self.or_worse else status == required

    def spelled(self) -> str:
        """Return the value as text in the filter language."""
        return self.name + "+" * self.or_worse


def read_verdict(text: str) -> VerdictMatch | None:
    """Parse one value of a term `verdict:`. Case is ignored. Return None if the text is not a verdict."""
    low = text.lower()
    name = low.removesuffix("+")
    name = _SPELLINGS.get(name, name)
    or_worse = low.endswith("+")
    if or_worse and name not in LEVELS:
        return None
    return VerdictMatch(name, or_worse) if name in NAMES or name == UNKNOWN else None


@dataclass(frozen=True, slots=True)
class VerdictTerm:
    """A term about the health verdict in `Snapshot.health`, such as `verdict:warn+` or `verdict:stop,stall`."""

    any_of: tuple[VerdictMatch, ...]
    negated: bool = False

    @property
    def needs(self) -> frozenset[Need]:
        """The data that the term needs: a group must be watched for a while before there is a verdict."""
        return frozenset({Need.WATCHING})

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool | None:
        """Return whether the term is true for a group; None if the group was not watched."""
        health = snapshot.health.get(group)
        status, kind = (None, None) if health is None else (health.status, health.kind)
        if any(one.holds(status, kind) for one in self.any_of):
            return not self.negated
        # The result is None if the group has no verdict. This includes `NOT_FOUND`, which is falsy because its value
        # is 0.
        return self.negated if status else None

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Callable[[str], bool | None]:
        """Return a function that takes the id of a group in the snapshot and returns the result of `of_group`."""
        return lambda group: self.of_group(group, snapshot)

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Return whether the group was watched, so that it has a verdict."""
        return group in snapshot.health

    def spelled(self) -> str:
        """Return the term as text in the filter language."""
        return f"{negation(self.negated)}verdict:{','.join(one.spelled() for one in self.any_of)}"

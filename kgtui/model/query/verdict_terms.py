"""The term `verdict:`: how a group does, as far as somebody watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.query.term_catalog import UNKNOWN, Need
from kgtui.model.query.terms import negation
from kgtui.model.verdict import Status

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
"""Names of verdicts as the filter language writes them, from the best to the worst."""
LEVELS = ("ok", "warn", "error")
"""Those that take a `+`: this one or worse."""
_SPELLINGS = {"err": "error", "warning": "warn"}


@dataclass(frozen=True, slots=True)
class VerdictMatch:
    """One alternative: a verdict, or with `or_worse` that one or a worse one; `name` may be `unknown`."""

    name: str
    or_worse: bool = False

    def holds(self, status: Status | None, kind: Status | None) -> bool:
        """Whether it is this.

        Args:
            status: the group's verdict; None when it is not known.
            kind: that of its worst partition.
        """
        if status is None or status is Status.NOT_FOUND:
            return self.name == UNKNOWN
        if self.name == UNKNOWN:
            return False
        wanted = NAMES[self.name]
        if wanted > Status.ERR:
            return kind is wanted
        return status >= wanted if self.or_worse else status == wanted

    def spelled(self) -> str:
        """As the filter language writes it."""
        return self.name + "+" * self.or_worse


def read_verdict(text: str) -> VerdictMatch | None:
    """One value of `verdict:`, in any case; None when it is none."""
    low = text.lower()
    name = low.removesuffix("+")
    name = _SPELLINGS.get(name, name)
    or_worse = low.endswith("+")
    if or_worse and name not in LEVELS:
        return None
    return VerdictMatch(name, or_worse) if name in NAMES or name == UNKNOWN else None


@dataclass(frozen=True, slots=True)
class VerdictTerm:
    """A term about the verdict: `verdict:warn+`, `verdict:stop,stall`. Reads `Snapshot.health`."""

    any_of: tuple[VerdictMatch, ...]
    negated: bool = False

    @property
    def needs(self) -> frozenset[Need]:
        """One look decides no verdict."""
        return frozenset({Need.WATCHING})

    def of_group(self, group: str, snapshot: Snapshot, marked: Collection[str] = ()) -> bool | None:
        """Whether it holds; None when nobody watched the group."""
        health = snapshot.health.get(group)
        status, kind = (None, None) if health is None else (health.status, health.kind)
        if any(one.holds(status, kind) for one in self.any_of):
            return not self.negated
        return self.negated if status else None  # NOT_FOUND is 0

    def tester(self, snapshot: Snapshot, marked: Collection[str] = ()) -> Callable[[str], bool | None]:
        """`of_group` for many groups of one snapshot."""
        return lambda group: self.of_group(group, snapshot)

    def known(self, group: str, snapshot: Snapshot) -> bool:
        """Whether the group was watched."""
        return group in snapshot.health

    def spelled(self) -> str:
        """The term as the filter language writes it."""
        return f"{negation(self.negated)}verdict:{','.join(one.spelled() for one in self.any_of)}"

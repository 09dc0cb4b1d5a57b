"""What the tables of a pipeline say that somebody should know: findings, each with its evidence and what to do next."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING

from kgtui.model.health.wording import duration

if TYPE_CHECKING:
    from kgtui.lake.gold import TableAge

Value = str | int | float | bool | datetime | None
"""A cell of evidence; None is unknown."""


class Kind(Enum):
    """What a finding is about, the most urgent first."""

    UNHEALTHY = "unhealthy"
    AT_RISK = "data at risk"
    DRAIN = "drain time"
    FLAPPING = "flapping"
    UNUSUAL = "unusual"
    UNUSED = "unused"

    @property
    def rank(self) -> int:
        """0 for the most urgent."""
        return list(Kind).index(self)

    @property
    def table(self) -> str:
        """The table that tells of it; without that nobody knows whether there are such findings."""
        return _TABLES[self]


_TABLES = {
    Kind.UNHEALTHY: "gold/health",
    Kind.AT_RISK: "gold/forecast",
    Kind.DRAIN: "gold/forecast",
    Kind.FLAPPING: "gold/churn",
    Kind.UNUSUAL: "gold/baseline",
    Kind.UNUSED: "gold/cleanup",
}


class Severity(Enum):
    """How bad it is."""

    ERROR = "error"
    WARN = "warn"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows of a table of the lake that a finding rests on.

    Attributes:
        table: `layer/name`.
        more: how many further rows there are that are left out here.
    """

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that somebody should know.

    Attributes:
        subject: group id, or the family as the tree names it: `team-007.*`.
        groups: the groups that it is about: one, or those of the family.
        what: in one sentence, without the subject; ids in it are as the cluster has them.
        since: seconds since the epoch; None when that is not known.
        since_at_least: it may have begun earlier, before anything was recorded.
        advice: what to do next, in one sentence.
        command: the command line that does it, or looks closer; as words.
        weight: what is urgent first among findings of one kind and severity: the larger.
    """

    kind: Kind
    severity: Severity
    subject: str
    groups: tuple[str, ...]
    what: str
    since: float | None
    advice: str
    evidence: Evidence
    command: tuple[str, ...] = ()
    since_at_least: bool = False
    family: bool = False
    weight: float = 0.0

    @property
    def urgency(self) -> tuple[int, int, float, str]:
        """Sorts the most urgent first: a warning stands above any note."""
        return (self.severity.rank, self.kind.rank, -self.weight, self.subject)


@dataclass(frozen=True, slots=True)
class Insights:
    """All findings of a lake.

    Attributes:
        findings: the most urgent first.
        tables: the tables that they come from, there or not.
        as_of: seconds since the epoch that "now" means in the findings; None without any table.
    """

    findings: tuple[Finding, ...]
    tables: tuple[TableAge, ...] = field(default=())
    as_of: float | None = None

    @property
    def missing(self) -> tuple[TableAge, ...]:
        """Tables that are not there or cannot be read: what they would tell is not among the findings."""
        return tuple(table for table in self.tables if not table.is_readable)

    def known(self, kind: Kind) -> bool:
        """Whether there would be findings of a kind if there was anything to tell."""
        return all(table.table != kind.table for table in self.missing)


def lasted(finding: Finding, as_of: float | None) -> str:
    """How long it goes on by then; `` when that is not known, or it has just begun."""
    if finding.since is None or as_of is None or as_of - finding.since < 1:
        return ""
    return duration(as_of - finding.since)

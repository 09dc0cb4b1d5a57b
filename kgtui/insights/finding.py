"""Findings about groups: what is wrong, how urgent it is, the evidence, and the next step."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, HEALTH
from kgtui.model.command_line import join
from kgtui.model.fields import Field, as_object
from kgtui.model.health.wording import duration
from kgtui.model.rfc3339 import rfc3339

if TYPE_CHECKING:
    from typing import Self

    from kgtui.lake.gold import TableAge
    from kgtui.lake.schemas import Table


Value = str | int | float | bool | datetime | None
"""One value in a row of evidence (a row that proves a finding); None if the value is unknown."""

CREATE_GOLD_TABLES = ": create them with kgtui pipeline run --lake LAKE"
"""What the user can do if a lake has no readable gold tables. The text is appended to the error message."""


class Kind(Enum):
    """The kinds of findings, most urgent first.

    Attributes:
        table: the gold table (result of the pipeline) from which findings of this kind are computed.
    """

    table: Table

    UNHEALTHY = "unhealthy", HEALTH
    AT_RISK = "data at risk", FORECAST
    DRAIN = "drain time", FORECAST
    FLAPPING = "flapping", CHURN
    UNUSUAL = "unusual", BASELINE
    UNUSED = "unused", CLEANUP

    def __new__(cls, value: str, table: Table) -> Self:
        """Create a member of the enum. Its value is only the text, such as `unused`, so that `Kind("unused")` works."""
        kind = object.__new__(cls)
        kind._value_, kind.table = value, table
        return kind

    @property
    def rank(self) -> int:
        """Index in the order of urgency; the most urgent kind has index 0."""
        return list(Kind).index(self)


class Severity(Enum):
    """How severe a finding is."""

    ERROR = "error"
    WARN = "warn"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Index in the order of severity; the worst severity has index 0."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The rows of a gold table that prove a finding.

    Attributes:
        table: name such as `gold/lag`.
        columns: names of the shown columns.
        rows: one tuple of values per shown row.
        more: number of rows that are not shown.
    """

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a group, or of a family (groups whose ids have the same prefix).

    Attributes:
        subject: group id, or family name such as `team-007.*`.
        groups: id of the group, or ids of all groups in the family.
        what: text that says what is wrong, without the subject. The text can contain control characters.
        since: start of the problem in epoch seconds; None if unknown.
        since_at_least: whether the problem may have begun before `since`.
        advice: what to do next.
        command: words of a command line that does what `advice` says, or shows details of the group.
        family: whether the subject is a family.
        until: end of a past problem in epoch seconds; None for a current problem.
        ended: what ended a past problem; empty for a current problem.
        weight: sort key. Of two findings of the same kind and severity, the one with the larger weight comes first.
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
    until: float | None = None
    ended: str = ""

    @property
    def urgency(self) -> tuple[int, int, float, str]:
        """Sort key that puts the most urgent finding first: by severity, then by kind, then by weight."""
        return (self.severity.rank, self.kind.rank, -self.weight, self.subject)


@dataclass(frozen=True, slots=True)
class Insights:
    """All findings of a lake.

    Attributes:
        findings: current problems, most urgent first.
        past: past problems, the most recently ended one first; empty if not requested.
        tables: one `TableAge` per gold table. The `TableAge` of a missing table has an error instead of an age.
        as_of: end of the time that the gold tables cover, in epoch seconds; None if all gold tables are empty.
    """

    findings: tuple[Finding, ...]
    tables: tuple[TableAge, ...] = field(default=())
    as_of: float | None = None
    past: tuple[Finding, ...] = ()

    @property
    def missing(self) -> tuple[TableAge, ...]:
        """Gold tables that are missing or unreadable, so that no problems can be found in them."""
        return tuple(table for table in self.tables if not table.is_readable)

    def known(self, kind: Kind) -> bool:
        """Return whether the gold table for this kind of findings can be read, so that all such findings are known."""
        return all(table.table != kind.table.title for table in self.missing)


def lasted(finding: Finding, as_of: float | None) -> str:
    """Return the duration of a problem as text, such as `4 h`; empty if the duration is unknown or less than a second.

    Args:
        as_of: end of the time that the gold tables cover, in epoch seconds; None if unknown. The duration of a current
            problem is the time from its start to `as_of`.
    """
    end = as_of if finding.until is None else finding.until
    if finding.since is None or end is None or end - finding.since < 1:
        return ""
    return duration(end - finding.since)


if TYPE_CHECKING:
    FindingField = Field[[Finding]]

_RULES = "the rules of kgtui.insights.rules"


def _evidence_object(evidence: Evidence) -> dict[str, Any]:
    return {
        "table": evidence.table,
        "rows": [
            {name: _data(value) for name, value in zip(evidence.columns, row, strict=True)} for row in evidence.rows
        ],
        "more": evidence.more,
    }


def _data(value: Value) -> object:
    return rfc3339(value.timestamp()) if isinstance(value, datetime) else value


KIND: FindingField = Field("kind", "FINDING", "string", _RULES, lambda finding: finding.kind.value)
SEVERITY: FindingField = Field("severity", "SEVERITY", "string", _RULES, lambda finding: finding.severity.value)
SUBJECT: FindingField = Field("subject", "GROUP", "string", "group id or family", lambda finding: finding.subject)
FAMILY: FindingField = Field(
    "family", "FAMILY", "boolean", "whether the subject is a family of groups", lambda finding: finding.family
)
GROUPS: FindingField = Field(
    "groups", "GROUPS", "array", "ids of the groups that the finding is about", lambda finding: finding.groups,
    format=", ".join, encode=list,
)  # fmt: skip
WHAT: FindingField = Field("what", "WHAT", "string", _RULES, lambda finding: finding.what)
SINCE: FindingField = Field(
    "since", "SINCE", "timestamp", "gold tables", lambda finding: finding.since, format=rfc3339, encode=rfc3339
)
SINCE_AT_LEAST: FindingField = Field(
    "since_at_least", "AT LEAST", "boolean", "whether the problem may have begun before `since`",
    lambda finding: finding.since_at_least,
)  # fmt: skip
UNTIL: FindingField = Field(
    "until", "UNTIL", "timestamp", "gold tables", lambda finding: finding.until, format=rfc3339, encode=rfc3339
)
ENDED: FindingField = Field(
    "ended", "ENDED", "string", "what ended a past problem; null if the problem goes on",
    lambda finding: finding.ended or None,
)  # fmt: skip
ADVICE: FindingField = Field("advice", "ADVICE", "string", _RULES, lambda finding: finding.advice)
COMMAND: FindingField = Field(
    "command",
    "COMMAND",
    "string",
    "command line that does what `advice` says, or shows details of the group",
    lambda finding: join(finding.command),
)
EVIDENCE: FindingField = Field(
    "evidence", "EVIDENCE", "object", "gold tables", lambda finding: finding.evidence, encode=_evidence_object
)

FINDING_OBJECT = (
    KIND, SEVERITY, SUBJECT, FAMILY, GROUPS, WHAT, SINCE, SINCE_AT_LEAST, UNTIL, ENDED, ADVICE, COMMAND, EVIDENCE
)  # fmt: skip
"""Fields of a finding in the JSON of `kgtui insights`."""


def finding_object(finding: Finding) -> dict[str, Any]:
    """Return a finding as a JSON object with the fields of `FINDING_OBJECT`."""
    return as_object(FINDING_OBJECT, finding)

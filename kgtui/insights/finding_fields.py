"""Fields of a finding for JSON and tables; see `kgtui.model.fields`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from kgtui.model.command_line import join
from kgtui.model.fields import Field, as_object
from kgtui.model.rfc3339 import rfc3339

if TYPE_CHECKING:
    from kgtui.insights.finding import Evidence, Finding, Value

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
    "groups", "GROUPS", "array", "the group, or the groups of the family", lambda finding: finding.groups,
    format=", ".join, encode=list,
)  # fmt: skip
WHAT: FindingField = Field("what", "WHAT", "string", _RULES, lambda finding: finding.what)
SINCE: FindingField = Field(
    "since", "SINCE", "timestamp", "gold tables", lambda finding: finding.since, format=rfc3339, encode=rfc3339
)
SINCE_AT_LEAST: FindingField = Field(
    "since_at_least", "AT LEAST", "boolean", "whether it may have begun before the recording",
    lambda finding: finding.since_at_least,
)  # fmt: skip
ADVICE: FindingField = Field("advice", "ADVICE", "string", _RULES, lambda finding: finding.advice)
COMMAND: FindingField = Field(
    "command", "COMMAND", "string", "the command line that follows the advice", lambda finding: join(finding.command)
)
EVIDENCE: FindingField = Field(
    "evidence", "EVIDENCE", "object", "gold tables", lambda finding: finding.evidence, encode=_evidence_object
)

FINDING_OBJECT = (
    KIND, SEVERITY, SUBJECT, FAMILY, GROUPS, WHAT, SINCE, SINCE_AT_LEAST, ADVICE, COMMAND, EVIDENCE
)  # fmt: skip
"""Fields of a finding in the JSON of `kgtui insights`."""


def finding_object(finding: Finding) -> dict[str, Any]:
    """Return a finding as a JSON object."""
    return as_object(FINDING_OBJECT, finding)

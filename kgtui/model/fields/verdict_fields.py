"""Fields about the health of a group: the verdict, the problem, and times such as that of the last progress.

Each field computes its value from a snapshot and a group id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.fields import Field, Missing

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot

    GroupField = Field[[Snapshot, str]]


def _verdict(snapshot: Snapshot, group: str) -> str:
    return str(snapshot.judgment(group).status.value)


def _problem(snapshot: Snapshot, group: str) -> str | None:
    return snapshot.judgment(group).problem_name


def _verdict_column(snapshot: Snapshot, group: str) -> str | None:
    from kgtui.model.facts import may_hide_topics

    judgment = snapshot.judgment(group)
    if judgment.kind is None and judgment.status.value == "OK":
        return "ok?" if may_hide_topics(snapshot, group) else "ok"
    return judgment.problem_name


def _problem_since(snapshot: Snapshot, group: str) -> str | None:
    from kgtui.model.rfc3339 import rfc3339_or_none

    judgment = snapshot.judgment(group)
    return rfc3339_or_none(judgment.since) if judgment.since_seen else None


def _verdict_basis(snapshot: Snapshot, group: str) -> str:
    return snapshot.judgment(group).basis_text


def _first_seen(snapshot: Snapshot, group: str) -> str | None:
    from kgtui.model.facts import first_seen
    from kgtui.model.rfc3339 import rfc3339_or_none

    return rfc3339_or_none(first_seen(snapshot, group))


def _state_since(snapshot: Snapshot, group: str) -> str | None:
    from kgtui.model.rfc3339 import rfc3339_or_none

    recorded = snapshot.recorded_times.get(group)
    return rfc3339_or_none(snapshot.state_since.get(group) if recorded is None else recorded.state_since)


def _last_progress(snapshot: Snapshot, group: str) -> str | None:
    from kgtui.model.facts import last_progress
    from kgtui.model.rfc3339 import rfc3339_or_none

    return rfc3339_or_none(last_progress(snapshot, group))


VERDICT: GroupField = Field(
    "verdict", "VERDICT", "string", "OK, WARN, ERR, ABANDONED or UNKNOWN, computed from all reads of the group",
    _verdict, needs="lag",
)  # fmt: skip
VERDICT_COLUMN: GroupField = Field(
    "verdict", "VERDICT", "string",
    "`ok`, `ok?` (offsets may be hidden from the user), or the name of the problem, as in the filter `verdict:`",
    _verdict_column, needs="lag", missing=Missing.UNKNOWN,
)  # fmt: skip
PROBLEM: GroupField = Field(
    "problem", "PROBLEM", "string", "name of the problem, as in the filter `verdict:`; no value if nothing is wrong",
    _problem, needs="lag",
)  # fmt: skip
PROBLEM_SINCE: GroupField = Field(
    "problem_since", "SINCE", "string", "when the problem began, if kgtui observed it", _problem_since, needs="lag"
)
VERDICT_BASIS: GroupField = Field(
    "verdict_basis", "BASIS", "string",
    "which reads the verdict is based on: `not read yet`, `read once`, `no progress seen yet` (a few reads in the "
    "background), `screened` (at least two reads in the background) or `observed` (read at every poll interval)",
    _verdict_basis, needs="lag",
)  # fmt: skip
FIRST_SEEN: GroupField = Field(
    "first_seen", "FIRST SEEN", "string",
    "when kgtui read the group for the first time; known only in `ls --watch` and `show --lake`", _first_seen,
    needs="lag", optional=True,
)  # fmt: skip
STATE_SINCE: GroupField = Field(
    "state_since", "STATE SINCE", "string", "when the current state began, if kgtui observed it", _state_since,
    needs="lag", optional=True,
)  # fmt: skip
LAST_PROGRESS: GroupField = Field(
    "last_progress", "LAST PROGRESS", "string", "when kgtui last observed that a committed offset moved forward",
    _last_progress, needs="lag", optional=True,
)  # fmt: skip

"""What became of each group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kgtui.model.answer import Fault


class DeletionStatus(StrEnum):
    """How a delete ended for one group."""

    DELETED = "deleted"
    """Done by this request."""

    REFUSED = "refused"
    """A guard, ours or the broker's, said no: the group is as it was."""

    GONE = "gone"
    """It was not there any more when it came to sending, or another deleted it meanwhile."""

    FAILED = "failed"
    """Sent, or tried to, and the group is still there."""

    UNCERTAIN = "uncertain"
    """Sent without an answer, and whether the group is still there cannot be learned now."""


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What became of one group.

    Attributes:
        reason: why it was not simply deleted, or what is to be known about it; `` when there is nothing to say.
        verified: whether the cluster was asked afterwards and knows the group no more.
        backup: the JSON-lines file; None when none was kept.
        entry: id of its lines in the audit log; None when nothing was intended.
    """

    group: str
    status: DeletionStatus
    reason: str = ""
    fault: Fault | None = None
    verified: bool = False
    backup: Path | None = None
    entry: str | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """One result per group, keyed by name, in the order of the plan."""

    by_group: Mapping[str, GroupResult] = field(default_factory=dict)

    def count(self, status: DeletionStatus) -> int:
        """How many groups ended so."""
        return Counter(result.status for result in self.by_group.values())[status]

    @property
    def exit_code(self) -> int:
        """0 all deleted, 4 some refused, 1 some failed, gone or uncertain and none refused."""
        if self.count(DeletionStatus.REFUSED):
            return 4
        return 0 if self.count(DeletionStatus.DELETED) == len(self.by_group) else 1

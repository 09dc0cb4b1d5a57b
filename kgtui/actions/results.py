"""The results of a deletion, one per group."""

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
    """How the deletion of one group ended."""

    DELETED = "deleted"
    """The broker confirmed the deletion, or a later check showed that the group is gone."""

    REFUSED = "refused"
    """kgtui or the broker refused the deletion, so the group was not changed."""

    GONE = "gone"
    """The group no longer existed when kgtui wanted to send the delete request, or when the broker handled it."""

    FAILED = "failed"
    """The group exists after the delete request, because the deletion failed or the group was created again."""

    UNCERTAIN = "uncertain"
    """It is not known whether the broker has deleted the group or will delete it later.

    No response arrived, the deletion was interrupted, or the broker returned an error after which it may still delete
    the group.
    """


@dataclass(frozen=True, slots=True)
class GroupResult:
    """The result of a deletion for one group.

    Attributes:
        reason: why the group was not deleted, or a remark about the result; can be empty.
        verified: whether a check after the deletion showed that the group is gone.
        backup: path of the backup's JSON-lines file; None if there is no backup.
        entry: id of this deletion in the audit log; None for example if the deletion was refused before it was logged.
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
    """Maps the id of each group in a deletion plan to the result for this group, in the order of the plan."""

    by_group: Mapping[str, GroupResult] = field(default_factory=dict)

    def count(self, status: DeletionStatus) -> int:
        return Counter(result.status for result in self.by_group.values())[status]

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if all groups were deleted, 4 if the deletion of at least one group was refused, otherwise 1."""
        if self.count(DeletionStatus.REFUSED):
            return 4
        return 0 if self.count(DeletionStatus.DELETED) == len(self.by_group) else 1

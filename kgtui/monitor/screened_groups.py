"""Stores the results of screening (the quick background check of all groups), by group and by problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.problem import Problem
from kgtui.monitor.gc_tuning import untrack

if TYPE_CHECKING:
    from kgtui.model.judgment import Judgment


class ScreenedGroups:
    """The judgments of screening (the quick background check of all groups) on groups with a possible problem.

    Attributes:
        judgments: group id → judgment (status, problems and reason). Use `put` to change the dict.
        by_kind: problem → ids of the groups with this main problem (`Judgment.kind`), in the order in which kgtui found
            the problem in them.
        empty: ids of the groups that have `Problem.EMPTY`, even if it is not the main problem.
    """

    def __init__(self) -> None:
        self.judgments: dict[str, Judgment] = {}
        self.by_kind: dict[Problem, dict[str, None]] = {kind: {} for kind in Problem}
        self.empty: dict[str, None] = {}

    def put(self, group: str, judgment: Judgment | None) -> bool:
        """Store the judgment on a group. Return whether the group's main problem has changed.

        Args:
            judgment: the new judgment; None to remove the stored judgment.
        """
        before = self.judgments.get(group)
        if judgment is not None:
            self.judgments[group] = untrack(judgment)
        elif before is not None:
            del self.judgments[group]
        if judgment is not None and (judgment.kind is Problem.EMPTY or Problem.EMPTY in judgment.others):
            self.empty[group] = None
        else:
            self.empty.pop(group, None)
        old, new = None if before is None else before.kind, None if judgment is None else judgment.kind
        if old is new:
            return False
        if old is not None:
            del self.by_kind[old][group]
        if new is not None:
            self.by_kind[new][group] = None
        return True

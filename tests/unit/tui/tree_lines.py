"""Helpers for tests of the tree: the columns that fit a width, and an example judgment of a stopped group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.defaults import TREE_COLUMNS
from kgtui.model.judgment import Basis, Judgment
from kgtui.model.problem import GroupStatus, Problem
from kgtui.tui.tree.columns import FittedColumns, fit_columns

if TYPE_CHECKING:
    from kgtui.tui.tree.grouping import Grouping


def fitted(width: int) -> FittedColumns:
    return fit_columns(width, TREE_COLUMNS, "type")


STOPPED = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED)


def shown(width: int, grouping: Grouping = "type") -> set[str]:
    """Return the ids of the columns that a tree shows if it is `width` terminal cells wide."""
    return {column.id for column in fit_columns(width, TREE_COLUMNS, grouping).shown}

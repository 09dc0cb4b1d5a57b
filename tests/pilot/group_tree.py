"""A function with which tests get the tree of groups in a running app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pilot.app_driver import main_screen

if TYPE_CHECKING:
    from kgtui.tui.app import KgtuiApp
    from kgtui.tui.tree.widget import GroupTree


def tree_of(app: KgtuiApp) -> GroupTree:
    return main_screen(app).group_tree

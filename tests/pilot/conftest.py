"""Fixtures of the tests that control the app with Textual's `Pilot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.tui.tree.model import TreeModel

if TYPE_CHECKING:
    from kgtui.tui.tree.grouping import TreeNodes

_FIRST_VIEW = frozenset({"test_tree", "test_tree_sorting", "test_main_screen", "test_main_screen_errors"})
"""Test modules for which the fixture `open_tree` does nothing, because they test which tree nodes are open at first."""


@pytest.fixture(autouse=True)
def open_tree(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the app initially expand all tree nodes if the tree has at most 200 rows, even on a small screen.

    Without this fixture, the app would collapse most nodes if the rows did not fit on the screen.
    """
    if request.path.stem in _FIRST_VIEW:
        return
    original = TreeModel.set_initial_openness

    def open_all(model: TreeModel, nodes: TreeNodes, height: int, *, filtered: bool = False) -> None:
        original(model, nodes, 0, filtered=filtered)

    monkeypatch.setattr(TreeModel, "set_initial_openness", open_all)

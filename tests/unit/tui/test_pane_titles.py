"""Titles of the tabs: as many in full as there is room for."""

from __future__ import annotations

import pytest

from kgtui.tui.panes import PANES, pane_titles


@pytest.mark.parametrize("width", range(33, 90))
def test_titles_fit_and_none_is_shorter_than_it_has_to_be(width: int) -> None:
    found = pane_titles(width)
    assert sum(len(title) + 1 for title in found.values()) <= max(width, 45)
    shortened = [entry for entry in PANES if found[entry.id] != f"{entry.key} {entry.title}"]
    assert not shortened or sum(len(f"{entry.key} {entry.title}") + 1 for entry in PANES) > width
    assert all(title.startswith(entry.key) for entry, title in zip(PANES, found.values(), strict=True))


def test_beside_the_tree_at_100_columns_the_names_that_give_way_are_the_ones_easy_to_guess() -> None:
    assert list(pane_titles(54).values()) == ["1 Overview", "2 Members", "3 Assign", "4 Offs", "5 History", "6 Conf"]
    assert list(pane_titles(80).values()) == [f"{entry.key} {entry.title}" for entry in PANES]

"""Tests of the titles of the panes in the line of tabs. Titles are shortened if the line is too narrow."""

from __future__ import annotations

import pytest

from kgtui.tui.panes import PANES, pane_titles


@pytest.mark.parametrize("width", range(33, 90))
def test_pane_titles_are_shortened_only_if_they_do_not_fit(width: int) -> None:
    found = pane_titles(width)
    assert sum(len(title) + 1 for title in found.values()) <= max(width, 45)
    shortened = [entry for entry in PANES if found[entry.id] != f"{entry.key} {entry.title}"]
    assert not shortened or sum(len(f"{entry.key} {entry.title}") + 1 for entry in PANES) > width
    assert all(title.startswith(entry.key) for entry, title in zip(PANES, found.values(), strict=True))


def test_some_pane_titles_are_shortened_if_the_line_has_54_terminal_cells() -> None:
    """In a line of 80 terminal cells, all titles fit, so no title is shortened."""
    assert list(pane_titles(54).values()) == ["1 Overview", "2 Members", "3 Assign", "4 Offs", "5 History", "6 Conf"]
    assert list(pane_titles(80).values()) == [f"{entry.key} {entry.title}" for entry in PANES]

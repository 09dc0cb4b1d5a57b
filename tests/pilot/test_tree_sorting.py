"""Tests of the tree: grouping, sorting and filtering of its groups, and the choice of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from kgtui.config import UiSettings
from kgtui.model.defaults import TREE_COLUMNS
from kgtui.tui.tree.renderer import TreeHeading
from tests.pilot.app_driver import ROWS, app_on, main_screen, rows, sample_snapshot, settled
from tests.pilot.group_tree import tree_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("presses", "first"),
    [(1, "▾ · Stable"), (2, "▾ broker 1"), (3, "▾ no topic"), (4, "▾ orders.*"), (5, "· connect-s3-sink")],
)
async def test_key_b_cycles_through_the_groupings_of_the_tree(tmp_path: Path, presses: int, first: str) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press(*["b"] * presses)
        await settled(pilot)
        text = rows(app)[1].replace("✓ connect", "connect") if presses == 5 else rows(app)[1]
        assert text.strip().startswith(first.strip())


async def test_sorting_by_lag_puts_groups_with_unknown_lag_last(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press(*["b"] * 5, "s")
        await settled(pilot)
        names = [row.split()[1] for row in rows(app)[1:] if row]
    assert names[:5] == ["orders.export", "share-mailer", "payments.settle", "orders.enrich", "old-batch"]


async def test_a_sort_term_in_the_filter_sorts_the_tree(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press(*["b"] * 5)
        screen = main_screen(app)
        screen.set_filter("sort:coordinator-")
        await settled(pilot)
        names = [row.split()[1] for row in rows(app)[1:] if row]
        coordinators = [screen.snapshot.groups[name].coordinator for name in names]
        assert coordinators == sorted(coordinators, reverse=True)
        assert len(set(coordinators)) > 1
        heading = "".join(text for text, _ in screen.query_one(TreeHeading).pieces(60))
        assert "ungrouped, coordinator ▾" in heading
        await pilot.press("s")
        await settled(pilot)
        assert tree_of(app).model.sort == "name"


async def test_clicking_a_column_title_sorts_the_tree_and_saves_the_sort_order(tmp_path: Path) -> None:
    """The first click puts the largest value first, and the second click puts the smallest value first.

    After a restart, the smallest value comes first again, because the app has saved the sort order.
    """
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        heading = main_screen(app).query_one(TreeHeading)
        at = "".join(text for text, _ in heading.pieces(heading.size.width)).index("lag")
        model = tree_of(app).model
        await pilot.click(heading, offset=(at, 0))
        assert (model.sort, model.descending) == ("lag", True)
        await pilot.click(heading, offset=(at, 0))
        assert (model.sort, model.descending) == ("lag", False)
        assert "lag ▴" in "".join(text for text, _ in heading.pieces(heading.size.width))
    assert (tmp_path / "view.json").stat().st_mode & 0o777 == 0o600
    again, _ = app_on(sample_snapshot(), tmp_path)
    async with again.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        model = tree_of(again).model
        assert (model.sort, model.descending) == ("lag", False)
        await pilot.click(main_screen(again).query_one(TreeHeading), offset=(3, 0))
        assert (model.sort, model.descending) == ("name", False)


async def test_chosen_columns_are_remembered_until_the_configuration_changes(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("C", "down", "space", "escape")
        await settled(pilot)
        assert tree_of(app).model.columns == tuple(column for column in TREE_COLUMNS if column != "members")
        assert "count" not in "\n".join(rows(app))
    for configured, shown in ((TREE_COLUMNS, False), (("members",), True)):
        again, _ = app_on(sample_snapshot(), tmp_path, ui=UiSettings(columns=configured))
        async with again.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            assert ("members" in tree_of(again).model.columns) is shown


async def test_the_columns_dialog_still_works_after_resizes_to_tiny_terminals(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("C")
        for size in ((9, 4), (5, 3), (4, 3), (3, 2), (2, 1), (1, 1), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await pilot.press("space", "escape")
        assert "lag" not in tree_of(app).model.columns


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"configured": [], "columns": ["size"], "sort": "lag"}'])
async def test_a_damaged_file_with_saved_columns_and_sort_order_is_ignored(tmp_path: Path, content: str) -> None:
    (tmp_path / "view.json").write_text(content)
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert tree_of(app).model.columns == TREE_COLUMNS
        assert tree_of(app).model.sort == "name"


async def test_a_notice_says_that_the_sort_order_of_the_tree_cannot_be_saved(tmp_path: Path) -> None:
    (tmp_path / "view.json").symlink_to(tmp_path / "other")
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("s")
        await settled(pilot)
        assert tree_of(app).model.sort == "lag"
        assert any("symbolic link" in one.message for one in app._notifications)


async def test_an_invalid_typed_filter_does_not_replace_the_active_filter(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"orders")
        await settled(pilot)
        assert [row.split()[1] for row in rows(app) if row.startswith("     ")] == ["orders.enrich", "orders.export"]
        await pilot.press("space", *"lag:x")
        await settled(pilot)
        screen = main_screen(app)
        assert screen.filter_bar.has_class("-error")
        assert screen.filter_bar.active_filter == "orders lag"
        await pilot.press("escape")
        await settled(pilot)
        assert screen.query_one(Input).value == ""
        assert app.focused is screen.group_tree
        assert len([row for row in rows(app) if row.startswith("     ")]) == len(ROWS)


async def test_key_z_shows_only_groups_with_errors_and_escape_shows_all_groups(tmp_path: Path) -> None:
    from kgtui.model.answer import Fault

    fault = Fault("GROUP_AUTHORIZATION_FAILED", "Group authorization failed.", 30, group="old-batch")
    app, _ = app_on(sample_snapshot(group_faults={"old-batch": fault}), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("z")
        await settled(pilot)
        assert [row.split()[-3] for row in rows(app) if "old-batch" in row] == ["old-batch"]
        assert not any("orders.enrich" in row for row in rows(app))
        await pilot.press("escape")
        await settled(pilot)
        assert any("orders.enrich" in row for row in rows(app))

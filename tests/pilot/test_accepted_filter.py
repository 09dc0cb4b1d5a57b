"""Tests of accepting a filter with the enter key. If exactly one group matches, the tree cursor moves to this group."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kgtui.tui.tree.model import prepare_layout
from tests.pilot.app_driver import app_on, main_screen, post_keys, sample_snapshot, screen_words, settled, until
from tests.pilot.scripted_monitor import snapshot_of

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from kgtui.tui.tree.model import PreparedLayout
    from tests.pilot.scripted_monitor import Row


@pytest.mark.parametrize(("typed", "selected"), [("mailer", "share-mailer"), ("orders", None), ("nothing", None)])
async def test_accepting_a_filter_with_one_match_selects_the_matching_group(
    tmp_path: Path, typed: str, selected: str | None
) -> None:
    """If the accepted filter matches several groups or no group, no group is selected."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *typed, "enter")
        await settled(pilot)
        assert main_screen(app).group == selected


async def test_the_filter_bar_explains_that_filters_have_no_boolean_operators(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"type:classic OR")
        await settled(pilot)
        assert "OR is read as a part of group ids" in screen_words(app)
        await pilot.press(*["backspace"] * 3)
        await settled(pilot)
        assert "read as a part" not in screen_words(app)


async def test_accepting_a_filter_that_equals_a_group_id_selects_this_group(tmp_path: Path) -> None:
    """Group `orders` is selected, although the filter also matches `orders-2`."""
    rows: list[Row] = [(group, "classic", "consumer", "Stable", 1) for group in ("orders", "orders-2", "a")]
    app, _ = app_on(snapshot_of(rows), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"orders", "enter")
        await settled(pilot)
        assert main_screen(app).group == "orders"


def hold_layouts(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Make the tree wait before it computes the rows for a new filter; return the event that ends the wait.

    Keys that are pressed during the wait are handled when the wait ends, or after one minute at the latest.
    """
    may_finish = asyncio.Event()

    async def late(*arguments: Any) -> PreparedLayout:
        await may_finish.wait()
        return await prepare_layout(*arguments)

    monkeypatch.setattr("kgtui.tui.tree.widget.prepare_layout", late)
    for name in ("HOLD_TIMEOUT", "ACTION_TIMEOUT"):
        monkeypatch.setattr(f"kgtui.tui.textual_compat.key_order.{name}", 60.0)
    return may_finish


async def test_keys_after_an_accepted_filter_act_on_the_matching_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Key `y` copies the id of the selected group. The app must select the matching group before it handles `y`."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        may_finish = hold_layouts(monkeypatch)
        post_keys(app, *"/mailer", "enter", "y")
        screen = main_screen(app)
        await until(pilot, lambda: not screen.action_done.is_set())
        for _ in range(20):
            await pilot.pause()
        assert not app.clipboard
        may_finish.set()
        await until(pilot, lambda: app.clipboard == "share-mailer")


async def test_an_accepted_filter_that_is_cleared_at_once_selects_no_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enter accepts the filter. Escape clears it before the cursor has moved to the matching group.

    The cursor must then stay where it is.
    """
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        may_finish = hold_layouts(monkeypatch)
        post_keys(app, *"/share-mailer", "enter")
        await until(pilot, lambda: not screen.action_done.is_set())
        await pilot.press("escape")
        assert screen.action_done.is_set()
        may_finish.set()
        await settled(pilot)
        assert screen.group is None


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_filter_that_matches_no_group_leaves_the_right_side_of_the_screen_empty(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    """The right side of the screen shows neither the cluster page nor the panes of the previously selected group.

    Keys for the page and the panes have no effect.
    """
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        for keys in ("home", "n"):
            await pilot.press(keys, "slash", *"nothing", "enter")
            await settled(pilot)
            for key in ("1", "tab", "d"):
                await pilot.press(key)
            await settled(pilot)
            right = screen.right_side
            assert app.screen is screen
            assert not right.display or not (right.page.display or screen.detail.display)
            assert screen.focused is screen.group_tree
            await pilot.press("escape", "1")
            await settled(pilot)
            assert right.display
            assert (right.page.display, screen.detail.display) == (keys == "home", keys == "n")
            await pilot.press("escape")

"""Tests of panes that are hidden because another pane is open.

The widgets of a hidden pane are created soon after the first groups are shown, or earlier if the user opens the pane.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

from textual.geometry import Size

from kgtui.model.snapshot import Snapshot
from kgtui.tui.panes import PANES
from kgtui.tui.panes.base import Pane
from kgtui.tui.widgets.group_detail import PaneTabs
from tests.pilot.app_driver import app_on, main_screen, sample_snapshot, screen_text, settled, until
from tests.pilot.scripted_monitor import snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from kgtui.tui.screens.main import MainScreen


def stored_snapshots(owner: object) -> set[int]:
    """Return the serial numbers of all snapshots that can be reached from an object, such as the screen."""
    serials, seen, rest = set(), {id(owner)}, [owner]
    while rest:
        found = rest.pop()
        if isinstance(found, Snapshot):
            serials.add(found.serial)
        for child in gc.get_referents(found):
            if id(child) not in seen and not isinstance(child, (type, FunctionType, ModuleType)):
                seen.add(id(child))
                rest.append(child)
    return serials


def stores_only(screen: MainScreen, serial: int) -> bool:
    return stored_snapshots(screen) == {serial}


def created_panes(screen: MainScreen) -> set[str]:
    """Return the ids of the panes whose widgets have been created."""
    return {str(pane.id).removeprefix("pane-") for pane in screen.query(Pane)}


async def test_hidden_panes_are_created_after_the_first_groups_are_shown(tmp_path: Path) -> None:
    app, monitor = app_on(snapshot_of([], serial=0), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        assert created_panes(screen) == {"overview"}
        monitor.publish(sample_snapshot())
        await until(pilot, lambda: created_panes(screen) == {entry.id for entry in PANES})


async def test_opening_a_pane_for_the_first_time_creates_and_focuses_the_pane(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        screen = main_screen(app)
        screen.group_tree.reveal("payments.settle")
        await pilot.pause()
        screen.bring("members")
        screen.enter_panes()
        await settled(pilot)
        assert screen.detail.active == "members"
        assert screen.focused is screen.detail.pane.focus_target()
        await until(pilot, lambda: created_panes(screen) == {entry.id for entry in PANES})
        assert len(screen.query(Pane)) == len(PANES)


async def test_tabs_that_were_updated_while_hidden_have_full_titles_when_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tab bar shortens titles to its own width, which is 0 while the bar is hidden.

    When the bar is shown again, the titles must not be shortened.
    """
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("n")
        await settled(pilot)
        tabs = main_screen(app).query_one(PaneTabs)
        with monkeypatch.context() as hidden:
            hidden.setattr(PaneTabs, "size", Size(0, 0))
            tabs.bring("members")
        tabs.refresh()
        await pilot.pause()
        assert "2 Members 3 Assignments" in screen_text(app)


async def test_a_click_on_a_tab_shows_the_pane_of_this_tab(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("n")
        await settled(pilot)
        screen = main_screen(app)
        at = 0
        for entry in PANES:
            await pilot.click(PaneTabs, offset=(at + 1, 0))
            await settled(pilot)
            assert (screen.detail.active, screen.detail.pane.display) == (entry.id, True)
            at += len(f" {entry.key} {entry.title}")
        # This click is to the right of the last tab, so it must have no effect.
        await pilot.click(PaneTabs, offset=(at + 3, 0))
        assert screen.detail.active == PANES[-1].id
        assert [pane.display for pane in screen.query(Pane)].count(True) == 1


async def test_hidden_panes_and_pages_keep_no_old_snapshots_in_memory(tmp_path: Path) -> None:
    snapshot = sample_snapshot()
    app, monitor = app_on(snapshot, tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        for serial, key in enumerate(("n", "2", "3", "4", "5", "6", "1", "home"), snapshot.serial + 1):
            await pilot.press(key)
            monitor.publish(replace(snapshot, serial=serial, taken_at=snapshot.taken_at + serial))
            await settled(pilot)
            screen = main_screen(app)
            await until(pilot, partial(stores_only, screen, serial))

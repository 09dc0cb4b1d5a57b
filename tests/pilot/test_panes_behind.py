"""The panes behind the one in front: made when they are wanted, or once the groups are on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.tui.panes import PANES
from kgtui.tui.panes.base import Pane
from kgtui.tui.widgets.group_detail import PaneTabs
from tests.pilot.shell import app_on, company, main_screen, settled, until
from tests.pilot.watching import snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.tui.screens.main import MainScreen


def made(screen: MainScreen) -> set[str]:
    """Ids of the panes that there are."""
    return {str(pane.id).removeprefix("pane-") for pane in screen.query(Pane)}


async def test_before_there_are_groups_only_the_pane_in_front_is_made(tmp_path: Path) -> None:
    app, watch = app_on(snapshot_of([], serial=0), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        assert made(screen) == {"overview"}
        watch.publish(company())
        await until(pilot, lambda: made(screen) == {entry.id for entry in PANES})


async def test_a_pane_that_is_wanted_at_once_is_there_and_gets_the_focus(tmp_path: Path) -> None:
    app, _ = app_on(company(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        screen = main_screen(app)
        screen.group_tree.reveal("payments.settle")
        await pilot.pause()
        screen.bring("members")
        screen.enter_panes()
        await settled(pilot)
        assert screen.detail.active == "members"
        assert screen.focused is screen.detail.pane.focus_target()
        await until(pilot, lambda: made(screen) == {entry.id for entry in PANES})
        assert len(screen.query(Pane)) == len(PANES)


async def test_a_click_on_a_tab_brings_its_pane_to_the_front(tmp_path: Path) -> None:
    app, _ = app_on(company(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        at = 0
        for entry in PANES:
            await pilot.click(PaneTabs, offset=(at + 1, 0))
            await settled(pilot)
            assert (screen.detail.active, screen.detail.pane.display) == (entry.id, True)
            at += len(f" {entry.key} {entry.title}")
        await pilot.click(PaneTabs, offset=(at + 3, 0))  # beside them
        assert screen.detail.active == PANES[-1].id
        assert [pane.display for pane in screen.query(Pane)].count(True) == 1

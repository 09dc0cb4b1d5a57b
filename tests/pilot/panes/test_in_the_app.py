"""Tests of the panes and their dialogs in the whole app."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from textual._compositor import Compositor
from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.widgets import Static

from kgtui.model.answer import Fault
from kgtui.tui.dialogs.explain import ExplainDialog
from kgtui.tui.dialogs.export import ExportDialog
from kgtui.tui.panes.assignments import AssignmentsPane
from kgtui.tui.panes.base import Notice, Pane
from kgtui.tui.panes.cells import Cell
from kgtui.tui.panes.offsets import OffsetsPane
from kgtui.tui.panes.text_lines import TextLines
from tests.pilot.app_driver import app_on, main_screen, screen_text, settled, until
from tests.pilot.panes import data
from tests.pilot.panes.pane_app import COLORS

if TYPE_CHECKING:
    from pathlib import Path

    from textual._compositor import ReflowResult
    from textual.app import ComposeResult
    from textual.dom import DOMNode
    from textual.pilot import Pilot

    from kgtui.tui.app import KgtuiApp


async def select_group(pilot: Pilot[int], app: KgtuiApp, group: str) -> None:
    """Move the cursor of the tree to a group."""
    await settled(pilot)
    main_screen(app).go_to(group)
    await settled(pilot)
    main_screen(app).draw_panes()
    await pilot.pause()
    assert main_screen(app).group == group


async def wait_for_dialog_text(pilot: Pilot[int], words: str) -> None:
    """Wait until the export dialog shows a message that contains `words`."""
    async with asyncio.timeout(60):
        while words not in str(pilot.app.screen.query_one("#message", Static).content):
            await pilot.pause()


@pytest.fixture
def layouts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that grows by one item whenever Textual computes the layout of a screen."""
    counted: list[object] = []
    reflow = Compositor.reflow

    def counting(compositor: Compositor, *args: Any, **named: Any) -> ReflowResult:
        counted.append(args)
        return reflow(compositor, *args, **named)

    monkeypatch.setattr(Compositor, "reflow", counting)
    return counted


async def test_selecting_a_group_with_an_error_does_not_trigger_a_new_screen_layout(
    tmp_path: Path, layouts: list[object]
) -> None:
    """A new layout redraws the whole screen, which would be slow while the cursor moves over groups with errors."""
    fault = Fault("NO_ANSWER", "no answer", group="payments.settle")
    app, _ = app_on(replace(data.example_snapshot(), group_faults={"payments.settle": fault}), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: len(app.screen.query(Pane)) == 6)
        await select_group(pilot, app, "orders.enrich")
        # The panes replace the page of the cluster. The test must not count the layout that this causes.
        await until(pilot, lambda: not main_screen(app).right_side.page.display)
        await settled(pilot)
        layouts.clear()
        for group in ("payments.settle", "orders.enrich"):
            await select_group(pilot, app, group)
            await settled(pilot)
            assert (" ago)" in screen_text(app)) is (group == "payments.settle")
        assert layouts == []


async def test_moving_the_cursor_in_the_tree_does_not_compute_css_styles_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computing CSS styles creates many temporary objects. Freeing them would delay the cursor in a large tree."""
    styled: list[object] = []
    apply = Stylesheet.apply

    def counting(stylesheet: Stylesheet, node: DOMNode, **named: Any) -> None:
        styled.append(node)
        apply(stylesheet, node, **named)

    app, _ = app_on(data.example_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: len(app.screen.query(Pane)) == 6)
        await select_group(pilot, app, "orders.enrich")
        right_side = main_screen(app).right_side
        await until(pilot, lambda: not right_side.page.display)
        await settled(pilot)
        monkeypatch.setattr(Stylesheet, "apply", counting)
        await pilot.press("home")
        await until(pilot, lambda: right_side.page.display)
        await select_group(pilot, app, "payments.settle")
        await until(pilot, lambda: not right_side.page.display)
        await settled(pilot)
        assert styled == []


async def test_showing_a_notice_in_a_pane_triggers_only_one_screen_layout(layouts: list[object]) -> None:
    """A notice is a text at the top of a pane, for example about an error. An empty notice has the height 0.

    When a notice gets text and a greater height, one layout moves the rest of the pane down.
    """

    class Noticed(App[None]):
        def get_theme_variable_defaults(self) -> dict[str, str]:
            return COLORS

        def compose(self) -> ComposeResult:
            yield Notice()
            yield TextLines()

    app = Noticed()
    async with app.run_test() as pilot:
        await pilot.pause()
        layouts.clear()
        app.query_one(Notice).set_lines([(Cell("no answer"),)])
        await pilot.pause()
        await pilot.pause()
        assert app.query_one(Notice).region.height == 1
        assert len(layouts) == 1


async def test_key_e_explains_the_error_of_the_selected_group_in_a_dialog(tmp_path: Path) -> None:
    app, monitor = app_on(data.example_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await select_group(pilot, app, "secret.group")
        await pilot.press("e")
        await pilot.pause()
        dialog = app.screen
        assert isinstance(dialog, ExplainDialog)
        assert dialog.subject == "secret.group"
        shown = str(dialog.query_one("#lines", Static).content)
        assert "GROUP_AUTHORIZATION_FAILED (30)" in shown
        assert "kafka-acls.sh" in shown
        monitor.publish(data.example_snapshot(2))
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is main_screen(app)


async def test_the_explain_dialog_fits_a_small_screen_and_can_be_scrolled(tmp_path: Path) -> None:
    app, _ = app_on(data.example_snapshot(), tmp_path)
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot)
        await app.push_screen(ExplainDialog.about_group(data.example_snapshot(), "orders.enrich"))
        await pilot.pause()
        box = app.screen.query_one("#box")
        assert box.region.height <= 20
        assert box.region.width <= 60
        scroll = app.screen.query_one("VerticalScroll")
        await pilot.press("j", "j", "j")
        await pilot.pause()
        assert scroll.scroll_offset.y == 3


async def test_exporting_a_group_writes_a_file_and_shows_its_path(tmp_path: Path) -> None:
    app, _ = app_on(data.example_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await select_group(pilot, app, "payments.settle")
        await pilot.press("x")
        await pilot.pause()
        dialog = app.screen
        assert isinstance(dialog, ExportDialog)
        await pilot.press("j")
        await wait_for_dialog_text(pilot, "Written to ")
        path = dialog.written
        assert path is not None
        assert path.parent == tmp_path / "exports"
        assert json.loads(path.read_bytes())["group"]["group"] == "payments.settle"
        assert path.name in str(dialog.query_one("#message", Static).content).replace("\n", "")
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is main_screen(app)


async def test_the_export_dialog_says_that_the_file_could_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "exports").write_text("in the way", encoding="utf-8")
    app, _ = app_on(data.example_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await select_group(pilot, app, "payments.settle")
        await pilot.press("x", "m")
        await wait_for_dialog_text(pilot, "could not be written")
        dialog = app.screen
        assert isinstance(dialog, ExportDialog)
        assert dialog.written is None


async def test_pane_keys_work_while_the_tree_has_the_focus(tmp_path: Path) -> None:
    app, _ = app_on(data.example_snapshot(), tmp_path)
    async with app.run_test(size=(160, 40)) as pilot:
        await select_group(pilot, app, "payments.settle")
        await pilot.press("4")
        await settled(pilot)
        pane = main_screen(app).detail.pane
        assert isinstance(pane, OffsetsPane)
        count_of_all_rows = len(pane.table.rows)
        await pilot.press("l")
        await pilot.pause()
        assert 0 < len(pane.table.rows) < count_of_all_rows
        await pilot.press("3")
        await settled(pilot)
        pane_3 = main_screen(app).detail.pane
        assert isinstance(pane_3, AssignmentsPane)
        await pilot.press("v")
        await pilot.pause()
        assert pane_3.table.columns[0].title == "ITEM"


async def test_a_new_snapshot_keeps_the_cursor_and_focus_of_the_pane(tmp_path: Path) -> None:
    app, monitor = app_on(data.example_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await select_group(pilot, app, "orders.enrich")
        await pilot.press("4", "tab")
        await settled(pilot)
        pane = main_screen(app).detail.pane
        assert isinstance(pane, OffsetsPane)
        await pilot.press("down", "down", "down")
        row = pane.table.row
        for serial in (2, 3):
            monitor.publish(data.example_snapshot(serial))
            await settled(pilot)
        assert pane.table.has_focus
        assert pane.table.row == row

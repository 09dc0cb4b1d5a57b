"""Tests of the main screen: header, footer, error lines, keys, focus and several terminal sizes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.model.command_line import quote
from kgtui.model.problem import Problem
from kgtui.tui.dialogs.copied import CopiedDialog
from kgtui.tui.dialogs.explain import ExplainDialog
from kgtui.tui.screen_actions import table
from kgtui.tui.screens.help import HelpScreen
from kgtui.tui.widgets.footer import ActionFooter
from kgtui.tui.widgets.header import ClusterHeader, PollStatus
from tests.pilot.app_driver import app_on, main_screen, sample_snapshot, screen_text, settled
from tests.pilot.scripted_monitor import NOW, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.app import KgtuiApp


def with_broker_status(snapshot: Snapshot, **fields: Any) -> Snapshot:
    """Return a copy of a snapshot in which each broker's status has the values in `fields`."""
    return replace(snapshot, brokers={node: replace(status, **fields) for node, status in snapshot.brokers.items()})


async def test_the_header_is_written_at_most_once_per_second(tmp_path: Path) -> None:
    """If every response of a broker updated the header, the output would overload a slow connection to the terminal.

    If only the duration of the last poll changes, the header is not updated.
    """
    first = sample_snapshot()
    app, monitor = app_on(first, tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        later = with_broker_status(first, took_ms=1234.0)
        monitor.publish(later)
        await settled(pilot)
        assert "polled 09:53:19 +01:00 in 23 ms" in screen_text(app)
        monitor.publish(with_broker_status(later, answered_at=NOW + 1))
        await settled(pilot)
        assert "polled 09:53:21 +01:00 in 1.2 s" in screen_text(app)


async def test_a_longer_poll_duration_does_not_resize_the_header(tmp_path: Path) -> None:
    """If the header changed its size, Textual would lay out the screen again and write kilobytes to the terminal."""
    app, monitor = app_on(with_broker_status(sample_snapshot(), answered_at=NOW, took_ms=7.0), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        poll_status = main_screen(app).query_one(PollStatus)
        before = poll_status.outer_size
        assert "in 7 ms" in screen_text(app)
        monitor.publish(with_broker_status(sample_snapshot(), answered_at=NOW + 2, took_ms=987.0))
        await settled(pilot)
        assert "in 987 ms" in screen_text(app)
        assert poll_status.outer_size == before


async def test_keys_switch_between_the_tree_and_the_panes(tmp_path: Path) -> None:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        await pilot.press("n", "n", "4")
        await settled(pilot)
        assert screen.detail.active == "offsets"
        assert screen.focused is screen.group_tree
        await pilot.press("enter")
        assert screen.in_panes
        await pilot.press("6")
        await settled(pilot)
        assert monitor.configs_wanted[-1] == "payments.settle"
        await pilot.press("escape")
        assert screen.focused is screen.group_tree
        await pilot.press("tab")
        assert screen.in_panes
        await pilot.press("tab")
        assert screen.focused is screen.group_tree
        await pilot.press("f")
        assert screen.has_class("-full")
        assert not screen.query_one("#left").display
        await pilot.press("escape")
        assert not screen.has_class("-full")


async def test_actions_of_the_main_screen_run_without_an_error(tmp_path: Path) -> None:
    """Actions that quit kgtui, suspend kgtui or delete groups are not tested."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        main = main_screen(app)
        for action in table.ACTIONS:
            if action.id in ("quit", "quit-or-copy", "suspend", "delete"):
                continue
            main.run_action_by_id(action.id)
            await pilot.pause()
            while app.screen is not main:
                app.pop_screen()
            main.leave_panes()
        assert app.is_running


async def test_the_key_of_an_unavailable_action_shows_why_the_action_is_unavailable(tmp_path: Path) -> None:
    """A click on the action in the footer does the same: it shows the reason, and does not run the action."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(160, 30), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("n", "n", "d")
        await settled(pilot)
        assert app.screen is main_screen(app)
        assert "Stable with 3 members: stop them first" in screen_text(app)
        footer = main_screen(app).query_one(ActionFooter)
        await pilot.press("g")
        x = next(x for x in range(footer.size.width) if (item := footer.item_at(x)) and item.action == "copy")
        await pilot.click(footer, offset=(x, 0))
        await settled(pilot)
        assert "put the cursor on a group first" in screen_text(app)


async def test_the_main_screen_of_a_read_only_session_has_no_delete_key(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path, read_only=True)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        assert "delete" not in screen_text(app)
        assert "read-only" in screen_text(app)
        assert "delete" not in {binding.binding.id for binding in app.screen.active_bindings.values()}


async def test_keys_can_pause_polling_and_change_the_poll_interval(tmp_path: Path) -> None:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("p", "minus", "r")
        assert monitor.paused
        assert monitor.interval == 5.0
        assert monitor.refreshed == 1
        assert "PAUSED" in screen_text(app)
        await pilot.press("p", "plus", "plus")
        assert not monitor.paused
        assert monitor.interval == 1.0


async def test_key_shift_u_shows_times_in_utc(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("U")
        await settled(pilot)
        assert "polled 08:53:19 UTC" in screen_text(app)


async def test_the_dialog_about_a_copied_command_shows_the_command_unchanged(tmp_path: Path) -> None:
    command = quote("line\nbreak and \\ backslash")
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        app.push_screen(CopiedDialog(command))
        await settled(pilot)
        assert command in screen_text(app)


async def test_key_y_copies_the_group_id_and_shift_y_copies_the_describe_command(tmp_path: Path) -> None:
    """A dialog also shows the whole copied command, so that the user can select the command with the mouse."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n", "y")
        assert app.clipboard == "payments.settle"
        await pilot.press("Y")
        assert any(isinstance(screen, CopiedDialog) for screen in app.screen_stack)
        assert app.clipboard.startswith("kafka-consumer-groups.sh --bootstrap-server broker-1:9092 --describe --group")
        await settled(pilot)
        assert "--group payments.settle" in screen_text(app)
        await pilot.press("escape")
        assert app.screen is main_screen(app)


@pytest.mark.parametrize("group", ["a;b", "$(x)", "x\nrm -rf ~\n", "caf\u00e9"])
async def test_a_group_id_is_copied_verbatim(tmp_path: Path, group: str) -> None:
    app, _ = app_on(snapshot_of([(group, "classic", "consumer", "Stable", 1)]), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("n", "y")
        assert app.clipboard == group


async def test_the_group_id_in_a_copied_command_is_quoted_for_the_shell(tmp_path: Path) -> None:
    app, _ = app_on(snapshot_of([("a;b $(x)", "classic", "consumer", "Stable", 1)]), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("n", "Y")
        assert "--group 'a;b $(x)' " in app.clipboard


async def test_keys_open_the_help_screen_and_the_explain_dialog(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 60)) as pilot:
        await settled(pilot)
        await pilot.press("question_mark")
        await settled(pilot)
        assert isinstance(app.screen, HelpScreen)
        assert "Move up one row." in screen_text(app)
        await pilot.press("escape", "n", "e")
        await settled(pilot)
        assert isinstance(app.screen, ExplainDialog)


async def test_going_to_a_group_that_the_filter_hides_clears_the_filter(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path, filter="orders")
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        main_screen(app).go_to("share-mailer")
        await settled(pilot)
        assert main_screen(app).group_tree.group == "share-mailer"
        assert main_screen(app).filter_bar.active_filter == ""


async def test_a_narrow_header_shows_the_worst_problems_and_counts_the_others(tmp_path: Path) -> None:
    """A header that is too narrow even for the worst problem shows only the number of groups with problems."""
    app, _ = app_on(sample_snapshot(), tmp_path)
    problems = {Problem.STOP: 1, Problem.FLAPPING: 2, Problem.EMPTY: 204}
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot)
        header = app.screen.query_one(ClusterHeader)
        header.show(main_screen(app).snapshot, problems=problems)
        assert screen_text(app).splitlines()[0].rstrip() == " prod-eu  LIVE · ✘ 1 stopped · ↻ 2 flapping · 206 more"
        await pilot.resize_terminal(36, 24)
        await settled(pilot)
        assert screen_text(app).splitlines()[0].rstrip() == " prod-eu  LIVE · ✘ 209 problems"


async def test_a_narrow_screen_shows_either_the_tree_or_the_panes(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        screen = main_screen(app)
        assert not screen.detail.display
        await pilot.press("n", "enter")
        await settled(pilot)
        assert screen.detail.display
        assert not screen.query_one("#left").display
        await pilot.resize_terminal(60, 20)
        await settled(pilot)
        assert screen.detail.display
        await pilot.press("escape")
        assert screen.query_one("#left").display
        await pilot.resize_terminal(140, 40)
        await settled(pilot)
        assert screen.detail.display
        assert screen.query_one("#left").display


async def test_the_app_tells_the_monitor_which_groups_are_selected_and_visible(tmp_path: Path) -> None:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        await pilot.press("n")
        await settled(pilot)
    selected, visible = monitor.views[-1]
    assert selected == "orders.enrich"
    assert {"orders.enrich", "payments.settle", "streams-app"} <= set(visible)


async def test_the_configuration_can_assign_a_different_key_to_an_action(tmp_path: Path) -> None:
    """The configuration maps action ids to keys. A notice names each unknown action id in the configuration."""
    app, monitor = app_on(sample_snapshot(), tmp_path, keymap={"pause": "x", "no-such": "y"})
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("x")
        assert monitor.paused
        await settled(pilot)
        assert "no-such" in screen_text(app)
        assert " x pause" in screen_text(app)


async def test_the_screen_suggests_a_correction_if_the_filter_matches_no_group(tmp_path: Path) -> None:
    """The screen suggests the term `members:0` for `members=0`, and the group `payments.settle` for `paymnets.settle`.

    For `payments state:Dead`, the screen says that an id matches, but that another term excludes this group.
    """
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"members=0")
        await until_text(app, pilot, "did you mean members:0")
        assert "Did you mean members:0?" in screen_text(app)
        await pilot.press(*(["backspace"] * 9), *"paymnets.settle")
        await until_text(app, pilot, "Similar: payments.settle")
        assert "did you mean" not in screen_text(app)
        await pilot.press(*(["backspace"] * 15), *"payments", "space", *"state:Dead")
        await until_text(app, pilot, "The id payments.settle")


async def until_text(app: KgtuiApp, pilot: Pilot[int], expected: str) -> None:
    """Wait until the screen shows a text; fail after 30 s."""
    async with asyncio.timeout(30):
        while expected not in screen_text(app):
            await pilot.pause(0.01)

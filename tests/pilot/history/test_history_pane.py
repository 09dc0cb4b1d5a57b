"""Tests of the History pane of a running cluster and of a recording, with and without the package plotext."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.connecting import open_recording
from kgtui.commands.parser import parse_args
from kgtui.commands.sessions import SessionOpener
from kgtui.errors import LakeError
from kgtui.model.event import Event, EventKind
from kgtui.model.group import Listing
from kgtui.model.offsets import Position
from kgtui.model.series import ChangePoint
from kgtui.model.timeline import Change, GroupTimeline
from kgtui.model.trail import Trail
from kgtui.tui.app import KgtuiApp
from kgtui.tui.panes.cells import safe_text
from kgtui.tui.panes.history import HistoryPane
from kgtui.tui.panes.history_log import COLUMNS, with_member_names
from kgtui.tui.plots import curves
from kgtui.tui.plots.stacked_plots import plot_lines
from tests.pilot.app_driver import (
    HOSTILE,
    app_on,
    main_screen,
    sample_snapshot,
    screen_text,
    screen_words,
    settled,
    until,
)
from tests.pilot.history import sample_history
from tests.pilot.scripted_monitor import NOW, ScriptedMonitor, snapshot_of, summary

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot


def pane_of(app: KgtuiApp) -> HistoryPane:
    pane = main_screen(app).detail.pane
    assert isinstance(pane, HistoryPane)
    return pane


async def shown_history(pilot: Pilot[int], app: KgtuiApp, group: str = sample_history.GROUP) -> HistoryPane:
    """Select a group, open the History pane, and wait until the pane shows the history of the group."""
    await settled(pilot)
    main_screen(app).go_to(group)
    await settled(pilot)
    await pilot.press("5")
    await settled(pilot)
    pane = pane_of(app)
    await until(pilot, lambda: "state" in pane.plots.plain_text)
    return pane


def app_with_history(tmp_path: Path) -> tuple[KgtuiApp, ScriptedMonitor]:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    monitor.series = sample_history.live_samples()
    return app, monitor


async def test_history_pane_of_a_running_cluster_has_plots_and_a_log(tmp_path: Path) -> None:
    """The example group had two rebalances. The log lists both, newest first, with the members that joined.

    The label of each plot contains the newest value of the plot.
    """
    app, _ = app_with_history(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await shown_history(pilot, app)
        rows = pane.table.rows
        assert [change.now.state for change in rows] == ["Stable", "Reconciling", "Stable", "Reconciling", "Stable"]
        assert [change.rebalanced for change in rows] == [20.0, None, 20.0, None, None]
        assert [change.now.joined for change in rows] == [("settle-3",), (), ("settle-2",), (), ()]
        words = [line[:12].split() for line in pane.plots.plain_text.splitlines()]
        assert ["lag", "700"] in words
        assert ["in", "60/s"] in words
        assert ["members", "4"] in words
        assert ["epoch", "43"] in words
        assert "2 rebalances" in screen_text(app)


async def test_history_pane_shows_when_the_group_last_progressed(tmp_path: Path) -> None:
    """The pane shows when the group entered its current state, last made progress, and was first read by kgtui."""
    trail, group = Trail(), sample_history.GROUP
    for seconds in (300, 60):
        trail.add(round(NOW) - seconds, [Position(("t", 0), 1_000 - seconds, 1_000, seconds)])
    found = {group: replace(summary(60), trail=trail.encode())}
    app, monitor = app_on(replace(sample_snapshot(state_since={group: NOW - 200}), summaries=found), tmp_path)
    monitor.series = sample_history.live_samples()
    async with app.run_test(size=(160, 40)) as pilot:
        await shown_history(pilot, app)
        assert "Stable since 09:50:00 · last progress 09:52:20 · first seen 09:48:20" in screen_words(app)


async def test_new_lag_samples_are_plotted_without_moving_the_cursor_of_the_history_log(tmp_path: Path) -> None:
    app, monitor = app_with_history(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await shown_history(pilot, app)
        await pilot.press("tab", "down", "down")
        row = pane.table.row
        monitor.series.add(sample_history.GROUP, NOW + 10, 123_000, 5, description=sample_history.describe(0))
        monitor.publish(sample_snapshot(serial=2))
        await until(pilot, lambda: "123k" in pane.plots.plain_text)
        assert pane.table.row == row
        assert len(pane.table.rows) == 6


async def test_history_pane_without_plotext_shows_bars_and_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "available", lambda: False)
    app, _ = app_with_history(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await shown_history(pilot, app)
        assert "▅" in pane.plots.plain_text or "▆" in pane.plots.plain_text
        assert "pip install 'kgtui[plots]'" in screen_text(app)


async def test_in_the_history_pane_key_v_changes_the_time_span_and_key_l_hides_the_plots(tmp_path: Path) -> None:
    app, _ = app_with_history(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await shown_history(pilot, app)
        assert "19 min" in screen_text(app)
        await pilot.press("v", "v", "v")
        await until(pilot, lambda: "15 min" in screen_text(app))
        assert len(pane.table.rows) == 4
        height = pane.table.size.height
        await pilot.press("l")
        await until(pilot, lambda: pane.table.size.height > height + 10)
        await pilot.press("l")
        await until(pilot, lambda: pane.table.size.height == height)


async def test_history_pane_of_a_group_without_lag_samples_is_empty(tmp_path: Path) -> None:
    app, _ = app_with_history(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await shown_history(pilot, app)
        main_screen(app).go_to("old-batch")
        await settled(pilot)
        await until(pilot, lambda: pane.group == "old-batch" and not pane.table.rows)
        assert "lag" not in pane.plots.plain_text


async def test_markup_in_member_ids_and_states_is_shown_as_text(tmp_path: Path) -> None:
    description = sample_history.describe(0)
    app, monitor = app_on(snapshot_of([(sample_history.GROUP, "consumer", "consumer", "Stable", 1)]), tmp_path)
    for number, name in enumerate(HOSTILE):
        members = ((description.members or ())[0].__class__(name, "c", "/h"),)
        state = name[:60] or "Stable"
        monitor.series.add(
            sample_history.GROUP, NOW - 300 + number * 10, 1, 1,
            description=type(description)(sample_history.GROUP, "consumer", "consumer", state, 1, members=members),
        )  # fmt: skip
    async with app.run_test(size=(120, 40)) as pilot:
        await shown_history(pilot, app)
        await pilot.press("l", "tab")
        await settled(pilot)
        shown_text = screen_text(app)
        assert "[/red]" in shown_text
        assert not {"\x1b", "\u202e", "\u200b"} & set(shown_text)


async def test_the_history_pane_of_a_recording_shows_gaps_and_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pane's log has a row for a gap (time without polls). Enter replays the time of the selected row.

    If the lake (folder with the recording) cannot be read, the pane shows the error.
    """
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    args = parse_args(["replay", str(sample_history.record(tmp_path / "prod"))])
    admin = await open_recording(args.lake, None)
    async with AsyncExitStack() as stack:
        app = KgtuiApp(SessionOpener(args, stack).replay(admin))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: sample_history.GROUP in screen_text(app))
            pane = await shown_history(pilot, app)
            assert [change.now.gap for change in pane.table.rows if change.now.gap] == ["recorder stopped"]
            assert "10 min not recorded" in screen_text(app)
            await pilot.press("tab", "down", "enter")
            await until(pilot, lambda: admin.poll.at == sample_history.time_of_poll(sample_history.REBALANCES[1]))
            await until(pilot, lambda: "^" in pane.plots.plain_text)

            def broken(*_: object) -> None:
                raise LakeError("the disk is [/gone]")

            monkeypatch.setattr(admin.recording, "group_timeline", broken)
            await pilot.press("v")
            await until(pilot, lambda: "the disk is [/gone]" in screen_text(app))


async def test_the_history_log_also_lists_events_that_lag_samples_do_not_contain(tmp_path: Path) -> None:
    """The pane's log lists the differences between successive lag samples, and also two events of the snapshot.

    In one event, a member joins before the first sample. In the other, the coordinator changes, which samples do not
    contain. The log omits events before the shown time span, events of other groups, and events about changes that the
    samples contain.
    """
    first = NOW - (sample_history.POLLS - 1) * 10.0
    listing = Listing("consumer", "consumer", "Stable", 1)
    shown = [
        Event(first - 60, EventKind.JOINED, sample_history.GROUP, listing, None, "m", "client-1 at /10.0.0.1"),
        Event(NOW - 30, EventKind.COORDINATOR, sample_history.GROUP, listing, 1, 2),
    ]
    other = [
        Event(NOW - 7_200, EventKind.JOINED, sample_history.GROUP, listing, None, "m", "too long ago"),
        Event(NOW - 40, EventKind.STATE, sample_history.GROUP, listing, "Stable", "Reconciling"),
        Event(NOW - 20, EventKind.COORDINATOR, "orders.enrich", listing, 1, 2),
    ]
    app, monitor = app_on(sample_snapshot(events=sorted(shown + other)), tmp_path)
    monitor.series = sample_history.live_samples()
    async with app.run_test(size=(160, 50)) as pilot:
        pane = await shown_history(pilot, app)
        rows = pane.table.rows
        assert [row.event for row in rows if row.event is not None] == shown[::-1]
        assert (rows[0].event, rows[-1].event) == (shown[1], shown[0])
        assert "2 rebalances" in screen_text(app)
        await pilot.press("l")
        await settled(pilot)
        words = screen_words(app)
        assert "coordinator broker 1 → 2" in words
        assert "client-1 at /10.0.0.1 joined" in words


def test_the_history_log_shows_member_names_and_reasons_for_verdicts() -> None:
    """In the row of a new health verdict, the column CHANGE says `verdict`. DETAILS has the verdict and its reason.

    In the row of a member that joined, the column DETAILS has the member's short name.
    """
    member_id = "enrich-2-33d63ea3-1111-4222-8333-abcdefabcdef"
    point = ChangePoint(NOW, state="Stable")
    joined = Change(point, point._replace(at=NOW + 1, joined=(member_id,)))
    verdict = Event(NOW, EventKind.VERDICT, "g", None, None, "stopped", "no commit")
    event = Change(None, ChangePoint(NOW), event=verdict)
    shown = with_member_names([joined, event], ())
    cells = [{column.id: safe_text(column.cell(change).text) for column in COLUMNS} for change in shown]
    assert [row["who"] for row in cells] == ["+enrich-2", "stopped: no commit"]
    assert cells[1]["state"] == "verdict"
    assert [column.title for column in COLUMNS if column.id in ("state", "who")] == ["CHANGE", "DETAILS"]


@pytest.mark.parametrize("part", [0.0, 0.1, 0.48, 0.5, 0.99])
def test_the_cursor_mark_on_the_time_axis_leaves_time_labels_intact(part: float) -> None:
    timeline = GroupTimeline(NOW - 600, NOW, [NOW - 300], [5.0], [1.0], [1.0], [1.0])
    line = plot_lines(timeline, 100, 20, with_curves=False, at=NOW - 600 * (1 - part))[-1]
    words = "".join(cell.text for cell in line).split()
    assert "^" in words
    assert len(words) > 2
    assert all(word == "^" or re.fullmatch(r"\d\d:\d\d(:\d\d)?", word) for word in words)

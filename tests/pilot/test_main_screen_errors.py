"""Tests of the errors that the main screen reports: unresponsive brokers, an unreachable cluster, and crashes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.selection import by_listing
from kgtui.model.answer import Fault
from kgtui.tui.widgets.broker_faults import fault_lines
from tests.pilot.app_driver import app_on, sample_snapshot, screen_text, settled
from tests.pilot.scripted_monitor import NOW, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path


SILENT = Fault("NO_ANSWER", "no answer to ListGroups within 10 s", broker=2)


async def test_the_header_and_an_error_line_report_a_broker_that_does_not_respond(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(faults={2: SILENT}), tmp_path)
    async with app.run_test(size=(140, 30)) as pilot:
        await settled(pilot)
        shown = screen_text(app)
    assert "prod-eu" in shown
    assert "LIVE" in shown
    assert "brokers 2/3" in shown
    assert "10 groups" in shown
    assert "polled 09:53:19 +01:00 in 23 ms · lag read: 50%" in shown
    assert "! broker 2 has not responded for 12 s; its 4 groups are as of 09:53:08" in shown


def test_the_error_line_of_a_broker_counts_only_the_groups_of_this_broker() -> None:
    moved = sample_snapshot(faults={2: SILENT})
    groups = {group: replace(row, coordinator=1) for group, row in moved.groups.items()}
    kept = next(group for group, row in moved.groups.items() if row.coordinator == 2)
    groups[kept] = replace(groups[kept], coordinator=2)
    assert "; its 1 group is as of" in fault_lines(replace(moved, groups=groups, by_listing=by_listing(groups)))[0]
    nothing = {group: replace(row, coordinator=1) for group, row in groups.items()}
    assert "as of" not in fault_lines(replace(moved, groups=nothing, by_listing=by_listing(nothing)))[0]


async def test_the_connection_error_is_shown_until_the_cluster_responds(tmp_path: Path) -> None:
    refused = Fault("NOT_CONNECTED", "broker-1:9092 refused the connection", advice="check the port")
    app, monitor = app_on(snapshot_of([], brokers=0), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        assert "Connecting to broker-1:9092" in screen_text(app)
        empty = snapshot_of([], brokers=0)
        monitor.publish(type(empty)(2, NOW, empty.cluster, faults=(refused,)))
        await settled(pilot)
        shown = screen_text(app)
        assert "No broker of prod-eu answers." in shown
        assert "broker-1:9092 refused the connection" in shown
        assert "check the port" in shown
        assert "kgtui tries again" in shown
        monitor.publish(sample_snapshot())
        await settled(pilot)
        assert "classic · consumer" in screen_text(app)
        assert "No broker" not in screen_text(app)


async def test_an_empty_tree_says_which_permission_is_missing(tmp_path: Path) -> None:
    app, monitor = app_on(snapshot_of([]), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        assert "there is no group that this user is allowed to see" in screen_text(app)
        forbidden = Fault("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed.", 31, broker=1)
        monitor.publish(snapshot_of([], faults=dict.fromkeys((1, 2, 3), forbidden)))
        await settled(pilot)
        assert "DESCRIBE on Cluster" in screen_text(app)


async def test_a_crash_writes_a_report_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kgtui.tui.textual_compat.crash_message import CrashedError

    app, monitor = app_on(sample_snapshot(), tmp_path)
    caught: CrashedError | None = None
    try:
        async with app.run_test(size=(120, 30)) as pilot:
            await settled(pilot)

            def fail() -> None:
                password = "hunter2"  # A traceback of Textual would show this local variable.
                raise RuntimeError(f"sasl.jaas.config password={password!r}")

            monkeypatch.setattr(monitor, "refresh", fail)
            await pilot.press("r")
            await pilot.pause()
    except CrashedError as error:
        caught = error
    assert caught is not None
    assert app.return_code == 70
    assert caught.report is not None
    written = caught.report.read_text(encoding="utf-8")
    assert "RuntimeError" in written
    assert "hunter2" not in written
    assert caught.report.stat().st_mode & 0o077 == 0


async def test_only_the_first_exception_of_a_crash_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kgtui.tui.textual_compat import crash_message

    reported: list[BaseException] = []

    def write_report(error: BaseException, folder: Path, command: str) -> Path:
        reported.append(error)
        return folder / "crash-report.txt"

    async def crash_twice() -> None:
        async with app.run_test(size=(120, 30)) as pilot:
            await settled(pilot)
            app._handle_exception(RuntimeError("injected"))
            app._handle_exception(RuntimeError("injected while the app ends"))

    monkeypatch.setattr(crash_message, "write_report", write_report)
    app, _ = app_on(sample_snapshot(), tmp_path)
    with pytest.raises(crash_message.CrashedError):
        await crash_twice()
    assert len(reported) == 1

"""Tests that compare screenshots with stored images: the Insights screen, and the dialog that opens a recording.

Each test docstring says what the user should see.
"""

from __future__ import annotations

from datetime import timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Input, Static

from kgtui.config import StateFolder
from kgtui.lake import gold
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP
from kgtui.tui.app import KgtuiApp
from kgtui.tui.dialogs.recordings import OpenRecordingDialog
from kgtui.tui.insights.screen import InsightsScreen
from kgtui.tui.text import DisplaySettings
from tests.pilot.app_driver import HOSTILE, sample_snapshot, session_of, settled, until
from tests.pilot.history import sample_history
from tests.pilot.scripted_monitor import ScriptedMonitor, snapshot_of
from tests.unit.insights.gold_rows import HOUR, NOW, row, rows_with_problems, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

    from kgtui.lake.schemas import Table

    Compare = Callable[..., bool]

GROUPS = ("pay", "fraud", "fill", "calm", "restless", "perf.a", "perf.b", "tmp")
LATER = NOW.timestamp() + 7_300


@pytest.fixture(autouse=True)
def fixed_folder_and_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the path of the lake (folder of tables) and the time at which its tables were written.

    The screens show both, and must be the same on every machine.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGTUI_LAKE", "prod")
    monkeypatch.setattr(gold, "_last_write", lambda _: LATER - 600)


def app_on_findings(rows: dict[Table, list[dict[str, Any]]], **settings: Any) -> KgtuiApp:
    """Write `rows` to gold tables (from which the Insights screen gets its findings), and return the app.

    The cluster has groups with usual and unusual ids. `settings` are arguments of `DisplaySettings`.
    """
    write(Path("prod"), rows)
    names = [*GROUPS, *(name for name in HOSTILE if name)]
    monitor = ScriptedMonitor(snapshot_of([(name, "consumer", "consumer", "Stable", 1) for name in names]))
    clock = DisplaySettings(now=lambda: LATER, zone=timezone(timedelta(hours=1)), **settings)
    return KgtuiApp(session_of(monitor, state_folder=StateFolder(Path("state")), display=clock))


def open_insights(*presses: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Return a function that opens the Insights screen, presses the keys `presses`, and waits for the plot."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("I")
        await until(pilot, lambda: isinstance(pilot.app.screen, InsightsScreen), 60)
        screen = pilot.app.screen
        assert isinstance(screen, InsightsScreen)
        await until(pilot, lambda: bool(screen.findings.rows) or screen.has_class("-none"), 60)
        await pilot.press(*presses)
        await pilot.pause(0.3)
        hidden = screen.has_class("-none") or not screen.query_one("#plot-part").display
        await until(pilot, lambda: bool(screen.plot.plain_text or hidden) and not screen.plot.busy, 60)
        await settled(pilot)

    return run


def test_insights_screen_with_details_of_the_first_finding(snap_compare: Compare) -> None:
    """The first line counts the findings of each severity. The most urgent finding is described below the table.

    A vertical line in the plot of this finding marks when the problem began.
    """
    assert snap_compare(app_on_findings(rows_with_problems()), terminal_size=(120, 40), run_before=open_insights())


def test_insights_screen_on_an_80_by_24_terminal(snap_compare: Compare) -> None:
    """The table has room for four findings. Below it are the description and the plot of the selected finding.

    The evidence of this finding (the table rows that prove the problem) is hidden.
    """
    assert snap_compare(app_on_findings(rows_with_problems()), terminal_size=(80, 24), run_before=open_insights())


def test_insights_screen_shows_a_findings_evidence_on_an_80_by_24_terminal(snap_compare: Compare) -> None:
    """The selected finding is about a group's drain time (the time that the group needs to catch up).

    The evidence of this finding (a table row) replaces the plot. It is shown as a list of column names and values.
    """
    presses = ("down", "down", "down", "down", "l")
    assert snap_compare(
        app_on_findings(rows_with_problems()), terminal_size=(80, 24), run_before=open_insights(*presses)
    )


def test_insights_screen_with_marked_unused_groups(snap_compare: Compare) -> None:
    """The last two findings are marked, and one of them is selected.

    The selected finding is about two groups. Its evidence (table rows that prove the problem) has a row for each group.
    """
    presses = ("end", "space", "up", "space", "up")
    assert snap_compare(
        app_on_findings(rows_with_problems()), terminal_size=(120, 40), run_before=open_insights(*presses)
    )


def test_insights_screen_with_missing_tables_and_escaped_group_ids(snap_compare: Compare) -> None:
    """Warnings name the missing tables, the kinds of findings that need them, and the command that creates the tables.

    Markup and control characters in group ids are shown as text.
    """
    unused = [
        row(CLEANUP, kind="group", name=name, groups=1, state="Empty", quiet_since=NOW - 30 * HOUR)
        for name in HOSTILE
        if name
    ]
    app = app_on_findings(rows_with_problems() | {CLEANUP: unused})
    for table in (CHURN, BASELINE):
        (Path("prod") / table.layer / table.name).rename(table.name)
    assert snap_compare(app, terminal_size=(100, 34), run_before=open_insights("end", "up", "up"))


def test_insights_screen_in_ascii_mode(snap_compare: Compare) -> None:
    """The screen contains only ASCII characters, also in the frame and the scroll bar."""
    app = app_on_findings(rows_with_problems(), ascii=True)
    assert snap_compare(app, terminal_size=(80, 24), run_before=open_insights("end"))


def test_insights_screen_without_a_recording(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen says that the cluster is not recorded, and how to record it: with key `R` or with a command.

    The screen also names the command that computes the tables with the findings.
    """
    monkeypatch.delenv("KGTUI_LAKE")
    app = KgtuiApp(
        session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(Path("/home/anna/.local/state/kgtui")))
    )
    assert snap_compare(app, terminal_size=(80, 24), run_before=open_insights())


def test_dialog_that_opens_a_recording(snap_compare: Compare) -> None:
    """The dialog asks for the folder of a recording and for the time to show. It says which period was recorded."""
    sample_history.record(Path("prod"))

    async def never(lake: str, at: str) -> Any:
        raise AssertionError((lake, at))

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, OpenRecordingDialog), 60)
        dialog = pilot.app.screen
        for field in dialog.query(Input):
            field.cursor_blink = False
        await until(pilot, lambda: "recorded" in str(dialog.query_one("#span", Static).visual), 60)
        await settled(pilot)

    app = KgtuiApp(
        session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(Path("state")), open_recording=never)
    )
    assert snap_compare(app, terminal_size=(80, 24), run_before=run)

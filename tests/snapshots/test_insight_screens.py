"""Pictures of the Insights screen, and of the dialog that opens a recording.

Each docstring says what a person should see.
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
from tests.unit.insights.gold_rows import HOUR, NOW, incidents, row, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

    from kgtui.lake.schemas import Table

    Compare = Callable[..., bool]

GROUPS = ("pay", "fraud", "fill", "calm", "restless", "perf.a", "perf.b", "tmp")
LATER = NOW.timestamp() + 7_300


@pytest.fixture(autouse=True)
def fixed_folder_and_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix the folder and the age of the tables, so that the pictures are the same on every machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGTUI_LAKE", "prod")
    monkeypatch.setattr(gold, "_last_write", lambda _: LATER - 600)


def app_on_findings(rows: dict[Table, list[dict[str, Any]]], **settings: Any) -> KgtuiApp:
    """Return the app on a cluster with these groups and a lake with these tables."""
    write(Path("prod"), rows)
    names = [*GROUPS, *(name for name in HOSTILE if name)]
    monitor = ScriptedMonitor(snapshot_of([(name, "consumer", "consumer", "Stable", 1) for name in names]))
    clock = DisplaySettings(now=lambda: LATER, zone=timezone(timedelta(hours=1)), **settings)
    return KgtuiApp(session_of(monitor, state_folder=StateFolder(Path("state")), display=clock))


def open_insights(*presses: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Open the Insights screen, press keys, and wait for the plot."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("I")
        await until(pilot, lambda: isinstance(pilot.app.screen, InsightsScreen), 60)
        screen = pilot.app.screen
        assert isinstance(screen, InsightsScreen)
        await until(pilot, lambda: bool(screen.findings.rows) or screen.has_class("-none"), 60)
        await pilot.press(*presses)
        await pilot.pause(0.3)
        hidden = screen.has_class("-none") or not screen.query_one("#course").display
        await until(pilot, lambda: bool(screen.plot.plain_text or hidden) and not screen.plot.busy, 60)
        await settled(pilot)

    return run


def test_insights(snap_compare: Compare) -> None:
    """Number and time of the findings, and one line per finding, the worst first. For the first one: its description
    and command, a plot of lag and rates with a stroke at its beginning, and the partitions of its evidence.
    """
    assert snap_compare(app_on_findings(incidents()), terminal_size=(120, 40), run_before=open_insights())


def test_insights_on_80_by_24(snap_compare: Compare) -> None:
    """On a small terminal there is no column of kinds, and only description and plot are below the table."""
    assert snap_compare(app_on_findings(incidents()), terminal_size=(80, 24), run_before=open_insights())


def test_evidence_on_80_by_24(snap_compare: Compare) -> None:
    """The finding about an unusual group. Its evidence is in place of the plot, with every column by name."""
    presses = ("down", "down", "down", "down", "l")
    assert snap_compare(app_on_findings(incidents()), terminal_size=(80, 24), run_before=open_insights(*presses))


def test_unused_groups_marked(snap_compare: Compare) -> None:
    """The last two findings are marked, and the evidence about several groups names them."""
    presses = ("end", "space", "up", "space", "up")
    assert snap_compare(app_on_findings(incidents()), terminal_size=(120, 40), run_before=open_insights(*presses))


def test_missing_tables_and_hostile_names(snap_compare: Compare) -> None:
    """Which tables are missing, which findings are missing because of that, and the command.

    Markup in ids has no effect.
    """
    unused = [
        row(CLEANUP, kind="group", name=name, groups=1, state="Empty", quiet_since=NOW - 30 * HOUR)
        for name in HOSTILE
        if name
    ]
    app = app_on_findings(incidents() | {CLEANUP: unused})
    for table in (CHURN, BASELINE):
        (Path("prod") / table.layer / table.name).rename(table.name)
    assert snap_compare(app, terminal_size=(100, 34), run_before=open_insights("end", "up", "up"))


def test_insights_in_ascii(snap_compare: Compare) -> None:
    """No characters beyond ASCII, except in the frame."""
    app = app_on_findings(incidents(), ascii=True)
    assert snap_compare(app, terminal_size=(80, 24), run_before=open_insights("end"))


def test_nothing_recorded(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to press and what to run, in order."""
    monkeypatch.delenv("KGTUI_LAKE")
    app = KgtuiApp(
        session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(Path("/home/anna/.local/state/kgtui")))
    )
    assert snap_compare(app, terminal_size=(80, 24), run_before=open_insights())


def test_asking_for_a_recording(snap_compare: Compare) -> None:
    """What the dialog does, the default folder with the time it covers, the time to open, and how to come back."""
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

"""Tests that compare screenshots with stored images.

The screenshots show the History pane, the comparison of two times, the Events screen, and the Record dialog.

Each test docstring says what the user should see.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.widgets import Input

from kgtui.config import StateFolder, UiSettings
from kgtui.history.point_in_time import Comparison, LagChange, OwnerChange
from kgtui.history.poll_index import RecordedPoll
from kgtui.model.answer import Fault
from kgtui.model.event import Event, EventKind
from kgtui.model.event_search import broker_lost, listing_events
from kgtui.model.group import Listing
from kgtui.tui.app import KgtuiApp
from kgtui.tui.panes.history import HistoryPane
from kgtui.tui.plots import curves
from kgtui.tui.screens.comparison import ComparisonScreen
from kgtui.tui.screens.events import EventsScreen
from kgtui.tui.text import DisplaySettings
from tests.pilot.app_driver import HOSTILE, main_screen, sample_snapshot, session_of, settled, until
from tests.pilot.history import sample_history
from tests.pilot.scripted_monitor import NOW, ScriptedMonitor
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import pytest
    from textual.pilot import Pilot

    Compare = Callable[..., bool]


def app_with_history(tmp_path: Path, **fields: Any) -> KgtuiApp:
    """Return the app with lag samples of one group for the last twenty minutes.

    `fields` are arguments of `Session`.
    """
    monitor = ScriptedMonitor(sample_snapshot())
    monitor.series = sample_history.live_samples()
    return KgtuiApp(session_of(monitor, state_folder=StateFolder(tmp_path), **fields))


def show_history(*presses: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Return a function that opens the History pane of a group, waits for the plots, and presses the keys `presses`."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        main_screen(pilot.app).go_to(sample_history.GROUP)  # type: ignore[arg-type]
        await settled(pilot)
        await pilot.press("enter", "5")
        await settled(pilot)
        pane = main_screen(pilot.app).detail.pane  # type: ignore[arg-type]
        assert isinstance(pane, HistoryPane)
        await until(pilot, lambda: "state" in pane.plots.plain_text, 60)
        await pilot.press(*presses)
        await settled(pilot)
        await until(pilot, lambda: "state" in pane.plots.plain_text and not pane.busy, 60)
        await settled(pilot)

    return run


def test_history_pane_with_two_rebalances(snap_compare: Compare, tmp_path: Path) -> None:
    """Five plots have a common time axis. The log below the plots lists both rebalances with their durations."""
    assert snap_compare(app_with_history(tmp_path), terminal_size=(120, 40), run_before=show_history())


def test_history_pane_on_an_80_by_24_terminal(snap_compare: Compare, tmp_path: Path) -> None:
    """The tree is hidden, and the plots have fewer lines than on a large screen. All five log entries are visible."""
    assert snap_compare(app_with_history(tmp_path), terminal_size=(80, 24), run_before=show_history())


def test_history_pane_without_plotext(snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars are drawn instead of curves. The write rate and the read rate have the same scale.

    A line below the plots says how to install the package that draws curves.
    """
    monkeypatch.setattr(curves, "available", lambda: False)
    assert snap_compare(app_with_history(tmp_path), terminal_size=(100, 30), run_before=show_history())


def test_history_pane_in_ascii_mode(snap_compare: Compare, tmp_path: Path) -> None:
    """The plots consist of characters such as stars and plus signs. The pane contains only ASCII characters."""
    app = app_with_history(tmp_path, display=DisplaySettings(ascii=True, utc=True, now=lambda: NOW))
    assert snap_compare(app, terminal_size=(80, 24), run_before=show_history())


def test_history_pane_shows_only_its_log_in_16_colors(snap_compare: Compare, tmp_path: Path) -> None:
    """Key `l` hides the plots, and key `f` hides the tree. The log then has the full width.

    Only the 16 basic colors of the terminal are used.
    """
    app = app_with_history(tmp_path, ui=UiSettings(theme="kgtui-ansi"))
    assert snap_compare(app, terminal_size=(100, 20), run_before=show_history("l", "f"))


STABLE, EMPTY = Listing("consumer", "consumer", "Stable", 1), Listing("consumer", "consumer", "Empty", 3)
COMPARISON = Comparison(
    RecordedPoll(1_795_250_000_000, 1_795_250_000_000),
    RecordedPoll(1_795_251_200_000, 1_795_250_600_000),
    joined=("orders.new", HOSTILE[2]),
    left=("orders.old",),
    relisted=(("billing", STABLE, EMPTY),),
    members_joined=(("payments.settle", "settle-9f3c1ab2-77d0-4e6e-a1f1-000000000003"),),
    members_left=(("payments.settle", HOSTILE[0]), ("payments.settle", HOSTILE[4])),
    moved=(
        OwnerChange("payments.settle", "payments.settled", 4, "settle-1", "settle-3"),
        OwnerChange("payments.settle", "t", 5, None, "settle-3"),
    ),
    lags=(
        LagChange("orders.export", 1_000, 1_200_000),
        LagChange("billing", None, 12),
        LagChange("orders.enrich", 5_000, 312),
    ),
    member_names={("payments.settle", "settle-9f3c1ab2-77d0-4e6e-a1f1-000000000003"): "settle#9f3c"},
)  # fmt: skip


def show_comparison(*presses: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Return a function that opens the screen that compares two times, and presses the keys `presses`."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        screen = ComparisonScreen(COMPARISON, "payments.settle")
        pilot.app.push_screen(screen)
        await until(pilot, lambda: screen.is_mounted and bool(screen.table.rows), 60)
        await pilot.press(*presses)
        await pilot.pause(0.2)
        await settled(pilot)

    return run


def test_comparison_screen_of_two_points_in_time(snap_compare: Compare, tmp_path: Path) -> None:
    """The comparison shows both times, the number of differences of each kind, and a row per difference.

    Control characters in names are escaped.
    """
    app = KgtuiApp(session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(tmp_path)))
    assert snap_compare(app, terminal_size=(100, 24), run_before=show_comparison())


def test_comparison_screen_of_one_group_on_an_80_by_24_terminal(snap_compare: Compare, tmp_path: Path) -> None:
    """Only the changes to payments.settle are shown: members that joined and left, and partitions that moved."""
    app = KgtuiApp(session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(tmp_path)))
    assert snap_compare(app, terminal_size=(80, 24), run_before=show_comparison("l", "down"))


def test_events_screen_lists_the_newest_event_first(snap_compare: Compare, tmp_path: Path) -> None:
    """The table has five events of the last 10 minutes. The newest one is selected, and shown in full below the table.

    Control characters in names are escaped.
    """
    stable = Listing("consumer", "consumer", "Stable", 3)
    events = (
        *listing_events(HOSTILE[2], NOW - 500, None, stable),
        Event(NOW - 300, EventKind.LEFT, "payments.settle", stable, "m-1", None, f"{HOSTILE[4]} at /10.0.0.1"),
        Event(NOW - 200, EventKind.VERDICT, "orders.enrich", stable, "OK", "stopped", "all members left, 312 unread"),
        broker_lost(2, "broker-2:9092", NOW - 100, Fault("TIMEOUT", "no response within 10 s")),
        Event(NOW - 50, EventKind.REWOUND, "payments.settle", stable, 1_900, 400, "settled-0, settled-4", 2),
    )
    snapshot = sample_snapshot(events=events, events_since=NOW - 400)
    app = KgtuiApp(session_of(ScriptedMonitor(snapshot), state_folder=StateFolder(tmp_path)))

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, EventsScreen) and bool(app.screen.table.rows), 60)
        await settled(pilot)

    assert snap_compare(app, terminal_size=(100, 24), run_before=run)


def test_record_dialog_suggests_a_folder_and_names_keys(snap_compare: Compare) -> None:
    """The dialog says what is recorded and how often. It has an input field with the default folder.

    It also names the keys that start and stop the recording.
    """
    session = session_of(
        ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(Path("/home/anna/.local/state/kgtui"))
    )
    session.admin = ScriptedAdmin()

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("R")
        await settled(pilot)
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await settled(pilot)

    assert snap_compare(KgtuiApp(session), terminal_size=(80, 24), run_before=run)

"""What history looks like on the screen: each docstring says what a person should see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.widgets import Input

from kgtui.history.point_in_time import Comparison, LagChange, OwnerChange
from kgtui.history.poll_index import RecordedPoll
from kgtui.model.group import Listing
from kgtui.tui.app import KgtuiApp
from kgtui.tui.panes import HistoryPane
from kgtui.tui.plots import curves
from kgtui.tui.screens.comparison import ComparisonScreen
from kgtui.tui.text import DisplaySettings
from tests.pilot.history import made
from tests.pilot.shell import HOSTILE, company, main_screen, session_of, settled, until
from tests.pilot.watching import NOW, HandWatch
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import pytest
    from textual.pilot import Pilot

    Compare = Callable[..., bool]


def app_with_history(tmp_path: Path, **fields: Any) -> KgtuiApp:
    """The app on a group that has been watched for twenty minutes."""
    watch = HandWatch(company())
    watch.series = made.session()
    return KgtuiApp(session_of(watch, state_folder=tmp_path, **fields))


def looking(*presses: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Go to the group's history, wait for the plots, press keys."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        main_screen(pilot.app).go_to(made.GROUP)  # type: ignore[arg-type]
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


def test_history(snap_compare: Compare, tmp_path: Path) -> None:
    """Curves of lag (a hill) and of what is written and read, bars of members, a line of states with two rebalances,
    marks where something changed, times below; the log with the rebalances that took 20 s, who joined, what moved."""
    assert snap_compare(app_with_history(tmp_path), terminal_size=(120, 40), run_before=looking())


def test_history_on_80_by_24(snap_compare: Compare, tmp_path: Path) -> None:
    """The same in the place of the tree, lower; four lines of the log."""
    assert snap_compare(app_with_history(tmp_path), terminal_size=(80, 24), run_before=looking())


def test_history_without_curves(snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars instead of curves, in and out apart on one scale, and a line that says which extra draws curves."""
    monkeypatch.setattr(curves, "available", lambda: False)
    assert snap_compare(app_with_history(tmp_path), terminal_size=(100, 30), run_before=looking())


def test_history_in_ascii(snap_compare: Compare, tmp_path: Path) -> None:
    """Stars and plus signs; nothing beyond ASCII."""
    app = app_with_history(tmp_path, display=DisplaySettings(ascii=True, utc=True, now=lambda: NOW))
    assert snap_compare(app, terminal_size=(80, 24), run_before=looking())


def test_history_in_16_colours(snap_compare: Compare, tmp_path: Path) -> None:
    """The terminal's own colours; the log alone, over the whole width."""
    app = app_with_history(tmp_path, theme="kgtui-ansi")
    assert snap_compare(app, terminal_size=(100, 20), run_before=looking("l", "f"))


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
)  # fmt: skip


def comparing(*presses: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Open the comparison, press keys."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        screen = ComparisonScreen(COMPARISON, "payments.settle")
        pilot.app.push_screen(screen)
        await until(pilot, lambda: screen.is_mounted and bool(screen.table.rows), 60)
        await pilot.press(*presses)
        await pilot.pause(0.2)
        await settled(pilot)

    return run


def test_two_moments_compared(snap_compare: Compare, tmp_path: Path) -> None:
    """From when to when; how much of what; groups, members, partitions and lags a line each, hostile names harmless."""
    app = KgtuiApp(session_of(HandWatch(company()), state_folder=tmp_path))
    assert snap_compare(app, terminal_size=(100, 24), run_before=comparing())


def test_one_group_compared_on_80_by_24(snap_compare: Compare, tmp_path: Path) -> None:
    """Only payments.settle: who came, who left, which partitions moved."""
    app = KgtuiApp(session_of(HandWatch(company()), state_folder=tmp_path))
    assert snap_compare(app, terminal_size=(80, 24), run_before=comparing("l", "down"))


def test_asking_where_to_record(snap_compare: Compare) -> None:
    """What is written and how often, the folder to take or to change, how it begins and ends."""
    session = session_of(HandWatch(company()), state_folder=Path("/home/anna/.local/state/kgtui"))
    session.admin = ScriptedAdmin()

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await pilot.press("R")
        await settled(pilot)
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await settled(pilot)

    assert snap_compare(KgtuiApp(session), terminal_size=(80, 24), run_before=run)

"""Snapshots of the whole screen. Each docstring describes what a user should see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Input

from kgtui.config import StateFolder
from kgtui.model.answer import Fault
from kgtui.model.snapshot import Snapshot
from kgtui.tui.app import KgtuiApp
from kgtui.tui.session import ClusterChoice, Session, Target
from kgtui.tui.text import DisplaySettings
from kgtui.tui.themes import load, shipped_folder
from tests.pilot.app_driver import HOSTILE, sample_snapshot, session_of, settled
from tests.pilot.health_snapshots import unhealthy_snapshot, with_health
from tests.pilot.scripted_monitor import NOW, ScriptedMonitor, many_groups, snapshot_of, summary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

    Compare = Callable[..., bool]

SILENT = Fault("NO_ANSWER", "no answer to ListGroups within 10 s", broker=2)
REFUSED = Fault(
    "NOT_CONNECTED", "broker-1:9092 refused the connection: nothing listens there",
    advice="check the port and that the broker runs",
)  # fmt: skip
THEMES = sorted(theme.name for theme in load([shipped_folder()])[0])


def pressing(*presses: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Return a function that waits for the tree, presses keys, and waits until the screen is drawn without blinking."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for keys in (presses, ()):  # the keys may open a screen with other text fields
            for field in pilot.app.screen.query(Input):
                field.cursor_blink = False
            await pilot.press(*keys)
            await settled(pilot)
        await pilot.pause(0.1)

    return run


@pytest.fixture
def shows(snap_compare: Compare, tmp_path: Path) -> Callable[..., bool]:
    """Return a function that compares the app on a snapshot, at a size and after some keys, with the stored image."""

    def compare(snapshot: Snapshot, size: tuple[int, int], *presses: str, **fields: Any) -> bool:
        fields.setdefault("state_folder", StateFolder(tmp_path))
        app = KgtuiApp(session_of(ScriptedMonitor(snapshot), **fields))
        return snap_compare(app, terminal_size=size, run_before=pressing(*presses))

    return compare


def test_overview_of_a_group(shows: Callable[..., bool]) -> None:
    """Header, filter bar, the tree by type and state; payments.settle is selected, with its Overview on the right."""
    assert shows(sample_snapshot(), (120, 40), "n", "n")


def test_verdicts_and_the_health_of_a_group(shows: Callable[..., bool]) -> None:
    """ERR and WARN in their own column, with a mark before the name; the Overview shows the reason and the forecast."""
    assert shows(unhealthy_snapshot(), (120, 40), "n", "n")


def test_health_on_80_by_24(shows: Callable[..., bool]) -> None:
    """Verdict, trend and time lag of a group below its state, wrapped beside their labels; the rest can be scrolled."""
    assert shows(unhealthy_snapshot(), (80, 24), "n", "n", "enter", "1")


def test_verdicts_on_a_narrow_screen_in_ascii(shows: Callable[..., bool]) -> None:
    """Marks before two names show the verdicts, because there is no column for them."""
    assert shows(unhealthy_snapshot(), (100, 24), "n", display=DisplaySettings(ascii=True, utc=True, now=lambda: NOW))


def test_health_after_a_short_observation(shows: Callable[..., bool]) -> None:
    """The verdict is OK, and a muted line says how long to observe before STOP can be detected."""
    assert shows(with_health(sample_snapshot(), "payments.settle", "new"), (120, 40), "n", "n")


def test_80_by_24_shows_only_the_tree(shows: Callable[..., bool]) -> None:
    """The tree in full width, counts and lag aligned to the right, keys in one line at the bottom."""
    assert shows(sample_snapshot(), (80, 24), "n")


def test_60_by_20_still_works(shows: Callable[..., bool]) -> None:
    """Names, counts and lag; only the time at the right of the header; fewer keys at the bottom."""
    assert shows(sample_snapshot(), (60, 20), "n")


@pytest.mark.parametrize("pane", "12346")
def test_panes_on_80_by_24(shows: Callable[..., bool], pane: str) -> None:
    """Enter replaces the tree by the pane, with the title of the group and the tabs above it."""
    assert shows(sample_snapshot(), (80, 24), "n", "n", "enter", pane)


def test_full_screen(shows: Callable[..., bool]) -> None:
    """The Offsets pane in full width, without the tree."""
    assert shows(sample_snapshot(), (120, 30), "n", "n", "4", "f")


def test_a_filter(shows: Callable[..., bool]) -> None:
    """Four groups match `lag:100+`: the header says "4 shown", the filter bar that half of the lag is known."""
    assert shows(sample_snapshot(), (120, 24), filter="lag:100+")


def test_an_invalid_filter(shows: Callable[..., bool]) -> None:
    """Carets below the unknown term, with a suggestion; the last valid filter stays in force."""
    assert shows(sample_snapshot(), (80, 24), "slash", *"lagg:1k")


def test_a_broker_that_does_not_answer(shows: Callable[..., bool]) -> None:
    """brokers 2/3 in amber, a red fault line above the keys, and a red ! before each group of the broker."""
    assert shows(sample_snapshot(faults={2: SILENT}), (120, 30), "n")


def test_many_broker_faults_take_three_lines(shows: Callable[..., bool]) -> None:
    """Two fault lines, and a third with the number of the others."""
    faults = dict.fromkeys((2, 3, 4, 5), SILENT) | {1: REFUSED}
    assert shows(snapshot_of(many_groups(30), brokers=6, faults=faults), (100, 24))


def test_tree_by_coordinator_sorted_by_lag(shows: Callable[..., bool]) -> None:
    """Nodes of brokers with states below, the largest lag first; the heading of the lag column is highlighted."""
    assert shows(sample_snapshot(), (100, 30), "b", "b", "s")


def test_tree_by_topic(shows: Callable[..., bool]) -> None:
    """A group with two topics is listed below each of them; groups that have not been read come last."""
    rows = [(name, "consumer", "consumer", "Stable", 1) for name in ("billing", "search", "unread")]
    known = {"billing": summary(10, 2, topics=("invoices", "orders")), "search": summary(0, 1, topics=("orders",))}
    assert shows(snapshot_of(rows, summaries=known), (100, 20), "b", "b", "b")


def test_tree_by_name_with_marks(shows: Callable[..., bool]) -> None:
    """Families of group names with their sums; two groups are marked with a star, and the header says "2 marked"."""
    assert shows(snapshot_of(many_groups(60)), (100, 30), "b", "b", "b", "b", "n", "space", "space")


def test_hostile_group_ids(shows: Callable[..., bool]) -> None:
    """Ids with markup, escapes, bidi, newlines, wide characters and 32,000 letters are readable and in their column."""
    snapshot = snapshot_of([(group, "classic", "consumer", "Stable", 1) for group in HOSTILE])
    assert shows(snapshot, (100, 24), "n", "n")


def test_screen_in_ascii(shows: Callable[..., bool]) -> None:
    """The whole screen with ASCII characters only."""
    session = session_of(ScriptedMonitor(sample_snapshot(faults={2: SILENT})))
    assert session.display is not None
    session.display.ascii = True
    assert shows(sample_snapshot(faults={2: SILENT}), (100, 30), "n", display=session.display)


def test_a_large_cluster_starts_collapsed(shows: Callable[..., bool]) -> None:
    """With 20,000 groups, only nodes with counts are shown; lag is "at least", because not all of it has been read."""
    rows = many_groups(20_000)
    assert shows(snapshot_of(rows, brokers=5, lags={row[0]: 17 for row in rows[::3]}), (100, 20))


def test_connecting(shows: Callable[..., bool]) -> None:
    """CONNECTING in the header, and the address; nothing else."""
    assert shows(snapshot_of([], brokers=0), (80, 20))


def test_no_broker_answers(shows: Callable[..., bool]) -> None:
    """The tried address, the error, what to check, and that kgtui tries again."""
    assert shows(Snapshot(2, NOW, snapshot_of([], brokers=0).cluster, faults=(REFUSED,)), (100, 24))


def test_a_cluster_without_groups(shows: Callable[..., bool]) -> None:
    """A message that this user may see no groups, and the permission that would show more."""
    assert shows(snapshot_of([]), (100, 20))


def test_listing_forbidden(shows: Callable[..., bool]) -> None:
    """The ACL operation that is missing, and the command that grants it."""
    forbidden = Fault("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed.", 31, broker=1)
    assert shows(snapshot_of([], faults=dict.fromkeys((1, 2, 3), forbidden)), (100, 24))


def test_production_read_only_paused(snap_compare: Compare, tmp_path: Path) -> None:
    """The name and PROD on the red of the cluster, PAUSED in amber, read-only, and no delete key."""
    monitor = ScriptedMonitor(sample_snapshot())
    monitor.paused = True
    session = session_of(monitor, state_folder=StateFolder(tmp_path), read_only=True)
    session.target = Target("payments-eu", "broker-1:9092", color="#b01030", environment="PROD")
    assert snap_compare(KgtuiApp(session), terminal_size=(100, 20), run_before=pressing())


def test_an_unavailable_key_shows_its_reason(shows: Callable[..., bool]) -> None:
    """After `d` on a Stable group, a toast says what to do first."""
    assert shows(sample_snapshot(), (100, 30), "n", "n", "d")


def test_copied_command_dialog(shows: Callable[..., bool]) -> None:
    """The whole command at the bottom, so that it can be selected by hand."""
    assert shows(sample_snapshot(), (100, 24), "n", "n", "Y")


def test_help_screen(shows: Callable[..., bool]) -> None:
    """The keys by section, over the whole screen."""
    assert shows(sample_snapshot(), (80, 24), "question_mark")


def test_command_palette(shows: Callable[..., bool]) -> None:
    """The actions and groups that match the typed text."""
    assert shows(sample_snapshot(), (100, 24), "ctrl+p", *"pay")


def test_cluster_dialog(snap_compare: Compare, tmp_path: Path) -> None:
    """A star at the open cluster; names on their colors with environment, name of the color, read-only, addresses."""

    async def another(name: str) -> Session:
        raise AssertionError(name)

    clusters = (
        ClusterChoice("payments-eu", "pay-1.eu.example:9093,pay-2.eu.example:9093", "#b01030", "PROD", read_only=True),
        ClusterChoice("prod-eu", "broker-1:9092"),
        ClusterChoice("staging", "staging-1.example:9092,staging-2.example:9092", "seagreen", "TEST"),
    )
    session = session_of(
        ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(tmp_path), clusters=clusters, open_cluster=another
    )
    assert snap_compare(KgtuiApp(session), terminal_size=(80, 24), run_before=pressing("c"))


@pytest.mark.parametrize("theme", THEMES)
def test_themes(shows: Callable[..., bool], theme: str) -> None:
    """All color roles of a theme: states, lag, marks, faults, cursor, keys."""
    assert shows(sample_snapshot(faults={2: SILENT}), (110, 26), "n", "space", theme=theme)


def test_start_screen(snap_compare: Compare, tmp_path: Path) -> None:
    """The tried address, the address field, the demo and the configuration file, all on 80×24 without scrolling."""

    async def demo() -> Session:
        raise AssertionError

    async def connect(address: str) -> Session:
        raise AssertionError(address)

    failed = (("localhost:9092", "localhost:9092 refused the connection: nothing listens there"),)
    session = session_of(
        None, state_folder=StateFolder(tmp_path), failed_attempts=failed, open_demo=demo, open_address=connect
    )
    assert snap_compare(KgtuiApp(session), terminal_size=(80, 24), run_before=pressing())

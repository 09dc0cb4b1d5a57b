"""What the whole screen looks like: each docstring says what a person should see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Input

from kgtui.model.answer import Fault
from kgtui.model.snapshot import Snapshot
from kgtui.tui.app import KgtuiApp
from kgtui.tui.session import ClusterChoice, Session, Target
from kgtui.tui.text import DisplaySettings
from kgtui.tui.themes import load, shipped_folder
from tests.pilot.judging import hard_times, judged
from tests.pilot.shell import HOSTILE, company, session_of, settled
from tests.pilot.watching import NOW, HandWatch, many, snapshot_of, summary

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
    """Wait for the tree, press keys, wait again; the cursor of a text field stands still."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for keys in (presses, ()):  # the keys may bring a screen with other fields
            for field in pilot.app.screen.query(Input):
                field.cursor_blink = False
            await pilot.press(*keys)
            await settled(pilot)
        await pilot.pause(0.1)

    return run


@pytest.fixture
def shows(snap_compare: Compare, tmp_path: Path) -> Callable[..., bool]:
    """Compares the app on a snapshot after some keys, at a size."""

    def compare(snapshot: Snapshot, size: tuple[int, int], *presses: str, **fields: Any) -> bool:
        fields.setdefault("state_folder", tmp_path)
        app = KgtuiApp(session_of(HandWatch(snapshot), **fields))
        return snap_compare(app, terminal_size=size, run_before=pressing(*presses))

    return compare


def test_a_group_at_a_glance(shows: Callable[..., bool]) -> None:
    """Header, filter bar, the tree by type and state, payments.settle selected with its Overview beside it."""
    assert shows(company(), (120, 40), "n", "n")


def test_verdicts_and_the_health_of_a_group(shows: Callable[..., bool]) -> None:
    """ERR and WARN in a column of their own with a mark before the name; the Overview tells why, and what to expect."""
    assert shows(hard_times(), (120, 40), "n", "n")


def test_health_on_80_by_24(shows: Callable[..., bool]) -> None:
    """Verdict, trend and time lag of a group under its state, wrapped beside their labels; the rest scrolls."""
    assert shows(hard_times(), (80, 24), "n", "n", "enter", "1")


def test_verdicts_without_room_and_in_ascii(shows: Callable[..., bool]) -> None:
    """Two marks before names tell what no column tells."""
    assert shows(hard_times(), (100, 24), "n", display=DisplaySettings(ascii=True, utc=True, now=lambda: NOW))


def test_what_a_short_watch_cannot_decide(shows: Callable[..., bool]) -> None:
    """OK, and in a muted line what it would take to find something worse."""
    assert shows(judged(company(), "payments.settle", "new"), (120, 40), "n", "n")


def test_80_by_24_shows_the_tree_alone(shows: Callable[..., bool]) -> None:
    """The tree in full width, counts and lag aligned on the right, keys in one line at the bottom."""
    assert shows(company(), (80, 24), "n")


def test_60_by_20_still_works(shows: Callable[..., bool]) -> None:
    """Names, counts and lag; the header with the time alone on its right, fewer keys at the bottom."""
    assert shows(company(), (60, 20), "n")


@pytest.mark.parametrize("pane", "12346")
def test_panes_on_80_by_24(shows: Callable[..., bool], pane: str) -> None:
    """Enter brings the pane in place of the tree, with the group's title and the tabs above it."""
    assert shows(company(), (80, 24), "n", "n", "enter", pane)


def test_full_screen(shows: Callable[..., bool]) -> None:
    """The Offsets pane over the whole width; no tree."""
    assert shows(company(), (120, 30), "n", "n", "4", "f")


def test_a_filter_in_force(shows: Callable[..., bool]) -> None:
    """`lag:100+`: four groups under their nodes, "4 shown", and beside the filter that half has been searched."""
    assert shows(company(), (120, 24), filter="lag:100+")


def test_a_mistake_in_the_filter(shows: Callable[..., bool]) -> None:
    """Carets under the unknown term, what was meant, what is expected; the last good filter still in force."""
    assert shows(company(), (80, 24), "slash", *"lagg:1k")


def test_a_silent_broker(shows: Callable[..., bool]) -> None:
    """brokers 2/3 in amber, a red line above the keys with its age, a red ! before each of its groups."""
    assert shows(company(faults={2: SILENT}), (120, 30), "n")


def test_many_faults_take_three_lines(shows: Callable[..., bool]) -> None:
    """Two lines, and how many more there are."""
    faults = dict.fromkeys((2, 3, 4, 5), SILENT) | {1: REFUSED}
    assert shows(snapshot_of(many(30), brokers=6, faults=faults), (100, 24))


def test_by_coordinator_sorted_by_lag(shows: Callable[..., bool]) -> None:
    """Brokers, states beneath, the largest lag first; the lag column is marked as the sorted one."""
    assert shows(company(), (100, 30), "b", "b", "s")


def test_by_topic(shows: Callable[..., bool]) -> None:
    """A group of two topics under each; groups not read yet last."""
    rows = [(name, "consumer", "consumer", "Stable", 1) for name in ("billing", "search", "unread")]
    known = {"billing": summary(10, 2, topics=("invoices", "orders")), "search": summary(0, 1, topics=("orders",))}
    assert shows(snapshot_of(rows, summaries=known), (100, 20), "b", "b", "b")


def test_by_name_with_marks(shows: Callable[..., bool]) -> None:
    """Families with their sums; two marked groups with a star; "2 marked" in the header."""
    assert shows(snapshot_of(many(60)), (100, 30), "b", "b", "b", "b", "n", "space", "space")


def test_hostile_ids(shows: Callable[..., bool]) -> None:
    """Every id readable and in its column: markup, escapes, bidi, newlines, wide characters, 32,000 letters, none."""
    snapshot = snapshot_of([(group, "classic", "consumer", "Stable", 1) for group in HOSTILE])
    assert shows(snapshot, (100, 24), "n", "n")


def test_ascii(shows: Callable[..., bool]) -> None:
    """The same screen without a character beyond ASCII."""
    session = session_of(HandWatch(company(faults={2: SILENT})))
    assert session.display is not None
    session.display.ascii = True
    assert shows(company(faults={2: SILENT}), (100, 30), "n", display=session.display)


def test_a_large_cluster_starts_closed(shows: Callable[..., bool]) -> None:
    """20,000 groups: nodes only, with counts and "at least" lags of what is swept."""
    rows = many(20_000)
    assert shows(snapshot_of(rows, brokers=5, lags={row[0]: 17 for row in rows[::3]}), (100, 20))


def test_connecting(shows: Callable[..., bool]) -> None:
    """CONNECTING in the header, and to what; nothing that looks like an answer."""
    assert shows(snapshot_of([], brokers=0), (80, 20))


def test_nothing_reachable(shows: Callable[..., bool]) -> None:
    """What was tried, why it failed, what to look at, that it keeps trying."""
    assert shows(Snapshot(2, NOW, snapshot_of([], brokers=0).cluster, faults=(REFUSED,)), (100, 24))


def test_no_groups(shows: Callable[..., bool]) -> None:
    """That there are none to see, and which permission would show more."""
    assert shows(snapshot_of([]), (100, 20))


def test_listing_forbidden(shows: Callable[..., bool]) -> None:
    """Which ACL operation is missing, and the command that grants it."""
    forbidden = Fault("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed.", 31, broker=1)
    assert shows(snapshot_of([], faults=dict.fromkeys((1, 2, 3), forbidden)), (100, 24))


def test_production_read_only_paused(snap_compare: Compare, tmp_path: Path) -> None:
    """The name on the cluster's red with PROD, PAUSED in amber, read-only; no delete among the keys."""
    watch = HandWatch(company())
    watch.paused = True
    session = session_of(watch, state_folder=tmp_path, read_only=True)
    session.target = Target("payments-eu", "broker-1:9092", color="#b01030", environment="PROD")
    assert snap_compare(KgtuiApp(session), terminal_size=(100, 20), run_before=pressing())


def test_a_greyed_key_tells_why(shows: Callable[..., bool]) -> None:
    """`d` on a Stable group: a toast says what to do first."""
    assert shows(company(), (100, 30), "n", "n", "d")


def test_copied_command(shows: Callable[..., bool]) -> None:
    """The whole command in the lower part, to be selected by hand."""
    assert shows(company(), (100, 24), "n", "n", "Y")


def test_help(shows: Callable[..., bool]) -> None:
    """Keys by what they are for, over the whole screen."""
    assert shows(company(), (80, 24), "question_mark")


def test_palette(shows: Callable[..., bool]) -> None:
    """Actions and groups that match."""
    assert shows(company(), (100, 24), "ctrl+p", *"pay")


def test_clusters(snap_compare: Compare, tmp_path: Path) -> None:
    """A star on the open one; names on their colours with their labels, the colour in words, read-only, addresses."""

    async def another(name: str) -> Session:
        raise AssertionError(name)

    clusters = (
        ClusterChoice("payments-eu", "pay-1.eu.example:9093,pay-2.eu.example:9093", "#b01030", "PROD", read_only=True),
        ClusterChoice("prod-eu", "broker-1:9092"),
        ClusterChoice("staging", "staging-1.example:9092,staging-2.example:9092", "seagreen", "TEST"),
    )
    session = session_of(HandWatch(company()), state_folder=tmp_path, clusters=clusters, open_cluster=another)
    assert snap_compare(KgtuiApp(session), terminal_size=(80, 24), run_before=pressing("c"))


@pytest.mark.parametrize("theme", THEMES)
def test_themes(shows: Callable[..., bool], theme: str) -> None:
    """Every role of the theme: states, lag, marks, faults, cursor, keys."""
    assert shows(company(faults={2: SILENT}), (110, 26), "n", "space", theme=theme)


def test_start_screen(snap_compare: Compare, tmp_path: Path) -> None:
    """What was tried, a field for an address, the demo, the file to write: all on 80×24 without scrolling."""

    async def demo() -> Session:
        raise AssertionError

    async def connect(address: str) -> Session:
        raise AssertionError(address)

    tried = (("localhost:9092", "localhost:9092 refused the connection: nothing listens there"),)
    session = session_of(None, state_folder=tmp_path, failed_attempts=tried, open_demo=demo, open_address=connect)
    assert snap_compare(KgtuiApp(session), terminal_size=(80, 24), run_before=pressing())

"""Tests that compare screenshots with stored images: the main screen, its dialogs and the start screen.

Each test docstring says what the user should see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Input

from kgtui.config import StateFolder, UiSettings
from kgtui.model.answer import Fault
from kgtui.model.snapshot import Snapshot
from kgtui.tui.app import KgtuiApp
from kgtui.tui.session import ClusterChoice, ClusterLabel, Session
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
    """Return a function that waits until the tree is drawn, presses keys, and stops the cursors from blinking."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        # Stop the cursors of input fields from blinking before and after the keys are pressed, because the keys can
        # open a screen with more input fields.
        for keys in (presses, ()):
            for field in pilot.app.screen.query(Input):
                field.cursor_blink = False
            await pilot.press(*keys)
            await settled(pilot)
        await pilot.pause(0.1)

    return run


@pytest.fixture
def shows(snap_compare: Compare, tmp_path: Path) -> Callable[..., bool]:
    """Return a function that runs the app, presses keys, and compares the screen with a stored image.

    The arguments of the function are the cluster's `Snapshot`, the terminal size, keys, and arguments of `Session`.
    """

    def compare(snapshot: Snapshot, size: tuple[int, int], *presses: str, **fields: Any) -> bool:
        fields.setdefault("state_folder", StateFolder(tmp_path))
        app = KgtuiApp(session_of(ScriptedMonitor(snapshot), **fields))
        return snap_compare(app, terminal_size=size, run_before=pressing(*presses))

    return compare


def test_main_screen_with_overview_of_a_group(shows: Callable[..., bool]) -> None:
    """The tree is below the header and the filter bar. In the tree, groups are grouped by type and state.

    The group payments.settle is selected, and its Overview pane is on the right.
    """
    assert shows(sample_snapshot(), (120, 40), "n", "n")


def test_main_screen_with_health_verdicts_in_the_tree_and_the_overview(shows: Callable[..., bool]) -> None:
    """The symbol of a group shows its verdict: `✘` stopped, `▴` falling behind, `✓` OK.

    A tree node has the symbol of the worst problem of its groups, and the number of groups with this problem. The
    Overview pane shows the verdict of the selected group.
    """
    assert shows(unhealthy_snapshot(), (120, 40), "n", "n")


def test_overview_pane_with_a_health_verdict_on_an_80_by_24_terminal(shows: Callable[..., bool]) -> None:
    """The pane begins with the verdict, its reason, the affected member and the next step. Long text is wrapped."""
    assert shows(unhealthy_snapshot(), (80, 24), "n", "n", "enter", "1")


def test_tree_with_health_verdicts_on_a_narrow_screen_in_ascii_mode(shows: Callable[..., bool]) -> None:
    """The tree has no column of problems. The symbol in front of a group shows the verdict of the group.

    In ASCII mode, `X` means stopped, `^` falling behind, and `=` OK.
    """
    assert shows(unhealthy_snapshot(), (100, 24), "n", display=DisplaySettings(ascii=True, utc=True, now=lambda: NOW))


def test_overview_pane_says_how_long_detecting_a_stop_takes(shows: Callable[..., bool]) -> None:
    """There is no verdict yet. The line `not known` says for how long a stopped group must lack progress."""
    assert shows(with_health(sample_snapshot(), "payments.settle", "new"), (120, 40), "n", "n")


def test_main_screen_on_an_80_by_24_terminal_shows_only_the_tree(shows: Callable[..., bool]) -> None:
    """The tree has the full width.

    Counts and lag are aligned to the right, and the keys are in one line at the bottom.
    """
    assert shows(sample_snapshot(), (80, 24), "n")


def test_main_screen_on_a_60_by_20_terminal(shows: Callable[..., bool]) -> None:
    """The tree has the columns problem, count and lag. The header has no room for the time of the last poll.

    The footer has fewer keys than on a large screen.
    """
    assert shows(sample_snapshot(), (60, 20), "n")


@pytest.mark.parametrize("pane", "12346")
def test_a_pane_on_an_80_by_24_terminal_replaces_the_tree(shows: Callable[..., bool], pane: str) -> None:
    """After Enter, the pane replaces the tree. The group's title and the tabs are above the pane."""
    assert shows(sample_snapshot(), (80, 24), "n", "n", "enter", pane)


def test_offsets_pane_in_full_screen_mode(shows: Callable[..., bool]) -> None:
    """The Offsets pane has the full width, without the tree."""
    assert shows(sample_snapshot(), (120, 30), "n", "n", "4", "f")


def test_main_screen_with_a_filter(shows: Callable[..., bool]) -> None:
    """Four groups match `lag:100+`. kgtui knows the lags of only five of the ten groups.

    Therefore, the filter bar says `50% of the groups searched`.
    """
    assert shows(sample_snapshot(), (120, 24), filter="lag:100+")


def test_main_screen_with_an_invalid_filter(shows: Callable[..., bool]) -> None:
    """Carets mark the unknown term `lagg:`, and a message suggests `lag`.

    The last valid filter stays active. This is `lagg`, which was typed before the colon. No group matches it.
    """
    assert shows(sample_snapshot(), (80, 24), "slash", *"lagg:1k")


def test_main_screen_when_a_broker_does_not_respond(shows: Callable[..., bool]) -> None:
    """The header has `brokers 2/3` in amber. A red line above the keys says that broker 2 does not respond.

    Each tree node with groups of broker 2 has a red `!` and the number of these groups.
    """
    assert shows(sample_snapshot(faults={2: SILENT}), (120, 30), "n")


def test_errors_of_many_brokers_are_shown_on_three_lines(shows: Callable[..., bool]) -> None:
    """Five brokers have errors. Two of them are shown above the keys, and a line says that three are not shown."""
    faults = dict.fromkeys((2, 3, 4, 5), SILENT) | {1: REFUSED}
    assert shows(snapshot_of(many_groups(30), brokers=6, faults=faults), (100, 24))


def test_tree_grouped_by_coordinator_and_sorted_by_lag(shows: Callable[..., bool]) -> None:
    """Under each broker, the tree has one node per group state.

    In a node, the group with the largest lag comes first. The title of the lag column is highlighted.
    """
    assert shows(sample_snapshot(), (100, 30), "b", "b", "s")


def test_tree_grouped_by_topic(shows: Callable[..., bool]) -> None:
    """A group that reads two topics is listed under each of the two topics.

    A group whose offsets kgtui has not read yet comes last, under the node `not read yet`.
    """
    rows = [(name, "consumer", "consumer", "Stable", 1) for name in ("billing", "search", "unread")]
    known = {"billing": summary(10, 2, topics=("invoices", "orders")), "search": summary(0, 1, topics=("orders",))}
    assert shows(snapshot_of(rows, summaries=known), (100, 20), "b", "b", "b")


def test_tree_grouped_by_name_prefix_with_marked_groups(shows: Callable[..., bool]) -> None:
    """No two group ids have the same prefix, so all groups are under the tree node `other names`.

    Two groups are marked with a star, and the header says "2 marked".
    """
    assert shows(snapshot_of(many_groups(60)), (100, 30), "b", "b", "b", "b", "n", "space", "space")


def test_tree_escapes_control_characters_in_group_ids(shows: Callable[..., bool]) -> None:
    """Unusual group ids are shown in a readable form, and stay in their column.

    Some contain markup, escape sequences, bidirectional characters, newlines or wide characters. One has 32,000
    letters.
    """
    snapshot = snapshot_of([(group, "classic", "consumer", "Stable", 1) for group in HOSTILE])
    assert shows(snapshot, (100, 24), "n", "n")


def test_main_screen_in_ascii_mode(shows: Callable[..., bool]) -> None:
    """Header, tree, Overview and keys contain only ASCII characters."""
    session = session_of(ScriptedMonitor(sample_snapshot(faults={2: SILENT})))
    assert session.display is not None
    session.display.ascii = True
    assert shows(sample_snapshot(faults={2: SILENT}), (100, 30), "n", display=session.display)


def test_tree_nodes_of_a_large_cluster_are_closed_at_first(shows: Callable[..., bool]) -> None:
    """The nodes of group types are open, and the nodes of group states are closed.

    Each node shows the number of its groups and their total lag.

    Most lags are unknown, so the total lag is a lower bound. It is marked with `≥`.
    """
    rows = many_groups(20_000)
    assert shows(snapshot_of(rows, brokers=5, lags={row[0]: 17 for row in rows[::3]}), (100, 20))


def test_main_screen_while_connecting(shows: Callable[..., bool]) -> None:
    """The header says CONNECTING. In place of the tree, a line names the address to which kgtui connects."""
    assert shows(snapshot_of([], brokers=0), (80, 20))


def test_main_screen_when_no_broker_responds(shows: Callable[..., bool]) -> None:
    """The screen shows the address that was tried, the error and what to check, and says that kgtui tries again."""
    assert shows(Snapshot(2, NOW, snapshot_of([], brokers=0).cluster, faults=(REFUSED,)), (100, 24))


def test_main_screen_of_a_cluster_without_groups(shows: Callable[..., bool]) -> None:
    """The screen says that there is no group that this user is allowed to see, and which permission to ask for."""
    assert shows(snapshot_of([]), (100, 20))


def test_main_screen_when_listing_groups_is_forbidden(shows: Callable[..., bool]) -> None:
    """The screen names the missing ACL operation and the command that grants it."""
    forbidden = Fault("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed.", 31, broker=1)
    assert shows(snapshot_of([], faults=dict.fromkeys((1, 2, 3), forbidden)), (100, 24))


def test_header_of_a_paused_read_only_production_cluster(snap_compare: Compare, tmp_path: Path) -> None:
    """The cluster's name and its environment PROD have the configured red background.

    The header says PAUSED and `read-only`, and the footer has no key for deletion.
    """
    monitor = ScriptedMonitor(sample_snapshot())
    monitor.paused = True
    session = session_of(monitor, state_folder=StateFolder(tmp_path), read_only=True)
    session.target = ClusterLabel("payments-eu", "broker-1:9092", color="#b01030", environment="PROD")
    assert snap_compare(KgtuiApp(session), terminal_size=(100, 20), run_before=pressing())


def test_unavailable_key_shows_the_reason(shows: Callable[..., bool]) -> None:
    """The user presses `d` (delete) on a Stable group. A notification says that its members must be stopped first."""
    assert shows(sample_snapshot(), (100, 30), "n", "n", "d")


def test_dialog_with_the_copied_command(shows: Callable[..., bool]) -> None:
    """The dialog at the bottom contains the whole command, so that the user can also select it with the mouse."""
    assert shows(sample_snapshot(), (100, 24), "n", "n", "Y")


def test_help_screen_on_an_80_by_24_terminal(shows: Callable[..., bool]) -> None:
    """The help fills the whole screen. It lists the keys by section."""
    assert shows(sample_snapshot(), (80, 24), "question_mark")


def test_command_palette_with_typed_text(shows: Callable[..., bool]) -> None:
    """The palette lists the actions and the groups whose names match the typed text."""
    assert shows(sample_snapshot(), (100, 24), "ctrl+p", *"pay")


def test_dialog_that_lists_the_configured_clusters(snap_compare: Compare, tmp_path: Path) -> None:
    """There is one line per cluster, and a star marks the open cluster.

    Each line has the cluster's addresses, and the cluster's name and environment in the configured color. The cluster
    payments-eu is marked as `read-only`.
    """

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
def test_main_screen_in_each_theme(shows: Callable[..., bool], theme: str) -> None:
    """The screen shows all colors of the theme: for states, lag, marks, errors, the cursor and keys."""
    assert shows(sample_snapshot(faults={2: SILENT}), (110, 26), "n", "space", ui=UiSettings(theme=theme))


def test_start_screen_after_a_failed_connection(snap_compare: Compare, tmp_path: Path) -> None:
    """The screen has the failed address, a field for a different one, a demo button, and an example configuration.

    It fits 80×24 without scrolling.
    """

    async def demo() -> Session:
        raise AssertionError

    async def connect(address: str) -> Session:
        raise AssertionError(address)

    failed = (("localhost:9092", "localhost:9092 refused the connection: nothing listens there"),)
    session = session_of(
        None, state_folder=StateFolder(tmp_path), failed_attempts=failed, open_demo=demo, open_address=connect
    )
    assert snap_compare(KgtuiApp(session), terminal_size=(80, 24), run_before=pressing())

"""Tests of switching to a different cluster, with the key `c` and with the command palette."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.widgets import OptionList, Static

from kgtui.config import StateFolder, UiSettings
from kgtui.errors import ConfigError
from kgtui.model.answer import Fault
from kgtui.model.snapshot import Snapshot
from kgtui.tui.app import KgtuiApp
from kgtui.tui.dialogs.clusters import ClusterDialog
from kgtui.tui.session import ClusterChoice, ClusterLabel, Session
from kgtui.tui.widgets.header import ClusterHeader
from tests.pilot.app_driver import (
    HOSTILE,
    main_screen,
    rows,
    sample_snapshot,
    screen_text,
    search_palette,
    session_of,
    settled,
)
from tests.pilot.scripted_monitor import NOW, ScriptedMonitor, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from textual.pilot import Pilot

CHOICES = (
    ClusterChoice("prod-eu", "broker-1:9092"),
    ClusterChoice("payments", "pay-1:9093,pay-2:9093", "#b01030", "PROD", read_only=True),
    ClusterChoice("staging", "staging:9092", "seagreen"),
)
REFUSED = Fault("NOT_CONNECTED", "pay-1:9093 refused the connection: nothing listens there", advice="check the port")


class Clusters:
    """Test doubles of clusters, which the app opens by name.

    `opened` and `closed` list the names of the clusters that the app has opened and closed.
    """

    def __init__(self, tmp_path: Path, choices: tuple[ClusterChoice, ...] = CHOICES) -> None:
        self.tmp_path = tmp_path
        self.choices = choices
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.monitors: dict[str, ScriptedMonitor] = {}
        self.snapshots: dict[str, Snapshot] = {}

    async def open(self, name: str) -> Session:
        """Return a session on the cluster `name`, or raise ConfigError if the name is `staging`."""
        self.opened.append(name)
        if name == "staging":
            raise ConfigError("config.toml: clusters.staging: [/red] no such file: staging.properties")
        choice = next(choice for choice in self.choices if choice.name == name)
        return self.session(
            ClusterLabel(name, choice.bootstrap, choice.color, choice.environment), read_only=choice.read_only
        )

    def session(self, target: ClusterLabel, **fields: Any) -> Session:
        """Return a session on a test double of the cluster `target`. `fields` are further arguments of `Session`."""

        async def close() -> None:
            self.closed.append(target.name)

        monitor = ScriptedMonitor(self.snapshots.get(target.name, sample_snapshot()))
        self.monitors[target.name] = monitor
        session = session_of(monitor, state_folder=StateFolder(self.tmp_path), **fields)
        return replace(session, target=target, clusters=self.choices, open_cluster=self.open, close=close)

    def app(self, **fields: Any) -> KgtuiApp:
        """Return the app on the cluster `prod-eu`. `fields` are arguments of its `Session`."""
        return KgtuiApp(self.session(ClusterLabel("prod-eu", "broker-1:9092"), **fields))


def dialog(app: KgtuiApp) -> ClusterDialog:
    """Return the cluster dialog; fail if it is not the screen on top."""
    assert isinstance(app.screen, ClusterDialog)
    return app.screen


def lines(app: KgtuiApp) -> list[str]:
    """Return the rows of the cluster dialog as text."""
    choices = dialog(app).choices
    return [str(choices.get_option_at_index(at).prompt) for at in range(choices.option_count)]


async def choose(pilot: Pilot[int], *presses: str) -> None:
    """Open the cluster dialog, press keys that move its cursor, and open the cluster under the cursor."""
    await pilot.press("c")
    await pilot.pause()
    await pilot.press(*presses, "enter")
    async with asyncio.timeout(60):
        while any(worker.group in ("open", "switch") for worker in pilot.app.workers if not worker.is_finished):
            await pilot.pause()
    await settled(pilot)


async def test_choosing_a_different_cluster_closes_the_old_session(tmp_path: Path) -> None:
    """The screen shows the groups and the header of the new cluster, and the theme does not change.

    The filter is cleared, no group is marked, and the session of the old cluster is closed.
    """
    clusters = Clusters(tmp_path)
    clusters.snapshots["payments"] = snapshot_of([("card.events", "share", "share", "Stable", 1)])
    app = clusters.app(filter="payments", ui=UiSettings(theme="kgtui-light"))
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await pilot.press("n", "space", "p")
        first = main_screen(app)
        assert first.marked
        app.theme = "kgtui-contrast"
        await choose(pilot, "down")
        shown = main_screen(app)
        assert shown is app.screen is not first
        assert (clusters.opened, clusters.closed) == (["payments"], ["prod-eu"])
        assert any("card.events" in row for row in rows(app))
        assert not shown.marked
        assert shown.filter_bar.active_filter == ""
        assert app.theme == "kgtui-contrast"
        assert first not in app.screen_stack
        header = shown.query_one(ClusterHeader).render_line(0).text
        assert "payments PROD" in header
        assert "read-only" in header
        assert "LIVE" in header


async def test_the_main_screen_ignores_snapshots_of_a_cluster_that_was_closed(tmp_path: Path) -> None:
    clusters = Clusters(tmp_path)
    clusters.snapshots["payments"] = snapshot_of([("card.events", "share", "share", "Stable", 1)])
    app = clusters.app()
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await choose(pilot, "down")
        clusters.monitors["prod-eu"].publish(sample_snapshot(serial=9))
        await settled(pilot)
        assert list(main_screen(app).snapshot.groups) == ["card.events"]
        clusters.monitors["payments"].publish(snapshot_of([("new.one", "share", "share", "Stable", 1)], serial=2))
        await settled(pilot)
        assert list(main_screen(app).snapshot.groups) == ["new.one"]


async def test_the_user_can_switch_to_an_unreachable_cluster_and_back(tmp_path: Path) -> None:
    clusters = Clusters(tmp_path)
    clusters.snapshots["payments"] = Snapshot(2, NOW, snapshot_of([], brokers=0).cluster, faults=(REFUSED,))
    app = clusters.app()
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await choose(pilot, "down")
        shown = screen_text(app)
        assert "NO ANSWER" in shown
        assert "No broker of payments answers." in shown
        await choose(pilot, "up")
        assert clusters.closed == ["prod-eu", "payments"]
        assert "payments.settle" in screen_text(app)


async def test_the_cluster_dialog_shows_the_configuration_error_of_the_chosen_cluster(tmp_path: Path) -> None:
    clusters = Clusters(tmp_path)
    app = clusters.app()
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await choose(pilot, "j", "j")
        status = str(dialog(app).query_one("#status", Static).content)
        assert "[/red] no such file: staging.properties" in status
        await pilot.press("escape")
        await settled(pilot)
        assert app.screen is main_screen(app)
        assert app.session.target.name == "prod-eu"
        assert clusters.closed == []


async def test_the_cluster_dialog_shows_the_settings_of_each_cluster(tmp_path: Path) -> None:
    app = Clusters(tmp_path).app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("c")
        await pilot.pause()
        first, second, third = lines(app)
        assert first.split() == ["✱", "prod-eu", "broker-1:9092"]
        assert second.split() == ["payments", "PROD", "#b01030", "read-only", "pay-1:9093,pay-2:9093"]
        assert third.split() == ["staging", "seagreen", "staging:9092"]
        assert dialog(app).choices.highlighted == 0
        await pilot.press("enter")
        await settled(pilot)
        assert app.screen is main_screen(app)


async def test_control_characters_in_cluster_names_are_escaped(tmp_path: Path) -> None:
    """Users can copy a configuration from other people, so cluster names can contain any characters.

    The cluster dialog must show each name on one line.
    """
    choices = tuple(ClusterChoice(name, name[:40], "no[color]", name[:30]) for name in HOSTILE)
    app = Clusters(tmp_path, choices).app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("c")
        await pilot.pause()
        shown = lines(app)
        assert len(shown) == len(HOSTILE)
        assert "[/red]" in shown[0]
        assert not any("\x1b" in line or "\n" in line or "\u202e" in line for line in shown)


async def test_the_cluster_dialog_without_clusters_shows_a_configuration_example(tmp_path: Path) -> None:
    app = Clusters(tmp_path, ()).app(config_file=tmp_path / "config.toml")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("c")
        await pilot.pause()
        message = str(dialog(app).query_one("#none", Static).content)
        assert str(tmp_path / "config.toml") in message
        assert "[clusters.staging]" in message
        assert not dialog(app).query(OptionList)
        await pilot.press("j", "c")
        await pilot.pause()
        assert app.screen is main_screen(app)


async def test_the_cluster_dialog_opens_only_if_the_session_can_open_clusters(tmp_path: Path) -> None:
    """If the session cannot open clusters, the key `c` shows a notice instead of the dialog."""
    app = Clusters(tmp_path).app()
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await search_palette(pilot, "cluster")
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(app.screen, ClusterDialog)
    session = replace(
        session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(tmp_path)), open_cluster=None
    )
    alone = KgtuiApp(session)
    async with alone.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await pilot.press("c")
        await settled(pilot)
        assert alone.screen is main_screen(alone)
        assert [notice.title for notice in alone._notifications] == ["Cluster is not available"]


async def test_configuration_warnings_are_shown_in_one_notice(tmp_path: Path) -> None:
    session = session_of(ScriptedMonitor(sample_snapshot()), state_folder=StateFolder(tmp_path))
    target = ClusterLabel("prod-eu", "broker-1:9092", "rde")
    warnings = ("sasl.mechansim is not known", "[/foo] is not known")
    app = KgtuiApp(replace(session, target=target, warnings=warnings))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await settled(pilot)
        async with asyncio.timeout(60):
            while "[/foo] is not known" not in screen_text(app):
                await pilot.pause()
        (toast,) = app._notifications
        assert toast.title == "Configuration of prod-eu"
        assert toast.message.splitlines() == [
            *warnings,
            "unknown color 'rde': use a name such as red, or a code such as #b01030",
        ]


async def test_a_cluster_switch_keeps_the_grouping_and_sorting_of_the_tree(tmp_path: Path) -> None:
    clusters = Clusters(tmp_path)
    app = clusters.app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("b", "s")
        await settled(pilot)
        before = main_screen(app).group_tree.model
        await choose(pilot, "down")
        await settled(pilot)
        after = main_screen(app).group_tree.model
        assert main_screen(app).session.target.name == "payments"
        assert after is not before
        assert (after.grouping, after.sort) == (before.grouping, before.sort) == ("state", "lag")
        heading = next(line for line in screen_text(app).split("\n") if line.startswith(" by "))
        assert heading.startswith(" by state")
        assert "lag ▾" in heading

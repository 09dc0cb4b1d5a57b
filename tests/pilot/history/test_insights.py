"""Tests of the Insights screen: its list of findings, its keys, and its messages about missing tables."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.errors import LakeError
from kgtui.insights.finding import Kind
from kgtui.lake.gold import Gold
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, GOLD, HEALTH
from kgtui.tui import recording
from kgtui.tui.dialogs.delete import DeleteDialog
from kgtui.tui.insights import screen as screen_module
from kgtui.tui.insights.screen import InsightsScreen
from kgtui.tui.screens.main import MainScreen
from tests.pilot.app_driver import HOSTILE, app_on, main_screen, rows, screen_text, settled
from tests.pilot.app_driver import until as shell_until
from tests.pilot.scripted_monitor import snapshot_of
from tests.scripted import ScriptedAdmin
from tests.unit.insights.gold_rows import HOUR, NOW, lag_rows, row, rows_with_problems, write

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.app import KgtuiApp

until = partial(shell_until, seconds=60)
"""Wait up to a minute for a condition, because reading a lake (folder with tables) can take seconds."""

GROUPS = ("pay", "fraud", "fill", "calm", "restless", "perf.a", "tmp")


def cluster(groups: tuple[str, ...] = GROUPS) -> Snapshot:
    """Return a snapshot of a cluster with the groups `groups`.

    By default, these are all groups that have findings, except the group `perf.b`, which no longer exists.
    """
    return snapshot_of(
        [(group, "classic", "consumer", "Empty" if group in ("perf.a", "tmp") else "Stable", 1) for group in groups]
    )


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a lake (folder with tables) that causes findings of each kind, and set KGTUI_LAKE to its path."""
    path = write(tmp_path / "prod", rows_with_problems())
    monkeypatch.setenv("KGTUI_LAKE", str(path))
    return path


async def open_insights(pilot: Pilot[int], app: KgtuiApp) -> InsightsScreen:
    """Open the Insights screen, and wait until it shows findings, or a message that says why there are none."""
    await settled(pilot)
    await pilot.press("I")
    await until(pilot, lambda: isinstance(app.screen, InsightsScreen))
    screen = app.screen
    assert isinstance(screen, InsightsScreen)
    await until(pilot, lambda: bool(screen.findings.rows) or screen.has_class("-none"))
    return screen


def unwrapped_text(app: KgtuiApp) -> str:
    """Return the text on the screen as one line, without frames and repeated spaces."""
    return " ".join(re.sub("[│▌▊▐▎]", " ", screen_text(app)).split())


def subjects(screen: InsightsScreen) -> list[str]:
    return [row.finding.subject for row in screen.findings.rows]


async def test_insights_screen_lists_findings_by_urgency_with_evidence_and_plot(tmp_path: Path, lake: Path) -> None:
    """For the first finding, the screen shows the duration, what to do, and a plot of the group's lag and members.

    The screen also shows the evidence: the rows that caused the finding, from a gold table (a table that is computed
    from the recording).
    """
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_insights(pilot, app)
        assert subjects(screen) == ["pay", "fraud", "restless", "calm", "fill", "perf.*", "tmp"]
        await until(pilot, lambda: "lag" in screen.plot.plain_text and not screen.plot.busy)
        await until(pilot, lambda: "Stopped committing on 2 partitions; 1,000 unread records." in unwrapped_text(app))
        assert "(4 h)" in unwrapped_text(app)
        assert "kgtui show pay" in unwrapped_text(app)
        assert "evidence: 2 rows of gold/health" in unwrapped_text(app)
        assert [fact.values[:4] for fact in screen.evidence_table.rows] == [
            ("t", 1, "STOP", 700),
            ("t", 0, "STOP", 300),
        ]
        assert [word for word in screen.plot.plain_text.split() if word in ("lag", "members", "state")] == [
            "lag",
            "members",
        ]
        assert "2.0/s" in screen.plot.plain_text
        await pilot.press(*["down"] * 4)
        await until(
            pilot, lambda: "The group catches up on 1,000 unread records in about 1 h 30 min." in unwrapped_text(app)
        )
        await until(pilot, lambda: "DRAIN 1 h 30 min" in screen_text(app).replace("drain", "DRAIN"))


async def test_the_first_finding_is_fully_described_when_the_insights_screen_opens(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of the description depends on the widget's height, which is known only after the first layout.

    After the layout, the app must therefore write the text again, even if the cursor does not move.
    """
    monkeypatch.setattr(screen_module, "DETAILS_DELAY", 1e6)
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_insights(pilot, app)
        await until(pilot, lambda: "Stopped committing on 2 partitions; 1,000 unread records." in unwrapped_text(app))


async def test_the_enter_key_on_a_finding_selects_the_group_and_clears_the_filter(tmp_path: Path, lake: Path) -> None:
    app, _ = app_on(cluster(), tmp_path, filter="calm")
    async with app.run_test(size=(120, 40)) as pilot:
        await open_insights(pilot, app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        await until(pilot, lambda: main_screen(app).group == "fraud")
        assert main_screen(app).filter_bar.active_filter == ""


async def test_the_enter_key_on_a_finding_about_a_deleted_group_shows_a_message(tmp_path: Path, lake: Path) -> None:
    """The Insights screen stays open, because it cannot go to a group that no longer exists."""
    app, _ = app_on(cluster(("calm",)), tmp_path)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        screen = await open_insights(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: "pay no longer exists on this cluster" in unwrapped_text(app))
        assert app.screen is screen


async def test_the_space_key_marks_the_unused_groups_of_a_finding(tmp_path: Path, lake: Path) -> None:
    """Space marks the groups of the finding, except groups that are in use or no longer exist. Nothing is deleted."""
    app, _ = app_on(cluster(), tmp_path, admin=ScriptedAdmin())
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        screen = await open_insights(pilot, app)
        await pilot.press("space")
        await until(pilot, lambda: "groups can be marked only in findings about unused" in unwrapped_text(app))
        assert main_screen(app).marked == set()
        await pilot.press("end", "up", "space", "space")
        await until(pilot, lambda: main_screen(app).marked == {"perf.a", "tmp"})
        assert [one.marked for one in screen.findings.rows][-2:] == [True, True]
        await until(pilot, lambda: "1 group marked (1 no longer listed)" in unwrapped_text(app))
        assert "to delete those that are Empty, press d" in unwrapped_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog))
        assert "perf.a" in screen_text(app)


async def test_the_enter_key_on_an_evidence_row_goes_to_the_group_in_this_row(tmp_path: Path, lake: Path) -> None:
    app, _ = app_on(cluster((*GROUPS, "perf.b")), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_insights(pilot, app)
        await pilot.press("end", "up")
        await until(pilot, lambda: screen.plot.request is not None and screen.plot.request.group == "perf.a")
        await pilot.press("tab", "down")
        await until(pilot, lambda: screen.plot.request is not None and screen.plot.request.group == "perf.b")
        await pilot.press("escape")
        assert app.screen is screen
        await pilot.press("tab", "enter")
        await until(pilot, lambda: main_screen(app).group == "perf.b")


async def test_the_space_key_marks_nothing_if_findings_are_about_another_cluster(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtui.lake.tables.recorded_cluster_id", lambda _: "other-[/id]")
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await open_insights(pilot, app)
        assert "these findings are about cluster other-[/id]; kgtui shows cluster" in screen_text(app)
        await pilot.press("end", "space")
        await until(pilot, lambda: "so their groups cannot be marked" in unwrapped_text(app))
        assert main_screen(app).marked == set()


async def test_key_v_cycles_through_the_kinds_of_findings(tmp_path: Path, lake: Path) -> None:
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await open_insights(pilot, app)
        for kind in Kind:
            await pilot.press("v")
            assert {one.finding.kind for one in screen.findings.rows} == {kind}
        await pilot.press("v")
        assert len(screen.findings.rows) == 7


async def test_key_l_switches_between_plot_and_evidence_on_small_screens(tmp_path: Path, lake: Path) -> None:
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await open_insights(pilot, app)
        await until(pilot, lambda: "lag" in screen.plot.plain_text)
        await until(pilot, lambda: "gold/health" not in unwrapped_text(app))
        await pilot.press("l")
        await until(pilot, lambda: "gold/health" in screen_text(app) and screen.plot.size.height == 0)
        await pilot.press("l")
        await until(pilot, lambda: screen.plot.size.height > 0)


async def test_missing_gold_tables_are_listed_with_the_command_that_creates_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without two of the gold tables, some kinds of problems cannot be found. The screen names these kinds."""
    path = write(tmp_path / "prod", rows_with_problems())
    for table in (CHURN, BASELINE):
        (path / table.layer / table.name).rename(tmp_path / table.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGTUI_LAKE", "prod")
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_insights(pilot, app)
        assert "restless" not in subjects(screen)
        assert "missing tables: gold/churn, gold/baseline; no findings about: flapping, unusual" in unwrapped_text(app)
        assert "kgtui pipeline run --lake=prod creates the tables" in unwrapped_text(app)
        assert "as of 2026-11-21 17:00" in unwrapped_text(app)
        assert re.search(r"computed \d+ (s|min|h|d) ago", unwrapped_text(app))


async def test_insights_screen_reports_an_unknown_home_folder_in_kgtui_lake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGTUI_LAKE", "~no-such-user/lake")
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_insights(pilot, app)
        assert "the home folder of this user is not known: write the path without ~" in unwrapped_text(app)


async def test_insights_screen_without_a_recording_shows_how_to_create_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KGTUI_LAKE", raising=False)
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_insights(pilot, app)
        assert "this cluster is not recorded" in unwrapped_text(app)
        assert f"kgtui record {tmp_path / 'lakes' / 'prod-eu'}" in unwrapped_text(app)
        assert f"kgtui pipeline run --lake={tmp_path / 'lakes' / 'prod-eu'}" in unwrapped_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))


async def test_insights_screen_without_gold_tables_shows_how_to_create_them(tmp_path: Path, lake: Path) -> None:
    """After gold tables have been created, key `r` reads them."""
    for table in GOLD:
        (lake / table.layer / table.name).rename(tmp_path / table.name)
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_insights(pilot, app)
        assert "has no gold tables that can be read" in unwrapped_text(app)
        assert f"kgtui pipeline run --lake={lake}" in unwrapped_text(app)
        for table in GOLD:
            (tmp_path / table.name).rename(lake / table.layer / table.name)
        await pilot.press("r")
        await until(pilot, lambda: len(screen.findings.rows) == 7)
        await pilot.press("enter")
        await until(pilot, lambda: main_screen(app).group == "pay")


async def test_insights_screen_reports_a_damaged_gold_table(tmp_path: Path, lake: Path) -> None:
    for file in (lake / HEALTH.layer / HEALTH.name / "_delta_log").iterdir():
        file.write_text("{[/broken")
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_insights(pilot, app)
        assert "gold/health cannot be read" in screen_text(app)
        assert "pay" not in subjects(screen)


async def test_insights_screen_reports_that_the_lag_history_cannot_be_read(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise LakeError("the disk is [/gone]")

    monkeypatch.setattr(Gold, "lag_histories", broken)
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_insights(pilot, app)
        await until(pilot, lambda: "the disk is [/gone]" in screen_text(app))


async def test_insights_screen_without_deltalake_shows_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "find_spec", lambda name: None if name == "deltalake" else object())
    recording.missing_library.cache_clear()
    try:
        app, _ = app_on(cluster(), tmp_path)
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await settled(pilot)
            await pilot.press("I")
            await until(pilot, lambda: "pip install 'kgtui[history]'" in unwrapped_text(app))
            assert app.screen is main_screen(app)
    finally:
        recording.missing_library.cache_clear()


async def test_ids_with_markup_or_escape_sequences_are_shown_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group ids appear in the table of findings, the description, the titles and the evidence."""
    names = [name for name in HOSTILE if name]
    made = {
        CLEANUP: [
            row(CLEANUP, kind="group", name=name, groups=1, state="Empty", quiet_since=NOW - 4 * HOUR) for name in names
        ],
        GOLD[0]: [one for name in names[:4] for one in lag_rows(name, minutes=3)],
    }
    monkeypatch.setenv("KGTUI_LAKE", str(write(tmp_path / "prod", made)))
    app, _ = app_on(cluster(tuple(names)), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_insights(pilot, app)
        assert set(subjects(screen)) == set(names)
        for _ in names:
            assert not {"\x1b", "\u202e", "\u200b"} & set(screen_text(app))
            await pilot.press("down")
            await settled(pilot)
        await pilot.press("home")
        first = screen.findings.rows[0].finding.subject
        await until(pilot, lambda: screen.findings.row is not None and screen.findings.row.finding.subject == first)
        await pilot.press("enter")
        await until(pilot, lambda: main_screen(app).group == first)


async def test_insights_screen_responds_while_its_tables_are_read(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If reading takes long, the screen says `reading the tables`, and the user can close the screen meanwhile."""
    import threading

    let_go = threading.Event()

    def slowly(path: Path) -> Any:
        let_go.wait(30)
        return read_findings(path)

    read_findings = recording.read_findings
    monkeypatch.setattr("kgtui.tui.insights.screen.read_findings", slowly)
    app, _ = app_on(cluster(), tmp_path)
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            await settled(pilot)
            await pilot.press("I")
            await until(pilot, lambda: "reading the tables" in unwrapped_text(app))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main_screen(app))
            await pilot.press("down")
            assert rows(app)
            let_go.set()
    finally:
        let_go.set()


def test_the_recording_for_insights_is_chosen_in_a_fixed_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first choice is the folder of the recording that is replayed, then the folder that is being recorded into.

    The third choice is the value of KGTUI_LAKE, and the last choice is the default folder.
    """
    app, _ = app_on(cluster(), tmp_path)
    session = app.session
    monkeypatch.delenv("KGTUI_LAKE", raising=False)
    assert recording.lake_of(session) == (tmp_path / "lakes" / "prod-eu", "the default folder for recordings", False)
    monkeypatch.setenv("KGTUI_LAKE", "/named")
    assert str(recording.lake_of(session).path) == "/named"
    going = recording.Recording(session, tmp_path / "going", lambda *_: None, lambda: None)
    assert recording.lake_of(replace(session, recording=going)).path == tmp_path / "going"
    assert recording.lake_of(replace(session, recording=going, lake=tmp_path)).path == tmp_path

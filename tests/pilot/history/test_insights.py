"""The Insights screen: findings of a lake by urgency, to the group, marks for the delete, what to do without tables."""

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
from tests.pilot.shell import HOSTILE, app_on, main_screen, rows, screen_text, settled
from tests.pilot.shell import until as shell_until
from tests.pilot.watching import snapshot_of
from tests.scripted import ScriptedAdmin
from tests.unit.insights.gold_rows import HOUR, NOW, incidents, lag_rows, row, write

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.app import KgtuiApp

until = partial(shell_until, seconds=60)
"""Reading a lake takes seconds on a busy machine."""

GROUPS = ("pay", "fraud", "fill", "calm", "restless", "perf.a", "tmp")


def cluster(groups: tuple[str, ...] = GROUPS) -> Snapshot:
    """The groups that the findings are about, but `perf.b`, which is gone; what is unused is Empty."""
    return snapshot_of(
        [(group, "classic", "consumer", "Empty" if group in ("perf.a", "tmp") else "Stable", 1) for group in groups]
    )


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake with a finding of each kind, named by the environment."""
    path = write(tmp_path / "prod", incidents())
    monkeypatch.setenv("KGTUI_LAKE", str(path))
    return path


async def asked(pilot: Pilot[int], app: KgtuiApp) -> InsightsScreen:
    """The screen with its findings and the first one's plot."""
    await settled(pilot)
    await pilot.press("I")
    await until(pilot, lambda: isinstance(app.screen, InsightsScreen))
    screen = app.screen
    assert isinstance(screen, InsightsScreen)
    await until(pilot, lambda: bool(screen.findings.rows) or screen.has_class("-none"))
    return screen


def said(app: KgtuiApp) -> str:
    """The words on the screen, wherever their lines end."""
    return " ".join(re.sub("[│▌▊▐▎]", " ", screen_text(app)).split())


def subjects(screen: InsightsScreen) -> list[str]:
    return [row.finding.subject for row in screen.findings.rows]


async def test_findings_by_urgency_with_evidence_and_plot(tmp_path: Path, lake: Path) -> None:
    """Of the one under the cursor: since when, what to do, the rows it rests on, its group's lag and rates."""
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot, app)
        assert subjects(screen) == ["pay", "fraud", "restless", "calm", "fill", "perf.*", "tmp"]
        await until(pilot, lambda: "lag" in screen.plot.plain_text and not screen.plot.busy)
        await until(pilot, lambda: "Stopped committing on 2 partitions; 1,000 unread records." in said(app))
        assert "(4 h)" in said(app)
        assert "kgtui show pay" in said(app)
        assert "evidence: 2 rows of gold/health" in said(app)
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
        await until(pilot, lambda: "The group catches up on 1,000 unread records in about 1 h 30 min." in said(app))
        await until(pilot, lambda: "DRAIN 1 h 30 min" in screen_text(app).replace("drain", "DRAIN"))


async def test_the_words_take_the_room_they_get(tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the room there was before the findings had been read, and not only once the cursor has moved."""
    monkeypatch.setattr(screen_module, "CURSOR_REST", 1e6)
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await asked(pilot, app)
        await until(pilot, lambda: "Stopped committing on 2 partitions; 1,000 unread records." in said(app))


async def test_enter_goes_to_the_group_even_if_a_filter_hides_it(tmp_path: Path, lake: Path) -> None:
    app, _ = app_on(cluster(), tmp_path, filter="calm")
    async with app.run_test(size=(120, 40)) as pilot:
        await asked(pilot, app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        await until(pilot, lambda: main_screen(app).group == "fraud")
        assert main_screen(app).filter_bar.in_force == ""


async def test_a_group_that_is_gone_is_said_to_be(tmp_path: Path, lake: Path) -> None:
    """The screen stays, with its cursor."""
    app, _ = app_on(cluster(("calm",)), tmp_path)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        screen = await asked(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: "pay no longer exists on this cluster" in said(app))
        assert app.screen is screen


async def test_unused_groups_are_marked_for_the_delete_that_asks(tmp_path: Path, lake: Path) -> None:
    """Those of a family that are still there; nothing is deleted here, and what is used is not marked."""
    app, _ = app_on(cluster(), tmp_path, admin=ScriptedAdmin())
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        screen = await asked(pilot, app)
        await pilot.press("space")
        await until(pilot, lambda: "only unused groups can be marked here" in said(app))
        assert main_screen(app).marked == set()
        await pilot.press("end", "up", "space", "space")
        await until(pilot, lambda: main_screen(app).marked == {"perf.a", "tmp"})
        assert [one.marked for one in screen.findings.rows][-2:] == [True, True]
        await until(pilot, lambda: "1 group marked, 1 gone; in the tree, d asks and then deletes" in said(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog))
        assert "perf.a" in screen_text(app)


async def test_a_family_goes_to_the_group_of_the_row_of_evidence(tmp_path: Path, lake: Path) -> None:
    app, _ = app_on(cluster((*GROUPS, "perf.b")), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot, app)
        await pilot.press("end", "up")
        await until(pilot, lambda: screen.plot.request is not None and screen.plot.request.group == "perf.a")
        await pilot.press("tab", "down")
        await until(pilot, lambda: screen.plot.request is not None and screen.plot.request.group == "perf.b")
        await pilot.press("escape")
        assert app.screen is screen
        await pilot.press("tab", "enter")
        await until(pilot, lambda: main_screen(app).group == "perf.b")


async def test_nothing_is_marked_by_findings_of_another_cluster(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtui.lake.tables.recorded_cluster_id", lambda _: "other-[/id]")
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await asked(pilot, app)
        assert "these findings are of cluster other-[/id]; the screen shows cluster" in screen_text(app)
        await pilot.press("end", "space")
        await until(pilot, lambda: "so nothing is marked here" in said(app))
        assert main_screen(app).marked == set()


async def test_one_kind_after_the_other(tmp_path: Path, lake: Path) -> None:
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await asked(pilot, app)
        for kind in Kind:
            await pilot.press("v")
            assert {one.finding.kind for one in screen.findings.rows} == {kind}
        await pilot.press("v")
        assert len(screen.findings.rows) == 7


async def test_plot_and_evidence_share_a_low_screen(tmp_path: Path, lake: Path) -> None:
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await asked(pilot, app)
        await until(pilot, lambda: "lag" in screen.plot.plain_text)
        await until(pilot, lambda: "gold/health" not in said(app))
        await pilot.press("l")
        await until(pilot, lambda: "gold/health" in screen_text(app) and screen.plot.size.height == 0)
        await pilot.press("l")
        await until(pilot, lambda: screen.plot.size.height > 0)


async def test_which_tables_are_missing_and_what_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how old the others are: a finding that is not there may only be unknown."""
    path = write(tmp_path / "prod", incidents())
    for table in (CHURN, BASELINE):
        (path / table.layer / table.name).rename(tmp_path / table.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGTUI_LAKE", "prod")
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot, app)
        assert "restless" not in subjects(screen)
        assert "missing tables: gold/churn, gold/baseline; no findings about: flapping, unusual" in said(app)
        assert "kgtui pipeline run --lake=prod creates them" in said(app)
        assert "as of 2026-11-21 17:00" in said(app)
        assert re.search(r"computed \d+ (s|min|h|d) ago", said(app))


async def test_without_a_lake_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KGTUI_LAKE", raising=False)
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await asked(pilot, app)
        assert "this cluster is not recorded" in said(app)
        assert f"kgtui record {tmp_path / 'lakes' / 'prod-eu'}" in said(app)
        assert f"kgtui pipeline run --lake={tmp_path / 'lakes' / 'prod-eu'}" in said(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))


async def test_a_lake_without_tables_says_what_makes_them(tmp_path: Path, lake: Path) -> None:
    """`r` reads again once they are made."""
    for table in GOLD:
        (lake / table.layer / table.name).rename(tmp_path / table.name)
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot, app)
        assert "has no gold tables that can be read" in said(app)
        assert f"kgtui pipeline run --lake={lake}" in said(app)
        for table in GOLD:
            (tmp_path / table.name).rename(lake / table.layer / table.name)
        await pilot.press("r")
        await until(pilot, lambda: len(screen.findings.rows) == 7)
        await pilot.press("enter")
        await until(pilot, lambda: main_screen(app).group == "pay")


async def test_a_damaged_table_is_told_of(tmp_path: Path, lake: Path) -> None:
    for file in (lake / HEALTH.layer / HEALTH.name / "_delta_log").iterdir():
        file.write_text("{[/broken")
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot, app)
        assert "gold/health cannot be read" in screen_text(app)
        assert "pay" not in subjects(screen)


async def test_a_course_that_cannot_be_read_is_told_of(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise LakeError("the disk is [/gone]")

    monkeypatch.setattr(Gold, "lag_histories", broken)
    app, _ = app_on(cluster(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await asked(pilot, app)
        await until(pilot, lambda: "the disk is [/gone]" in screen_text(app))


async def test_without_the_extra_it_says_which_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "find_spec", lambda name: None if name == "deltalake" else object())
    recording.missing_library.cache_clear()
    try:
        app, _ = app_on(cluster(), tmp_path)
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await settled(pilot)
            await pilot.press("I")
            await until(pilot, lambda: "pip install 'kgtui[history]'" in said(app))
            assert app.screen is main_screen(app)
    finally:
        recording.missing_library.cache_clear()


async def test_hostile_ids_are_shown_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the table, the sentences, the titles, the evidence; and they can be gone to."""
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
        screen = await asked(pilot, app)
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


async def test_the_loop_goes_on_while_tables_are_read(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lake that takes long: the screen is there, says so, and can be left."""
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
            await until(pilot, lambda: "reading the tables" in said(app))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main_screen(app))
            await pilot.press("down")
            assert rows(app)
            let_go.set()
    finally:
        let_go.set()


def test_the_lake_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one replayed, the one being recorded, the one named, else where R records to."""
    app, _ = app_on(cluster(), tmp_path)
    session = app.session
    monkeypatch.delenv("KGTUI_LAKE", raising=False)
    assert recording.lake_of(session) == (tmp_path / "lakes" / "prod-eu", "the folder in which R records", False)
    monkeypatch.setenv("KGTUI_LAKE", "/named")
    assert str(recording.lake_of(session).path) == "/named"
    going = recording.Recording(session, tmp_path / "going", lambda *_: None, lambda: None)
    assert recording.lake_of(replace(session, recording=going)).path == tmp_path / "going"
    assert recording.lake_of(replace(session, recording=going, lake=tmp_path)).path == tmp_path

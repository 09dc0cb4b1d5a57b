"""Tests of health verdicts, such as OK, WARN and STOP, in the tree, in the filter and in the Overview pane."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Static

from kgtui.model.judgment import Basis, Judgment
from kgtui.model.problem import GroupStatus, Problem
from kgtui.tui.panes.overview import OverviewPane
from tests.pilot.app_driver import app_on, main_screen, rows, sample_snapshot, settled
from tests.pilot.health_snapshots import unhealthy_snapshot, with_health

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.tui.app import KgtuiApp


def row_of(app: KgtuiApp, group: str) -> str:
    return next(row for row in rows(app) if f" {group} " in f"{row} ")


def note_of(app: KgtuiApp) -> str:
    return str(main_screen(app).filter_bar.query_one("#note", Static).render())


def overview_of(app: KgtuiApp) -> str:
    return " ".join(main_screen(app).query_one(OverviewPane).text.plain_text.split())


async def test_the_tree_shows_health_verdicts_in_their_own_column(tmp_path: Path) -> None:
    app, monitor = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(pilot)
        before = [row_of(app, group) for group in ("orders.enrich", "payments.settle")]
        monitor.publish(unhealthy_snapshot())
        await settled(pilot)
        assert row_of(app, "orders.enrich") == before[0].replace("·", "✓")
        bad = row_of(app, "payments.settle")
        assert bad.split() == ["✘", "payments.settle", "stopped", "3", "2.7k"]
        assert bad.replace("✘", "·").replace("stopped", "       ") == before[1]
        assert row_of(app, "orders.export").split() == ["▴", "orders.export", "behind", "1", "1.2M"]


async def test_a_narrow_tree_shows_health_verdicts_as_symbols_instead_of_a_column(tmp_path: Path) -> None:
    app, _ = app_on(unhealthy_snapshot(), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        assert row_of(app, "payments.settle").split()[0] == "✘"
        assert row_of(app, "orders.export").split()[0] == "▴"
        assert "stopped" not in "".join(rows(app))


async def test_a_health_verdict_is_stale_if_it_is_five_minutes_old(tmp_path: Path) -> None:
    app, monitor = app_on(unhealthy_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        view = main_screen(app).group_tree.model
        assert not view.group_row("payments.settle").judgment_stale
        monitor.publish(with_health(unhealthy_snapshot(), "payments.settle", "stuck", ago=300.0))
        await settled(pilot)
        assert view.group_row("payments.settle").judgment_stale


async def test_key_z_shows_only_groups_with_a_problem_sorted_by_severity(tmp_path: Path) -> None:
    """If very many groups may have a problem, kgtui checks some of them less often. The filter bar says how many.

    A second `z` shows all groups again.
    """
    snapshot = unhealthy_snapshot()
    worse = Judgment(GroupStatus.ERR, Problem.DATA_LOST, Basis.SCREENED)
    gone = Judgment(GroupStatus.ABANDONED, Problem.ABANDONED, Basis.SCREENED)
    screened = {"orders.enrich": worse, "old-batch": gone}
    app, _ = app_on(replace(snapshot, screened=screened, unobserved=49_960), tmp_path)
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(pilot)
        await pilot.press("b", "b", "b", "b", "b", "z")
        await settled(pilot)
        layout = main_screen(app).group_tree.model.layout
        assert list(layout.groups(0, layout.rows)) == [
            "orders.enrich", "payments.settle", "orders.export", "fraud-scoring", "streams-app",
        ]  # fmt: skip
        assert "49,960 groups checked less often" in note_of(app)
        await pilot.press("z")
        await settled(pilot)
        model = main_screen(app).group_tree.model
        assert (len(list(model.layout.groups(0, model.layout.rows))), model.sort) == (10, "name")


@pytest.mark.parametrize(
    ("expression", "expected", "judged"),
    [
        ("verdict:warn+", {"payments.settle", "orders.export"}, 4),
        ("verdict:stop", {"payments.settle"}, 4),
        ("verdict:ok", {"orders.enrich", "old-batch"}, 4),
        ("timelag:1m+", {"payments.settle", "orders.export"}, 5),
        ("timelag:2m+", {"payments.settle"}, 5),
    ],
)
async def test_a_filter_can_select_groups_by_verdict_and_by_time_lag(
    tmp_path: Path, expression: str, expected: set[str], judged: int
) -> None:
    """The time lag of a group is the age of its oldest unread record."""
    app, _ = app_on(unhealthy_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *expression)
        await settled(pilot)
        layout = main_screen(app).group_tree.model.layout
        assert set(layout.groups(0, layout.rows)) == expected
        assert f"{judged} of 10 groups checked" in note_of(app)


async def test_the_filter_bar_shows_that_the_result_of_a_lag_filter_is_preliminary(tmp_path: Path) -> None:
    """The lags of some groups have not been read yet, so these groups may match the filter later."""
    app, _ = app_on(unhealthy_snapshot(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"lag:1k+")
        await settled(pilot)
        assert "of the groups searched" in note_of(app)
        assert "checked" not in note_of(app)


async def test_the_overview_shows_the_reason_for_a_verdict_and_the_lag_trend(tmp_path: Path) -> None:
    app, _ = app_on(unhealthy_snapshot(), tmp_path)
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        await settled(pilot)
        overview = overview_of(app)
    assert (
        "✘ STOPPED since before 09:51 observed 2 min no commit on payments.settle-topic-0 for 2 min, 3,200 unread"
        in overview
    )
    assert "lag +20/s over the last 2 min" in overview
    assert "≥ 2 min age of the oldest unread record" in overview


async def test_the_overview_says_how_long_it_takes_to_detect_that_a_group_has_stopped(tmp_path: Path) -> None:
    app, _ = app_on(with_health(sample_snapshot(), "payments.settle", "new"), tmp_path)
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        await settled(pilot)
        overview = overview_of(app)
    assert "? not known yet observed 15 s" in overview
    assert "not known STOP requires more than 45 s without progress; observed so far: 15 s" in overview


async def test_the_overview_shows_no_verdict_before_a_group_was_read_twice(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        await settled(pilot)
        assert "verdict ? not known yet read once" in overview_of(app)

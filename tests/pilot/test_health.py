"""Verdicts in the tree, in the filter and in the Overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import Static

from kgtui.tui.panes import OverviewPane
from tests.pilot.judging import hard_times, judged
from tests.pilot.shell import app_on, company, main_screen, rows, settled

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.tui.app import KgtuiApp


def row_of(app: KgtuiApp, group: str) -> str:
    return next(row for row in rows(app) if f" {group} " in f"{row} ")


def note_of(app: KgtuiApp) -> str:
    return str(main_screen(app).filter_bar.query_one("#note", Static).render())


def overview_of(app: KgtuiApp) -> str:
    return " ".join(main_screen(app).query_one(OverviewPane).text.plain_text.split())


async def test_a_verdict_stands_in_a_column_of_its_own(tmp_path: Path) -> None:
    app, watch = app_on(company(), tmp_path)
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(pilot)
        before = [row_of(app, group) for group in ("orders.enrich", "payments.settle")]
        watch.publish(hard_times())
        await settled(pilot)
        assert row_of(app, "orders.enrich") == before[0]
        bad = row_of(app, "payments.settle")
        assert bad.split() == ["✘", "✓", "payments.settle", "ERR", "3", "2.7k"]
        assert bad.replace("✘", " ").replace("ERR", "   ") == before[1]
        assert row_of(app, "orders.export").split() == ["▴", "↻", "orders.export", "WARN", "1", "1.2M"]


async def test_without_room_the_mark_tells(tmp_path: Path) -> None:
    app, _ = app_on(hard_times(), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        assert row_of(app, "payments.settle").startswith("✘")
        assert row_of(app, "orders.export").startswith("▴")
        assert "ERR" not in "".join(rows(app))


async def test_a_verdict_from_some_time_ago_is_coloured_as_stale(tmp_path: Path) -> None:
    app, watch = app_on(hard_times(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        view = main_screen(app).group_tree.model
        assert not view.group_row("payments.settle").verdict_stale
        watch.publish(judged(hard_times(), "payments.settle", "stuck", ago=300.0))
        await settled(pilot)
        assert view.group_row("payments.settle").verdict_stale


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("verdict:warn+", {"payments.settle", "orders.export"}),
        ("verdict:stop", {"payments.settle"}),
        ("verdict:ok", {"orders.enrich"}),
        ("timelag:1m+", {"payments.settle", "orders.export"}),
        ("timelag:2m+", {"payments.settle"}),
    ],
)
async def test_the_filter_finds_groups_by_their_health(tmp_path: Path, typed: str, found: set[str]) -> None:
    app, _ = app_on(hard_times(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *typed)
        await settled(pilot)
        layout = main_screen(app).group_tree.model.layout
        assert set(layout.groups(0, layout.rows)) == found
        assert "3 of 10 watched" in note_of(app)


async def test_a_filter_on_what_is_swept_counts_as_before(tmp_path: Path) -> None:
    app, _ = app_on(hard_times(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"lag:1k+")
        await settled(pilot)
        assert "so far" in note_of(app)
        assert "watched" not in note_of(app)


async def test_the_overview_tells_the_reason_and_what_to_expect(tmp_path: Path) -> None:
    app, _ = app_on(hard_times(), tmp_path)
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        await settled(pilot)
        said = overview_of(app)
    assert "✘ STOPPED observed for 2 min no commit on payments.settle-topic-0 for 2 min, 3,200 unread" in said
    assert "lag +20/s over the last 2 min" in said
    assert "≥ 2 min age of the oldest unread record" in said


async def test_what_a_short_watch_cannot_decide_is_said(tmp_path: Path) -> None:
    app, _ = app_on(judged(company(), "payments.settle", "new"), tmp_path)
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        await settled(pilot)
        said = overview_of(app)
    assert "✓ OK observed for 15 s" in said
    assert "undecided STOP needs more than 45 s without progress, observed 15 s" in said


async def test_nobody_watched(tmp_path: Path) -> None:
    app, _ = app_on(company(), tmp_path)
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        await pilot.press("n", "n")
        await settled(pilot)
        assert "verdict ? not watched for long enough yet" in overview_of(app)

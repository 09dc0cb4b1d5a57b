"""Tests of the page beside the tree of groups, with problems, changes, brokers and groups.

The page is shown while the tree cursor is on the cluster or on a tree node, such as a group type, and not on a group.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kgtui.model.event import Event, EventKind
from kgtui.model.judgment import Basis, Judgment
from kgtui.model.problem import GroupStatus, Problem
from kgtui.tui.dialogs.explain import ExplainDialog
from kgtui.tui.node_page.heading import PARTS
from kgtui.tui.panes.base import SummaryLine
from tests.pilot.app_driver import app_on, main_screen, rows, sample_snapshot, screen_words, settled, until
from tests.pilot.scripted_monitor import NOW

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.app import KgtuiApp

STOPPED = Judgment(
    GroupStatus.ERR, Problem.STOP, Basis.SCREENED, since=NOW - 600, since_seen=True, message="no progress, 312 unread"
)
BEHIND = Judgment(GroupStatus.WARN, Problem.BEHIND, Basis.SCREENED, message="the lag grew by 80 in 60 s")
ABANDONED = Judgment(GroupStatus.ABANDONED, Problem.ABANDONED, Basis.SCREENED, message="Empty for at least 24 h")
UNUSED = Judgment(GroupStatus.WARN, Problem.UNUSED, Basis.SCREENED, message="Empty since before kgtui started")


def snapshot_with_problems(**fields: object) -> Snapshot:
    """Return the sample snapshot with a stopped group, and groups that are falling behind, abandoned, and unused."""
    screened = {"share-mailer": BEHIND, "orders.enrich": STOPPED, "old-batch": ABANDONED, "legacy-mirror": UNUSED}
    return sample_snapshot(screened=screened, **fields)


def listed(app: KgtuiApp) -> list[str]:
    """Return the ids of the groups in the table of problems, from top to bottom."""
    return [row.group for row in main_screen(app).right_side.page.problem_table.rows]


def is_selected(app: KgtuiApp, group: str) -> bool:
    return main_screen(app).group == group


async def test_the_app_starts_with_a_list_of_problems_on_the_right_side(tmp_path: Path) -> None:
    """The page of the cluster lists the worst problems first. Abandoned and unused groups are only counted."""
    app, _ = app_on(snapshot_with_problems(), tmp_path)
    async with app.run_test(size=(140, 44)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: listed(app) == ["orders.enrich", "share-mailer"])
        assert main_screen(app).group_tree.model.cursor_row == 0
        assert rows(app)[0].split() == ["prod-eu", "✘1", "10", "≥", "1.2M"]
        expected = {
            "1 stopped", "1 falling behind", "1 unused", "1 abandoned", "no progress, 312 unread", "09:43",
            "broker-2:9092",
        }  # fmt: skip
        await until(pilot, lambda: {text for text in expected if text in screen_words(app)} == expected)


async def test_key_shift_u_shows_times_on_the_cluster_page_in_utc(tmp_path: Path) -> None:
    """The times change at once. The app must not wait for a new snapshot, because a stopped replay has no new ones."""
    app, _ = app_on(snapshot_with_problems(), tmp_path)
    async with app.run_test(size=(140, 44)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "09:43" in screen_words(app))
        await pilot.press("U")
        await until(pilot, lambda: "08:43" in screen_words(app) and "09:43" not in screen_words(app))


async def test_the_header_counts_the_problems_of_the_cluster(tmp_path: Path) -> None:
    app, _ = app_on(snapshot_with_problems(), tmp_path)
    async with app.run_test(size=(160, 44)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "✘ 1 stopped · ▴ 1 falling behind" in screen_words(app))


async def test_the_cluster_page_shows_the_whole_reason_of_the_selected_problem(tmp_path: Path) -> None:
    """A narrow table shows only the beginning of each reason.

    The line below the table shows the whole reason of the selected problem.
    """
    long = replace(BEHIND, message="the lag grew by 80 records in 60 s, 1,204 records are unread")
    app, _ = app_on(sample_snapshot(screened={"share-mailer": long, "orders.enrich": STOPPED}), tmp_path)
    async with app.run_test(size=(120, 44)) as pilot:
        page = main_screen(app).right_side.page

        def line() -> str:
            (cells,) = page.query_one("#page-reason", SummaryLine).wrapped_lines(200)
            return "".join(cell.text for cell in cells)

        await until(pilot, lambda: listed(app) == ["orders.enrich", "share-mailer"])
        assert line() == f"orders.enrich  {STOPPED.reason}"
        page.problem_table.cursor = 1
        await until(pilot, lambda: line() == f"share-mailer  {long.reason}")
        assert long.reason[:23] in screen_words(app)


async def test_the_cluster_page_without_problems_shows_how_many_groups_were_read(tmp_path: Path) -> None:
    app, _ = app_on(sample_snapshot(), tmp_path)
    async with app.run_test(size=(140, 44)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "no problem found; 5 of 10 groups read within 3 s" in screen_words(app))


async def test_the_cluster_page_says_what_was_read_also_beside_counted_groups(tmp_path: Path) -> None:
    """Unused and abandoned groups are only counted. Three more groups may have a problem, but are read less often."""
    counted = {"old-batch": ABANDONED, "legacy-mirror": UNUSED}
    app, _ = app_on(sample_snapshot(screened=counted, unobserved=3), tmp_path)
    async with app.run_test(size=(160, 44)) as pilot:
        await settled(pilot)
        expected = ["no other problem found; 5 of 10 groups read within 3 s", "1 unused", "1 abandoned",
                    "3 possible problems checked less often"]  # fmt: skip
        await until(pilot, lambda: [one for one in expected if one not in screen_words(app)] == [])


async def test_the_enter_key_in_the_table_of_problems_selects_the_group_in_the_tree(tmp_path: Path) -> None:
    app, _ = app_on(snapshot_with_problems(), tmp_path)
    async with app.run_test(size=(140, 44)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: len(listed(app)) == 2)
        await pilot.press("tab", "down", "enter")
        await until(pilot, lambda: main_screen(app).group == "share-mailer")
        assert app.focused is main_screen(app).group_tree


async def test_key_e_in_the_table_of_problems_explains_the_group(tmp_path: Path) -> None:
    app, _ = app_on(snapshot_with_problems(), tmp_path)
    async with app.run_test(size=(140, 44)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: len(listed(app)) == 2)
        await pilot.press("tab", "e")
        await until(pilot, lambda: isinstance(app.screen, ExplainDialog))


async def test_the_exclamation_mark_key_selects_the_next_group_with_a_problem(tmp_path: Path) -> None:
    app, _ = app_on(snapshot_with_problems(), tmp_path)
    async with app.run_test(size=(140, 44)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: len(listed(app)) == 2)
        for group in ("orders.enrich", "share-mailer", "orders.enrich"):
            await pilot.press("!")
            await until(pilot, partial(is_selected, app, group))


async def test_an_acknowledged_group_is_listed_again_when_its_problem_changes(tmp_path: Path) -> None:
    """Key `A` acknowledges the problem of a group, which hides the group in the list of problems.

    A second `A` withdraws the acknowledgment.
    """
    app, monitor = app_on(snapshot_with_problems(), tmp_path)
    async with app.run_test(size=(140, 44), notifications=True) as pilot:
        await settled(pilot)
        await until(pilot, lambda: len(listed(app)) == 2)
        await pilot.press("tab", "A")
        await until(pilot, lambda: listed(app) == ["share-mailer"])
        assert "1 acknowledged" in screen_words(app)
        assert "orders.enrich needs no attention until its problem changes" in screen_words(app)
        main_screen(app).go_to("orders.enrich")
        await pilot.press("A")
        await until(pilot, lambda: "orders.enrich needs attention again" in screen_words(app))
        await pilot.press("A", "home", "tab")
        await until(pilot, lambda: listed(app) == ["share-mailer"])
        monitor.publish(sample_snapshot(screened={"orders.enrich": BEHIND}, serial=2))
        await until(pilot, lambda: listed(app) == ["orders.enrich"])


async def test_the_page_of_a_tree_node_lists_only_groups_of_this_node(tmp_path: Path) -> None:
    events = tuple(
        Event(NOW - age, EventKind.STATE, group, before="Stable", after="Empty")
        for age, group in ((9, "share-mailer"), (5, "orders.enrich"))
    )
    app, _ = app_on(snapshot_with_problems(events=events), tmp_path)
    async with app.run_test(size=(140, 44)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: len(listed(app)) == 2)
        await pilot.press("down")
        await until(pilot, lambda: listed(app) == ["orders.enrich"])
        words = screen_words(app)
        assert "state Stable → Empty" in words
        page = main_screen(app).right_side.page
        assert [row.event.group for row in page.query_one("#page-changes").rows] == ["orders.enrich"]  # type: ignore[attr-defined]


async def test_keys_1_to_4_select_one_part_of_the_page_on_small_screens(tmp_path: Path) -> None:
    app, _ = app_on(snapshot_with_problems(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for number, part in enumerate(PARTS, 1):
            await pilot.press(str(number))
            await pilot.pause()
            page = main_screen(app).right_side.page
            assert [entry.id for entry in PARTS if page.query_one(f"#page-{entry.id}").display] == [part.id]
            assert app.focused is page.query_one(f"#page-{part.id}")
        await pilot.press("escape")
        assert app.focused is main_screen(app).group_tree

"""Tests of the grid in the Assignments pane, with a row per partition and a column per member."""

from __future__ import annotations

from dataclasses import replace

from kgtui.model.members import Member
from kgtui.model.snapshot import Reading, Snapshot
from kgtui.tui import text
from kgtui.tui.panes.assignments import AssignmentsPane
from kgtui.tui.panes.base import SummaryLine
from tests.pilot.app_driver import until
from tests.pilot.panes import data
from tests.pilot.panes.pane_app import PaneApp


def grid(pane: AssignmentsPane) -> dict[str, str]:
    """Return the grid as a dict: first word of a line, such as `payments.settled-3` (topic and partition) → line."""
    table = pane.table
    lines = [table.render_line(y).text.rstrip() for y in range(table.size.height)]
    return {line.split()[0]: line for line in lines if line.strip()}


def legend(pane: AssignmentsPane) -> str:
    return str(pane.query_one("#legend", SummaryLine).content)


def group_of_many_members(members: int, partitions: int = 300) -> Snapshot:
    """Return a snapshot in which group `orders.enrich` has `members` members. The last member has no partitions."""
    people = tuple(
        Member(f"id-{at}", f"worker-{at}", f"/10.0.0.{at}",
               assignment=(("clicks", tuple(range(at, partitions, members - 1))),) if at < members - 1 else ())
        for at in range(members)
    )  # fmt: skip
    snapshot = data.example_snapshot()
    description = replace(snapshot.details["orders.enrich"].value, members=people)
    return replace(snapshot, details={"orders.enrich": Reading(description, data.NOW)}, offsets={})


async def test_the_grid_has_a_row_per_partition_and_a_column_per_member() -> None:
    """In the row of a partition, `-` marks the member that must give up the partition, and `+` the next owner.

    `!` marks a partition without an owner.
    """
    pane = AssignmentsPane()
    async with PaneApp(pane, data.example_snapshot(), "payments.settle").run_test(size=(80, 30)) as pilot:
        await pilot.press("v")
        await pilot.pause()
        shown = grid(pane)
        assert shown["ITEM"].split() == ["ITEM", "3", "4", "5", "0", "1", "2"]
        columns = {title: shown["ITEM"].index(f" {title}") + 1 for title in "012345"}
        settled, moving, coming = (shown[f"payments.settled-{at}"].ljust(80) for at in (3, 2, 10))
        assert [settled[columns[one]] for one in "012345"] == [" ", "█", " ", " ", " ", " "], "the lag is large"
        assert [moving[columns[one]] for one in "012345"] == ["-", " ", " ", " ", " ", "+"]
        assert [coming[columns[one]] for one in "012345"] == [" ", " ", " ", " ", "+", " "]
        assert coming.split()[1] == "!"
        assert "▪ no lag  + to assign  - to revoke  ! no owner" in legend(pane)


async def test_colons_fill_the_grid_column_of_a_member_without_partitions() -> None:
    pane = AssignmentsPane()
    async with PaneApp(pane, data.example_snapshot(), "orders.enrich").run_test(size=(80, 30)) as pilot:
        await pilot.press("v")
        await pilot.pause()
        assert all(line.endswith(":") for name, line in grid(pane).items() if name != "ITEM")
        assert ": idle member" in legend(pane)


async def test_the_legend_disappears_if_the_broker_does_not_report_the_members() -> None:
    pane = AssignmentsPane()
    snapshot = group_of_many_members(4)
    async with PaneApp(pane, snapshot, "orders.enrich").run_test(size=(80, 30)) as pilot:
        await pilot.press("v")
        await pilot.pause()
        assert legend(pane) != ""
        withheld = replace(snapshot.details["orders.enrich"].value, members=None)
        pane.show(replace(snapshot, details={"orders.enrich": Reading(withheld, data.NOW + 1)}), "orders.enrich")
        await until(pilot, lambda: legend(pane) == "")


async def test_keys_left_and_right_scroll_the_grid_to_hidden_members() -> None:
    """The keys choose a member. The column of this member becomes visible, and the legend names the member.

    The cursor stays on the same partition.
    """
    pane = AssignmentsPane()
    async with PaneApp(pane, group_of_many_members(40), "orders.enrich").run_test(size=(80, 24)) as pilot:
        await pilot.press("v", "down", "down")
        await pilot.pause()
        assert pane.table.row is not None
        at = pane.table.row.key
        assert "member 1 of 40" in legend(pane)
        assert "worker-0" in legend(pane)
        first = grid(pane)["ITEM"].split()
        assert 2 < len(first) < 30
        await pilot.press(*["right"] * 39, "right")
        await pilot.pause()
        assert "member 40 of 40" in legend(pane)
        assert "worker-39" in legend(pane)
        assert grid(pane)["ITEM"].split()[-1] == "39"
        assert pane.table.row.key == at
        await pilot.press(*["left"] * 39)
        await pilot.pause()
        assert grid(pane)["ITEM"].split() == first


async def test_grid_columns_are_numbered_if_all_client_ids_have_the_same_ending() -> None:
    """All client ids end with `-consumer`, so the titles are 1, 2, 3 and so on.

    If the endings were different, they would be the titles, such as `39` for the client id `worker-39`.
    """
    snapshot = group_of_many_members(12)
    description = snapshot.details["orders.enrich"].value
    assert description.members is not None
    alike = tuple(replace(member, client_id=f"{at}-consumer") for at, member in enumerate(description.members))
    snapshot = replace(snapshot, details={"orders.enrich": Reading(replace(description, members=alike), data.NOW)})
    pane = AssignmentsPane()
    async with PaneApp(pane, snapshot, "orders.enrich").run_test(size=(80, 24)) as pilot:
        await pilot.press("v")
        await pilot.pause()
        assert grid(pane)["ITEM"].split()[1:] == [str(number) for number in range(1, 13)]


async def test_the_grid_keeps_the_chosen_member_after_a_new_snapshot_and_a_resize() -> None:
    pane = AssignmentsPane()
    app = PaneApp(pane, group_of_many_members(60), "orders.enrich")
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press("v", *["right"] * 50)
        await pilot.pause()
        pane.show(group_of_many_members(60), "orders.enrich")
        await pilot.pause()
        assert "member 51 of 60" in legend(pane)
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert "50" in grid(pane)["ITEM"].split()
        assert len(grid(pane)["ITEM"]) <= 60


async def test_the_grid_has_only_ascii_characters_in_ascii_mode() -> None:
    pane = AssignmentsPane()
    app = PaneApp(pane, data.example_snapshot(), "payments.settle")
    text.display_settings().ascii = True
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("v", "l")
        await pilot.pause()
        assert "".join(grid(pane).values()).isascii()
        assert len(grid(pane)) == 4
        assert "# no lag" in legend(pane)

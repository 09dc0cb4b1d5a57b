"""Tests that compare screenshots of the panes with stored images.

Each test docstring says what the user should see.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.answer import Fault
from kgtui.model.snapshot import Reading
from kgtui.tui.dialogs.explain import ExplainDialog
from kgtui.tui.panes.assignments import AssignmentsPane
from kgtui.tui.panes.config import ConfigPane
from kgtui.tui.panes.members import MembersPane
from kgtui.tui.panes.offsets import OffsetsPane
from kgtui.tui.panes.overview import OverviewPane
from tests.pilot.panes import data
from tests.pilot.panes.pane_app import PaneApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

    from kgtui.tui.panes.base import Pane

    Compare = Callable[..., bool]


def pane_app(pane: Pane, group: str) -> PaneApp[Pane]:
    return PaneApp(pane, data.example_snapshot(), group)


def test_overview_pane_of_a_reconciling_group(snap_compare: Compare) -> None:
    """Labels are on the left, and values are beside them.

    Three values are amber: the state, the number of members that use the classic protocol, and the number of members
    with an old epoch. The number of records that were deleted before the group consumed them is red.
    """
    assert snap_compare(pane_app(OverviewPane(), "payments.settle"), terminal_size=(80, 32))


def test_overview_pane_of_a_group_that_the_user_may_not_describe(snap_compare: Compare) -> None:
    """The error and the advice for it are highlighted.

    The values of lag, permissions and offsets are "unknown (access denied)". The lag must not be shown as 0.
    """
    assert snap_compare(pane_app(OverviewPane(), "secret.group"), terminal_size=(80, 24))


def test_overview_pane_escapes_control_characters_in_the_group_id(snap_compare: Compare) -> None:
    """Markup, escape sequences, bidirectional characters and a newline in the group id are shown as text.

    The Kafka command contains the group id in quotes.
    """
    assert snap_compare(pane_app(OverviewPane(), data.HOSTILE), terminal_size=(60, 24))


def test_members_pane_of_a_consumer_group(snap_compare: Compare) -> None:
    """There is one line per member. The first member is shown in full below the table.

    Two members have an older epoch than the group (`40 < 41` in amber). One member has the mark `! classic`, because
    it uses the classic protocol. One member has 0 partitions.
    """
    assert snap_compare(pane_app(MembersPane(), "payments.settle"), terminal_size=(120, 20))


def test_members_pane_of_a_consumer_group_on_a_narrow_screen(snap_compare: Compare) -> None:
    """The table has only a few columns. The other values of the selected member are shown below the table."""
    assert snap_compare(pane_app(MembersPane(), "payments.settle"), terminal_size=(52, 21))


def test_members_pane_of_a_streams_group(snap_compare: Compare) -> None:
    """Each Kafka Streams process has a row. Below this row, there are two indented rows for the threads of the process.

    Each row shows the number of tasks, and the number of records that these tasks must still restore.
    """
    assert snap_compare(pane_app(MembersPane(), "clicks.aggregate"), terminal_size=(100, 18))


def test_members_pane_of_a_connect_cluster(snap_compare: Compare) -> None:
    """Each line shows the URL, connectors and tasks of a Connect worker.

    The leader is marked. A task is amber if the worker must give up the task.
    """
    assert snap_compare(pane_app(MembersPane(), "connect-prod"), terminal_size=(100, 18))


def test_members_pane_when_the_coordinator_does_not_respond(snap_compare: Compare) -> None:
    """The lines above the table say how old the data is, why there is no newer data, and what to check."""
    assert snap_compare(pane_app(MembersPane(), "stale.group"), terminal_size=(80, 12))


def test_assignments_pane_during_a_rebalance(snap_compare: Compare) -> None:
    """The summary says that 3 of 14 partitions must move.

    For each partition, columns show the owner, the status, the target owner, and the members that delay the move.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), terminal_size=(100, 24))


def test_assignments_pane_as_a_grid(snap_compare: Compare) -> None:
    """There is a column per member and a row per partition. The row under the cursor is shown in full below the grid.

    `+` means that the member will get the partition, `-` that it must revoke the partition, and `!` that the partition
    has no owner.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), press=["v", "right"], terminal_size=(80, 24))


def test_assignments_pane_as_a_grid_with_an_idle_member(snap_compare: Compare) -> None:
    """The idle member has no partitions. The last column is for this member, and has a colon in every row.

    The grid fits a small screen.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "orders.enrich"), press=["v"], terminal_size=(60, 20))


def test_assignments_pane_with_one_row_per_member(snap_compare: Compare) -> None:
    """Each member has a bar that shows its number of partitions. The row with the longest bar, in amber, comes first.

    If a member delays the current rebalance, the last column says why.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), press=["v", "v"], terminal_size=(80, 16))


def test_offsets_pane_with_every_reason_for_an_unknown_lag(snap_compare: Compare) -> None:
    """A topic with several partitions has a row with its total lag. A symbol shows why a lag is unknown.

    `?` means that the partition has no leader, `–` that no offset is committed, and `x` that the topic was deleted or
    that access is denied.
    """
    assert snap_compare(pane_app(OffsetsPane(), "orders.enrich"), terminal_size=(120, 28))


def test_offsets_pane_sorted_by_lag_with_records_that_were_deleted_unread(snap_compare: Compare) -> None:
    """The largest lag comes first, and the title of the lag column is highlighted.

    One committed offset (400) is before the log start (900). Its row has the red text `! 500 lost`, because 500 records
    were deleted before the group consumed them.
    """
    assert snap_compare(pane_app(OffsetsPane(), "payments.settle"), press=["s"], terminal_size=(80, 24))


def test_offsets_pane_of_a_share_group(snap_compare: Compare) -> None:
    """The column START-OFFSET replaces COMMITTED.

    `?` means that the broker did not report the lag, and `–` that there is no start offset.
    """
    assert snap_compare(pane_app(OffsetsPane(), "fraud.score"), terminal_size=(80, 14))


def test_offsets_pane_filtered_by_topic(snap_compare: Compare) -> None:
    """The filter line contains the typed text, and only the matching topic is shown."""
    assert snap_compare(
        pane_app(OffsetsPane(), "orders.enrich"), press=["slash", *"paid", "enter"], terminal_size=(80, 16)
    )


def test_config_pane_with_the_source_of_each_value(snap_compare: Compare) -> None:
    """Configs that are set for this group come first, in color. The value of the sensitive config is hidden.

    Configs that apply only to other types of groups are left out, unless they are set for this group.
    """
    assert snap_compare(pane_app(ConfigPane(), "payments.settle"), terminal_size=(100, 18))


def test_config_pane_when_the_broker_does_not_support_group_configs(snap_compare: Compare) -> None:
    """A line above the table says that the broker cannot report configs of groups.

    The line is not red, because this is not an error.
    """
    fault = Fault("NOT_SUPPORTED", "reading group configs is not supported by this broker")
    snapshot = replace(data.example_snapshot(), configs={"orders.enrich": Reading((), data.NOW, fault)})
    assert snap_compare(PaneApp(ConfigPane(), snapshot, "orders.enrich"), terminal_size=(80, 8))


@pytest.mark.parametrize("size", [(80, 24), (60, 20)], ids=["80x24", "60x20"])
def test_explain_dialog_for_a_group_that_the_user_may_not_describe(
    snap_compare: Compare, size: tuple[int, int]
) -> None:
    """The dialog has the verdict UNREADABLE, the reason, the next step, the broker's error, and the missing ACL.

    The dialog is not larger than the screen, because its text can be scrolled.
    """

    async def explain(pilot: Pilot[None]) -> None:
        await pilot.app.push_screen(ExplainDialog.about_group(data.example_snapshot(), "secret.group"))
        await pilot.pause()

    assert snap_compare(pane_app(OverviewPane(), "secret.group"), run_before=explain, terminal_size=size)

"""Snapshots of the panes. Each test docstring says what the user should see."""

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
    """The labels are on the left and the values beside them.

    The state Reconciling, the number of members behind the assignment epoch, and the number of classic members are
    amber. The number of records that were deleted unread is red. Permissions, the offsets that a deletion would lose,
    and the Kafka command follow below.
    """
    assert snap_compare(pane_app(OverviewPane(), "payments.settle"), terminal_size=(80, 32))


def test_overview_pane_of_a_group_that_the_user_may_not_describe(snap_compare: Compare) -> None:
    """The error and the advice for it are highlighted.

    Lag, permissions and offsets are shown as "unknown (access denied)" instead of 0.
    """
    assert snap_compare(pane_app(OverviewPane(), "secret.group"), terminal_size=(80, 24))


def test_overview_pane_escapes_control_characters_in_the_group_id(snap_compare: Compare) -> None:
    """Markup, escape sequences, bidirectional characters and a newline in the group id are shown as text.

    The Kafka command contains the group id in quotes.
    """
    assert snap_compare(pane_app(OverviewPane(), data.HOSTILE), terminal_size=(60, 24))


def test_members_pane_of_a_consumer_group(snap_compare: Compare) -> None:
    """There is one line per member. The first member is shown in full below the table.

    The two members behind the assignment epoch have `40 < 41` in amber, the member that still uses the classic protocol
    has `! classic`, and the member without partitions has a 0.
    """
    assert snap_compare(pane_app(MembersPane(), "payments.settle"), terminal_size=(120, 20))


def test_members_pane_of_a_consumer_group_on_a_narrow_screen(snap_compare: Compare) -> None:
    """The table has columns for the name, the number of partitions, the epoch, and how the member delays the rebalance.

    All other values of the selected member are in the detail area below the table.
    """
    assert snap_compare(pane_app(MembersPane(), "payments.settle"), terminal_size=(52, 21))


def test_members_pane_of_a_streams_group(snap_compare: Compare) -> None:
    """Each of the two processes has two threads, which are indented.

    Columns show the numbers of active, standby and warm-up tasks, and the number of records to restore.
    """
    assert snap_compare(pane_app(MembersPane(), "clicks.aggregate"), terminal_size=(100, 18))


def test_members_pane_of_a_connect_cluster(snap_compare: Compare) -> None:
    """Each line has the URL of a worker, the numbers of its connectors and tasks, and a list of both.

    The leader is marked. The task that a worker must give up is amber.
    """
    assert snap_compare(pane_app(MembersPane(), "connect-prod"), terminal_size=(100, 18))


def test_members_pane_when_the_coordinator_does_not_respond(snap_compare: Compare) -> None:
    """The lines above the table say how old the data is, why there is no newer data, and what to check."""
    assert snap_compare(pane_app(MembersPane(), "stale.group"), terminal_size=(80, 12))


def test_assignments_pane_during_a_rebalance(snap_compare: Compare) -> None:
    """The summary says that 3 of 14 partitions must move.

    Columns show the owner, the status and the target of each partition, and the members for which its move must wait.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), terminal_size=(100, 24))


def test_assignments_pane_as_a_grid(snap_compare: Compare) -> None:
    """The grid has a column per member and a row per partition.

    The title of the selected member is underlined, and the member's name is above the grid. A `+` marks a partition
    that a member will get, a `-` marks a partition that a member must revoke, and a `!` marks a partition without an
    owner. The row under the cursor is shown in full below the grid.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), press=["v", "right"], terminal_size=(80, 24))


def test_assignments_pane_as_a_grid_with_an_idle_member(snap_compare: Compare) -> None:
    """The column of the idle member is the last column and has a colon in every row. The grid fits a small screen."""
    assert snap_compare(pane_app(AssignmentsPane(), "orders.enrich"), press=["v"], terminal_size=(60, 20))


def test_assignments_pane_with_one_row_per_member(snap_compare: Compare) -> None:
    """Each member has a bar for its partitions. The member with the most partitions comes first, with an amber bar.

    The member without partitions has a 0. The last column says how a member delays the rebalance.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), press=["v", "v"], terminal_size=(80, 16))


def test_offsets_pane_with_every_reason_for_an_unknown_lag(snap_compare: Compare) -> None:
    """An unknown lag is a `?` if the partition has no leader, and a `–` if the partition has no committed offset.

    It is an `x` if the topic was deleted or access is denied.

    A known lag of 0 is shown as 0. Each topic with several partitions has a row with its total lag.
    """
    assert snap_compare(pane_app(OffsetsPane(), "orders.enrich"), terminal_size=(120, 28))


def test_offsets_pane_sorted_by_lag_with_records_that_were_deleted_unread(snap_compare: Compare) -> None:
    """The largest lag comes first, and the title of the lag column is highlighted.

    The partition whose records were deleted unread has `! 500 lost` in red. Its lead, the distance from the log start
    to the committed offset, is 0.
    """
    assert snap_compare(pane_app(OffsetsPane(), "payments.settle"), press=["s"], terminal_size=(80, 24))


def test_offsets_pane_of_a_share_group(snap_compare: Compare) -> None:
    """The column START-OFFSET replaces the column COMMITTED, and there is no metadata column.

    A lag that the broker does not report is shown as `?`, and a missing start offset as `–`.
    """
    assert snap_compare(pane_app(OffsetsPane(), "fraud.score"), terminal_size=(80, 14))


def test_offsets_pane_filtered_by_topic(snap_compare: Compare) -> None:
    """The filter line contains the typed text, and only the matching topic is shown."""
    assert snap_compare(
        pane_app(OffsetsPane(), "orders.enrich"), press=["slash", *"paid", "enter"], terminal_size=(80, 16)
    )


def test_config_pane_with_the_source_of_each_value(snap_compare: Compare) -> None:
    """Configs that are set for this group come first, in color. The value of the sensitive config is hidden.

    Configs of other group types are left out.
    """
    assert snap_compare(pane_app(ConfigPane(), "payments.settle"), terminal_size=(100, 18))


def test_config_pane_when_the_broker_does_not_support_group_configs(snap_compare: Compare) -> None:
    """A line above the table says, without an error color, that the broker cannot report configurations of groups."""
    fault = Fault("NOT_SUPPORTED", "reading group configs is not supported by this broker")
    snapshot = replace(data.example_snapshot(), configs={"orders.enrich": Reading((), data.NOW, fault)})
    assert snap_compare(PaneApp(ConfigPane(), snapshot, "orders.enrich"), terminal_size=(80, 8))


@pytest.mark.parametrize("size", [(80, 24), (60, 20)], ids=["80x24", "60x20"])
def test_explain_dialog_for_a_group_that_the_user_may_not_describe(
    snap_compare: Compare, size: tuple[int, int]
) -> None:
    """The dialog begins with the verdict UNREADABLE, the reason, who lacks the permission, and the next step.

    Below, it shows the error in red, the message of the broker, what the error means, and the missing ACL. The dialog
    fits the screen.
    """

    async def explain(pilot: Pilot[None]) -> None:
        await pilot.app.push_screen(ExplainDialog.about_group(data.example_snapshot(), "secret.group"))
        await pilot.pause()

    assert snap_compare(pane_app(OverviewPane(), "secret.group"), run_before=explain, terminal_size=size)

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
    """The labels are on the left and the values beside them. The state Reconciling, the member behind the target epoch
    and the classic member are amber, and the number of records that were deleted unread is red. Permissions, the
    offsets that a deletion would lose, and the Kafka command follow below.
    """
    assert snap_compare(pane_app(OverviewPane(), "payments.settle"), terminal_size=(80, 32))


def test_overview_pane_of_a_group_that_the_user_may_not_describe(snap_compare: Compare) -> None:
    """The error and the advice for it are highlighted.

    Lag, permissions and offsets are shown as "unknown (access denied)" instead of 0.
    """
    assert snap_compare(pane_app(OverviewPane(), "secret.group"), terminal_size=(80, 24))


def test_overview_pane_escapes_control_characters_in_the_group_id(snap_compare: Compare) -> None:
    """Markup, escape sequences, bidirectional characters and a newline in the group id are shown as text. The Kafka
    command contains the group id in quotes.
    """
    assert snap_compare(pane_app(OverviewPane(), data.HOSTILE), terminal_size=(60, 24))


def test_members_pane_of_a_consumer_group(snap_compare: Compare) -> None:
    """There is one line per member. The first member is shown in full below the table.

    The two members behind the target epoch have `40 < 41` in amber, the member that was not upgraded has `! classic`,
    and the idle member has an amber 0.
    """
    assert snap_compare(pane_app(MembersPane(), "payments.settle"), terminal_size=(120, 20))


def test_members_pane_of_a_consumer_group_on_a_narrow_screen(snap_compare: Compare) -> None:
    """The table has columns for client, host, partitions, epoch and protocol.

    All other values of the selected member are in the detail area below the table.
    """
    assert snap_compare(pane_app(MembersPane(), "payments.settle"), terminal_size=(52, 21))


def test_members_pane_of_a_streams_group(snap_compare: Compare) -> None:
    """Each of the two processes has two indented threads. The columns are the numbers of active, standby and warm-up
    tasks, and the number of records to restore.
    """
    assert snap_compare(pane_app(MembersPane(), "clicks.aggregate"), terminal_size=(100, 18))


def test_members_pane_of_a_connect_cluster(snap_compare: Compare) -> None:
    """Each worker has its URL, and its connectors and tasks as numbers and as a list. The leader is marked, and a
    revoked task is amber.
    """
    assert snap_compare(pane_app(MembersPane(), "connect-prod"), terminal_size=(100, 18))


def test_members_pane_when_the_coordinator_does_not_respond(snap_compare: Compare) -> None:
    """The lines above the table say how old the data is, why it is old, and what to check."""
    assert snap_compare(pane_app(MembersPane(), "stale.group"), terminal_size=(80, 12))


def test_assignments_pane_during_a_rebalance(snap_compare: Compare) -> None:
    """The summary says that 3 of 14 partitions must move. Columns show the owner, status and target of each partition,
    and the member that delays its move.
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
    """Each member has a bar. The member with the most partitions comes first, with an amber bar.

    The idle member has a 0. The last column says how a member holds up the rebalance.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), press=["v", "v"], terminal_size=(80, 16))


def test_offsets_pane_with_every_reason_for_an_unknown_lag(snap_compare: Compare) -> None:
    """The symbol in place of the lag is `?` for a partition without a leader, `–` without a committed offset, and `x`
    for a deleted topic or denied access. A known lag of 0 is shown as 0. Each topic has a row with its total.
    """
    assert snap_compare(pane_app(OffsetsPane(), "orders.enrich"), terminal_size=(120, 28))


def test_offsets_pane_sorted_by_lag_with_records_that_were_deleted_unread(snap_compare: Compare) -> None:
    """The largest lag comes first, and the title of the lag column is highlighted. The partition whose records were
    deleted unread has `! 500 lost` in red and a lead of 0.
    """
    assert snap_compare(pane_app(OffsetsPane(), "payments.settle"), press=["s"], terminal_size=(80, 24))


def test_offsets_pane_of_a_share_group(snap_compare: Compare) -> None:
    """The column START-OFFSET replaces COMMITTED, and there is no metadata column. A lag that is not reported is shown
    as `?`, and a missing start offset as `–`.
    """
    assert snap_compare(pane_app(OffsetsPane(), "fraud.score"), terminal_size=(80, 14))


def test_offsets_pane_filtered_by_topic(snap_compare: Compare) -> None:
    """The filter line contains the typed text, and only the matching topic is shown."""
    assert snap_compare(
        pane_app(OffsetsPane(), "orders.enrich"), press=["slash", *"paid", "enter"], terminal_size=(80, 16)
    )


def test_config_pane_with_the_source_of_each_value(snap_compare: Compare) -> None:
    """Configs that are set for this group come first, in color. The sensitive value is hidden.

    Names of configs for other group types are in a muted color.
    """
    assert snap_compare(pane_app(ConfigPane(), "payments.settle"), terminal_size=(100, 18))


def test_config_pane_when_the_broker_does_not_support_group_configs(snap_compare: Compare) -> None:
    """One line says, without an error color, that the broker cannot report configurations of groups."""
    fault = Fault("NOT_SUPPORTED", "reading group configs is not supported by this broker")
    snapshot = replace(data.example_snapshot(), configs={"orders.enrich": Reading((), data.NOW, fault)})
    assert snap_compare(PaneApp(ConfigPane(), snapshot, "orders.enrich"), terminal_size=(80, 8))


@pytest.mark.parametrize("size", [(80, 24), (60, 20)], ids=["80x24", "60x20"])
def test_explain_dialog_for_a_group_that_the_user_may_not_describe(
    snap_compare: Compare, size: tuple[int, int]
) -> None:
    """The dialog begins with the verdict UNREADABLE, the reason, who lacks the permission, and the next step.

    Below follow the error in red, the broker's message, what the error means, and the missing ACL. The dialog fits the
    screen.
    """

    async def explain(pilot: Pilot[None]) -> None:
        await pilot.app.push_screen(ExplainDialog.about_group(data.example_snapshot(), "secret.group"))
        await pilot.pause()

    assert snap_compare(pane_app(OverviewPane(), "secret.group"), run_before=explain, terminal_size=size)

"""Pictures of the panes. Each docstring says what a person should see."""

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


def test_overview_of_a_reconciling_group(snap_compare: Compare) -> None:
    """Facts in two columns. The state Reconciling, the member behind and the classic member are amber, lost records are
    red.
    Permissions, what a delete would lose, and the Kafka command follow.
    """
    assert snap_compare(pane_app(OverviewPane(), "payments.settle"), terminal_size=(80, 32))


def test_overview_of_a_forbidden_group(snap_compare: Compare) -> None:
    """The fault and its advice are highlighted.

    Lag, permissions and offsets show "unknown (access denied)" instead of 0.
    """
    assert snap_compare(pane_app(OverviewPane(), "secret.group"), terminal_size=(80, 24))


def test_overview_of_hostile_names(snap_compare: Compare) -> None:
    """Markup, escape sequences, bidirectional characters and a newline in the id are visible, and the command quotes
    them.
    """
    assert snap_compare(pane_app(OverviewPane(), data.HOSTILE), terminal_size=(60, 24))


def test_members_of_a_consumer_group(snap_compare: Compare) -> None:
    """One line per member. `40 < 41` in amber marks the two members behind, `! classic` the one that was not upgraded,
    and an amber 0 the idle one. The first member is shown in full below the table.
    """
    assert snap_compare(pane_app(MembersPane(), "payments.settle"), terminal_size=(120, 20))


def test_members_of_a_consumer_group_on_a_narrow_screen(snap_compare: Compare) -> None:
    """Client, host, partitions, epoch and protocol are shown as columns, and everything else in the detail below."""
    assert snap_compare(pane_app(MembersPane(), "payments.settle"), terminal_size=(52, 21))


def test_members_of_a_streams_group(snap_compare: Compare) -> None:
    """Two processes, each with two indented threads; active, standby and warm-up tasks, and records left to restore."""
    assert snap_compare(pane_app(MembersPane(), "clicks.aggregate"), terminal_size=(100, 18))


def test_members_of_a_connect_cluster(snap_compare: Compare) -> None:
    """Workers with their URLs and the leader, connectors and tasks as numbers and as a list, and a revoked task in
    amber.
    """
    assert snap_compare(pane_app(MembersPane(), "connect-prod"), terminal_size=(100, 18))


def test_members_whose_coordinator_does_not_answer(snap_compare: Compare) -> None:
    """The lines above the table say how old the data is, why, and what to check."""
    assert snap_compare(pane_app(MembersPane(), "stale.group"), terminal_size=(80, 12))


def test_assignments_that_must_still_move(snap_compare: Compare) -> None:
    """3 of 14 partitions must move. Columns show owner, status, target, and the member that is waited for."""
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), terminal_size=(100, 24))


def test_assignments_as_a_grid(snap_compare: Compare) -> None:
    """A column per member, with the chosen member underlined and named above. A `+` marks a partition to assign, `-`
    one to revoke, and `!` one without owner. The row under the cursor is shown in full below.
    """
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), press=["v", "right"], terminal_size=(80, 24))


def test_an_idle_member_in_the_grid(snap_compare: Compare) -> None:
    """The last column has a colon in every row, and the grid fits a small screen."""
    assert snap_compare(pane_app(AssignmentsPane(), "orders.enrich"), press=["v"], terminal_size=(60, 20))


def test_assignments_by_member(snap_compare: Compare) -> None:
    """A bar per member, the heaviest first in amber and the idle one with 0, and what each member holds up."""
    assert snap_compare(pane_app(AssignmentsPane(), "payments.settle"), press=["v", "v"], terminal_size=(80, 16))


def test_offsets_with_every_reason_for_a_missing_lag(snap_compare: Compare) -> None:
    """No leader (?), no commit (–), topic deleted (x), forbidden (x) and 0 all look different.

    Each topic has a total.
    """
    assert snap_compare(pane_app(OffsetsPane(), "orders.enrich"), terminal_size=(120, 28))


def test_offsets_sorted_by_lag_with_lost_records(snap_compare: Compare) -> None:
    """The largest lag is first and the title of its column is marked. `! 500 lost` is red, with a lead of 0."""
    assert snap_compare(pane_app(OffsetsPane(), "payments.settle"), press=["s"], terminal_size=(80, 24))


def test_offsets_of_a_share_group(snap_compare: Compare) -> None:
    """START-OFFSET in place of COMMITTED, and no metadata.

    A lag that is not reported is ?, and a missing start offset is –.
    """
    assert snap_compare(pane_app(OffsetsPane(), "fraud.score"), terminal_size=(80, 14))


def test_offsets_filtered(snap_compare: Compare) -> None:
    """The filter line with the typed text, and only the matching topic."""
    assert snap_compare(
        pane_app(OffsetsPane(), "orders.enrich"), press=["slash", *"paid", "enter"], terminal_size=(80, 16)
    )


def test_config_with_its_sources(snap_compare: Compare) -> None:
    """Values set for this group are first and colored, the sensitive value is hidden, and other types' names are
    muted.
    """
    assert snap_compare(pane_app(ConfigPane(), "payments.settle"), terminal_size=(100, 18))


def test_config_that_an_old_broker_does_not_know(snap_compare: Compare) -> None:
    """One line without alarm: the broker does not support this."""
    fault = Fault("NOT_SUPPORTED", "reading group configs is not supported by this broker")
    snapshot = replace(data.example_snapshot(), configs={"orders.enrich": Reading((), data.NOW, fault)})
    assert snap_compare(PaneApp(ConfigPane(), snapshot, "orders.enrich"), terminal_size=(80, 8))


@pytest.mark.parametrize("size", [(80, 24), (60, 20)], ids=["80x24", "60x20"])
def test_explain(snap_compare: Compare, size: tuple[int, int]) -> None:
    """A dialog above the pane: the fault in red, the broker's message, its meaning, the missing ACL and the next step,
    followed by the state. It fits the screen.
    """

    async def explain(pilot: Pilot[None]) -> None:
        await pilot.app.push_screen(ExplainDialog.about_group(data.example_snapshot(), "secret.group"))
        await pilot.pause()

    assert snap_compare(pane_app(OverviewPane(), "secret.group"), run_before=explain, terminal_size=size)

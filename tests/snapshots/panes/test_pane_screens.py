"""What the panes look like: each docstring says what a person should see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.answer import Fault
from kgtui.model.snapshot import Reading
from kgtui.tui.dialogs.explain import ExplainDialog
from kgtui.tui.panes import AssignmentsPane, ConfigPane, MembersPane, OffsetsPane, OverviewPane, Pane
from tests.pilot.panes import data
from tests.pilot.panes.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

    Compare = Callable[..., bool]


def stage(pane: Pane, group: str) -> Stage[Pane]:
    return Stage(pane, data.company(), group)


def test_overview_of_a_reconciling_group(snap_compare: Compare) -> None:
    """Facts in two columns; Reconciling, the member behind and the classic member in amber, lost records in red;
    permissions, what a delete would lose, and the Kafka command below."""
    assert snap_compare(stage(OverviewPane(), "payments.settle"), terminal_size=(80, 32))


def test_overview_of_a_forbidden_group(snap_compare: Compare) -> None:
    """The fault with its advice stands out; lag, permissions and offsets show x forbidden, never 0."""
    assert snap_compare(stage(OverviewPane(), "secret.group"), terminal_size=(80, 24))


def test_overview_of_hostile_names(snap_compare: Compare) -> None:
    """Markup, escapes, bidi and newline of the id are written out; the command quotes them."""
    assert snap_compare(stage(OverviewPane(), data.HOSTILE), terminal_size=(60, 24))


def test_members_of_a_consumer_group(snap_compare: Compare) -> None:
    """One line a member; 40 < 41 in amber for the two behind, ! classic for the one not upgraded, an amber 0 for the
    idle one; the whole of the first member in a band below."""
    assert snap_compare(stage(MembersPane(), "payments.settle"), terminal_size=(120, 20))


def test_members_of_a_consumer_group_on_a_narrow_screen(snap_compare: Compare) -> None:
    """Client, host, partitions, epoch and protocol stay; the rest stands in the band below."""
    assert snap_compare(stage(MembersPane(), "payments.settle"), terminal_size=(52, 21))


def test_members_of_a_streams_group(snap_compare: Compare) -> None:
    """Two processes with their two threads indented; active, standby and warm-up tasks, records left to restore."""
    assert snap_compare(stage(MembersPane(), "clicks.aggregate"), terminal_size=(100, 18))


def test_members_of_a_connect_cluster(snap_compare: Compare) -> None:
    """Workers by URL, the leader named, connectors and tasks counted and listed, a revoked task in amber."""
    assert snap_compare(stage(MembersPane(), "connect-prod"), terminal_size=(100, 18))


def test_members_whose_coordinator_does_not_answer(snap_compare: Compare) -> None:
    """A line above says as of when, how long ago, and why; below it what to look at."""
    assert snap_compare(stage(MembersPane(), "stale.group"), terminal_size=(80, 12))


def test_assignments_that_must_still_move(snap_compare: Compare) -> None:
    """3 of 14 must move; owner, status, target and who is waited for, in columns."""
    assert snap_compare(stage(AssignmentsPane(), "payments.settle"), terminal_size=(100, 24))


def test_assignments_as_a_grid(snap_compare: Compare) -> None:
    """A column for each member, the chosen one underlined and named above; + where a partition is to come, - where it
    is to go, ! beside what is nobody's for now; the row under the cursor in full below."""
    assert snap_compare(stage(AssignmentsPane(), "payments.settle"), press=["v", "right"], terminal_size=(80, 24))


def test_an_idle_member_in_the_grid(snap_compare: Compare) -> None:
    """Colons all down the last column; room for everything on a small screen."""
    assert snap_compare(stage(AssignmentsPane(), "orders.enrich"), press=["v"], terminal_size=(60, 20))


def test_assignments_by_member(snap_compare: Compare) -> None:
    """A bar for each member, the heaviest first in amber, the idle one with 0; who holds up what."""
    assert snap_compare(stage(AssignmentsPane(), "payments.settle"), press=["v", "v"], terminal_size=(80, 16))


def test_offsets_with_every_reason_for_a_missing_lag(snap_compare: Compare) -> None:
    """? no leader, – no commit, x topic deleted, x forbidden and 0 all look different; a total over each topic."""
    assert snap_compare(stage(OffsetsPane(), "orders.enrich"), terminal_size=(120, 28))


def test_offsets_sorted_by_lag_with_lost_records(snap_compare: Compare) -> None:
    """The largest lag first, the title of its column marked, ! 500 lost in red, lead 0."""
    assert snap_compare(stage(OffsetsPane(), "payments.settle"), press=["s"], terminal_size=(80, 24))


def test_offsets_of_a_share_group(snap_compare: Compare) -> None:
    """START instead of COMMITTED, no metadata; ? where the lag is not told, – where there is no start offset."""
    assert snap_compare(stage(OffsetsPane(), "fraud.score"), terminal_size=(80, 14))


def test_offsets_filtered(snap_compare: Compare) -> None:
    """The filter line with what was typed, and only the topic it matches."""
    assert snap_compare(
        stage(OffsetsPane(), "orders.enrich"), press=["slash", *"paid", "enter"], terminal_size=(80, 16)
    )


def test_config_with_its_sources(snap_compare: Compare) -> None:
    """What is set for this group first and in colour, the secret hidden, other types' names faint."""
    assert snap_compare(stage(ConfigPane(), "payments.settle"), terminal_size=(100, 18))


def test_config_that_an_old_broker_does_not_know(snap_compare: Compare) -> None:
    """One calm line: not supported by this broker."""
    fault = Fault("NOT_SUPPORTED", "reading group configs is not supported by this broker")
    snapshot = replace(data.company(), configs={"orders.enrich": Reading((), data.NOW, fault)})
    assert snap_compare(Stage(ConfigPane(), snapshot, "orders.enrich"), terminal_size=(80, 8))


@pytest.mark.parametrize("size", [(80, 24), (60, 20)], ids=["80x24", "60x20"])
def test_explain(snap_compare: Compare, size: tuple[int, int]) -> None:
    """A box over the pane: the fault in red, what the broker says, what it means, which ACL, the next step; then the
    state. It fits the screen."""

    async def explain(pilot: Pilot[None]) -> None:
        await pilot.app.push_screen(ExplainDialog.about_group(data.company(), "secret.group"))
        await pilot.pause()

    assert snap_compare(stage(OverviewPane(), "secret.group"), run_before=explain, terminal_size=size)

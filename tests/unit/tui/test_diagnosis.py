"""Tests of the diagnosis of a group: what is wrong and why, which members cause it, and what the user can do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.answer import Fault
from kgtui.model.burrow import Status
from kgtui.model.diagnosis import Diagnosis, diagnose, explain_group
from kgtui.model.event import Event, EventKind
from kgtui.model.group import GroupDescription
from kgtui.model.health.values import Lack, Loss, Undecided
from kgtui.model.judgment import Basis, Judgment, judgment_of_empty, judgment_of_unused
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.snapshot import Reading
from kgtui.model.trail import Trail
from kgtui.tui.panes.overview import verdict_fields
from tests.pilot.app_driver import sample_snapshot
from tests.pilot.health_snapshots import with_health
from tests.pilot.panes.data import example_snapshot

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot

GROUP = "payments.settle"
FORBIDDEN = Fault("GROUP_AUTHORIZATION_FAILED", "no access", 30, advice="grant DESCRIBE on the group to this user")


def clock(at: float, *, seconds: bool = False) -> str:
    return "00:53"


def stopped() -> Snapshot:
    return with_health(sample_snapshot(), GROUP, "stuck")


def described(snapshot: Snapshot, *members: Member, state: str = "Stable") -> Snapshot:
    listing = replace(snapshot.groups[GROUP], state=state)
    description = GroupDescription(
        GROUP, listing.type or "classic", listing.protocol, state, listing.coordinator, members=members,
        source="ConsumerGroupDescribe v1",
    )  # fmt: skip
    return replace(
        snapshot, groups={**snapshot.groups, GROUP: listing},
        details={**snapshot.details, GROUP: Reading(description, snapshot.taken_at)},
    )  # fmt: skip


def screened(snapshot: Snapshot, kind: Problem, status: GroupStatus = GroupStatus.WARN) -> Snapshot:
    judgment = Judgment(status, kind, Basis.SCREENED, message="the reason")
    return replace(snapshot, screened={GROUP: judgment})


def test_diagnosis_of_a_stopped_group_mentions_the_owner_of_the_stopped_partition() -> None:
    members = (
        Member("m-1", "billing", "/10.0.0.7", assignment=(("other", (0,)),)),
        Member("m-2", "billing", "/10.0.0.8", assignment=((f"{GROUP}-topic", (0,)),)),
    )
    found = diagnose(described(stopped(), *members), GROUP, clock)
    assert found.name == "STOPPED"
    assert found.who == f"billing at /10.0.0.8 owns {GROUP}-topic-0"
    assert "no commit" in found.why
    assert "log of the member" in found.advice


def test_diagnosis_of_a_simple_group_does_not_say_that_members_left() -> None:
    """Offsets of a simple group are committed without members, so no member can have left.

    The advice is to check the application that commits the offsets.
    """
    snapshot, group = sample_snapshot(), "old-batch"
    for judgment, more in (
        (judgment_of_empty(6, None, Basis.SCREENED), ""),
        (judgment_of_empty(6, snapshot.taken_at, Basis.SCREENED), ""),
        (judgment_of_unused(6, Basis.SCREENED), ", records unread for more than 24 h"),
    ):
        shown = replace(snapshot, screened={group: judgment})
        assert shown.judgment(group).reason == f"no members (offsets are committed without them){more}, 6 unread"
        assert diagnose(shown, group, clock).advice.endswith(
            "check that the application that commits these offsets still runs."
        )
        assert diagnose(shown, group, clock).who == ""
    trail = Trail()
    trail.first_at = round(snapshot.taken_at)
    summaries = {**snapshot.summaries, group: replace(snapshot.summaries[group], trail=trail.encode())}
    shown = replace(snapshot, screened={group: judgment_of_empty(6, None, Basis.SCREENED)}, summaries=summaries)
    expected = "no members (offsets are committed without them); no commit seen since 00:53, 6 unread"
    assert diagnose(shown, group, clock).why == expected


def test_advice_for_a_stopped_group_with_lost_records_is_to_start_it_again() -> None:
    """kgtui does not recommend faster consumers, because the group lost the records while it was stopped."""
    judgment = Judgment(
        GroupStatus.ERR, Problem.DATA_LOST, Basis.SCREENED, message="5 records expired", others=(Problem.STOP,)
    )
    snapshot = described(sample_snapshot(), state="Empty")
    snapshot = replace(snapshot, screened={GROUP: judgment}, state_since={GROUP: snapshot.taken_at - 60})
    found = diagnose(snapshot, GROUP, clock)
    assert (found.name, found.also) == ("DATA LOST", "stopped since 00:53")
    assert found.advice.startswith("Start the application again")
    assert explain_group(snapshot, GROUP, clock)[0].also == found.also
    lines = [line for field in verdict_fields(snapshot, GROUP) for line in field.lines if field.label == "also"]
    assert len(lines) == 1
    assert diagnose(screened(sample_snapshot(), Problem.DATA_LOST), GROUP, clock).also == ""


def test_diagnosis_of_an_unconfirmed_stop_mentions_the_partition_owner() -> None:
    """The background reads of all groups show a stop. The detailed reads of this group have not confirmed it yet."""
    member = Member("m-2", "billing", "/10.0.0.8", assignment=((f"{GROUP}-topic", (0,)),))
    snapshot = screened(described(stopped(), member), Problem.STOP, GroupStatus.ERR)
    pending = (Undecided(Status.ERR, Lack.TIME),)
    ok = replace(snapshot.health[GROUP], worst=None, undecided=pending)
    ok = replace(ok, verdict=replace(ok.verdict, status=Status.OK, partitions={}))
    found = diagnose(replace(snapshot, health={GROUP: ok}), GROUP, clock)
    assert (found.name, found.who) == ("STOPPED", f"billing at /10.0.0.8 owns {GROUP}-topic-0")


def test_diagnosis_says_that_no_member_owns_the_stopped_partition() -> None:
    """kgtui does not say this if a member reports no assignment, because this member could own the partition."""
    member = Member("m-1", "billing", "/10.0.0.7", assignment=())
    assert diagnose(described(stopped(), member), GROUP, clock).who == f"no member owns {GROUP}-topic-0"
    unknown = Member("m-1", "billing", "/10.0.0.7", assignment=None)
    assert diagnose(described(stopped(), unknown), GROUP, clock).who == ""


def test_advice_for_a_stopped_group_without_members_is_to_start_it() -> None:
    snapshot = described(screened(sample_snapshot(), Problem.STOP, GroupStatus.ERR), state="Empty")
    found = diagnose(snapshot, GROUP, clock)
    assert (found.name, found.why, found.who) == ("STOPPED", "the reason", "the group has no members")
    assert found.advice.startswith("Start the application again")


def test_diagnosis_mentions_the_members_that_delay_a_rebalance() -> None:
    snapshot = with_health(sample_snapshot(), GROUP, "new")
    health = replace(snapshot.health[GROUP], holding_up={"m-1": 2, "m-2": None})
    snapshot = screened(replace(snapshot, health={GROUP: health}), Problem.REBALANCING)
    snapshot = described(snapshot, Member("m-1", "billing", "/10.0.0.7"))
    assert diagnose(snapshot, GROUP, clock).who == "billing at /10.0.0.7 is 2 epochs behind, m-2 has left"


def test_diagnosis_of_imminent_data_loss_has_the_time_of_the_loss() -> None:
    snapshot = with_health(sample_snapshot(), GROUP, "new")
    for exact, when in ((True, "from 00:53, in 6 min 24 s"), (False, "in about 6 min 24 s, 00:53")):
        loss = Loss("audit", 0, 384.0, "retention", None, at=1_000.0, exact=exact)
        with_loss = replace(snapshot, health={GROUP: replace(snapshot.health[GROUP], loss=loss)})
        found = diagnose(screened(with_loss, Problem.LOSS_NEAR, GroupStatus.ERR), GROUP, clock)
        assert found.why == f"unread records of audit-0 may expire {when}"


def test_diagnosis_of_a_forbidden_group_mentions_the_permission_to_request() -> None:
    found = diagnose(replace(sample_snapshot(), group_faults={GROUP: FORBIDDEN}), GROUP, clock)
    assert (found.name, found.why, found.who) == ("UNREADABLE", "no access", "your user lacks the permission")
    assert found.advice == "Grant DESCRIBE on the group to this user"


def test_diagnosis_of_a_healthy_group_gives_no_advice() -> None:
    snapshot = with_health(sample_snapshot(), GROUP, "well")
    assert diagnose(snapshot, GROUP, clock) == Diagnosis(snapshot.judgment(GROUP), "OK")


def test_diagnosis_of_a_missing_group_says_that_it_does_not_exist() -> None:
    found = diagnose(sample_snapshot(), "no-such-group", clock)
    assert (found.name, found.why) == ("NOT_FOUND", "the group no longer exists")


@pytest.mark.parametrize("kind", [kind for kind in Problem if kind is not Problem.UNREADABLE])
def test_diagnosis_of_every_problem_has_a_next_step(kind: Problem) -> None:
    assert diagnose(screened(sample_snapshot(), kind), GROUP, clock).advice


def test_explanation_of_a_stopped_group_begins_with_the_verdict() -> None:
    first, *others = explain_group(described(stopped()), GROUP, clock)
    assert (first.title, first.since, first.status) == ("STOPPED", "before 00:53", "ERR")
    assert first.basis.startswith("observed ")
    (state,) = (one for one in others if one.title == "Stable")
    assert "assigned partitions" not in state.meaning
    assert "does not say whether the members read" in state.meaning


def test_explanation_offers_deletion_only_for_a_readable_empty_group() -> None:
    """`can be deleted now` is shown only for an Empty group that kgtui could read and does not report as stopped."""
    snapshot = described(sample_snapshot(), state="Empty")
    assert explain_group(snapshot, GROUP, clock)[-1].advice == "The group can be deleted now."
    stopped_group = screened(snapshot, Problem.STOP, GroupStatus.ERR)
    assert explain_group(stopped_group, GROUP, clock)[-1].advice == "Key d shows what deleting the group would lose."
    forbidden = replace(snapshot, group_faults={GROUP: FORBIDDEN})
    assert explain_group(forbidden, GROUP, clock)[-1].advice == ""
    details = {**snapshot.details, GROUP: replace(snapshot.details[GROUP], fault=FORBIDDEN)}
    assert "cannot be deleted now" in explain_group(replace(snapshot, details=details), GROUP, clock)[-1].advice


def test_group_explanation_lists_verdict_errors_and_state_in_this_order() -> None:
    titles = [one.title for one in explain_group(example_snapshot(), "secret.group")]
    assert titles == ["UNREADABLE", "GROUP_AUTHORIZATION_FAILED (30)", "Stable"]


def test_diagnosis_of_a_flapping_group_mentions_members_that_joined_or_left() -> None:
    """A flapping group rebalances again and again. Joins and leaves of the last ten minutes are counted per member."""
    snapshot = described(screened(sample_snapshot(), Problem.FLAPPING), Member("m-1", "billing", "/10.0.0.7"))
    at, listing = snapshot.taken_at, snapshot.groups[GROUP]
    kinds = [EventKind.LEFT, EventKind.JOINED, EventKind.LEFT]
    events = [Event(at - 900, EventKind.LEFT, GROUP, listing, subject="early at /10.0.0.9")]
    events += [Event(at - 60, kind, GROUP, listing, subject="billing at /10.0.0.7") for kind in kinds]
    events += [Event(at - 50, EventKind.JOINED, GROUP, listing, subject="other at /10.0.0.8")]
    events += [Event(at - 50, EventKind.JOINED, "another group", listing, subject="stranger at /10.0.0.8")]
    found = diagnose(replace(snapshot, events=events), GROUP, clock)
    assert found.who == "billing at /10.0.0.7 joined or left 3 times, other at /10.0.0.8 joined or left once"
    assert diagnose(snapshot, GROUP, clock).who == ""


def test_diagnosis_of_lost_records_mentions_the_partition_owner() -> None:
    members = (Member("m-1", "billing", "/10.0.0.7", assignment=(("orders", (0, 1)),)),)
    snapshot = described(screened(sample_snapshot(), Problem.DATA_LOST, GroupStatus.ERR), *members)
    commits = tuple(CommittedOffset("orders", part, 5) for part in (0, 1, 2))
    bounds = {("orders", part): PartitionBounds(start, 90) for part, start in enumerate((10, 40, 5))}
    offsets = Reading(GroupOffsets(commits, bounds=bounds), snapshot.taken_at)
    found = diagnose(replace(snapshot, offsets={GROUP: offsets}), GROUP, clock)
    assert found.who == "billing at /10.0.0.7 owns orders-1; records of 1 more partition are lost"


def test_diagnosis_of_a_group_with_five_idle_members_mentions_three_of_them() -> None:
    members = tuple(Member(f"m-{number}", f"c-{number}", "/10.0.0.7", assignment=()) for number in range(5))
    found = diagnose(described(screened(sample_snapshot(), Problem.NO_PARTITIONS), *members), GROUP, clock)
    named = ", ".join(f"c-{number} at /10.0.0.7 has no partition" for number in range(3))
    assert found.who == f"{named} and 2 more"

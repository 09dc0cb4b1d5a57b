"""Tests of group assignments: the owner and the target owner of each partition, and members that delay a move."""

from __future__ import annotations

from typing import Any

import pytest

from kgtui.model.assignment import MOST_INFERRED, Assignment, Item, PlacementStatus, assignment_of, items_of
from kgtui.model.group import GroupDescription
from kgtui.model.members import (
    ConnectWorker,
    Member,
    StreamsAssignment,
    StreamsMember,
    Subtopology,
    TopicInfo,
    Topology,
)
from kgtui.model.offsets import CommittedOffset, GroupOffsets
from tests.scripted import member


def group(*members: Member, **changes: Any) -> GroupDescription:
    values: dict[str, Any] = {"type": "consumer", "protocol": "consumer", "state": "Stable", "coordinator": 1} | changes
    return GroupDescription("g", members=members, **values)


def made(*members: Member, offsets: GroupOffsets | None = None, **changes: Any) -> Assignment:
    found = assignment_of(group(*members, **changes), offsets)
    assert found is not None
    return found


def status(found: Assignment, name: str, number: int, role: str = "") -> PlacementStatus:
    return next(one.status for one in found.placements if one.item == Item(name, number, role))


def test_no_partition_has_to_move_if_members_own_their_target_partitions() -> None:
    found = made(
        member("a", assignment=(("t", (0, 1)),), target=(("t", (0, 1)),), epoch=3, topics=("t",)),
        member("b", assignment=(("t", (2,)),), target=(("t", (2,)),), epoch=3, topics=("t",)),
        group_epoch=3,
        assignment_epoch=3,
    )
    assert found.targeted
    assert found.count(PlacementStatus.SETTLED) == len(found.placements) == 3
    assert found.blockers == ()
    assert found.idle == ()


def test_partition_move_waits_for_the_owner_that_must_give_up_the_partition() -> None:
    found = made(
        member("a", assignment=(("t", (0, 1)),), target=(("t", (0,)),), epoch=3),
        member("b", assignment=(), target=(("t", (1,)),), epoch=4),
        group_epoch=4,
        assignment_epoch=4,
    )
    moving = next(one for one in found.placements if one.status is PlacementStatus.LEAVING)
    assert (moving.item, moving.owners, moving.targets, moving.waits_for) == (Item("t", 1), ("a",), ("b",), ("a",))
    (blocker,) = found.blockers
    assert (blocker.member_id, blocker.gives_up, blocker.waiting, blocker.behind) == ("a", 1, 1, 1)
    assert found.idle == (), "b owns nothing yet but has a target assignment"


def test_partition_without_owner_waits_for_members_with_older_epochs() -> None:
    """The broker no longer reports an owner of the partition, which will move to the member `new`.

    The member `slow` has an older epoch than the group, so it is possible that `slow` still owns the partition.
    """
    found = made(
        member("slow", assignment=(("t", (0,)),), target=(("t", (0,)),), epoch=3),
        member("new", assignment=(), target=(("t", (1,)),), epoch=4),
        group_epoch=4,
        assignment_epoch=4,
    )
    arriving = next(one for one in found.placements if one.status is PlacementStatus.ARRIVING)
    assert arriving.waits_for == ("slow",)
    assert [one.member_id for one in found.blockers] == ["slow"]


def test_unowned_partition_waits_for_its_target_owner_if_member_epochs_are_current() -> None:
    found = made(member("new", assignment=(), target=(("t", (0,)),), epoch=4), group_epoch=4, assignment_epoch=4)
    assert found.placements[0].waits_for == ("new",)


def test_partition_waits_for_a_static_member_that_has_left_temporarily() -> None:
    found = made(
        member("a", assignment=(("t", (0,)),), target=(), epoch=-2),
        member("b", assignment=(), target=(("t", (0,)),), epoch=4),
        group_epoch=4,
        assignment_epoch=4,
    )
    assert found.blockers[0].member_id == "a"
    assert found.blockers[0].behind is None


def test_partition_with_a_committed_offset_but_no_owner_is_unowned_or_unsubscribed() -> None:
    """If no member subscribes to the topic, the partition is `UNSUBSCRIBED`. Otherwise, the partition is `UNOWNED`."""
    offsets = GroupOffsets((CommittedOffset("t", 4, 1), CommittedOffset("old", 0, 1)))
    found = made(member("a", assignment=(("t", (0, 1, 2, 3)),), topics=("t",)), offsets=offsets, type="classic")
    assert status(found, "t", 4) is PlacementStatus.UNOWNED
    assert status(found, "old", 0) is PlacementStatus.UNSUBSCRIBED
    assert not found.targeted


def test_partition_number_missing_between_owned_partitions_counts_as_unowned() -> None:
    found = made(member("a", assignment=(("t", (0, 2)),), topics=("t",)), type="classic")
    assert status(found, "t", 1) is PlacementStatus.UNOWNED


def test_topic_that_matches_a_subscription_pattern_counts_as_subscribed() -> None:
    offsets = GroupOffsets((CommittedOffset("x", 0, 1),))
    found = made(member("a", assignment=(), topics=(), regex="x.*"), offsets=offsets)
    assert status(found, "x", 0) is PlacementStatus.UNOWNED


def test_partition_status_is_unknown_if_members_report_no_assignments() -> None:
    """Brokers report the assignments of a classic group only while the group is Stable."""
    offsets = GroupOffsets((CommittedOffset("t", 0, 1),))
    found = made(member("a", assignment=None, topics=("t",)), offsets=offsets, type="classic")
    assert status(found, "t", 0) is PlacementStatus.UNKNOWN
    assert found.unreported == ("a",)
    assert found.idle == ()
    assert found.skews == ()


def test_partitions_of_an_empty_group_are_unowned() -> None:
    found = made(offsets=GroupOffsets((CommittedOffset("t", 0, 1),)), state="Empty")
    assert status(found, "t", 0) is PlacementStatus.UNOWNED


def test_assignment_is_none_if_the_broker_hides_the_members() -> None:
    assert assignment_of(GroupDescription("g", "share", "share", "Stable", 1, members=None)) is None


def test_huge_partition_number_adds_only_a_limited_number_of_unowned_partitions() -> None:
    found = made(member("a", assignment=(("t", (2**31 - 1,)),), topics=("t",)))
    assert len(found.placements) == MOST_INFERRED + 1


def test_share_partition_can_have_several_owners_but_no_target() -> None:
    found = made(
        member("a", assignment=(("t", (0,)),), epoch=1), member("b", assignment=(("t", (0,)),), epoch=1), type="share"
    )
    (only,) = found.placements
    assert only.owners == ("a", "b")
    assert only.targets is None
    assert only.status is PlacementStatus.SETTLED


def _thread(name: str, now: StreamsAssignment, goal: StreamsAssignment | None = None) -> Member:
    return member(name, streams=StreamsMember("p", 1, assignment=now, target=goal or now), epoch=5)


def test_active_and_warmup_tasks_of_kafka_streams_have_separate_statuses() -> None:
    topology = Topology(
        1, (Subtopology("0", ("in",), changelog_topics=(TopicInfo("store", 3, 1),)), Subtopology("1", ("other",)))
    )
    tasks = StreamsAssignment
    found = made(
        _thread("a", tasks(active=(("0", (0,)),), warmup=(("0", (1,)),)), tasks(active=(("0", (0, 1)),))),
        _thread("b", tasks(active=(("0", (1,)),)), tasks()),
        type="streams",
        protocol="streams",
        topology=topology,
        assignment_epoch=5,
    )
    assert status(found, "0", 0, "active") is PlacementStatus.SETTLED
    assert status(found, "0", 1, "active") is PlacementStatus.LEAVING
    assert status(found, "0", 1, "warmup") is PlacementStatus.LEAVING
    assert status(found, "0", 2, "active") is PlacementStatus.UNOWNED
    assert not [one for one in found.placements if one.item.name == "1"], (
        "subtopology 1 has no placements, because its number of tasks is not known"
    )


def test_connector_task_that_a_worker_must_give_up_has_the_status_leaving() -> None:
    found = made(
        member("w1", connect=ConnectWorker("http://w1", connectors=("c",), tasks=(("c", (0, 1)),), revoked=("c-1",))),
        member("w2", connect=ConnectWorker("http://w2")),
        type="classic",
        protocol="connect",
    )
    assert status(found, "c", -1, "connector") is PlacementStatus.SETTLED
    assert status(found, "c", 1, "task") is PlacementStatus.LEAVING
    assert found.idle == ("w2",)


def test_skew_is_the_largest_partition_count_divided_by_the_average() -> None:
    """Three members have 3, 1 and 0 partitions. Member `d` is ignored, because it reports no assignment.

    Host `h1` has 4 partitions. Two of the three members run on `h1`, so an even assignment would give `h1` 4 × 2/3.
    """
    found = made(
        member("a", host="h1", rack="r1", assignment=(("t", (0, 1, 2)),)),
        member("b", host="h1", rack="r2", assignment=(("t", (3,)),)),
        member("c", host="h2", assignment=()),
        member("d", host="h2", assignment=None),
    )
    by = {skew.by: skew for skew in found.skews}
    assert by["member"].ratio == pytest.approx(3 / (4 / 3))
    assert [(load.name, load.members, load.items) for load in by["host"].loads] == [("h1", 2, 4), ("h2", 1, 0)]
    assert by["host"].ratio == pytest.approx(4 / (4 / 3 * 2))
    assert [load.name for load in by["rack"].loads] == ["r1", "r2", None]


def test_skew_of_a_group_is_none_if_members_own_no_partitions() -> None:
    found = made(member("a", assignment=()))
    assert {skew.ratio for skew in found.skews} == {None}
    assert found.idle == ("a",)


def test_a_connect_worker_owns_its_connectors_and_tasks() -> None:
    worker = member(connect=ConnectWorker("u", connectors=("c",), tasks=(("c", (0,)),)))
    assert items_of(worker) == {Item("c", -1, "connector"), Item("c", 0, "task")}

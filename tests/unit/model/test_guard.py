"""Tests of the checks before kgtui deletes a group.

The describe RPC for the group's type must report the state Empty and no members.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.answer import Fault
from kgtui.model.cluster import ClusterInfo
from kgtui.model.group import GroupDescription, Listing, listing_of
from kgtui.model.group_types import EMPTY, STATES, TYPES
from kgtui.model.guard import READ_ONLY, delete_availability, why_not_delete, why_not_described
from kgtui.model.snapshot import BrokerStatus, Reading, Snapshot
from tests.scripted import member

if TYPE_CHECKING:
    from kgtui.model.members import Member

DESCRIBE_RPC = {
    "classic": "DescribeGroups",
    "consumer": "ConsumerGroupDescribe",
    "share": "ShareGroupDescribe",
    "streams": "StreamsGroupDescribe",
}
RPCS = [*DESCRIBE_RPC.values(), "ListGroups", ""]
EMPTY_GROUP = GroupDescription("g", "classic", "consumer", EMPTY, 1, source="DescribeGroups v6")

types = st.sampled_from([*TYPES, "", "tiered"]) | st.text(max_size=8)
states = st.sampled_from([*STATES, "", "empty", "EMPTY", "Unknown"]) | st.text(max_size=8)
sources = st.builds(str.__add__, st.sampled_from(RPCS), st.sampled_from(["", " v0", " v1", " v5", " v6"]))


@given(
    type_=types,
    state=states,
    source=sources,
    authoritative=st.booleans(),
    members=st.sampled_from([None, (), (member(),)]),
    operations=st.none() | st.frozensets(st.sampled_from(["READ", "DELETE", "DESCRIBE", "ALL"])),
)
def test_deletion_is_allowed_only_for_described_empty_groups(
    type_: str,
    state: str,
    source: str,
    authoritative: bool,
    members: tuple[Member, ...] | None,
    operations: frozenset[str] | None,
) -> None:
    """The group must have no members, and the ACL operation DELETE must be allowed or unknown.

    The description must come from the RPC for the group's type, and its state must be reliable (`authoritative`).
    """
    description = GroupDescription(
        "g", type_, "", state, 1, members=members, operations=operations, source=source, authoritative=authoritative
    )
    right_rpc = type_ in DESCRIBE_RPC and source.split(" ")[0] == DESCRIBE_RPC[type_]
    permitted = operations is None or bool(operations & {"DELETE", "ALL"})
    safe = state == "Empty" and authoritative and right_rpc and members == () and permitted
    assert (why_not_delete("g", description) is None) == safe


@pytest.mark.parametrize("type_", TYPES)
def test_deletion_of_an_empty_group_is_allowed_for_every_group_type(type_: str) -> None:
    assert why_not_delete("g", replace(EMPTY_GROUP, type=type_, source=f"{DESCRIBE_RPC[type_]} v1")) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "Stable", "members": (member(),) * 3}, "Stable with 3 members: stop them first"),
        ({"state": "Stable", "members": (member(),)}, "Stable with 1 member: stop it first"),
        ({"state": "Stable", "members": (member(instance_id="i"),)}, "until their session times out"),
        ({"state": "Reconciling", "members": None}, "Reconciling: stop the group's members first"),
        ({"state": "Dead", "source": "DescribeGroups v5"}, "Dead"),
        ({"state": "Dead", "source": "DescribeGroups v5", "authoritative": False}, "no describe request found this"),
        ({"state": "Hibernating"}, "does not know the state Hibernating"),
        ({"type": "tiered"}, "does not know groups of type tiered"),
        ({"type": "share"}, "only ShareGroupDescribe reliably describes share groups, but DescribeGroups v6 answered"),
        ({"members": (member(),)}, "the broker reports the group as Empty but with 1 member"),
        ({"members": None}, "withheld"),
        ({"operations": frozenset({"READ", "DESCRIBE"})}, "ask for the ACL operation DELETE on this group"),
        ({"group": "G"}, "the description belongs to another group"),
    ],
)  # fmt: skip
def test_refusal_of_a_deletion_says_why_the_group_must_not_be_deleted(changes: dict[str, object], words: str) -> None:
    reason = why_not_delete("g", replace(EMPTY_GROUP, **changes))  # type: ignore[arg-type]
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (None, "the broker's response does not contain this group"),
        (Fault("GROUP_ID_NOT_FOUND", "", 69), "no group has this id"),
        (Fault("GROUP_AUTHORIZATION_FAILED", "", 30), "ACL operation DESCRIBE"),
        (Fault("NO_ANSWER", "broker 4 is slow"), "broker 4 is slow"),
    ],
)
def test_refusal_of_a_deletion_says_why_the_group_could_not_be_described(fault: Fault | None, words: str) -> None:
    assert words in why_not_described(fault)


def snapshot(
    description: GroupDescription | None = EMPTY_GROUP,
    *,
    at: float = 100.0,
    listing: Listing | None = None,
    stale: Fault | None = None,
    faults: dict[str, Fault] | None = None,
    interval: float = 2.0,
) -> Snapshot:
    """Return a snapshot with one group `g`, taken 100 seconds after the epoch.

    Args:
        at: time at which the group was described, in seconds since the epoch.
        listing: type, protocol, state and coordinator in the list of groups, by default those of `EMPTY_GROUP`.
        stale: why the newest attempt to describe the group failed; None if it did not fail.
        faults: group id → why the newest read of the group failed.
        interval: seconds between two polls.
    """
    return Snapshot(
        1,
        100.0,
        ClusterInfo("c"),
        groups={"g": listing or listing_of(EMPTY_GROUP)},
        details={"g": Reading(description, at, stale)} if description else {},
        group_faults=faults or {},
        brokers={1: BrokerStatus(1, "b:1", interval=interval)},
    )


def test_delete_action_is_available_for_a_recently_described_empty_group() -> None:
    assert delete_availability(snapshot(), "g") is None


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        (snapshot(at=88.0), "the newest description of the group is 12 s old; wait for the next poll"),
        (snapshot(None), "the group has not been described yet"),
        (snapshot(None, listing=Listing(None, "consumer", None, 1)), "the group type is not known yet"),
        (snapshot(None, faults={"g": Fault("GROUP_AUTHORIZATION_FAILED", "", 30)}), "ACL operation DESCRIBE"),
        (snapshot(stale=Fault("NO_ANSWER", "broker 1 is slow")), "broker 1 is slow"),
        (snapshot(listing=Listing("classic", "consumer", "Stable", 1)), "listed as Stable and described as Empty"),
        (snapshot(listing=Listing("share", "share", "Empty", 1)), "listed as share and described as classic"),
        (snapshot(replace(EMPTY_GROUP, state="Stable", members=(member(),))), "Stable with 1 member"),
    ],
)
def test_unavailable_delete_action_gives_the_reason(taken: Snapshot, words: str) -> None:
    reason = delete_availability(taken, "g")
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize(("listed", "words"), [("Stable", "Stable with 1 member: stop it first"), ("Dead", "60 s old")])
def test_refusal_uses_an_outdated_description_only_if_group_list_agrees(listed: str, words: str) -> None:
    """The description is 60 s old, and has the state Stable and one member.

    If the list of groups also shows Stable, the refusal mentions the member. If the list shows Dead, the refusal only
    says that the description is too old.
    """
    stable = replace(EMPTY_GROUP, state="Stable", members=(member(),))
    taken = snapshot(stable, at=40.0, listing=Listing("classic", "consumer", listed, 1))
    assert words in (delete_availability(taken, "g") or "")


def test_delete_action_needs_a_listed_group_and_is_off_in_read_only_mode() -> None:
    assert delete_availability(snapshot(), None) == "no group is selected"
    assert delete_availability(snapshot(), "other") == "the group is no longer listed"
    assert delete_availability(snapshot(), "g", read_only=True) == READ_ONLY


def test_delete_action_accepts_older_descriptions_if_the_polling_interval_is_long() -> None:
    """With 30 s between polls, a description that is 12 s old is new enough to allow the delete action.

    With 2 s between polls, a description that is 100 s old is too old.
    """
    assert delete_availability(snapshot(at=88.0, interval=30.0), "g") is None
    assert (
        delete_availability(snapshot(), "g", now=200.0)
        == "the newest description of the group is 100 s old; wait for the next poll"
    )

"""May this group be deleted? Pure rules, and the reason in words where the answer is no.

The broker's DeleteGroups checks no type, and DescribeGroups before v6 calls every group that is not classic `Dead`: so
what proves a group Empty is the RPC of its own type alone, and nothing else than Empty is ever enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.group_types import DEAD, GROUP_TYPES, STATES

if TYPE_CHECKING:
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.group_types import GroupType
    from kgtui.model.snapshot import Snapshot

FRESH_SECONDS = 10.0
"""How old a describe may be for the key to be offered; stretched with the poll interval of the group's broker."""

READ_ONLY = "read-only: nothing can be changed"
_DELETING_OPERATIONS = frozenset({"DELETE", "ALL"})


def why_not_delete(group: str, description: GroupDescription) -> str | None:
    """Why the group must not be deleted, judged from this description alone; None when it may be.

    Only a group that the RPC of its own type calls Empty may be deleted (Kafka's GroupMetadataManager asks the same of
    all types but `Dead` classic groups), by someone whom the broker does not tell that DELETE is forbidden.
    """
    if description.group != group:
        return "the description is another group's"
    group_type = GROUP_TYPES.get(description.type)
    if group_type is None:
        return f"groups of type {description.type or '?'} are not known to this version: their state proves nothing"
    if not description.authoritative:
        return f"{description.source or 'the broker'} cannot tell a {description.type} group from one of another type"
    rpc = group_type.describe_rpc
    if description.source.partition(" ")[0] != rpc:
        return f"a {description.type} group is described by {rpc}, not by {description.source or 'an unnamed RPC'}"
    return _why_not_empty(description, group_type) or _why_not_permitted(description)


def _why_not_empty(description: GroupDescription, group_type: GroupType) -> str | None:
    state, count = description.state, description.member_count
    if state in group_type.deletable_states:
        if count is None:
            return "the broker withheld its members"
        return f"said to be {state}, yet has {_members(count)}" if count else None
    if state == DEAD:
        return "Dead: its coordinator is letting go of it, or never knew it"
    if state not in STATES:
        return f"state {state or '?'} is not known to this version"
    if not count:
        return f"{state}: stop its members first"
    return f"{state} with {_members(count)}: stop {'it' if count == 1 else 'them'} first{_static_note(description)}"


def _members(count: int) -> str:
    return f"{count:,} member{'' if count == 1 else 's'}"


def _static_note(description: GroupDescription) -> str:
    """A stopped static member stays in its group until its session times out (KIP-345)."""
    static = any(member.instance_id is not None for member in description.members or ())
    return " (static ones stay until their session times out)" if static else ""


def _why_not_permitted(description: GroupDescription) -> str | None:
    operations = description.operations
    if operations is None or any(name.upper() in _DELETING_OPERATIONS for name in operations):
        return None
    return "you may not delete it: the ACL operation DELETE on this Group is missing"


def why_not_described(fault: Fault | None) -> str:
    """Why a group without a description is refused, from the fault that came instead."""
    if fault is None:
        return "the broker said nothing about it"
    if fault.name == "GROUP_ID_NOT_FOUND":
        return "no group has this name"
    if fault.name == "GROUP_AUTHORIZATION_FAILED":
        return "you may not describe it: the ACL operation DESCRIBE on this Group is missing"
    return f"its state cannot be learned: {fault.message or fault.name}"


def delete_availability(
    snapshot: Snapshot, group: str | None, read_only: bool = False, *, now: float | None = None
) -> str | None:
    """Why `delete` is not offered for this group right now; None when it is.

    Args:
        now: seconds since the epoch; None takes the snapshot's own time.
    """
    if read_only:
        return READ_ONLY
    if group is None:
        return "no group is selected"
    listing = snapshot.groups.get(group)
    if listing is None:
        return "it is not listed any more"
    reading = snapshot.details.get(group)
    if reading is None:
        fault = snapshot.group_faults.get(group)
        if fault is not None:
            return why_not_described(fault)
        return "type not known yet" if listing.type is None else "not described yet"
    if reading.fault is not None:
        return why_not_described(reading.fault)
    age = (snapshot.taken_at if now is None else now) - reading.at
    if age > _oldest_allowed(snapshot, listing):
        return f"the newest describe is {age:.0f} s old"
    return why_not_delete(group, reading.value) or _why_not_listed(listing, reading.value)


def _oldest_allowed(snapshot: Snapshot, listing: Listing) -> float:
    status = snapshot.brokers.get(listing.coordinator)
    return max(FRESH_SECONDS, 2.5 * status.interval if status else 0.0)


def _why_not_listed(listing: Listing, description: GroupDescription) -> str | None:
    """A list that disagrees with the describe is at least as new as it: neither is believed until they agree."""
    if listing.type is not None and listing.type != description.type:
        return f"listed as {listing.type} and described as {description.type}: wait for the next poll"
    if listing.state is not None and listing.state != description.state:
        return f"listed as {listing.state} and described as {description.state}: wait for the next poll"
    return None

"""Decides whether kgtui is allowed to delete a group, and explains a refusal to the user.

DeleteGroups does not check the group type. Therefore, kgtui first calls the describe RPC of the type, and deletes the
group only if the state is Empty. DescribeGroups before v6 is not enough, because it reports the state `Dead` for every
group that is not classic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.group_types import DEAD, EMPTY, GROUP_TYPES, STATES
from kgtui.model.number_format import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.group_types import GroupType
    from kgtui.model.snapshot import Reading, Snapshot

DELETE_MAX_AGE = 10.0
"""Maximum age in seconds of a group's description, so that the terminal UI offers to delete the group.

If kgtui polls the group's coordinator at intervals of more than 4 seconds, the maximum is 2.5 of these intervals
instead. There is no maximum for a group that is listed as Empty (see `is_listed_as_empty`).
"""

READ_ONLY = "this session is read-only, so nothing can be changed"

NOT_PERMITTED = "you need permission to delete the group: ask for the ACL operation DELETE on this group"
_DELETING_OPERATIONS = frozenset({"DELETE", "ALL"})


def why_not_delete(group: str, description: GroupDescription) -> str | None:
    """Return why kgtui must not delete a group; None if kgtui is allowed to delete the group.

    kgtui refuses to delete a `Dead` group, because the coordinator is already removing the group,
    or does not know it.
    """
    if description.group != group:
        return "the description belongs to another group; refresh and try again"
    group_type = GROUP_TYPES.get(description.type)
    if group_type is None:
        return f"this version of kgtui does not know groups of type {description.type or '?'}"
    if not description.authoritative:
        return (
            f"no describe request found this {description.type} group, which is known only from the list of groups, so "
            "kgtui does not delete it"
        )
    rpc = group_type.describe_rpc
    if description.source.partition(" ")[0] != rpc:
        return (
            f"only {rpc} reliably describes {description.type} groups, but "
            f"{description.source or 'an unnamed RPC'} answered"
        )
    return _why_not_empty(description, group_type) or (
        None if description.operations is None or may_delete(description.operations) else NOT_PERMITTED
    )


def _why_not_empty(description: GroupDescription, group_type: GroupType) -> str | None:
    state, count = description.state, description.member_count
    if state in group_type.deletable_states:
        if count is None:
            return "the broker withheld the members of the group"
        return f"the broker reports the group as {state} but with {counted(count, 'member')}" if count else None
    if state == DEAD:
        return "Dead: the coordinator is removing the group or does not know it; refresh the list of groups"
    if state not in STATES:
        return f"this version of kgtui does not know the state {state or '?'}"
    if not count:
        return f"{state}: stop the group's members first"
    why = f"{state} with {counted(count, 'member')}: stop {'it' if count == 1 else 'them'} first"
    static = any(member.instance_id is not None for member in description.members or ())
    # Static members stay in the group after their processes have stopped, until their session times out (KIP-345).
    return f"{why} (static members stay until their session times out)" if static else why


def may_delete(operations: Iterable[str]) -> bool:
    """Return whether a user with these ACL operations on a group is allowed to delete it."""
    return any(name.upper() in _DELETING_OPERATIONS for name in operations)


def why_not_described(fault: Fault | None) -> str:
    """Return why kgtui must not delete a group that could not be described.

    Args:
        fault: why the group could not be described; None if the broker's response did not contain the group.
    """
    if fault is None:
        return "the broker's response does not contain this group"
    if fault.name == "GROUP_ID_NOT_FOUND":
        return "no group has this id"
    if fault.name == "GROUP_AUTHORIZATION_FAILED":
        return "you need permission to describe the group: ask for the ACL operation DESCRIBE on this group"
    return f"the state of the group cannot be read: {fault.message or fault.name}"


def delete_availability(
    snapshot: Snapshot, group: str | None, read_only: bool = False, *, now: float | None = None
) -> str | None:
    """Return why the terminal UI does not offer to delete a group; None if it offers the deletion.

    Args:
        group: id of the selected group, or None.
        read_only: whether the cluster must not be changed, as with `--read-only`.
        now: current time in epoch seconds; None for the time of the snapshot.
    """
    if read_only:
        return READ_ONLY
    if group is None:
        return "no group is selected"
    listing = snapshot.groups.get(group)
    if listing is None:
        return "the group is no longer listed"
    reading = snapshot.details.get(group)
    if reading is None:
        fault = snapshot.group_faults.get(group)
        if fault is not None:
            return why_not_described(fault)
        return "the group type is not known yet" if listing.type is None else "the group has not been described yet"
    if reading.fault is not None:
        return why_not_described(reading.fault)
    why = why_not_delete(group, reading.value) or _contradiction(listing, reading.value)
    age = _age_of_outdated(snapshot, listing, reading, now)
    if age is not None and (why is None or listing.state != reading.value.state):
        return f"the newest description of the group is {age:.0f} s old; wait for the next poll"
    return why


def is_listed_as_empty(snapshot: Snapshot, group: str, *, now: float | None = None) -> bool:
    """Return whether a group is listed as Empty, but its description is missing or too old for a deletion.

    The terminal UI offers to delete such a group, because the delete dialog first reads a new description. The result
    is False if the group type is not listed, or if the group could not be described.

    Args:
        now: current time in epoch seconds; None for the time of the snapshot.
    """
    listing = snapshot.groups.get(group)
    if listing is None or listing.state != EMPTY or listing.type is None or group in snapshot.group_faults:
        return False
    reading = snapshot.details.get(group)
    return reading is None or (reading.fault is None and _age_of_outdated(snapshot, listing, reading, now) is not None)


def _age_of_outdated(
    snapshot: Snapshot, listing: Listing, reading: Reading[GroupDescription], now: float | None
) -> float | None:
    """Return the age in seconds of a group's description if the description is too old for a deletion, else None."""
    status = snapshot.brokers.get(listing.coordinator)
    age = (snapshot.taken_at if now is None else now) - reading.at
    return age if age > max(DELETE_MAX_AGE, 2.5 * status.interval if status else 0.0) else None


def _contradiction(listing: Listing, description: GroupDescription) -> str | None:
    """Return how the listed type or state of a group contradicts its description; None if there is no contradiction.

    The text is the reason why the group must not be deleted.
    """
    if listing.type is not None and listing.type != description.type:
        return f"listed as {listing.type} and described as {description.type}: wait for the next poll"
    if listing.state is not None and listing.state != description.state:
        return f"listed as {listing.state} and described as {description.state}: wait for the next poll"
    return None

"""Short unique names of members, and the owners of partitions."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.model.members import partitions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.offsets import TopicPartition


def owners_by_partition(description: GroupDescription | None) -> dict[TopicPartition, tuple[Member, ...]]:
    """Return a dict: `(topic, partition)` → members that own the partition; empty if `description` is None.

    In streams groups, the owners are the members with an active task for the partition.
    """
    owners: dict[TopicPartition, tuple[Member, ...]] = {}
    if description is None:
        return owners
    topics: dict[str, list[str]] = {}
    for part in (description.topology.subtopologies or ()) if description.topology else ():
        names = [*part.source_topics, *(info.name for info in part.repartition_source_topics)]
        topics.setdefault(part.subtopology, []).extend(names)
    for member in description.members or ():
        held = set(partitions_of(member.assignment))
        for name, parts in member.streams.assignment.active if member.streams else ():
            held.update((topic, part) for topic in topics.get(name, ()) for part in parts)
        for one in held:
            owners[one] = (*owners.get(one, ()), member)
    return owners


_LEAST_CHARACTERS = 4
"""Minimum number of characters after the `#` in a name such as `billing#3fa8`. They are a part of the member id.

With fewer characters, users could hardly find the member id in a log.
"""


def member_names(members: Iterable[Member]) -> dict[str, str]:
    """Return a dict: member id → shortest unique name of the member.

    The name is the instance id or, if the member has none, the client id. If several members have the same name, the
    host is added to each name (`billing@10.0.3.7`). If two of these members have the same host, or if a host is
    unknown, a part of the member id is added instead (`billing#3fa8`).
    """
    return _names(members, with_host=False)


def member_labels(members: Iterable[Member]) -> dict[str, str]:
    """Return a dict: member id → name and host of the member, such as `billing at /10.0.0.7`.

    The name is as short as possible. It may occur several times, but never twice with the same host.
    """
    every = list(members)
    names = _names(every, with_host=True)
    return {member.member_id: f"{names[member.member_id]} at {member.host}" for member in every}


_RANDOM_PART = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""Matches the hyphen and the UUID that Kafka appends to the client id or instance id to form a classic member id."""


def names_of_ids(member_ids: Iterable[str], members: Iterable[Member] = ()) -> dict[str, str]:
    """Return a dict: member id → shortest unique name of the member, also for members that have left the group.

    The name is the instance id or client id. If several members have the same name, a part of the member id is added
    (`billing#3fa8`).

    Args:
        member_ids: ids of current and former members.
        members: members whose instance ids and client ids are known. For any other member, the
            part of the member id before the UUID is used instead. If such a member id has no UUID,
            the name is a part of the member id.
    """
    known = {member.member_id: member.instance_id or member.client_id for member in members}
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for one in sorted(set(member_ids)):
        found = _RANDOM_PART.search(one)
        by_name[known.get(one) or ("" if found is None else one[: found.start()])].append(one)
    names: dict[str, str] = {}
    for name, ids in by_name.items():
        if name and len(ids) == 1:
            names[ids[0]] = name
        else:
            parts = _shortest_parts(ids, name)
            names |= {member_id: f"{name}#{part}" if name else part for member_id, part in parts.items()}
    return names


def _names(members: Iterable[Member], *, with_host: bool) -> dict[str, str]:
    """Return a dict: member id → shortest unique name of the member.

    Args:
        with_host: True if the caller adds the host to every name. In this case, names do not get `@HOST`, and may be
            unique only together with the host.
    """
    by_name: defaultdict[str, list[Member]] = defaultdict(list)
    for member in members:
        by_name[member.instance_id or member.client_id].append(member)
    names: dict[str, str] = {}
    for name, namesakes in by_name.items():
        hosts = {member.host for member in namesakes}
        if name and len(namesakes) == 1:
            names[namesakes[0].member_id] = name
        elif name and len(hosts) == len(namesakes) and "" not in hosts:
            for member in namesakes:
                names[member.member_id] = name if with_host else f"{name}@{member.host.removeprefix('/')}"
        else:
            parts = _shortest_parts([member.member_id for member in namesakes], name)
            names |= {member_id: f"{name}#{part}" if name else part for member_id, part in parts.items()}
    return names


def _shortest_parts(ids: Sequence[str], name: str) -> dict[str, str]:
    """Return a dict: member id → shortest unique part of the id, such as `3fa8` for `billing-3fa8c0de`.

    Args:
        name: instance id or client id that all these members have.
    """
    begin = len(name) + 1 if name and all(one.startswith(f"{name}-") for one in ids) else 0
    ordered = sorted(ids)
    parts: dict[str, str] = {}
    for index, one in enumerate(ordered):
        neighbors = ordered[max(index - 1, 0) : index] + ordered[index + 1 : index + 2]
        shared = max((_shared_characters(one, other) for other in neighbors), default=0)
        parts[one] = one[begin : max(shared + 1, begin + _LEAST_CHARACTERS)]
    return parts


def _shared_characters(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))

"""The owners of partitions: which members of a group read which partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.members import partitions_of

if TYPE_CHECKING:
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.offsets import TopicPartition


def owners_by_partition(description: GroupDescription | None) -> dict[TopicPartition, tuple[Member, ...]]:
    """Return a dict that maps partitions to their owners. In streams groups, owners are members with active tasks."""
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

"""Create a simulated cluster with the same groups as `tests.brokers.live` creates on real brokers.

With this cluster, the same tests can run on simulated and on real brokers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.groups.base import Client, ConsumedTopic
from kgtui.simulator.groups.classic import ClassicGroup, ConnectMemberData, SchemaRegistryMemberData
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.groups.streams import StreamsGroup, Subtopology
from kgtui.simulator.membership import ConstantMembership
from kgtui.simulator.topics import Topic
from tests.brokers.groups import LiveGroup, expected, numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.simulator.groups.base import Group

TopicPartition = tuple[str, int]
TRIMMED = {("trimmed", 0): 50}
"""Log start offset of the only partition whose oldest records were deleted: (topic, partition) → offset."""
DELETED = Topic("retired", partitions=1)
DELETED_COMMIT = {0: 5}


@dataclass(frozen=True, slots=True, eq=False)
class ConstantTopic(Topic):
    """A topic to which no records are written."""

    ends: Mapping[int, int] = field(default_factory=dict)
    starts: Mapping[int, int] = field(default_factory=dict)

    def ends_at_flow(self, flow: float) -> list[int]:
        return [self.ends.get(partition, 0) for partition in range(self.partitions)]

    def log_starts(self, t: float) -> list[int]:
        return [self.starts.get(partition, 0) for partition in range(self.partitions)]


@dataclass(frozen=True, slots=True)
class ConstantOffsets:
    """Constant committed offsets of a simulated group. `offsets` maps partition → committed offset."""

    offsets: Mapping[int, int]

    def committed_offsets(self, topic: Topic, t: float) -> list[int | None]:
        return [self.offsets.get(partition) for partition in range(topic.partitions)]


def groups_of(version: str) -> dict[str, LiveGroup]:
    """Return the expected groups of a simulated cluster, by role (the name in tests, such as `classic`).

    Args:
        version: `2.4` to `4.4`, or a list such as `3.9,4.4` if the brokers have different versions. The cluster has the
            groups of the newest version.
    """
    roles = expected(max(version.split(","), key=numbers))
    return roles | {"static": replace(roles["static"], instance_ids=("static-billing-0", "static-billing-1"))}


def preview_features(release: str) -> dict[str, int] | None:
    """Return the preview features that tests enable in a Kafka release, as a dict: feature → version.

    Only 4.1 needs one, for share groups. For other releases, return None.
    """
    return {"share.version": 1} if release == "4.1" else None


def simulator(version: str) -> Simulator:
    """Return a simulated cluster of three brokers with the groups of `groups_of`. The cluster never changes."""
    clock = ManualClock()
    cluster = Simulator(kafka_version=version, scenario="empty", clock=clock, features=preview_features(version))
    roles = groups_of(version)
    topics = _topics(roles)
    cluster.state.add_topics(topics.values())
    cluster.state.add_groups(_group(role, group, topics) for role, group in roles.items())
    return cluster


def add_empty_group(cluster: Simulator, group: str) -> None:
    """Add to `cluster` an Empty simple group that has one committed offset."""
    topic = cluster.state.topics["orders"]
    cluster.state.add_groups(
        [ClassicGroup(group, ConstantMembership(0), [ConsumedTopic(topic, ConstantOffsets({0: 1}))], protocol="")]
    )


def _topics(roles: Mapping[str, LiveGroup]) -> dict[str, Topic]:
    ends: dict[str, dict[int, int]] = {}
    for group in roles.values():
        for (topic, partition), end in group.log_end.items():
            ends.setdefault(topic, {})[partition] = end
    starts = {topic: {partition: start} for (topic, partition), start in TRIMMED.items()}
    return {
        name: ConstantTopic(name, partitions=len(parts), ends=parts, starts=starts.get(name, {}))
        for name, parts in ends.items()
    }


def _group(role: str, group: LiveGroup, topics: Mapping[str, Topic]) -> Group:
    offsets: dict[str, dict[int, int]] = {topic: {} for topic in group.topics}
    for (topic, partition), offset in group.committed.items():
        offsets.setdefault(topic, {})[partition] = offset
    reads = [ConsumedTopic(topics[topic], ConstantOffsets(parts)) for topic, parts in offsets.items()]
    schedule = ConstantMembership(group.members)
    client = Client(group.id, static=bool(group.instance_ids))
    if group.type == "consumer":
        classic = frozenset({1}) if role == "mixed" else frozenset[int]()
        return ConsumerGroup(group.id, schedule, reads, client=client, classic=classic)
    if group.type == "share":
        return ShareGroup(group.id, schedule, reads, client=client, in_flight=4)
    if group.type == "streams":
        parts = [Subtopology(group.topics, 2)]
        return StreamsGroup(group.id, schedule, reads, client=client, topology=parts, phases=())
    if group.protocol == "connect":
        member_data = ConnectMemberData("sessioned", (("lines", 1),))
        return ClassicGroup(group.id, schedule, reads, protocol="connect", member_data=member_data, client=client)
    if group.protocol == "sr":
        return ClassicGroup(
            group.id, schedule, reads, protocol="sr", member_data=SchemaRegistryMemberData(), client=client
        )
    if role == "deleted-topic":
        reads = [*reads, ConsumedTopic(DELETED, ConstantOffsets(DELETED_COMMIT))]
    return ClassicGroup(group.id, schedule, reads, protocol=group.protocol, client=client)

"""The keys of a scenario file: `ScenarioFile` at the top level, `TopicSpec` in `[topics]`, `GroupSpec` in `[[groups]]`.

To add a key, add a field to one of these classes. msgspec checks the types of values and rejects unknown keys.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from msgspec import Struct

from kgtui.simulator.commit_patterns import (
    STEADY,
    Batch,
    BelowLogStart,
    Draining,
    Lagging,
    NeverCommitted,
    Steady,
    Stuck,
    VariableSpeed,
)
from kgtui.simulator.groups.base import Client, ConsumedTopic, Group
from kgtui.simulator.groups.classic import (
    CONSUMER_MEMBER_DATA,
    ClassicGroup,
    ConnectMemberData,
    ConsumerMemberData,
    RawMemberData,
    SchemaRegistryMemberData,
)
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.groups.streams import StreamsGroup, Subtopology
from kgtui.simulator.membership import (
    ConstantMembership,
    MembershipSchedule,
    RotatingMembership,
    ScheduledMembership,
)
from kgtui.simulator.topics import Topic

_DELETED_RECORDS = 400_000
"""Number of records per partition that retention has already deleted at time 0, for topics with the key `kept`."""

_DELETED_BASE = 48_000
"""Log end offset that each partition of a deleted topic had when the topic was deleted."""

AnyPattern: TypeAlias = Steady | Lagging | Draining | Batch | Stuck | BelowLogStart | NeverCommitted | VariableSpeed
AnyMemberData: TypeAlias = ConsumerMemberData | ConnectMemberData | SchemaRegistryMemberData | RawMemberData


class TopicSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The value of one key of the table `[topics]`. The key is the name of the topic.

    Attributes:
        partitions: number of partitions.
        rate: average records per second in the slowest partition.
        kept: number of records per partition that retention keeps; None for the default of `Topic`.
        configs: configs that differ from the defaults.
        deleted: whether the topic was deleted. Groups may still have committed offsets for a deleted topic.
    """

    partitions: int
    rate: float = 0.0
    kept: int | None = None
    configs: dict[str, str] = {}
    deleted: bool = False

    def build(self, name: str, seed: int) -> Topic:
        """Build the topic."""
        configs = tuple(self.configs.items())
        if self.deleted:
            return Topic(name, self.partitions, rate=0.0, base=_DELETED_BASE, seed=seed)
        if self.kept is None:
            return Topic(name, self.partitions, self.rate, configs=configs, seed=seed)
        base = self.kept + _DELETED_RECORDS
        return Topic(name, self.partitions, self.rate, base=base, kept=self.kept, configs=configs, seed=seed)


class ReadSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One table in the list `reads` of a group: a topic that the group reads. `ConsumedTopic` documents the keys."""

    topic: str
    commits: AnyPattern = STEADY
    without: frozenset[int] = frozenset()
    metadata: str = ""
    subscribed: bool = True


class GroupSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """The keys that groups of all types have. Exactly one of `members`, `constant`, `rotation` and `schedule` is set.

    Attributes:
        id: group id.
        members: number of members, for a group whose members never change.
        constant: the members of a group that stays in the same phase of a rebalance.
        rotation: the members of a group that change in an endless rotation.
        schedule: the members of a group that join and leave at given times.
        reads: the topics that the group reads.
        client: how the clients identify themselves.
        phases: the states of a rebalance with their durations in seconds; None for the default of the group type.
        epoch: generation (classic groups) or group epoch at the start of the cluster.
        configs: group configs that differ from the defaults.
        group_class: the class of the group; its constructor takes the additional keys of the group type.
    """

    group_class: ClassVar[type[Group]]

    id: str
    members: int | None = None
    constant: ConstantMembership | None = None
    rotation: RotatingMembership | None = None
    schedule: ScheduledMembership | None = None
    reads: tuple[ReadSpec, ...] = ()
    client: Client = Client()
    phases: tuple[tuple[str, float], ...] | None = None
    epoch: int = 7
    configs: dict[str, str] = {}

    def build(self, topics: dict[str, Topic], seed: int) -> Group:
        """Build the group; raises ValueError if the membership or a topic is missing."""
        own_keys = [name for name in self.__struct_fields__ if name not in GroupSpec.__struct_fields__]
        return self.group_class(
            self.id,
            self.membership(),
            self.topics_read(topics),
            client=self.client,
            phases=self.phases,
            epoch=self.epoch,
            seed=seed,
            **{name: getattr(self, name) for name in own_keys},
        )

    def membership(self) -> MembershipSchedule:
        """Return the members over time; raises ValueError unless exactly one of the four membership keys is set."""
        constant = None if self.members is None else ConstantMembership(self.members)
        schedules = [
            schedule for schedule in (constant, self.constant, self.rotation, self.schedule) if schedule is not None
        ]
        if len(schedules) != 1:
            raise ValueError("use exactly one of the keys members, constant, rotation and schedule")
        return schedules[0]

    def topics_read(self, topics: dict[str, Topic]) -> list[ConsumedTopic]:
        """Return the topics that the group reads; raises ValueError for a topic that is not in `[topics]`."""
        for read in self.reads:
            if read.topic not in topics:
                raise ValueError(f"topic {read.topic!r} is not in [topics]")
        return [
            ConsumedTopic(topics[read.topic], read.commits, read.without, read.metadata, read.subscribed)
            for read in self.reads
        ]


class ClassicSpec(GroupSpec, tag="classic", frozen=True, kw_only=True):
    """The additional keys of a classic group; see `ClassicGroup`."""

    group_class: ClassVar = ClassicGroup

    protocol: str = "consumer"
    member_data: AnyMemberData = CONSUMER_MEMBER_DATA
    outlives: float | None = None


class ConsumerSpec(GroupSpec, tag="consumer", frozen=True, kw_only=True):
    """The additional keys of a consumer group; see `ConsumerGroup`."""

    group_class: ClassVar = ConsumerGroup

    assignor: str = "uniform"
    regex: str = ""
    classic: frozenset[int] = frozenset()


class ShareSpec(GroupSpec, tag="share", frozen=True, kw_only=True):
    """The additional keys of a share group; see `ShareGroup`."""

    group_class: ClassVar = ShareGroup

    in_flight: int = 3


class StreamsSpec(GroupSpec, tag="streams", frozen=True, kw_only=True):
    """The additional keys of a streams group; see `StreamsGroup`."""

    group_class: ClassVar = StreamsGroup

    topology: tuple[Subtopology, ...] = ()
    standbys: int = 0
    warming: float = 40.0
    endpoint: bool = True


AnyGroupSpec: TypeAlias = ClassicSpec | ConsumerSpec | ShareSpec | StreamsSpec


class PaddedId(Struct, frozen=True, forbid_unknown_fields=True):
    """A long group id: `prefix`, followed by the character `fill` as often as needed to reach `length` characters."""

    prefix: str
    fill: str
    length: int


class HostileIds(Struct, frozen=True, forbid_unknown_fields=True):
    """Group ids that break careless programs, such as ids with escape sequences.

    Each id becomes a classic group that is stuck on `topic`: it has committed once, and never commits again.

    Attributes:
        topic: the topic that the groups read.
        ids: the group ids.
        padded: long group ids; their groups have no members.
        empty: the ids in `ids` whose groups have no members, so that they can be deleted.
    """

    topic: str
    ids: tuple[str, ...]
    padded: tuple[PaddedId, ...] = ()
    empty: frozenset[str] = frozenset()

    def all(self) -> list[str]:
        """Return all ids: first `ids`, then the ids of `padded`."""
        return [*self.ids, *self._padded()]

    def specs(self) -> list[AnyGroupSpec]:
        """Return the specs of the groups, one per id."""
        empty = self.empty | set(self._padded())
        return [
            ClassicSpec(
                id=name,
                members=0 if name in empty else 1,
                reads=(ReadSpec(self.topic, Stuck(40), metadata=name[:60]),),
                client=Client(f"client {name[:40]}"),
            )
            for name in self.all()
        ]

    def _padded(self) -> list[str]:
        return [padded.prefix + padded.fill * (padded.length - len(padded.prefix)) for padded in self.padded]


class ScenarioFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The top-level keys of a scenario file.

    Attributes:
        description: one sentence about the scenario.
        extends: name of another scenario in the same folder. Its topics and groups come before `topics` and `groups`.
        without_groups: whether to leave out all groups, so that only topics remain.
        topics: the topics by name.
        groups: the groups.
        hostile_ids: groups with hostile ids, which are added after `groups`.
    """

    description: str
    extends: str | None = None
    without_groups: bool = False
    topics: dict[str, TopicSpec] = {}
    groups: tuple[AnyGroupSpec, ...] = ()
    hostile_ids: HostileIds | None = None

"""The keys of a scenario file: `ScenarioFile` (top level), `TopicSpec` (`[topics]`), `GroupSpec` (`[[groups]]`).

Keys that exist for only one group type are in classes such as `ConsumerKeys` in `kgtui.simulator.groups`. To add a key,
add a field to one of the classes.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct, structs

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
from kgtui.simulator.groups.classic import ClassicGroup, ClassicKeys
from kgtui.simulator.groups.consumer import ConsumerGroup, ConsumerKeys
from kgtui.simulator.groups.share import ShareGroup, ShareKeys
from kgtui.simulator.groups.streams import StreamsGroup, StreamsKeys
from kgtui.simulator.membership import (
    ConstantMembership,
    MembershipSchedule,
    RotatingMembership,
    ScheduledMembership,
)
from kgtui.simulator.topics import Topic

_DELETED_RECORDS = 400_000
"""Number of records per partition that retention deleted before the cluster started, in topics with the key `kept`."""

_DELETED_BASE = 48_000
"""Log end offset of partition 0 of a deleted topic. The other partitions have slightly higher log end offsets."""

AnyPattern: TypeAlias = Steady | Lagging | Draining | Batch | Stuck | BelowLogStart | NeverCommitted | VariableSpeed
AnyGroupKeys: TypeAlias = ClassicKeys | ConsumerKeys | ShareKeys | StreamsKeys
GROUP_CLASSES: dict[type, type[Group]] = {
    group_class.keys_class: group_class for group_class in (ClassicGroup, ConsumerGroup, ShareGroup, StreamsGroup)
}
"""Dict: class with the TOML keys of a group type → class of the groups, such as `ConsumerKeys` → `ConsumerGroup`."""


class TopicSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One topic in the table `[topics]` of a scenario file.

    Attributes:
        rate: number of records per second. The average rate of each partition is 1 to 1.4 times this number.
        kept: number of records per partition that retention keeps; None for the default.
        configs: topic configs that differ from the defaults.
        deleted: whether the topic was deleted. Groups can still have committed offsets for a deleted topic.
    """

    partitions: int
    rate: float = 0.0
    kept: int | None = None
    configs: dict[str, str] = {}
    deleted: bool = False

    def build(self, name: str, seed: int) -> Topic:
        configs = tuple(self.configs.items())
        if self.deleted:
            return Topic(name, self.partitions, rate=0.0, base=_DELETED_BASE, seed=seed)
        if self.kept is None:
            return Topic(name, self.partitions, self.rate, configs=configs, seed=seed)
        base = self.kept + _DELETED_RECORDS
        return Topic(name, self.partitions, self.rate, base=base, kept=self.kept, configs=configs, seed=seed)


class ReadSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A topic that a group reads: one element of the array `reads`. The keys are described in `ConsumedTopic`."""

    topic: str
    commits: AnyPattern = STEADY
    without: frozenset[int] = frozenset()
    metadata: str = ""
    subscribed: bool = True


class GroupSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A group: one table in `[[groups]]` of a scenario file.

    Exactly one of the keys `members`, `constant`, `rotation` and `schedule` must be set.

    Attributes:
        members: number of members, if the members never change.
        constant: members that never change, and a constant value for the time since the last membership change. If this
            time is shorter than a rebalance, the group rebalances forever.
        rotation: members that change periodically.
        schedule: members that join and leave at given times.
        configs: group configs that differ from the defaults.
        keys: all other keys of the table: the keys for groups of any type (`GroupKeys`), and the keys that only this
            group type has (for example, `ConsumerKeys`).
    """

    id: str
    members: int | None = None
    constant: ConstantMembership | None = None
    rotation: RotatingMembership | None = None
    schedule: ScheduledMembership | None = None
    reads: tuple[ReadSpec, ...] = ()
    configs: dict[str, str] = {}
    keys: AnyGroupKeys

    def build(self, topics: dict[str, Topic], seed: int) -> Group:
        """Build the group.

        Raises:
            ValueError: a topic that the group reads is not in `topics`, or the keys for the members are invalid (see
                `membership`).
        """
        group_class = GROUP_CLASSES[type(self.keys)]
        keys = structs.asdict(self.keys)
        return group_class(self.id, self.membership(), self.topics_read(topics), seed=seed, **keys)

    def membership(self) -> MembershipSchedule:
        """Return the schedule from which the group's members at a given time are computed.

        Raises ValueError unless exactly one of `members`, `constant`, `rotation` and `schedule` is set.
        """
        constant = None if self.members is None else ConstantMembership(self.members)
        schedules = [
            schedule for schedule in (constant, self.constant, self.rotation, self.schedule) if schedule is not None
        ]
        if len(schedules) != 1:
            raise ValueError("use exactly one of the keys members, constant, rotation and schedule")
        return schedules[0]

    def topics_read(self, topics: dict[str, Topic]) -> list[ConsumedTopic]:
        """Return the topics that the group reads. Raises ValueError for a topic that is not in `[topics]`."""
        for read in self.reads:
            if read.topic not in topics:
                raise ValueError(f"topic {read.topic!r} is not in [topics]")
        return [
            ConsumedTopic(topics[read.topic], read.commits, read.without, read.metadata, read.subscribed)
            for read in self.reads
        ]


class PaddedId(Struct, frozen=True, forbid_unknown_fields=True):
    """A long group id: `prefix`, followed by the character `fill` until the id has `length` characters."""

    prefix: str
    fill: str
    length: int


class HostileIds(Struct, frozen=True, forbid_unknown_fields=True):
    """Group ids that many programs handle incorrectly, such as ids with escape sequences.

    For each id, there is a classic group that reads the topic `topic`. The group has one member or no members. Users
    can delete the groups without members.

    Attributes:
        padded: more group ids, which are very long. Their groups have no members.
        empty: the ids in `ids` whose groups have no members. The groups of all other ids in `ids` have one member.
    """

    topic: str
    ids: tuple[str, ...]
    padded: tuple[PaddedId, ...] = ()
    empty: frozenset[str] = frozenset()

    def all(self) -> list[str]:
        """Return all group ids that many programs handle incorrectly: first `ids`, then the long ids in `padded`."""
        return [*self.ids, *self._padded()]

    def specs(self) -> list[GroupSpec]:
        empty = self.empty | set(self._padded())
        return [
            GroupSpec(
                id=name,
                members=0 if name in empty else 1,
                reads=(ReadSpec(self.topic, Stuck(40) if name in empty else Steady(2.0), metadata=name[:60]),),
                keys=ClassicKeys(client=Client(f"client {name[:40]}")),
            )
            for name in self.all()
        ]

    def _padded(self) -> list[str]:
        return [padded.prefix + padded.fill * (padded.length - len(padded.prefix)) for padded in self.padded]


class ScenarioFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The top-level keys of a scenario file.

    Attributes:
        description: what the scenario contains.
        extends: name of the scenario to which this file adds topics and groups; None if it extends no scenario.
        without_groups: whether to leave out all groups, also those of the extended scenario.
        topics: topic name → properties.
        groups: the groups, except those in `hostile_ids`.
        hostile_ids: group ids that many programs handle incorrectly. One group is added for each id. None for no ids.
    """

    description: str
    extends: str | None = None
    without_groups: bool = False
    topics: dict[str, TopicSpec] = {}
    groups: tuple[GroupSpec, ...] = ()
    hostile_ids: HostileIds | None = None

"""The bytes that members of classic groups hand to each other: of consumers, Connect workers and registries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kgtui.protocol.member_data import connect, consumer, schema_registry
from kgtui.simulator.facts import number_of

if TYPE_CHECKING:
    from kgtui.simulator.groups.base import Assignment
    from kgtui.simulator.groups.classic import ClassicGroup
    from kgtui.simulator.life import Moment

Bytes = list[tuple[bytes, bytes]]


class Payload(Protocol):
    """Makes what the members of a Stable group carry."""

    @property
    def name(self) -> str:
        """The protocol that the members agreed on: of consumers, the assignor."""

    def members(self, group: ClassicGroup, moment: Moment) -> Bytes:
        """Metadata and assignment of each member, in the order of the slots."""


@dataclass(frozen=True, slots=True)
class ConsumerPayload:
    """Kafka's own consumers.

    Attributes:
        name: the assignor.
        version: of the subscription and the assignment, 0 to 3.
        user_data: what a custom assignor adds, opaque to everyone else.
    """

    name: str = "range"
    version: int = 3
    user_data: bytes | None = None

    def members(self, group: ClassicGroup, moment: Moment) -> Bytes:
        """The subscription with what was owned before, and the partitions of this generation."""
        shares = group.share_out(moment.slots)
        return [
            (
                consumer.encode_subscription(
                    consumer.Subscription(
                        version=self.version,
                        topics=tuple(group.topics),
                        user_data=self.user_data,
                        owned=_named(share) if self.version else (),
                        generation=group.epoch + moment.change - 1,
                        rack=group.rack(slot),
                    )
                ),
                consumer.encode_assignment(_named(share), version=self.version, user_data=self.user_data),
            )
            for slot, share in zip(moment.slots, shares, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class ConnectPayload:
    """A Connect cluster.

    Attributes:
        name: `default` (eager), `compatible` or `sessioned`.
        connectors: each with its number of tasks.
        delay_ms: scheduled rebalance delay, for cooperative protocols.
        domain: host names of the workers end in it.
    """

    name: str = "sessioned"
    connectors: tuple[tuple[str, int], ...] = ()
    delay_ms: int = 0
    domain: str = "connect.svc"

    def members(self, group: ClassicGroup, moment: Moment) -> Bytes:
        """The worker's address, and the connectors and tasks that the leader gave it."""
        version = {"default": 0, "compatible": 1}.get(self.name, 2)
        leader = group.member_id(moment.slots[0])
        leader_url = self._url(group, moment.slots[0].number)
        offset = 40 + number_of(group.name) % 60
        rows: Bytes = []
        for index, slot in enumerate(moment.slots):
            given = connect.Assignment(
                version=version,
                error=0,
                leader=leader,
                leader_url=leader_url,
                config_offset=offset,
                assigned=self._tasks(index, len(moment.slots)),
                revoked=self._revoked(moment) if version and index == 0 else (),
                delay_ms=self.delay_ms if version else 0,
            )
            worker = connect.Subscription(
                version=version,
                url=self._url(group, slot.number),
                config_offset=offset,
                allocation=given if version else None,
            )
            rows.append((connect.encode_subscription(worker), connect.encode_assignment(given)))
        return rows

    def _url(self, group: ClassicGroup, number: int) -> str:
        return f"http://{group.client.name}-{number}.{self.domain}:8083/"

    def _revoked(self, moment: Moment) -> connect.Tasks:
        """For half a minute after a worker joined, the leader takes one task back."""
        joined = len(moment.slots) > len(moment.before)
        return ((self.connectors[0][0], (0,)),) if joined and moment.since < 30 and self.connectors else ()

    def _tasks(self, index: int, workers: int) -> connect.Tasks:
        rows = []
        turn = 0
        for name, tasks in self.connectors:
            mine = []
            for task in range(-1, tasks):
                if turn % workers == index:
                    mine.append(task)
                turn += 1
            if mine:
                rows.append((name, tuple(mine)))
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class RegistryPayload:
    """Schema registries.

    Attributes:
        name: name of the protocol.
        domain: host names end in it.
        ineligible: slots that may not become the primary.
        duplicate: two nodes have the same address, which the primary refuses.
    """

    name: str = "v0"
    domain: str = "registry.svc"
    ineligible: frozenset[int] = frozenset()
    duplicate: bool = False

    def members(self, group: ClassicGroup, moment: Moment) -> Bytes:
        """Each node's identity, and who is the primary."""
        nodes = [
            schema_registry.Identity(
                version=1,
                host=f"{group.client.name}-{0 if self.duplicate else slot.number}.{self.domain}",
                port=8081,
                master_eligibility=slot.number not in self.ineligible,
            )
            for slot in moment.slots
        ]
        first = next((i for i, node in enumerate(nodes) if node.master_eligibility), None)
        if self.duplicate or first is None:
            given = schema_registry.Assignment(1, schema_registry.DUPLICATE_URLS if self.duplicate else 0, None, None)
        else:
            given = schema_registry.Assignment(1, 0, group.member_id(moment.slots[first]), nodes[first])
        return [(schema_registry.encode_identity(node), schema_registry.encode_assignment(given)) for node in nodes]


@dataclass(frozen=True, slots=True)
class RawPayload:
    """Members of a protocol of their own, or of a client that writes something else than it should.

    Attributes:
        name: name of the protocol.
        metadata: bytes of each member.
        assignment: bytes of each member.
    """

    name: str
    metadata: bytes
    assignment: bytes

    def members(self, group: ClassicGroup, moment: Moment) -> Bytes:
        """The same bytes for each."""
        return [(self.metadata, self.assignment) for _ in moment.slots]


def _named(share: Assignment) -> consumer.TopicPartitions:
    return tuple((topic.name, tuple(partitions)) for topic, partitions in share)

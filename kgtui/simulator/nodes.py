"""The brokers of the cluster as its metadata shows them, and who leads what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.simulator.releases import Release
    from kgtui.simulator.topics import Topic

RACKS = ("eu-1a", "eu-1b", "eu-1c")


@dataclass(slots=True, eq=False)
class Node:
    """One broker.

    Attributes:
        id: node id, from 1.
        port: where it listens; 0 until it does.
        alive: False between kill and restart.
        elections: how often leadership of its partitions changed because it went or came back.
    """

    id: int
    host: str
    port: int
    rack: str
    release: Release
    alive: bool = True
    elections: int = 0


@dataclass(frozen=True, slots=True)
class Leadership:
    """Who holds a partition.

    Attributes:
        leader: node id, or −1 if no replica is alive.
        epoch: leader epoch.
        replicas: node ids, the preferred leader first.
        in_sync: those that are alive.
    """

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


def leaderships(topic: Topic, nodes: list[Node], moved: Mapping[int, int]) -> list[Leadership]:
    """Who holds each partition now; `moved` overrides the leader of partitions that were moved by hand."""
    return [_leadership(topic, partition, nodes, moved) for partition in range(topic.partitions)]


def _leadership(topic: Topic, partition: int, nodes: list[Node], moved: Mapping[int, int]) -> Leadership:
    replicas = tuple(nodes[index] for index in topic.replicas(partition, len(nodes)))
    alive = tuple(node.id for node in replicas if node.alive)
    epoch = topic.salt % 9 + replicas[0].elections
    leader = alive[0] if alive else -1
    if partition in moved and nodes[moved[partition] - 1].alive:
        leader, epoch = moved[partition], epoch + 1
    return Leadership(leader, epoch, tuple(node.id for node in replicas), alive)

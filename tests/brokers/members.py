"""Run librdkafka consumers that join a group, commit given offsets, and then remain idle members of the group."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

if TYPE_CHECKING:
    from tests.brokers.cluster import Cluster

Config = Mapping[str, str | int | bool]

IDLE: Config = {
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    # When all consumers have partitions, `Members` stops polling the consumers. They stay in the group, because the
    # maximum time between two polls is one day.
    "max.poll.interval.ms": 86_400_000,
    "fetch.wait.max.ms": 5000,
}
CLASSIC: Config = {
    "group.protocol": "classic",
    "partition.assignment.strategy": "range",
    "heartbeat.interval.ms": 200,
}
KIP_848: Config = {"group.protocol": "consumer"}


class Members:
    """The members of one group, with the client ids `GROUP-1`, `GROUP-2`, …

    Args:
        members: one client configuration per member, such as `KIP_848`. `Members` adds the settings in `IDLE`.
    """

    def __init__(self, cluster: Cluster, group: str, topic: str, *members: Config) -> None:
        self.group = group
        self._topic = topic
        self._partitions = len(cluster.admin.list_topics(topic, timeout=10).topics[topic].partitions)
        self._consumers: list[Consumer] = []
        for number, config in enumerate(members, 1):
            if any(config["group.protocol"] != other["group.protocol"] for other in members[: number - 1]):
                # First wait until the rebalance has ended. In Kafka 4.2 and 4.3, a coordinator can fail with a
                # NoSuchElementException if a KIP-848 member joins a classic group during a rebalance.
                self.wait_until_assigned()
            own = {"group.id": group, "client.id": f"{group}-{number}", **IDLE, **config}
            consumer = Consumer(cluster.client_config(**own))
            self._consumers.append(consumer)
            consumer.subscribe([topic])

    def wait_until_assigned(self, timeout: float = 60.0) -> None:
        """Poll all members until each member has a partition and each partition has a member.

        Raises `TimeoutError` after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while True:
            for consumer in self._consumers:
                consumer.poll(0.05)
            assigned = [[tp.partition for tp in consumer.assignment()] for consumer in self._consumers]
            if all(assigned) and sorted(p for own in assigned for p in own) == list(range(self._partitions)):
                break
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{self.group}: the members own only {assigned} of the topic's {self._partitions} partitions"
                )
        for consumer in self._consumers:
            consumer.pause(consumer.assignment())

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Commit `offsets` (partition → offset). The member that owns a partition commits the partition's offset."""
        for consumer in self._consumers:
            own = {tp.partition for tp in consumer.assignment()}
            commits = [TopicPartition(self._topic, p, offset) for p, offset in offsets.items() if p in own]
            if commits:
                for done in consumer.commit(offsets=commits, asynchronous=False) or []:
                    if done.error is not None:
                        raise KafkaException(done.error)

    def leave(self) -> None:
        """Close all consumers. Static members (KIP-345) remain in the group until their sessions time out."""
        for consumer in self._consumers:
            consumer.close()

"""Read the records of `__consumer_offsets` with a librdkafka consumer that does not join a group."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

if TYPE_CHECKING:
    from tests.brokers.cluster import Cluster

TOPIC = "__consumer_offsets"


class TopicRecord(NamedTuple):
    """One record of `__consumer_offsets`."""

    partition: int
    offset: int
    timestamp: int
    """Timestamp of the record, in milliseconds since the Unix epoch."""
    key: bytes | None
    value: bytes | None


def read_offsets_topic(cluster: Cluster, *, committed: bool = True, timeout: float = 60.0) -> list[TopicRecord]:
    """Return the records of `__consumer_offsets`, sorted by partition and offset.

    Args:
        committed: whether to omit the records of aborted transactions (isolation level `read_committed`).
        timeout: maximum seconds for reading all partitions.
    """
    level = "read_committed" if committed else "read_uncommitted"
    consumer = Consumer(
        cluster.client_config(
            **{
                "group.id": "reads-without-joining",
                "enable.auto.commit": False,
                "isolation.level": level,
                "enable.partition.eof": True,
            }
        )
    )
    try:
        partitions = set(consumer.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions)
        consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in partitions])
        return sorted(_to_the_end(consumer, partitions, timeout))
    finally:
        consumer.close()


def _to_the_end(consumer: Consumer, partitions: set[int], timeout: float) -> list[TopicRecord]:
    records: list[TopicRecord] = []
    left = set(partitions)
    deadline = time.monotonic() + timeout
    while left:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{TOPIC}: partitions {sorted(left)} were not read to their end")
        message = consumer.poll(1.0)
        if message is None:
            continue
        error = message.error()
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        if error is not None:
            if error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            left.discard(partition)
        elif partition in left:
            assert offset is not None
            key, value = message.key(), message.value()
            assert not isinstance(key, str)
            assert not isinstance(value, str)
            records.append(TopicRecord(partition, offset, message.timestamp()[1], key, value))
    return records

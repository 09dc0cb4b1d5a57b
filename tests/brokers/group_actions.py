"""Commit offsets in transactions or with a retention time, subscribe to regular expressions, and delete groups."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, Producer, TopicPartition
from kio.schema.offset_commit.v2.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_commit.v2.response import OffsetCommitResponse
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kio.schema.offset_delete.v0.response import OffsetDeleteResponse
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i64, i64Timedelta

from tests.brokers import kio_client
from tests.brokers.members import IDLE, KIP_848

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from tests.brokers.cluster import Cluster

TIMEOUT = 60.0


def commit_in_transactions(cluster: Cluster, group: str, topic: str, committed: int, aborted: int) -> None:
    """Commit the offset `committed` in a transaction. Then send the offset `aborted` in a transaction that is aborted.

    Both offsets are for partition 0 of `topic`.
    """
    consumer = Consumer(cluster.client_config(**{"group.id": group}))
    producer = Producer(cluster.client_config(**{"transactional.id": f"{group}-producer"}))
    metadata = consumer.consumer_group_metadata()
    producer.init_transactions(TIMEOUT)
    for offset in (committed, aborted):
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, offset)], metadata, TIMEOUT)
        if offset == committed:
            producer.commit_transaction(TIMEOUT)
        else:
            producer.abort_transaction(TIMEOUT)
    consumer.close()


@contextmanager
def subscribed_by_expression(cluster: Cluster, group: str, expression: str) -> Iterator[None]:
    """Keep a member in a KIP-848 group during the `with` block.

    The member subscribes to the regular expression `expression`, which must begin with `^`.
    """
    consumer = Consumer(cluster.client_config(**{"group.id": group, **IDLE, **KIP_848}))
    try:
        consumer.subscribe([expression])
        deadline = time.monotonic() + TIMEOUT
        while not consumer.assignment():
            consumer.poll(0.1)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{group}: the expression {expression} matched no partitions")
        yield
    finally:
        consumer.close()


def commit_with_retention(cluster: Cluster, group: str, topic: str, offset: int, retention: timedelta) -> None:
    """Commit `offset` for partition 0 of `topic` with a retention time, as clients before Kafka 2.1 do."""
    partition = OffsetCommitRequestPartition(
        partition_index=i32(0), committed_offset=i64(offset), committed_metadata="expires"
    )
    request = OffsetCommitRequest(
        group_id=GroupId(group),
        member_id="",
        retention_time=i64Timedelta.parse(retention),
        topics=(OffsetCommitRequestTopic(name=TopicName(topic), partitions=(partition,)),),
    )
    connection = kio_client.Connection(kio_client.find_coordinator(cluster.bootstrap, group, TIMEOUT))
    deadline = time.monotonic() + TIMEOUT
    try:
        while True:
            answer = connection.call(request, OffsetCommitResponse)
            code = int(answer.topics[0].partitions[0].error_code)
            if code == kio_client.NONE:
                return
            if code not in kio_client.NOT_READY or time.monotonic() > deadline:
                raise ConnectionError(f"OffsetCommit for {group}: {answer}")
            time.sleep(0.1)
    finally:
        connection.close()


def delete_offset(cluster: Cluster, group: str, topic: str, partition: int) -> None:
    """Delete the group's committed offset in one partition. The group must not have members."""
    request = OffsetDeleteRequest(
        group_id=GroupId(group),
        topics=(
            OffsetDeleteRequestTopic(
                name=TopicName(topic), partitions=(OffsetDeleteRequestPartition(partition_index=i32(partition)),)
            ),
        ),
    )
    connection = kio_client.Connection(kio_client.find_coordinator(cluster.bootstrap, group, TIMEOUT))
    try:
        answer = connection.call(request, OffsetDeleteResponse)
    finally:
        connection.close()
    if int(answer.error_code) or int(answer.topics[0].partitions[0].error_code):
        raise ConnectionError(f"OffsetDelete for {group}: {answer}")


def delete_groups(cluster: Cluster, *groups: str) -> None:
    """Delete groups of any type. The groups must not have members."""
    for deleted in cluster.admin.delete_consumer_groups([*groups]).values():
        deleted.result(TIMEOUT)

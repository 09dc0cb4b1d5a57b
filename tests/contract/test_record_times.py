"""Tests on real brokers: ListOffsets finds records by timestamp, and kgtui finds the timestamps of unread records.

One test also runs on the simulator.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.client.pool import Pool
from kgtui.commands.show import read_details
from kgtui.model.offsets import lags
from kgtui.model.record_times import COMPACTED, LogPosition, TimeRange
from kgtui.protocol.messages.offsets import LIST_OFFSETS
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.topics import Topic
from tests.unit.admin.test_record_search import RECORDS, SHAPES
from tests.unit.simulator.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.brokers.cluster import Cluster

SEARCHES = 40
"""Number of random offsets per partition for which a test looks up the timestamp of the record."""


async def first_records(address: str, topic: str, asked: Sequence[int]) -> list[tuple[int, int]]:
    """For each timestamp in `asked`, return (offset, timestamp) of the record that ListOffsets finds in partition 0.

    The result is (-1, -1) if ListOffsets finds no record.
    """
    found = []
    async with RawClient(address) as wire:
        for at in asked:
            topics = [{"Name": topic, "Partitions": [{"PartitionIndex": 0, "Timestamp": at}]}]
            answer = await wire.call(LIST_OFFSETS, 7, {"ReplicaId": -1, "Topics": topics})
            row = answer["Topics"][0]["Partitions"][0]
            assert row["ErrorCode"] == 0
            found.append((row["Offset"], row["Timestamp"]))
    return found


def expected(times: Sequence[int], start: int, asked: Sequence[int]) -> list[tuple[int, int]]:
    """For each time in `asked`, return (offset, timestamp) of the first record with this or a later timestamp.

    The result is (-1, -1) if there is no such record.

    Args:
        times: timestamps of all records of the partition, in ascending order, in milliseconds.
        start: log start offset of the partition.
        asked: times to look up, in milliseconds.
    """
    indexes = [bisect_left(times, at) for at in asked]
    return [(start + index, times[index]) if index < len(times) else (-1, -1) for index in indexes]


def around(times: Sequence[int]) -> list[int]:
    """Return timestamps to look up, in ascending order.

    The result contains 0, some of `times`, and the timestamps 1 ms before and 1 ms after each of them.
    """
    chosen = {*times[:3], *times[:: max(len(times) // 10, 1)], *times[-3:]}
    return sorted({0} | {at + step for at in chosen for step in (-1, 0, 1)})


async def test_listoffsets_returns_the_first_record_at_or_after_a_timestamp(broker: Cluster) -> None:
    """The test writes records to a real broker and to the simulator. Both must find the expected records."""
    now = int(time.time() * 1000)
    times = [now - 90_000_000 + step for step in (0, 0, 0, 5, 5, 1_000, 60_000, 60_001, 3_600_000, 86_400_000)]
    broker.create_topic("timed", 1)
    broker.produce_at("timed", times)
    asked = around(times)
    assert await first_records(broker.bootstrap, "timed", asked) == expected(times, 0, asked)
    topic = Topic("timed", partitions=1, rate=0.5, kept=400)
    async with Simulator(brokers=1, scenario="empty", clock=ManualClock()) as fake:
        fake.state.add_topics([topic])
        fake.advance(30)
        start, end = topic.log_starts(30)[0], topic.log_ends(30)[0]
        written = [fake.state.record_timestamp(topic, 0, offset) for offset in range(start, end)]
        assert written == sorted(written)
        assert abs(fake.state.timestamp(30) - written[-1]) < 5_000
        asked = around(written)
        assert await first_records(fake.bootstrap, "timed", asked) == expected(written, start, asked)


async def test_timestamp_and_expiry_of_the_first_unread_record_are_read(broker: Cluster) -> None:
    """The group `late` has unread records in the topics `expiring` and `compacted`.

    Records in `expiring` expire after a day. This topic ends with a record of an aborted transaction and the abort
    marker of this transaction. The committed offset of the group `at-marker` is the offset of the marker.
    """
    now = int(time.time() * 1000)
    times = [now - 7_200_000 + 60_000 * number for number in range(100)]
    broker.create_topic("expiring", 1, replicas=1, **{"retention.ms": "86400000"})
    broker.create_topic("compacted", 1, replicas=1, **{"cleanup.policy": "compact"})
    broker.produce_at("expiring", times)
    broker.produce_at("compacted", times)
    producer = Producer(broker.client_config(**{"transactional.id": "aborted"}))
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("expiring", b"x", partition=0)
    producer.flush(30)
    producer.abort_transaction(30)
    broker.commit("late", {("expiring", 0): 70, ("compacted", 0): 5})
    broker.commit("at-marker", {("expiring", 0): 101})
    async with KafkaGroupAdmin(Pool([broker.bootstrap])) as admin:
        snapshot, faults = await read_details(admin, ["late", "at-marker"], timeout=30)
    assert faults == ()
    compacted, expiring = (row.times for row in lags(snapshot.offsets["late"].value))
    assert compacted is not None
    assert (compacted.unread, compacted.reason) == (None, COMPACTED)
    assert expiring is not None
    assert expiring.unread == TimeRange(times[70] / 1000, times[70] / 1000)
    assert expiring.consumed is not None
    assert expiring.consumed.earliest <= times[69] / 1000 <= expiring.consumed.latest
    assert expiring.expires_at == times[70] / 1000 + 86_400
    (marker,) = lags(snapshot.offsets["at-marker"].value)
    assert marker.lag == 1
    assert marker.times is not None
    assert marker.times.unread is not None
    assert now / 1000 <= marker.times.unread.earliest <= time.time()
    for topic in ("expiring", "compacted"):
        broker.delete_topic(topic)


async def test_most_record_timestamps_are_found_to_within_one_second(broker: Cluster) -> None:
    """Records are written at a constant rate, in a daily rhythm, or in bursts.

    For each record, kgtui finds a time range that contains the record's timestamp. For the first two patterns, at
    least 90 % of these ranges must be shorter than one second.
    """
    shapes = {name: sorted(SHAPES[name][0](Random(name))) for name in ("steady", "daily", "bursts")}
    shift = int(time.time() * 1000) - 1_800_000_000_000
    broker.create_topic("ages", len(shapes))
    for partition, times in enumerate(shapes.values()):
        broker.produce_at("ages", [at + shift for at in times], partition)
    random = Random(1)
    async with KafkaGroupAdmin(Pool([broker.bootstrap])) as admin:
        rounds: dict[str, list[int]] = {name: [] for name in shapes}
        ranges: list[float] = []
        for _ in range(SEARCHES):
            offsets = [random.randrange(1, RECORDS) for _ in shapes]
            positions = {("ages", part): LogPosition(offset, 0, RECORDS) for part, offset in enumerate(offsets)}
            rows = (await admin.record_times(positions, precision=0)).rows
            for (name, times), offset, row in zip(shapes.items(), offsets, rows.values(), strict=True):
                assert row.unread is not None, row
                assert row.consumed is not None
                for found, index in ((row.unread, offset), (row.consumed, offset - 1)):
                    assert found.earliest <= (times[index] + shift) / 1000 <= found.latest
                ranges += [row.unread.latest - row.unread.earliest] if name != "bursts" else []
                rounds[name].append(row.rounds)
    figures = [f"{name} {median(counts):g} (maximum {max(counts)})" for name, counts in rounds.items()]
    print(f"Kafka {broker.version}, median number of rounds of requests: {', '.join(figures)}")  # noqa: T201 - a figure to publish
    assert sum(width >= 1 for width in ranges) <= len(ranges) // 10
    assert median(rounds["steady"]) <= 4
    assert median(rounds["daily"]) <= 12
    broker.delete_topic("ages")

"""Tests that kgtui decodes records of `__consumer_offsets` from real brokers exactly like Kafka's coordinator."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kgtui.protocol.member_data import connect, consumer, schema_registry
from kgtui.protocol.records import CoordinatorRecord, RecordType, as_json, classic_members, decode, encode
from tests.brokers import coordinator_records, group_actions, kio_client
from tests.brokers.cluster import Cluster
from tests.brokers.coordinator_records import ABORTED, COMMITTED, DELETED, EXPRESSION
from tests.brokers.offsets_topic import TopicRecord, read_offsets_topic
from tests.unit.protocol.records import kafka_coordinator

if TYPE_CHECKING:
    from pathlib import Path

    from tests.brokers.live import Live

TIMEOUT = 90.0


@dataclass(frozen=True)
class Written:
    """The records in `__consumer_offsets` on one broker, as decoded by kgtui and by Kafka.

    The three lists have the same order. `raw` contains the records before decoding.
    """

    live: Live
    raw: list[TopicRecord]
    records: list[CoordinatorRecord]
    """Result of kgtui's decoder for each record."""
    kafkas: list[kafka_coordinator.KafkaResult]
    """Result of Kafka's decoder for each record."""

    def of_group(self, group: str) -> list[CoordinatorRecord]:
        return [record for record in self.records if record.group == group]


@pytest.fixture(scope="module")
def written(live: Live) -> Written:
    """Make a broker write records of every type (`write_records`). Return the records in its `__consumer_offsets`.

    The records of aborted transactions are left out.
    """
    coordinator_records.write_records(live)
    raw = read_offsets_topic(live.cluster)
    records = [
        record for record in (decode(one.key, one.value) for one in raw) if isinstance(record, CoordinatorRecord)
    ]
    return Written(live, raw, records, kafka_coordinator.read((one.key or b"", one.value) for one in raw))


def test_every_coordinator_record_is_decoded_as_kafka_decodes_it(written: Written) -> None:
    assert len(written.records) == len(written.raw) == len(written.kafkas) > 100
    for raw, record, read in zip(written.raw, written.records, written.kafkas, strict=True):
        assert as_json(record) == read.json, (raw, read.error)


def test_encoding_a_decoded_coordinator_record_gives_the_original_bytes(written: Written) -> None:
    for raw, record in zip(written.raw, written.records, strict=True):
        assert encode(record.type, record.key, record.value, version=record.version) == (raw.key, raw.value)


def test_the_offsets_topic_has_records_of_every_expected_type(written: Written) -> None:
    values = {record.type for record in written.records if record.value is not None}
    tombstones = {record.type for record in written.records if record.value is None}
    types = coordinator_records.types(written.live.version)
    assert values == types
    # Since Kafka 4.1, brokers write CONSUMER_GROUP_PARTITION_METADATA only as tombstones, to delete the records that
    # older brokers wrote. So `types` does not contain this type.
    assert tombstones == types | {RecordType.CONSUMER_GROUP_PARTITION_METADATA}


def test_the_newest_commit_records_contain_the_committed_offsets(written: Written) -> None:
    """For each partition of a live group, the newest commit record contains the group's committed offset."""
    newest = {
        (record.group, record.key["topic"], record.key["partition"]): record.value and record.value["offset"]
        for record in written.records
        if record.type is RecordType.OFFSET_COMMIT
    }
    for group in written.live.groups.values():
        if group.type == "share":
            continue
        for (topic, partition), offset in group.committed.items():
            assert newest[group.id, topic, partition] == offset, group.id


def test_records_of_classic_groups_contain_the_members_of_the_groups(written: Written) -> None:
    live = written.live
    newest = {record.group: record for record in written.records if record.type is RecordType.GROUP_METADATA}
    for role in ("classic", "static", "connect", "sr"):
        members = classic_members(newest[live[role].id])
        assert len(members) == live[role].members, role
        assert tuple(sorted(m.instance_id for m in members if m.instance_id)) == live[role].instance_ids
        kind = {"connect": connect.Subscription, "sr": schema_registry.Identity}.get(role, consumer.Subscription)
        assert all(isinstance(member.subscription, kind) and member.assignment for member in members), role
    subscriptions = [m.subscription for m in classic_members(newest[live["classic"].id])]
    assert [s.topics for s in subscriptions if isinstance(s, consumer.Subscription)] == [("orders",)] * 2


def test_records_of_a_migrating_group_contain_the_metadata_of_classic_members(written: Written) -> None:
    """While a group migrates to KIP-848, some members still use the classic protocol.

    The record of each such member contains the metadata from the member's JoinGroup request.
    """
    newest = {
        record.member: record.value["ClassicMemberMetadata"]
        for record in written.of_group(written.live["mixed"].id)
        if record.type is RecordType.CONSUMER_GROUP_MEMBER_METADATA and record.value is not None
    }
    (classic,) = (value for value in newest.values() if value is not None)
    assert len(newest) >= 2
    subscriptions = [consumer.decode_subscription(protocol["Metadata"]) for protocol in classic["SupportedProtocols"]]
    assert {s and s.topics for s in subscriptions} == {("orders",)}


def test_read_committed_skips_offset_commits_of_aborted_transactions(written: Written) -> None:
    def offsets(records: list[TopicRecord]) -> list[int]:
        read = [decode(one.key, one.value) for one in records]
        found = [r for r in read if isinstance(r, CoordinatorRecord) and r.group == "transactional"]
        return [r.value["offset"] for r in found if r.type is RecordType.OFFSET_COMMIT and r.value is not None]

    assert offsets(written.raw) == [COMMITTED]
    assert offsets(read_offsets_topic(written.live.cluster, committed=False)) == [COMMITTED, ABORTED]


def test_an_offset_commit_with_an_expiration_time_is_decoded(written: Written) -> None:
    commit, tombstone = (r for r in written.of_group("expires-itself") if r.type is RecordType.OFFSET_COMMIT)
    assert commit.version == 1
    assert commit.value is not None
    assert tombstone.value is None
    assert commit.value["expireTimestamp"] - commit.value["commitTimestamp"] == 30 * 86_400_000


def test_deleting_a_group_writes_a_tombstone_for_each_record_key(written: Written) -> None:
    newest: dict[str, dict[bytes | None, CoordinatorRecord]] = {}
    for raw, record in zip(written.raw, written.records, strict=True):
        newest.setdefault(record.group, {})[raw.key] = record
    for group in (DELETED[name] for name in (*sorted(written.live.types), "simple")):
        left = [record for record in newest[group].values() if record.value is not None]
        assert left == [], group


def test_a_record_with_a_regular_expression_subscription_is_decoded(written: Written) -> None:
    if written.live.version.startswith("3."):
        assert not any(r.type is RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION for r in written.records)
        return
    found = [r for r in written.of_group("by-expression") if r.type is RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION]
    # librdkafka adds parentheses to the regular expression before it sends the expression to the broker.
    assert {record.key["RegularExpression"] for record in found} == {f"({EXPRESSION})"}
    resolved = [record.value for record in found if record.value is not None]
    assert resolved
    assert all(value["Topics"] == ["orders"] for value in resolved)


@pytest.mark.broker
@pytest.mark.xdist_group("broker")
def test_a_broker_writes_a_tombstone_for_an_expired_offset(tmp_path: Path) -> None:
    cluster = Cluster("4.3.1", tmp_path, extra={"offsets.retention.check.interval.ms": "300"})
    try:
        cluster.start()
        cluster.create_topic("orders")
        group_actions.commit_with_retention(cluster, "short-lived", "orders", 5, timedelta(milliseconds=1))
        kio_client.wait_until_gone(cluster.bootstrap, "short-lived", TIMEOUT)
        raw = read_offsets_topic(cluster)
    finally:
        cluster.stop()
    read = kafka_coordinator.read((one.key or b"", one.value) for one in raw)
    records = [decode(one.key, one.value) for one in raw]
    assert [as_json(r) for r in records if isinstance(r, CoordinatorRecord)] == [answer.json for answer in read]
    found = [(r.type, r.version) for r in records if isinstance(r, CoordinatorRecord)]
    assert found[:2] == [(RecordType.OFFSET_COMMIT, 1), (RecordType.OFFSET_COMMIT, None)]

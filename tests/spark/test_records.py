"""Records of every kind, version and damage go through Spark and end in the one table where they belong, unchanged."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE, SILVER
from kgtui.pipeline.jobs.silver import decode_batch
from kgtui.pipeline.spark_schema import spark_schema
from kgtui.pipeline.transforms.offset_commits import irregular_records, regular_commits
from kgtui.protocol.records import CoordinatorRecord, RecordType, as_json, decode, encode
from tests.spark.setting import QUICK
from tests.unit.protocol.records.records import every_kind
from tests.unit.protocol.test_damaged import damage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.pipeline.spark_lake import SparkLake

Bytes = tuple[bytes | None, bytes | None]

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
TIME = 1_795_262_400_123
COMMIT = {"leaderEpoch": 7, "expireTimestamp": -1}


def commit(version: int, group: str = "payments", *, number: int = 1, **given: Any) -> Bytes:
    value = COMMIT | {"offset": 10**12 + 3, "metadata": "", "commitTimestamp": TIME, "topicId": None} | given
    if version < 4 or value["topicId"] is None:
        value["topicId"] = UUID(int=0)
    if number == RecordType.LEGACY_OFFSET_COMMIT:
        value = {name: value[name] for name in ("offset", "metadata", "commitTimestamp")}
    key = {"group": group, "topic": "orders", "partition": 5}
    return encode(RecordType(number), key, value, version=version)


def commits() -> list[Bytes]:
    """Commits as brokers of all versions write them, and as they are at the edges."""
    made = [commit(version) for version in range(5)] + [commit(0, number=0)]
    for version in range(5):
        made += [
            commit(version, "Zoë 漢字 [/red]\n", metadata="é漢字🎉"),
            commit(version, "g" * 32_767, metadata="m" * 126),
            commit(version, "", metadata="m" * 127),
            commit(version, metadata="m" * 4_096, leaderEpoch=-1),
            commit(version, offset=0, leaderEpoch=0, commitTimestamp=0),
            commit(version, offset=2**63 - 1, leaderEpoch=2**31 - 1),
            commit(version, offset=-1, commitTimestamp=253_402_300_799_999),
            commit(version, commitTimestamp=253_402_300_800_000),
            commit(version, commitTimestamp=-1),
        ]
    made += [commit(1, expireTimestamp=when) for when in (0, TIME, 253_402_300_800_000, -2)]
    made += [commit(4, topicId=UUID(int=3**80), metadata=text) for text in ("", "m")]
    made += [commit(4, topicId=UUID(bytes=byte * 16)) for byte in (b"\xfb", b"\xff")]  # of - and of _
    key, value = commit(4, topicId=UUID(int=1))
    assert value is not None
    made.append((key, value[:-1] + b"\0"))  # there, and of zeros as if it were not
    return made + [(key, None) for key, _ in made[::3]]


def all_kinds_and_damage() -> list[Bytes]:
    random = Random(4)
    whole: list[Bytes] = [*commits(), *every_kind(11, 3)]
    damaged: list[Bytes] = [(None, b"x"), (b"", None), (b"\x00", None), (b"\x00\x63abc", b""), (whole[0][0], b"\x00")]
    for key, value in whole[::2]:
        assert key is not None
        damaged.append((damage(random, key), value))
        if value is not None:
            damaged += [(key, damage(random, value)), (key, value + b"\0"), (key, value[:-1])]
    return whole + damaged


@pytest.fixture
def compiled(spark: SparkSession) -> Iterator[None]:
    """Decoding as those who use it have it: by code that Spark generates."""
    before = {name: value for name, value in QUICK.items() if ".codegen." in name}
    for name in before:
        spark.conf.unset(name)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def frame(spark: SparkSession, records: list[Bytes]) -> DataFrame:
    rows = [(NOON.date(), at % 3, at, NOON, key, value) for at, (key, value) in enumerate(records)]
    return spark.createDataFrame(
        [(day, part, at, time, _buffer(key), _buffer(value)) for day, part, at, time, key, value in rows],
        spark_schema(COORDINATOR_RECORDS),
    )


def _buffer(data: bytes | None) -> bytearray | None:
    return None if data is None else bytearray(data)


@pytest.fixture(scope="module")
def records() -> list[Bytes]:
    return all_kinds_and_damage()


def test_every_record_ends_in_one_table_as_the_decoder_reads_it(lake: SparkLake, records: list[Bytes]) -> None:
    batch = frame(lake.spark, records)
    for _ in range(2):  # the second time is what follows a kill
        decode_batch(str(lake.folder.path), "series", batch, 0)
    found = {table.name: {row.record_offset: row for row in lake.read(table).collect()} for table in SILVER[:2]}
    found[QUARANTINE.name] = {row.record_offset: row for row in lake.read(QUARANTINE).collect()}
    assert sum(map(len, found.values())) == len(records)
    assert sum(lake.read(table).count() for table in (COMMITS, GROUP_EVENTS, QUARANTINE)) == len(records)
    for at, (key, value) in enumerate(records):
        check(at, key, value, found)
    places = {(row.record_partition - row.record_offset % 3, row.day) for row in found[COMMITS.name].values()}
    assert places == {(0, NOON.date())}


def check(at: Any, key: bytes | None, value: bytes | None, found: dict[str, dict[Any, Any]]) -> None:
    """One record is in one table as the decoder reads it; `at` is its key in all of them."""
    read = decode(key, value)
    kept = found[QUARANTINE.name].get(at)
    if kept is not None:
        assert (kept.key, kept.value) == (_buffer(key), _buffer(value))
        if isinstance(read, CoordinatorRecord):
            assert "not in the years 1 to 9999" in kept.reason
        else:
            assert (kept.fault, kept.reason, kept.type) == (read.failure, read.reason, read.type)
        return
    assert isinstance(read, CoordinatorRecord)
    if read.type > RecordType.OFFSET_COMMIT:
        event = found[GROUP_EVENTS.name][at]
        assert (event.group, event.member_id, event.tombstone) == (read.group, read.member, read.value is None)
        assert event.detail is None or json.loads(event.detail) == json.loads(json.dumps(as_json(read)["value"]))
        return
    row = found[COMMITS.name][at]
    assert (row.group, row.topic, row.partition) == (read.key["group"], read.key["topic"], read.key["partition"])
    value_of = read.value or {}
    assert row.offset == value_of.get("offset")
    assert row.metadata == value_of.get("metadata")
    assert row.leader_epoch == none_if(value_of.get("leaderEpoch"), -1)
    assert millis(row.commit_time) == value_of.get("commitTimestamp")
    assert millis(row.expire_time) == none_if(value_of.get("expireTimestamp"), -1)
    topic_id = value_of.get("topicId")
    assert row.topic_id == (printed(topic_id) if topic_id is not None and topic_id.int else None)


def printed(uuid: UUID) -> str:
    """As Kafka's tools print the ids of topics."""
    return urlsafe_b64encode(uuid.bytes).decode().removesuffix("==")


def none_if(value: int | None, nothing: int) -> int | None:
    return None if value == nothing else value


def millis(time: datetime | None) -> int | None:
    if time is None:
        return None
    return round((time.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


@pytest.mark.usefixtures("compiled")
def test_what_brokers_write_takes_no_python(spark: SparkSession, records: list[Bytes]) -> None:
    """Ordinary commits of every version are decoded by expressions; everything else is what they leave."""
    plain = [commit(version, metadata=text) for version in range(5) for text in ("", "é", "m" * 126)]
    plain += [(plain[0][0], None)]
    every = [*plain, *every_kind(1, 1)[6:], (b"\x00\x01", b""), *records]
    batch = frame(spark, every).cache()
    read = {row.record_offset: row for row in batch.transform(regular_commits).collect()}
    assert read.keys() >= set(range(len(plain)))
    for at in read:
        key, value = every[at]
        check(at, key, value, {COMMITS.name: read, QUARANTINE.name: {}})
    left = [row.offset for row in batch.transform(irregular_records).select("offset").collect()]
    assert sorted([*read, *left]) == list(range(len(every)))

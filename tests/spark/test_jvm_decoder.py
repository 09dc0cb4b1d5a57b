"""Tests that the decoder in Java (`kgtui/pipeline/jvm`) and the decoder in Python give the same rows for any bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from kgtui.pipeline import jvm_decoder
from kgtui.pipeline.jvm_decoder import KeptRecords, decode_in_jvm, enable_decoder, has_decoder
from kgtui.pipeline.transforms.record_decoding import STRUCTS, decode_record
from kgtui.protocol.member_data import consumer
from kgtui.protocol.records import RecordType, encode
from tests.spark.record_samples import NOON, as_bytearray, commit
from tests.spark.test_decoding import bronze_rows, commits
from tests.unit.protocol.records.random_records import every_record_type
from tests.unit.protocol.samples import NOT_UTF8
from tests.unit.protocol.test_damaged import damage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.record_samples import Record

FORGED_COUNTS = ("7fffffff", "ffffffff", "80000000", "ffffffff07", "ffffffff7f", "ffffffffff01", "00")
"""Wrong lengths of strings and arrays, in hexadecimal. They are much too large, negative, or not a valid number."""


def classic_groups() -> list[Record]:
    """Return records of classic groups whose members have ordinary, unusual and damaged assignments."""
    assignments = [
        consumer.encode_assignment([("orders", (2, 10, 1)), ("a-b", ()), ("😀", (0,)), ("\uffee", (0,))]),
        consumer.encode_assignment([(NOT_UTF8, (1,)), ('quote " \\ \x7f\b', (3,))], version=0, user_data=b"more"),
        consumer.encode_assignment([]) + b"trailing bytes",
        b"\x00\x09" + consumer.encode_assignment([("newer", (1,))])[2:],
        consumer.encode_assignment([("damaged", (1,))])[:-6],
        b"\xff\xff\x00\x00\x00\x00",
        b"\x00",
        b"",
    ]
    members = [_member(f"{name}-{index}", data) for index, data in enumerate(assignments) for name in ("é", "b")]
    groups = [members[:6], members[:8], [*members[:2], *members[:2]], [], *([member] for member in members)]
    values = [
        _classic(protocol_type, group, state_time)
        for group in groups
        for protocol_type in ("consumer", "connect", "")
        for state_time in (1_795_262_400_123, -1)
    ]
    values += [_classic("consumer", groups[0], 253_402_300_800_000)]
    return [
        encode(RecordType.GROUP_METADATA, {"group": "g"}, value, version=version)
        for value in values
        for version in (3, 4)
    ]


def _member(member: str, assignment: bytes) -> dict[str, Any]:
    return {
        "memberId": member, "groupInstanceId": None, "clientId": "c", "clientHost": "/127.0.0.1",
        "rebalanceTimeout": 1, "sessionTimeout": 2, "subscription": b"", "assignment": assignment,
    }  # fmt: skip


def _classic(protocol_type: str, members: list[dict[str, Any]], state_time: int) -> dict[str, Any]:
    return {
        "protocolType": protocol_type, "generation": 3, "protocol": "range", "leader": None,
        "currentStateTimestamp": state_time, "members": members,
    }  # fmt: skip


def damaged(random: Random, record: Record) -> list[Record]:
    """Return damaged copies of a record. For example, some are too short or long, or have another schema version."""
    key, value = record
    assert key is not None
    copies: list[Record] = [(damage(random, key), value)]
    if value:
        forged = bytes.fromhex(random.choice(FORGED_COUNTS))
        at = random.randrange(2, len(value) + 1)
        copies += [(key, damage(random, value)) for _ in range(3)]
        copies += [(key, value + b"\0"), (key, value[:-1]), (key, value[: random.randrange(len(value))])]
        copies += [(key, random.randrange(-2, 8).to_bytes(2, "big", signed=True) + value[2:])]
        copies += [(key, value[:at] + forged + value[at + len(forged) :])]
    return copies


def unusual() -> list[Record]:
    """Return records whose key is missing, too short or of an unknown type, and commits with unknown tagged fields."""
    key, value = commit(4)
    assert value is not None
    tags = ("0105 00", "0180017f 00", "0209 01ff 07 02aabb", "0207 01aa 07 01bb", "ffffffff0f", "0100 0f", "0110 ff")
    tagged: list[Record] = [(key, value[:-1] + bytes.fromhex(tag)) for tag in tags]
    return [(None, b"x"), (None, None), (b"", None), (b"\0", b""), (b"\0\x63abc", b""), (b"\xff\xff", None), *tagged]


def check_equal(spark: SparkSession, records: list[Record]) -> set[str]:
    """Assert that Java decodes all records like Python.

    Each record is decoded into one struct column, such as `commit`. Return the names of all columns that were used.
    """
    rows = bronze_rows(spark, records).transform(decode_in_jvm).collect()
    assert sorted(row.record_offset for row in rows) == list(range(len(records)))
    for row in rows:
        key, value = records[row.record_offset]
        name, expected = decode_record(key, value)
        context = [None if data is None else data.hex() for data in (key, value)]
        assert [struct for struct in STRUCTS if row[struct] is not None] == [name], context
        actual = {column: _plain(column, found) for column, found in row[name].asDict().items() if found is not None}
        assert actual == {column: found for column, found in expected.items() if found is not None}, context
    return {name for name in STRUCTS for row in rows if row[name] is not None}


def _plain(column: str, value: Any) -> Any:
    """Convert times and bytearrays from Spark to the types of the Python decoder: ms since the epoch, and bytes."""
    if column.endswith("_time"):
        return round((value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
    return bytes(value) if isinstance(value, bytearray) else value


def random_records(seed: int, count: int) -> list[Record]:
    """Return random records, `count` of each type and schema version, and then damaged copies of all these records."""
    random = Random(seed)
    valid: list[Record] = [*every_record_type(seed, count)]
    return valid + [copy for record in valid for copy in damaged(random, record)]


def test_java_decodes_usual_and_unusual_records_like_python(spark: SparkSession) -> None:
    random = Random(1)
    valid: list[Record] = [*commits(), *classic_groups()]
    records = valid + unusual() + [copy for record in valid for copy in damaged(random, record)]
    assert check_equal(spark, records) == set(STRUCTS)


def test_java_decodes_random_and_damaged_records_like_python(spark: SparkSession) -> None:
    assert check_equal(spark, random_records(2, 6)) == set(STRUCTS)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10, 20))
def test_java_decodes_many_random_and_damaged_records_like_python(spark: SparkSession, seed: int) -> None:
    assert check_equal(spark, random_records(seed, 60)) == set(STRUCTS)


def test_the_java_decoder_keeps_all_records_except_commits_in_memory(spark: SparkSession) -> None:
    records = [*commits(), *unusual(), *classic_groups()]
    batch = bronze_rows(spark, records)
    rest = [index for index, record in enumerate(records) if decode_record(*record)[0] != "commit"]
    kept = KeptRecords.of(spark)
    assert kept is not None
    decoded = {row.record_offset for row in batch.transform(kept.decode_commits).collect()}
    assert decoded == set(range(len(records))) - set(rest)
    rows = kept.take(len(rest))
    assert rows is not None
    assert rows.schema.names == batch.schema.names
    found = {tuple(row) for row in rows.withColumn("key", F.hex("key")).withColumn("value", F.hex("value")).collect()}
    every = batch.withColumn("key", F.hex("key")).withColumn("value", F.hex("value")).collect()
    assert found == {tuple(row) for row in every if row.offset in rest}


def test_records_kept_in_memory_are_discarded_if_too_many_or_too_large(spark: SparkSession) -> None:
    """`KeptRecords.take` must return None instead of the records, in two cases.

    In the first case, two records are kept, but the caller of `take` expects only one. In the second case, 40 records
    of 1 MB exceed the limit of 32 MB.
    """
    for expected, count, size in ((1, 2, 10), (40, 40, 1 << 20)):
        kept = KeptRecords(spark)
        records = spark.range(count, numPartitions=2).select(
            F.lit(NOON.date()).alias("day"),
            F.lit(0).alias("partition"),
            F.col("id").alias("offset"),
            F.lit(NOON).alias("timestamp"),
            F.lit(b"\x00\x02").alias("key"),
            F.repeat(F.lit("x"), size).cast("binary").alias("value"),
        )
        assert records.transform(kept.decode_commits).count() == 0
        assert kept.take(expected) is None


def test_the_java_decoder_is_off_if_its_class_is_missing(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    session = spark.newSession()
    monkeypatch.setattr(jvm_decoder, "_CATALOG_CLASS", "kgtui.spark.Missing")
    assert not enable_decoder(session)
    assert not has_decoder(session)
    monkeypatch.undo()
    assert enable_decoder(session)
    assert has_decoder(session)


def test_the_java_decoder_is_off_if_it_returns_unexpected_fields(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = spark.newSession()
    monkeypatch.setattr(jvm_decoder, "DECODED", StructType([StructField("other", StringType())]))
    assert not enable_decoder(session)
    assert not has_decoder(session)


def test_a_forged_array_length_is_rejected_without_allocating_memory(spark: SparkSession) -> None:
    """The length field of the array is 2,147,483,647. A list of this size would not fit into the JVM's memory."""
    key, value = encode(
        RecordType.GROUP_METADATA, {"group": "g"}, _classic("consumer", [], -1) | {"protocol": None}, version=3
    )
    assert value is not None
    forged = value[:-4] + bytes.fromhex("7fffffff")
    (row,) = bronze_rows(spark, [(key, forged)]).transform(decode_in_jvm).collect()
    assert row.quarantine.reason == (
        "GroupMetadataValue v3: members has a length of 2147483647, but the message ends earlier"
    )
    assert row.quarantine.value == as_bytearray(forged)

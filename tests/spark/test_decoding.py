"""Tests that Spark and `kgtui.protocol` decode valid and damaged records of all types in the same way."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE
from kgtui.pipeline.jobs import silver
from kgtui.pipeline.jobs.silver import decode_batch
from kgtui.pipeline.jvm_decoder import KeptRecords, enable_decoder, has_decoder
from kgtui.pipeline.transforms.offset_commits import irregular_commits, non_commits, regular_commits
from tests.spark.record_samples import COMMIT_TIME, NOON, Record, as_bytearray, check_decoded, commit
from tests.spark.spark_settings import SMALL_JOBS
from tests.spark.table_schemas import spark_schema
from tests.unit.protocol.records.random_records import every_record_type
from tests.unit.protocol.test_damaged import damage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.pipeline.spark_lake import SparkLake


def commits() -> list[Record]:
    """Return commits of all schema versions with ordinary and extreme values, and a tombstone for every third."""
    records = [commit(version) for version in range(5)] + [commit(version, key_version=0) for version in range(5)]
    tagged_key, without_tags = commit(4)
    assert without_tags is not None
    records.append((tagged_key, without_tags[:-1] + bytes.fromhex("02 07 03 aabbcc 09 00")))
    # This commit has long metadata, which Spark expressions cannot decode, and a key of the legacy version 0.
    records += [commit(4, key_version=0, metadata="m" * 500)]
    for version in range(5):
        records += [
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
    records += [commit(1, expireTimestamp=time) for time in (0, COMMIT_TIME, 253_402_300_800_000, -2)]
    records += [commit(4, topicId=UUID(int=3**80), metadata=text) for text in ("", "m")]
    # The base64 text of these topic ids contains `-` or `_`, which are only in the URL-safe alphabet.
    records += [commit(4, topicId=UUID(bytes=byte * 16)) for byte in (b"\xfb", b"\xff")]
    key, value = commit(4, topicId=UUID(int=1))
    assert value is not None
    # The value ends with the bytes of the topic id 1. Change this id to 0, which means that there is no topic id.
    records.append((key, value[:-1] + b"\0"))
    return records + [(key, None) for key, _ in records[::3]]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """Return valid records of all types and schema versions, and damaged copies of every second valid record."""
    random = Random(4)
    valid: list[Record] = [*commits(), *every_record_type(11, 3)]
    damaged: list[Record] = [(None, b"x"), (b"", None), (b"\x00", None), (b"\x00\x63abc", b""), (valid[0][0], b"\x00")]
    for key, value in valid[::2]:
        assert key is not None
        damaged.append((damage(random, key), value))
        if value is not None:
            damaged += [(key, damage(random, value)), (key, value + b"\0"), (key, value[:-1])]
    return valid + damaged


@pytest.fixture
def code_generation(spark: SparkSession) -> Iterator[None]:
    """Turn on Spark's code generation, as when users run the pipeline. To save time, it is off in all other tests."""
    before = {name: value for name, value in SMALL_JOBS.items() if ".codegen." in name}
    for name in before:
        spark.conf.unset(name)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def bronze_rows(spark: SparkSession, records: list[Record]) -> DataFrame:
    """Return records as rows of the bronze table. Record `i` has offset `i`, and is in partition `i % 3`."""
    return spark.createDataFrame(
        [
            (NOON.date(), index % 3, index, NOON, as_bytearray(key), as_bytearray(value))
            for index, (key, value) in enumerate(records)
        ],
        spark_schema(COORDINATOR_RECORDS),
    )


@pytest.fixture(
    params=["java", pytest.param("java in two passes", marks=pytest.mark.full), "expressions and python"],
)
def decoder(request: pytest.FixtureRequest, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the test once per method that Spark can use to decode records of `__consumer_offsets`.

    - `java`: the Java decoder decodes commits, and keeps all other records in memory. They are then decoded from there.
    - `java in two passes`: the Java decoder decodes commits. The other records are not kept, so Spark reads the batch
      again to decode them.
    - `expressions and python`: Spark expressions decode regular commits, and Python decodes all other records.
    """
    assert has_decoder(spark)
    if request.param == "java in two passes":
        monkeypatch.setattr(KeptRecords, "take", lambda *_: None)
    elif request.param != "java":
        spark.conf.unset("spark.sql.catalog.kgtui")
    yield
    assert enable_decoder(spark)


@pytest.mark.usefixtures("decoder")
def test_every_record_is_decoded_into_exactly_one_silver_table(lake: SparkLake, records: list[Record]) -> None:
    decode_batch(str(lake.folder.path), "query", bronze_rows(lake.spark, records), 0)
    rows = {table.name: lake.read(table).collect() for table in (COMMITS, GROUP_EVENTS, QUARANTINE)}
    by_offset = {name: {row.record_offset: row for row in found} for name, found in rows.items()}
    assert sum(map(len, by_offset.values())) == sum(map(len, rows.values())) == len(records)
    for index, (key, value) in enumerate(records):
        check_decoded(index, key, value, by_offset)
    places = {(row.record_partition - row.record_offset % 3, row.day) for row in rows[COMMITS.name]}
    assert places == {(0, NOON.date())}


@pytest.mark.parametrize("first", ["java", "expressions and python"])
def test_a_batch_that_was_decoded_in_part_is_completed_by_another_decoder(
    lake: SparkLake, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """The first decoder is interrupted after it has appended commits. The second decoder must add all missing rows.

    At the interruption, the Java decoder has appended all valid commits. Spark expressions have appended only regular
    commits, for example not those with long metadata. Finally, the second decoder decodes the same batch once more,
    although all rows are written. No row may be duplicated.
    """
    records = [*commits(), (b"", None), *every_record_type(1, 1)]
    batch = bronze_rows(lake.spark, records)

    def use(java: bool) -> None:
        if java:
            assert enable_decoder(lake.spark)
        else:
            lake.spark.conf.unset("spark.sql.catalog.kgtui")

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    try:
        use(first == "java")
        with monkeypatch.context() as patch:
            patch.setattr(silver, "_write_decoded", killed)
            with pytest.raises(KeyboardInterrupt):
                decode_batch(str(lake.folder.path), "query", batch, 0)
        use(first != "java")
        for _ in range(2):
            decode_batch(str(lake.folder.path), "query", batch, 0)
    finally:
        use(java=True)
    offsets = [
        row.record_offset
        for table in (COMMITS, GROUP_EVENTS, QUARANTINE)
        for row in lake.read(table).select("record_offset").collect()
    ]
    assert sorted(offsets) == list(range(len(records)))


@pytest.mark.usefixtures("code_generation")
def test_regular_commits_are_decoded_without_python(spark: SparkSession, records: list[Record]) -> None:
    """A regular commit has a known schema version, valid values and short metadata. Spark expressions can decode it."""
    regular = [commit(version, metadata=text) for version in range(5) for text in ("", "é", "m" * 126)]
    regular += [(regular[0][0], None)]
    every = [*regular, *every_record_type(1, 1)[6:], (b"\x00\x01", b""), *records]
    batch = bronze_rows(spark, every).cache()
    decoded = {row.record_offset: row for row in batch.transform(regular_commits).collect()}
    assert decoded.keys() >= set(range(len(regular)))
    for index in decoded:
        key, value = every[index]
        check_decoded(index, key, value, {COMMITS.name: decoded, QUARANTINE.name: {}})
    irregular = [
        row.offset
        for rest in (non_commits, irregular_commits)
        for row in batch.transform(rest).select("offset").collect()
    ]
    assert sorted([*decoded, *irregular]) == list(range(len(every)))

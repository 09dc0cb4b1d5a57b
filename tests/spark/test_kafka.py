"""Spark's reading of `__consumer_offsets` on real brokers equals a plain consumer's, record by record."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.connecting import run_async
from kgtui.commands.parser import parse_args
from kgtui.commands.pipeline import read_offsets_topic as read_topic_offsets
from kgtui.errors import SourceError
from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE, REBALANCES
from kgtui.pipeline.jobs import bronze
from kgtui.pipeline.jobs.run import Sources, run_continuously, run_once
from kgtui.pipeline.jobs.streaming import await_end
from kgtui.pipeline.sources import COLUMNS, TOPIC, kafka_options, stream_topic
from kgtui.protocol.records import CoordinatorRecord, decode
from tests.brokers import past
from tests.brokers.offsets_topic import TopicRecord, read_offsets_topic
from tests.brokers.past import TYPES
from tests.brokers.secure import PASSWORDS
from tests.spark.setting import new_lake
from tests.spark.test_records import check
from tests.spark.test_streams import nothing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.pipeline.sources import OffsetsTopic
    from kgtui.pipeline.spark_lake import SparkLake
    from kgtui.protocol.records import RecordType
    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.brokers.secure import Secure

VISIBLE = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def topic_of(lake: Path, bootstrap: str, *more: str) -> OffsetsTopic:
    """As `kgtui pipeline run` finds it."""
    words = ["pipeline", "run", f"--lake={lake}", f"--bootstrap-server={bootstrap}", *more]
    return run_async(read_topic_offsets(parse_args(words)))


def rows_of(frame: DataFrame) -> list[TopicRecord]:
    return sorted(
        TopicRecord(row.partition, row.offset, millis(row.timestamp), bytes(row.key), _bytes(row.value))
        for row in frame.collect()
    )


def read_topic(spark: SparkSession, topic: OffsetsTopic) -> DataFrame:
    """Read all current records of the topic in one batch."""
    ends = json.dumps({TOPIC: {str(partition): end for partition, (_, end) in topic.bounds.items()}})
    reader = spark.read.format("kafka").options(**kafka_options(topic))
    return reader.option("startingOffsets", "earliest").option("endingOffsets", ends).load().select(*COLUMNS)


def _bytes(data: bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)


def millis(time: datetime) -> int:
    return round((time.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def groups_of(cluster: Cluster) -> set[str]:
    return {group.group_id for group in cluster.admin.list_consumer_groups().result(30).valid}


@pytest.fixture(autouse=True)
def _visible(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.set(VISIBLE, "true")


def test_batch_and_stream_equal_a_plain_consumer_and_join_no_group(live_431: Live, lake: SparkLake) -> None:
    equal_to_a_consumer(live_431, lake)


@pytest.mark.full
def test_on_an_older_broker_they_do_so_too(live_392: Live, lake: SparkLake) -> None:
    equal_to_a_consumer(live_392, lake)


def equal_to_a_consumer(live: Live, lake: SparkLake) -> None:
    """Batch and stream have all that a consumer reads; no group but those of before is on the cluster."""
    cluster = live.cluster
    past.leave(live)
    before = groups_of(cluster)
    topic = topic_of(lake.folder.path, cluster.bootstrap)
    raw = {(one.partition, one.offset): one for one in read_offsets_topic(cluster)}
    batch = {(one.partition, one.offset): one for one in rows_of(read_topic(lake.spark, topic))}
    # Members go on committing, so the later read may have more; it has all that the first had.
    assert len(raw) > 50
    assert raw.items() <= batch.items() or batch.items() <= raw.items()
    run_once(lake, Sources(topic=topic), nothing, nothing)
    if live.newest:  # of going on where it was the broker is no part
        again = topic_of(lake.folder.path, cluster.bootstrap)
        run_once(lake, Sources(topic=again), nothing, nothing)
    bronze = {(one.partition, one.offset): one for one in rows_of(lake.read(COORDINATOR_RECORDS))}
    assert raw.items() <= bronze.items()
    assert batch.items() <= bronze.items()
    assert lake.read(COORDINATOR_RECORDS).count() == len(bronze)
    assert groups_of(cluster) == before
    assert equal_to_the_decoder(lake, bronze) == TYPES[live.version]


def equal_to_the_decoder(lake: SparkLake, bronze: dict[tuple[int, int], TopicRecord]) -> set[RecordType]:
    """Each record is in one silver table, as `kgtui.protocol.records` reads it; none is in quarantine.

    Returns the types of those that are no tombstones.
    """
    tables = {
        table.name: {(row.record_partition, row.record_offset): row for row in lake.read(table).collect()}
        for table in (COMMITS, GROUP_EVENTS, QUARANTINE)
    }
    assert not tables[QUARANTINE.name]
    assert len(tables[COMMITS.name]) + len(tables[GROUP_EVENTS.name]) == len(bronze)
    for place, record in bronze.items():
        check(place, record.key, record.value, tables)
    assert lake.read(REBALANCES).count() > 0
    read = [decode(record.key, record.value) for record in bronze.values()]
    return {one.type for one in read if isinstance(one, CoordinatorRecord) and one.value is not None}


@pytest.fixture(scope="module")
def quiet(broker_431: Cluster) -> Cluster:
    """A broker with a topic of that name, of which nobody reads."""
    broker_431.create_topic("quiet")
    return broker_431


def test_an_empty_read_of_a_topic_that_is_not_empty_fails(quiet: Cluster, lake: SparkLake) -> None:
    quiet.commit("somebody", {("quiet", 0): 0})
    topic = topic_of(lake.folder.path, quiet.bootstrap)
    lake.spark.conf.set(VISIBLE, "false")
    for _ in range(2):  # the second time it is no excuse that nothing is new
        with pytest.raises(SourceError, match="did not see"):
            run_once(lake, Sources(topic=topic), nothing, nothing)
    with pytest.raises(SourceError, match="did not see"):
        run_continuously(lake, Sources(topic=topic), nothing, nothing, interval=0.5)


def test_a_watch_reads_what_is_committed_meanwhile(quiet: Cluster, lake: SparkLake) -> None:
    quiet.commit("watched", {("quiet", 0): 1})
    topic = topic_of(lake.folder.path, quiet.bootstrap)

    class EnoughError(Exception):
        pass

    def gold(lake: SparkLake) -> None:
        seen = {row.offset for row in lake.read(COMMITS).where("`group` = 'watched'").collect()}
        if seen == {1}:
            quiet.commit("watched", {("quiet", 0): 2})
        elif seen:
            raise EnoughError

    with pytest.raises(EnoughError):
        run_continuously(lake, Sources(topic=topic), gold, nothing, interval=0.5)
    assert not lake.spark.streams.active


@pytest.mark.full
def test_a_topic_may_be_read_from_a_moment_on(quiet: Cluster, lake: SparkLake) -> None:
    quiet.commit("early", {("quiet", 0): 1})
    newest = max(one.timestamp for one in read_offsets_topic(quiet))
    quiet.commit("late", {("quiet", 0): 1})
    topic = topic_of(lake.folder.path, quiet.bootstrap)
    run_once(lake, Sources(topic=topic, since=(newest + 1) / 1000), nothing, nothing)
    groups = {row.group for row in lake.read(COMMITS).select("group").collect()}
    assert "late" in groups
    assert "early" not in groups
    later = lake.folder.path.with_name("later")
    run_once(new_lake(lake.spark, later), Sources(topic=topic, since=time.time() + 3_600), nothing, nothing)


def test_who_may_not_read_the_topic_is_told_so(secure_broker: Secure, lake: SparkLake) -> None:
    def topic_as(principal: str) -> OffsetsTopic:
        config = secure_broker.command_config(principal)
        return topic_of(lake.folder.path, secure_broker.sasl, f"--command-config={config}")

    with pytest.raises(SourceError, match="not permitted to read __consumer_offsets"):
        topic_as("nobody")
    with pytest.raises(SourceError, match="not permitted to read __consumer_offsets"):
        run_once(lake, Sources(topic=topic_as("viewer")), nothing, nothing)


def test_a_login_reaches_the_source_and_is_seen_nowhere(
    secure_broker: Secure, lake: SparkLake, capfd: pytest.CaptureFixture[str]
) -> None:
    config = secure_broker.command_config("admin", tls=True)
    topic = topic_of(lake.folder.path, secure_broker.sasl_tls, f"--command-config={config}")
    assert PASSWORDS["admin"] not in repr(topic)
    records = read_topic(lake.spark, topic)
    records.explain(extended=True)
    await_end(bronze.ingest_topic(lake, stream_topic(lake.spark, topic), interval=None), nothing)
    assert lake.read(COORDINATOR_RECORDS).count() > 0
    told = capfd.readouterr()
    assert "kafka" in told.out.lower()
    assert PASSWORDS["admin"] not in told.out + told.err
    written = [path for path in lake.folder.path.rglob("*") if path.is_file()]
    assert any("_checkpoints" in path.parts for path in written)
    assert not any(PASSWORDS["admin"].encode() in path.read_bytes() for path in written)
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    jvms = [command for command in commands if b"org.apache.spark" in command]
    assert jvms or sys.platform != "linux"
    assert not any(PASSWORDS["admin"].encode() in command for command in jvms)

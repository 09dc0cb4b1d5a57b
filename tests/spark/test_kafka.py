"""Tests with real brokers: Spark reads the same `__consumer_offsets` records as a consumer, and hides login secrets."""

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
from kgtui.commands.pipeline import read_offsets_topic as read_bounds_of_topic
from kgtui.config import read_properties
from kgtui.errors import SourceError
from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE, REBALANCES
from kgtui.pipeline.jobs import bronze
from kgtui.pipeline.jobs.run import Sources, run_continuously, run_once
from kgtui.pipeline.jobs.streaming import await_end
from kgtui.pipeline.session import use_pool
from kgtui.pipeline.sources import COLUMNS, TOPIC, kafka_options, stream_topic
from kgtui.protocol.records import CoordinatorRecord, decode
from tests.brokers import coordinator_records
from tests.brokers.certificates import make_trust_store
from tests.brokers.config import write_properties
from tests.brokers.offsets_topic import TopicRecord, read_offsets_topic
from tests.brokers.secure import PASSWORDS
from tests.secret_markers import Markers, add_unused
from tests.spark.record_samples import check_decoded, ignore
from tests.spark.spark_settings import new_lake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.pipeline.sources import OffsetsTopic
    from kgtui.pipeline.spark_lake import SparkLake
    from kgtui.protocol.records import RecordType
    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.brokers.secure import Secure

INTERNAL_TOPICS_OPTION = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def describe_topic(lake: Path, bootstrap: str, *options: str) -> OffsetsTopic:
    """Return what `kgtui pipeline run` with the options `options` finds out about `__consumer_offsets`."""
    args = ["pipeline", "run", f"--lake={lake}", f"--bootstrap-server={bootstrap}", *options]
    return run_async(read_bounds_of_topic(parse_args(args)))


def read_topic(spark: SparkSession, topic: OffsetsTopic) -> DataFrame:
    """Read all current records of the topic with a Spark batch query."""
    ends = json.dumps({TOPIC: {str(partition): end for partition, (_, end) in topic.bounds.items()}})
    reader = spark.read.format("kafka").options(**kafka_options(topic))
    return reader.option("startingOffsets", "earliest").option("endingOffsets", ends).load().select(*COLUMNS)


def by_position(records: list[TopicRecord]) -> dict[tuple[int, int], TopicRecord]:
    """Return the records by partition and offset: (partition, offset) → record."""
    return {(record.partition, record.offset): record for record in records}


def topic_records(frame: DataFrame) -> list[TopicRecord]:
    """Convert rows from Spark to `TopicRecord`, so that a test can compare the rows with a consumer's records."""
    return [
        TopicRecord(
            row.partition,
            row.offset,
            _millis(row.timestamp),
            bytes(row.key),
            None if row.value is None else bytes(row.value),
        )
        for row in frame.collect()
    ]


def _millis(time: datetime) -> int:
    return round((time.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def group_ids(cluster: Cluster) -> set[str]:
    return {group.group_id for group in cluster.admin.list_consumer_groups().result(30).valid}


@pytest.fixture(autouse=True)
def _restore_internal_topics_option(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.set(INTERNAL_TOPICS_OPTION, "true")


def test_spark_reads_the_same_offsets_topic_records_as_a_consumer(newest_live: Live, lake: SparkLake) -> None:
    """Spark's batch and streaming queries read all records that a consumer reads, and create no consumer group."""
    cluster = newest_live.cluster
    coordinator_records.write_records(newest_live)
    groups_before = group_ids(cluster)
    topic = describe_topic(lake.folder.local_path, cluster.bootstrap)
    consumed = by_position(read_offsets_topic(cluster))
    batch = by_position(topic_records(read_topic(lake.spark, topic)))
    assert len(consumed) > 50
    # Groups commit all the time. The consumer and Spark read at different times, so one of them can see more records.
    assert consumed.items() <= batch.items() or batch.items() <= consumed.items()
    run_once(lake, Sources(topic=topic), ignore, ignore)
    # A second run must not add the same records to the bronze table again.
    run_once(lake, Sources(topic=describe_topic(lake.folder.local_path, cluster.bootstrap)), ignore, ignore)
    ingested = by_position(topic_records(lake.read(COORDINATOR_RECORDS)))
    assert consumed.items() <= ingested.items()
    assert batch.items() <= ingested.items()
    assert lake.read(COORDINATOR_RECORDS).count() == len(ingested)
    assert group_ids(cluster) == groups_before
    assert check_silver_tables(lake, ingested) == coordinator_records.types(newest_live.version)


def check_silver_tables(lake: SparkLake, records: dict[tuple[int, int], TopicRecord]) -> set[RecordType]:
    """Assert that each record has the right row in `commits` or `group_events`, and that `quarantine` is empty.

    Returns:
        Types of the records that are not tombstones.
    """
    tables = {
        table.name: {(row.record_partition, row.record_offset): row for row in lake.read(table).collect()}
        for table in (COMMITS, GROUP_EVENTS, QUARANTINE)
    }
    assert not tables[QUARANTINE.name]
    assert len(tables[COMMITS.name]) + len(tables[GROUP_EVENTS.name]) == len(records)
    for position, record in records.items():
        check_decoded(position, record.key, record.value, tables)
    assert lake.read(REBALANCES).count() > 0
    decoded = [decode(record.key, record.value) for record in records.values()]
    return {record.type for record in decoded if isinstance(record, CoordinatorRecord) and record.value is not None}


@pytest.fixture(scope="module")
def quiet_cluster(broker_431: Cluster) -> Cluster:
    """Return a broker with a topic `quiet`, which no consumer reads."""
    broker_431.create_topic("quiet")
    return broker_431


def test_a_run_fails_if_spark_reads_nothing_from_a_topic_with_records(quiet_cluster: Cluster, lake: SparkLake) -> None:
    quiet_cluster.commit("somebody", {("quiet", 0): 0})
    topic = describe_topic(lake.folder.local_path, quiet_cluster.bootstrap)
    lake.spark.conf.set(INTERNAL_TOPICS_OPTION, "false")
    # In the second run, the topic has no new records. The run must still report the same error as the first run.
    for _ in range(2):
        with pytest.raises(SourceError, match="did not read"):
            run_once(lake, Sources(topic=topic), ignore, ignore)
    with pytest.raises(SourceError, match="did not read"):
        run_continuously(lake, Sources(topic=topic), ignore, ignore, interval=0.5)


def test_a_continuous_pipeline_run_reads_new_commits(quiet_cluster: Cluster, lake: SparkLake) -> None:
    quiet_cluster.commit("watched", {("quiet", 0): 1})
    topic = describe_topic(lake.folder.local_path, quiet_cluster.bootstrap)

    class BothCommitsReadError(Exception):
        pass

    def make_gold(lake: SparkLake) -> None:
        use_pool(lake.spark, "gold")
        offsets = {row.offset for row in lake.read(COMMITS).where("`group` = 'watched'").collect()}
        if offsets == {1}:
            quiet_cluster.commit("watched", {("quiet", 0): 2})
        elif offsets:
            raise BothCommitsReadError

    with pytest.raises(BothCommitsReadError):
        run_continuously(lake, Sources(topic=topic), make_gold, ignore, interval=0.5)
    assert not lake.spark.streams.active
    pools = lake.spark.sparkContext._jsc.sc().getAllPools()
    # Each job has its own scheduler pool, so that a long gold job does not delay bronze and silver batches.
    assert {"bronze", "silver", "gold"} <= {pools.apply(index).name() for index in range(pools.size())}


@pytest.mark.full
def test_a_pipeline_run_with_a_start_time_skips_older_records(quiet_cluster: Cluster, lake: SparkLake) -> None:
    quiet_cluster.commit("early", {("quiet", 0): 1})
    newest = max(record.timestamp for record in read_offsets_topic(quiet_cluster))
    quiet_cluster.commit("late", {("quiet", 0): 1})
    topic = describe_topic(lake.folder.local_path, quiet_cluster.bootstrap)
    run_once(lake, Sources(topic=topic, since=(newest + 1) / 1000), ignore, ignore)
    groups = {row.group for row in lake.read(COMMITS).select("group").collect()}
    assert "late" in groups
    assert "early" not in groups
    future = new_lake(lake.spark, lake.folder.local_path.with_name("later"))
    run_once(future, Sources(topic=topic, since=time.time() + 3_600), ignore, ignore)


def test_a_missing_permission_to_read_consumer_offsets_is_reported(secure_broker: Secure, lake: SparkLake) -> None:
    def describe_as(principal: str) -> OffsetsTopic:
        config = secure_broker.command_config(principal)
        return describe_topic(lake.folder.local_path, secure_broker.sasl, f"--command-config={config}")

    with pytest.raises(SourceError, match="not permitted to read __consumer_offsets"):
        describe_as("nobody")
    with pytest.raises(SourceError, match="not permitted to read __consumer_offsets"):
        run_once(lake, Sources(topic=describe_as("viewer")), ignore, ignore)


def test_spark_neither_shows_nor_stores_login_secrets(
    secure_broker: Secure, lake: SparkLake, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    properties = dict(read_properties(secure_broker.command_config("admin", tls=True)))
    secrets = {"JAAS password": PASSWORDS["admin"], "trust store": "S3cret+trust-store"}
    make_trust_store(secure_broker.certificates.authority, tmp_path / "trust.p12", secrets["trust store"])
    properties |= {
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(tmp_path / "trust.p12"),
        "ssl.truststore.password": secrets["trust store"],
    }
    add_unused(properties, secrets)
    markers = Markers(secrets)
    config = write_properties(tmp_path / "client.properties", properties)
    topic = describe_topic(lake.folder.local_path, secure_broker.sasl_tls, f"--command-config={config}")
    markers.check("the description of the topic", repr(topic))
    read_topic(lake.spark, topic).explain(extended=True)
    await_end(bronze.ingest_topic(lake, stream_topic(lake.spark, topic), interval=None), ignore)
    assert lake.read(COORDINATOR_RECORDS).count() > 0
    output = capfd.readouterr()
    assert "kafka" in output.out.lower()
    markers.check("the output", output.out + output.err)
    assert markers.check_files(lake.folder.local_path) > 1
    assert (lake.folder.local_path / "_checkpoints").is_dir()
    jvms = [path for path in Path("/proc").glob("[0-9]*") if b"org.apache.spark" in content(path / "cmdline")]
    assert jvms or sys.platform != "linux"
    for path in jvms:
        markers.check("a Java process", content(path / "cmdline") + content(path / "environ"))


def content(file: Path) -> bytes:
    """Return the content of a file in `/proc`, or empty bytes if the process has ended."""
    try:
        return file.read_bytes()
    except OSError:
        return b""

"""Spark's reading of `__consumer_offsets` on real brokers equals a plain consumer's, record by record."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.connecting import run_async
from kgtui.commands.offsets_topic import offsets_topic
from kgtui.commands.parser import parse_args
from kgtui.errors import SourceError
from kgtui.history.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE, REBALANCES
from kgtui.pipeline.jobs.run import Sources, once
from kgtui.pipeline.sources import kafka
from tests.brokers import happenings
from tests.brokers.offsets_topic import TopicRecord, read_offsets_topic
from tests.brokers.secure import PASSWORDS
from tests.spark.test_records import check
from tests.spark.test_streams import nothing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.pipeline.lake import SparkLake
    from kgtui.pipeline.sources.kafka import OffsetsTopic
    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.brokers.secure import Secure

VISIBLE = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def topic_of(lake: Path, bootstrap: str, *more: str) -> OffsetsTopic:
    """As `kgtui pipeline run` finds it."""
    words = ["pipeline", "run", f"--lake={lake}", f"--bootstrap-server={bootstrap}", *more]
    return run_async(offsets_topic(parse_args(words)))


def rows_of(frame: DataFrame) -> list[TopicRecord]:
    return sorted(
        TopicRecord(row.partition, row.offset, millis(row.timestamp), bytes(row.key), _bytes(row.value))
        for row in frame.collect()
    )


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


def test_batch_and_stream_equal_a_plain_consumer_and_join_no_group(live: Live, lake: SparkLake) -> None:
    cluster = live.cluster
    happenings.commit_in_transactions(cluster, "spark-transactional", "orders", 61, 62)
    before = groups_of(cluster)
    topic = topic_of(lake.folder.path, cluster.bootstrap)
    raw = {(one.partition, one.offset): one for one in read_offsets_topic(cluster)}
    batch = {(one.partition, one.offset): one for one in rows_of(kafka.read(lake.spark, topic))}
    # Members go on committing, so the later read may have more; it has all that the first had.
    assert len(raw) > 50
    assert raw.items() <= batch.items() or batch.items() <= raw.items()
    once(lake, Sources(topic=topic), nothing, nothing)
    again = topic_of(lake.folder.path, cluster.bootstrap)
    once(lake, Sources(topic=again), nothing, nothing)
    bronze = {(one.partition, one.offset): one for one in rows_of(lake.read(COORDINATOR_RECORDS))}
    assert raw.items() <= bronze.items()
    assert batch.items() <= bronze.items()
    assert lake.read(COORDINATOR_RECORDS).count() == len(bronze)
    assert groups_of(cluster) == before
    equal_to_the_decoder(lake, bronze)


def equal_to_the_decoder(lake: SparkLake, bronze: dict[tuple[int, int], TopicRecord]) -> None:
    """Each record is in one silver table, as `kgtui.protocol.records` reads it; none is in quarantine."""
    tables = {
        table.name: {(row.record_partition, row.record_offset): row for row in lake.read(table).collect()}
        for table in (COMMITS, GROUP_EVENTS, QUARANTINE)
    }
    assert not tables[QUARANTINE.name]
    assert len(tables[COMMITS.name]) + len(tables[GROUP_EVENTS.name]) == len(bronze)
    for place, record in bronze.items():
        check(place, record.key, record.value, tables)
    assert lake.read(REBALANCES).count() > 0


def test_an_empty_read_of_a_topic_that_is_not_empty_fails(broker_431: Cluster, lake: SparkLake) -> None:
    broker_431.create_topic("quiet")
    broker_431.commit("somebody", {("quiet", 0): 0})
    topic = topic_of(lake.folder.path, broker_431.bootstrap)
    lake.spark.conf.set(VISIBLE, "false")
    with pytest.raises(SourceError, match="did not see"):
        once(lake, Sources(topic=topic), nothing, nothing)


def test_who_may_not_read_the_topic_is_told_so(secure_broker: Secure, lake: SparkLake) -> None:
    def topic_as(principal: str) -> OffsetsTopic:
        config = secure_broker.command_config(principal)
        return topic_of(lake.folder.path, secure_broker.sasl, f"--command-config={config}")

    with pytest.raises(SourceError, match="not permitted to read __consumer_offsets"):
        topic_as("nobody")
    with pytest.raises(SourceError, match="not permitted to read __consumer_offsets"):
        once(lake, Sources(topic=topic_as("viewer")), nothing, nothing)


def test_a_login_reaches_the_source_and_is_seen_nowhere(
    secure_broker: Secure, lake: SparkLake, capfd: pytest.CaptureFixture[str]
) -> None:
    config = secure_broker.command_config("admin", tls=True)
    topic = topic_of(lake.folder.path, secure_broker.sasl_tls, f"--command-config={config}")
    assert PASSWORDS["admin"] not in repr(topic)
    records = kafka.read(lake.spark, topic)
    records.explain(extended=True)
    once(lake, Sources(topic=topic), nothing, nothing)
    assert lake.read(COMMITS).count() > 0
    told = capfd.readouterr()
    assert "kafka" in told.out.lower()
    assert PASSWORDS["admin"] not in told.out + told.err
    written = [path for path in lake.checkpoint().rglob("*") if path.is_file()]
    assert written
    assert not any(PASSWORDS["admin"].encode() in path.read_bytes() for path in written)

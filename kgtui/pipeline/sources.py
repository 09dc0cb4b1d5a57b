"""Sources of `__consumer_offsets` records: Spark's Kafka source, and folders of Parquet files.

Spark's Kafka source can silently skip records of internal topics such as `__consumer_offsets`.
Therefore, kgtui's own client lists the partitions of the topic, and `check_read_complete` checks
that Spark has read all of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType, TimestampType

from kgtui.errors import SourceError
from kgtui.model.number_format import counted
from kgtui.model.paths import expanded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("partition", "offset", "timestamp", "key", "value")
"""Columns of the DataFrames that `stream_topic` and `stream_files` return.

`key` and `value` are binary.
"""

TOPIC = "__consumer_offsets"

NOT_PERMITTED = f"not permitted to read {TOPIC}: the user needs Read and Describe on this topic"
"""Error message if the brokers do not permit kgtui's client or Spark to read the topic."""

GROUP_PREFIX = "kgtui"
"""Prefix of the group ids that Spark gives to its Kafka consumers.

The user needs permission (Read) for these group ids, although the consumers do not join a group.
"""

FILE_SCHEMA = StructType(
    [
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)
"""Columns that the Parquet files with records must have; other columns are ignored."""

_SECURITY = ("security.", "sasl.", "ssl.")
_CLIENT = ("client.dns.lookup", "request.timeout.ms", "default.api.timeout.ms")
_NOT_FOR_CONSUMERS = ("security.providers",)


@dataclass(frozen=True, slots=True)
class OffsetsTopic:
    """How to connect to a cluster, and the range of offsets in its topic `__consumer_offsets`.

    Attributes:
        seeds: bootstrap servers, as `host:port`.
        bounds: partition → pair (log start offset, log end offset).
        properties: properties for a Java client; may contain secrets.
        cluster_id: None if the cluster reports none.
        topic_id: topic id as Kafka's tools print it; None if the brokers are older than Kafka 2.8.
        offsets_retention: time for which brokers keep offsets of groups without members, in
            seconds; None if unknown.
    """

    seeds: tuple[str, ...]
    bounds: Mapping[int, tuple[int, int]]
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    cluster_id: str | None = None
    offsets_retention: float | None = None
    topic_id: str | None = None

    @property
    def size(self) -> int:
        """Maximum number of records in the topic.

        This is the sum of (log end offset - log start offset) over all partitions. The topic can
        have fewer records, because compaction removes some.
        """
        return sum(end - start for start, end in self.bounds.values())


def kafka_options(topic: OffsetsTopic) -> dict[str, str]:
    """Return options with which Spark's Kafka source reads all partitions of `__consumer_offsets`.

    The options may contain secrets, because they include the settings for authentication.
    """
    return security_options(topic.properties) | {
        "kafka.bootstrap.servers": ",".join(topic.seeds),
        "kafka.isolation.level": "read_committed",
        "assign": json.dumps({TOPIC: sorted(topic.bounds)}),
        "groupIdPrefix": GROUP_PREFIX,
        "failOnDataLoss": "true",
    }


def stream_topic(
    spark: SparkSession, topic: OffsetsTopic, *, since: float | None = None, max_records: int = 4_000_000
) -> DataFrame:
    """Return a streaming DataFrame with the records of `__consumer_offsets`, in columns `COLUMNS`.

    Args:
        since: records before this time are skipped, in seconds since the epoch; None to read all
            records. If the query has a checkpoint, Spark ignores `since`, and continues from the
            checkpoint.
        max_records: maximum number of records per batch.
    """
    reader = spark.readStream.format("kafka").options(**kafka_options(topic))
    reader = reader.option("maxOffsetsPerTrigger", max_records)
    if since is None:
        reader = reader.option("startingOffsets", "earliest")
    else:
        reader = reader.option("startingTimestamp", round(since * 1000))
        reader = reader.option("startingOffsetsByTimestampStrategy", "latest")
    return reader.load().select(*COLUMNS)


def records_folder(path: Path | str) -> Path:
    """Return the absolute path of a folder with records. Raises `SourceError` if it is missing."""
    folder = expanded(path).absolute()
    if not folder.is_dir():
        raise SourceError(f"the folder {folder} does not exist")
    return folder


def stream_files(spark: SparkSession, folder: Path | str, *, max_files: int | None = None) -> DataFrame:
    """Return a streaming DataFrame of the records in the Parquet files of a folder.

    The stream also reads files that are added to the folder later. Each row is one record of
    `__consumer_offsets`, with the columns of `FILE_SCHEMA`.

    Args:
        max_files: maximum number of files per batch; None for no limit.

    Raises:
        SourceError: the folder does not exist or has no readable Parquet files, or a column of
            `FILE_SCHEMA` is missing or has another type.
    """
    path = records_folder(folder)
    try:
        found = spark.read.parquet(str(path)).schema
    except PySparkException as error:
        raise SourceError(
            f"{path} contains no Parquet files that can be read: {error.getCondition() or error}"
        ) from error
    types = {column.name: column.dataType for column in found}
    if any(types.get(column.name) != column.dataType for column in FILE_SCHEMA):
        expected = ", ".join(f"{column.name} ({column.dataType.simpleString()})" for column in FILE_SCHEMA)
        actual = ", ".join(f"{name} ({kind.simpleString()})" for name, kind in types.items())
        raise SourceError(f"{path}: files of records must have the columns {expected}; these files have {actual}")
    reader = spark.readStream.schema(FILE_SCHEMA)
    if max_files is not None:
        reader = reader.option("maxFilesPerTrigger", max_files)
    return reader.parquet(str(path))


def security_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the client properties for authentication, TLS, DNS lookup and timeouts.

    The returned names begin with `kafka.`, as Spark's Kafka source expects.
    """
    return {
        f"kafka.{name}": value
        for name, value in properties.items()
        if (name.startswith(_SECURITY) and name not in _NOT_FOR_CONSUMERS) or name in _CLIENT
    }


def check_read_complete(topic: OffsetsTopic, read_up_to: Mapping[int, int], rows: int | None) -> None:
    """Check that Spark has read all partitions of `__consumer_offsets`.

    Partitions that have never contained a record need not have been read.

    Args:
        read_up_to: partition → offset after the last offset that was read.
        rows: number of records that were read; None if unknown.

    Raises:
        SourceError: a partition was not read, or the topic has records but none was read.
    """
    missing = sorted(
        partition for partition, (_, end) in topic.bounds.items() if end > 0 and partition not in read_up_to
    )
    if missing or (topic.size and rows == 0):
        what = f"did not read {_enumerate(missing)}" if missing else "returned no records"
        raise SourceError(
            f"{TOPIC} contains up to {counted(topic.size, 'record')}, but Spark's Kafka source {what}. The "
            "source reads internal topics only with spark.sql.streaming.kafka.useDeprecatedOffsetFetching=true; check "
            "that the Spark cluster does not forbid this option"
        )


def _enumerate(numbers: list[int], most: int = 10) -> str:
    shown = ("partition " if len(numbers) == 1 else "partitions ") + ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown} and {len(numbers) - most} more"

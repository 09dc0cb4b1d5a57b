"""Every record that is no plain offset commit: decoded by `kgtui.protocol.records`, in Python, a batch at a time.

What comes out has the place of the record and one of three structs, the others null: `commit`, `event` (a row of
`group_events`) or `quarantine`. So each record is in exactly one table.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from kgtui.lake.schemas import COMMITS, GROUP_EVENTS, QUARANTINE
from kgtui.pipeline.spark_schema import TYPES, conform
from kgtui.pipeline.transforms.events import event_of
from kgtui.protocol.records import CoordinatorRecord, DecodeFailure, RecordType, Undecodable, decode, format_uuid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kgtui.lake.schemas import Table

PLACE = ("day", "record_partition", "record_offset", "record_time")
"""Where and when a record was written: what the rows of all three tables begin with."""

_COMMITS = (RecordType.LEGACY_OFFSET_COMMIT, RecordType.OFFSET_COMMIT)
PARTS: dict[str, Table] = {"commit": COMMITS, "event": GROUP_EVENTS, "quarantine": QUARANTINE}
"""The struct of each table's rows in what `read_records` returns."""

_EARLIEST_MS, _LATEST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999, in milliseconds since 1970: what is beyond is no time."""


def _struct(table: Table) -> StructType:
    return StructType([StructField(c.name, TYPES[c.type]) for c in table.columns if c.name not in PLACE])


SCHEMA = StructType(
    [StructField(c.name, TYPES[c.type]) for c in COMMITS.columns if c.name in PLACE]
    + [StructField(name, _struct(table)) for name, table in PARTS.items()]
)
"""Of what `read_records` returns."""


def read_records(records: DataFrame) -> DataFrame:
    """Bronze rows, decoded: each with its place and one of `commit`, `event` and `quarantine`."""
    named = records.select(
        "day",
        F.col("partition").alias("record_partition"),
        F.col("offset").alias("record_offset"),
        F.col("timestamp").alias("record_time"),
        "key",
        "value",
    )
    return named.mapInArrow(_read_batches, SCHEMA)


def rows_of(read: DataFrame, table: Table) -> DataFrame:
    """The rows of one table among what `read_records` returned."""
    part = next(name for name, one in PARTS.items() if one is table)
    return read.where(F.col(part).isNotNull()).select(*PLACE, f"{part}.*").transform(conform, table)


def outcome(key: bytes | None, value: bytes | None) -> tuple[str, dict[str, Any]]:
    """Which struct a record has, and what is in it; times are in milliseconds."""
    read = decode(key, value)
    if isinstance(read, Undecodable):
        return "quarantine", _kept(read.failure, read.reason, read.type, read.version, key, value)
    row = _commit(read) if read.type in _COMMITS else event_of(read)
    times = {name: time for name, time in row.items() if name.endswith("_time") and time is not None}
    beyond = [name for name, time in times.items() if not _EARLIEST_MS <= time <= _LATEST_MS]
    if beyond:
        reason = f"{beyond[0]} is {times[beyond[0]]} ms since 1970, which is no time"
        return "quarantine", _kept(DecodeFailure.DAMAGED_VALUE, reason, read.type.value, read.version, key, value)
    return ("commit" if read.type in _COMMITS else "event"), row


def _commit(record: CoordinatorRecord) -> dict[str, Any]:
    row = {name: record.key[name] for name in ("group", "topic", "partition")}
    value = record.value
    if value is None:
        return row
    epoch, expires, topic_id = value.get("leaderEpoch", -1), value.get("expireTimestamp", -1), value.get("topicId")
    return row | {
        "offset": value["offset"],
        "leader_epoch": None if epoch == -1 else epoch,
        "metadata": value["metadata"],
        "commit_time": value["commitTimestamp"],
        "expire_time": None if expires == -1 else expires,
        "topic_id": format_uuid(topic_id) if topic_id is not None and topic_id.int else None,
    }


def _kept(
    fault: DecodeFailure, reason: str, number: int | None, version: int | None, key: bytes | None, value: bytes | None
) -> dict[str, Any]:
    return {
        "fault": str(fault), "reason": reason, "type": number, "version": version, "key": key, "value": value
    }  # fmt: skip


def _read_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What runs on executors."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(SCHEMA, timezone="UTC")
    for batch in batches:
        parts: dict[str, list[dict[str, Any] | None]] = {name: [] for name in PARTS}
        for key, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True):
            which, row = outcome(key, value)
            for name, rows in parts.items():
                rows.append(_with_times(row) if name == which else None)
        columns = [batch[name].cast(schema.field(name).type) for name in PLACE]
        columns += [pa.array(rows, schema.field(name).type) for name, rows in parts.items()]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _with_times(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromtimestamp(value / 1000, UTC) if name.endswith("_time") and value is not None else value
        for name, value in row.items()
    }

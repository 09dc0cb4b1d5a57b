"""Decode in Python the records of `__consumer_offsets` that Spark expressions cannot decode.

The module `offset_commits` decodes nearly all offset commits with Spark expressions. This module
decodes the remaining records. It returns one row per record, with the columns in `POSITION` and
three struct columns:

- `commit`: fields of the silver table `commits`
- `event`: fields of the silver table `group_events`
- `quarantine`: fields of the silver table `quarantine`, if the record cannot be decoded

Only one of the three structs is set; the other two are null.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from kgtui.lake.schemas import COMMITS, GROUP_EVENTS, QUARANTINE
from kgtui.pipeline.spark_schema import TYPES, conform
from kgtui.pipeline.transforms.group_events import event_row
from kgtui.pipeline.transforms.offset_commits import LATEST_MS
from kgtui.protocol.records import (
    CoordinatorRecord,
    DecodeFailure,
    RecordType,
    Undecodable,
    decode,
    format_uuid,
    unknown_tags,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kgtui.lake.schemas import Table

POSITION = ("day", "record_partition", "record_offset", "record_time")
"""Columns with the UTC day, the partition, the offset and the timestamp of a decoded Kafka record.

They are the first columns of the silver tables `commits`, `group_events` and `quarantine`.
"""

STRUCTS: dict[str, Table] = {"commit": COMMITS, "event": GROUP_EVENTS, "quarantine": QUARANTINE}
"""Struct column of a decoded record → silver table whose rows are made from this struct."""

_COMMIT_TYPES = (RecordType.LEGACY_OFFSET_COMMIT, RecordType.OFFSET_COMMIT)

_EARLIEST_MS = -62_135_596_800_000
"""Start of the year 1, in milliseconds since 1970. Records with earlier times count as damaged."""


def _struct(table: Table) -> StructType:
    return StructType(
        [StructField(column.name, TYPES[column.type]) for column in table.columns if column.name not in POSITION]
    )


DECODED = StructType([StructField(name, _struct(table)) for name, table in STRUCTS.items()])
"""Spark type of a decoded record: the structs `commit`, `event` and `quarantine` (one is set)."""

SCHEMA = StructType(
    [StructField(column.name, TYPES[column.type]) for column in COMMITS.columns if column.name in POSITION]
    + DECODED.fields
)
"""Schema of rows with decoded records.

The columns in `POSITION` say where in Kafka the record is. Of the three structs `commit`, `event`
and `quarantine`, only one is set.
"""


def decode_records(records: DataFrame) -> DataFrame:
    """Decode rows of the bronze table, which are undecoded Kafka records, into rows of `SCHEMA`."""
    return records.transform(with_positions).mapInArrow(_decode_batches, SCHEMA)


def with_positions(records: DataFrame) -> DataFrame:
    """Rename bronze columns to their names in the silver tables, such as `record_partition`.

    The result has the columns in `POSITION`, and the `key` and `value` of the Kafka record.
    """
    return records.select(
        "day",
        F.col("partition").alias("record_partition"),
        F.col("offset").alias("record_offset"),
        F.col("timestamp").alias("record_time"),
        "key",
        "value",
    )


def rows_for(decoded: DataFrame, table: Table) -> DataFrame:
    """Return the rows of one silver table.

    Args:
        decoded: decoded records of all kinds, as rows of `SCHEMA`.
        table: the silver table `commits`, `group_events` or `quarantine`.
    """
    struct = next(name for name, candidate in STRUCTS.items() if candidate is table)
    return decoded.where(F.col(struct).isNotNull()).select(*POSITION, f"{struct}.*").transform(conform, table)


def decode_record(key: bytes | None, value: bytes | None) -> tuple[str, dict[str, Any]]:
    """Decode one record of `__consumer_offsets` into a pair (struct name, fields of the struct).

    The struct name is `commit` for an offset commit, and `event` for any other record. It is
    `quarantine` if the record cannot be decoded, or contains a time outside the years 1 to 9999.
    Times in the fields are in milliseconds since the epoch.
    """
    record = decode(key, value)
    if isinstance(record, Undecodable):
        return "quarantine", _quarantine_row(record.failure, record.reason, record.type, record.version, key, value)
    is_commit = record.type in _COMMIT_TYPES
    row = _commit_row(record) if is_commit else event_row(record)
    for name, time in row.items():
        if name.endswith("_time") and time is not None and not _EARLIEST_MS <= time <= LATEST_MS:
            reason = f"{name} is {time} ms since 1970, which is not in the years 1 to 9999"
            number = record.type.value
            return "quarantine", _quarantine_row(
                DecodeFailure.DAMAGED_VALUE, reason, number, record.version, key, value
            )
    return "commit" if is_commit else "event", row


def _commit_row(record: CoordinatorRecord) -> dict[str, Any]:
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
        "unknown_fields": json.dumps(unknown, separators=(",", ":")) if (unknown := unknown_tags(value)) else None,
    }


def _quarantine_row(
    failure: DecodeFailure, reason: str, number: int | None, version: int | None, key: bytes | None, value: bytes | None
) -> dict[str, Any]:
    return {
        "fault": str(failure), "reason": reason, "type": number, "version": version, "key": key, "value": value
    }  # fmt: skip


def _decode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(SCHEMA, timezone="UTC")
    for batch in batches:
        structs: dict[str, list[dict[str, Any] | None]] = {name: [] for name in STRUCTS}
        for key, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True):
            struct, row = decode_record(key, value)
            for name, rows in structs.items():
                rows.append(_with_datetimes(row) if name == struct else None)
        columns = [batch[name].cast(schema.field(name).type) for name in POSITION]
        columns += [pa.array(rows, schema.field(name).type) for name, rows in structs.items()]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _with_datetimes(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromtimestamp(value / 1000, UTC) if name.endswith("_time") and value is not None else value
        for name, value in row.items()
    }

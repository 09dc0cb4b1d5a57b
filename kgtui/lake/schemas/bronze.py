"""The bronze table: records of `__consumer_offsets` as bytes."""

from __future__ import annotations

from kgtui.lake.schemas.definition import PARTITION, Column, table

COORDINATOR_RECORDS = table(
    "bronze",
    "coordinator_records",
    "one record of __consumer_offsets, as it was written",
    ("partition", "offset"),
    Column(PARTITION, "date", "of the record's timestamp, in UTC", nullable=False),
    Column("partition", "int", "of __consumer_offsets", nullable=False),
    Column("offset", "long", "in that partition", nullable=False),
    Column("timestamp", "timestamp", "when the coordinator wrote it", nullable=False),
    Column("key", "binary", "null only in a damaged record"),
    Column("value", "binary", "null: a tombstone"),
)

BRONZE = (COORDINATOR_RECORDS,)
"""The tables of this layer."""

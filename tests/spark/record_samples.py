"""Create sample records of `__consumer_offsets`, write them to files, and check that they are decoded correctly."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from kgtui.lake.schemas import COMMITS, GROUP_EVENTS, QUARANTINE
from kgtui.protocol.records import CoordinatorRecord, RecordType, as_json, decode, encode
from kgtui.protocol.schema import UNKNOWN_TAGS

if TYPE_CHECKING:
    from pathlib import Path

Record = tuple[bytes | None, bytes | None]
"""Encoded key and value of a record, as Kafka stores them; None for null."""

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""Default timestamp of sample records: 21 November 2026, 12:00 UTC."""

COMMIT_TIME = 1_795_262_400_123
"""Default commit time of a sample commit, in milliseconds since the epoch."""


def commit(version: int, group: str = "payments", *, key_version: int = 1, **fields: Any) -> Record:
    """Return the encoded key and value of an offset commit.

    Args:
        version, key_version: schema versions of the record's value and of its key.
        fields: fields of the value that differ from the defaults.
    """
    defaults = {"offset": 10**12 + 3, "metadata": "", "commitTimestamp": COMMIT_TIME, "topicId": None}
    value = {"leaderEpoch": 7, "expireTimestamp": -1} | defaults | fields
    if version < 4 or value["topicId"] is None:
        value["topicId"] = UUID(int=0)
    key, written = encode(
        RecordType.OFFSET_COMMIT, {"group": group, "topic": "orders", "partition": 5}, value, version=version
    )
    return key_version.to_bytes(2, "big") + key[2:], written


def write_file(
    folder: Path, name: str, records: list[Record], first_offset: int = 0, timestamps: list[int] | None = None
) -> None:
    """Write records to a Parquet file. They belong to partition 0 and have consecutive offsets.

    Args:
        timestamps: timestamp of each record, in microseconds since the epoch; None for `NOON`.
    """
    folder.mkdir(exist_ok=True)
    count = len(records)
    times: list[Any] = [NOON] * count if timestamps is None else [*timestamps]
    columns = {
        "partition": pa.array([0] * count, pa.int32()),
        "offset": pa.array(range(first_offset, first_offset + count), pa.int64()),
        "timestamp": pa.array(times, pa.timestamp("us", tz="UTC")),
        "key": pa.array([key for key, _ in records], pa.binary()),
        "value": pa.array([value for _, value in records], pa.binary()),
    }
    pq.write_table(pa.table(columns), folder / name)


def ignore(_: object) -> None:
    """Do nothing. Tests pass this function as the gold job or as a progress callback."""


def check_decoded(
    position: Any, key: bytes | None, value: bytes | None, tables: dict[str, dict[Any, Any]]
) -> None:  # fmt: skip
    """Assert that a record is in the right silver table, with the values that `kgtui.protocol.records` decodes.

    Args:
        position: (partition, offset) of the record, or only its offset if no two records have the same offset.
        key, value: key and value of the record.
        tables: rows of the silver tables, as `{name of the table: {position: row}}`.
    """
    expected = decode(key, value)
    quarantined = tables[QUARANTINE.name].get(position)
    if quarantined is not None:
        assert (quarantined.key, quarantined.value) == (as_bytearray(key), as_bytearray(value))
        if isinstance(expected, CoordinatorRecord):
            assert "not in the years 1 to 9999" in quarantined.reason
        else:
            actual = (quarantined.fault, quarantined.reason, quarantined.type)
            assert actual == (expected.failure, expected.reason, expected.type)
        return
    assert isinstance(expected, CoordinatorRecord)
    if expected.type > RecordType.OFFSET_COMMIT:
        event = tables[GROUP_EVENTS.name][position]
        actual = (event.group, event.member_id, event.tombstone)
        assert actual == (expected.group, expected.member, expected.value is None)
        assert event.detail is None or json.loads(event.detail) == json.loads(json.dumps(as_json(expected)["value"]))
        return
    row, fields = tables[COMMITS.name][position], expected.value or {}
    assert (row.group, row.topic, row.partition) == tuple(
        expected.key[name] for name in ("group", "topic", "partition")
    )
    assert row.offset == fields.get("offset")
    assert row.metadata == fields.get("metadata")
    assert row.leader_epoch == _none_if_minus_one(fields.get("leaderEpoch"))
    assert _millis(row.commit_time) == fields.get("commitTimestamp")
    assert _millis(row.expire_time) == _none_if_minus_one(fields.get("expireTimestamp"))
    topic_id = fields.get("topicId")
    unknown = {str(number): b64encode(content).decode() for number, content in fields.get(UNKNOWN_TAGS, {}).items()}
    assert json.loads(row.unknown_fields or "{}") == unknown
    assert row.topic_id == (_topic_id_text(topic_id) if topic_id is not None and topic_id.int else None)


def as_bytearray(data: bytes | None) -> bytearray | None:
    """Convert bytes to a bytearray, the type in which Spark returns binary columns."""
    return None if data is None else bytearray(data)


def _topic_id_text(uuid: UUID) -> str:
    """Format a topic id as Kafka's tools do: as URL-safe base64 without padding."""
    return urlsafe_b64encode(uuid.bytes).decode().removesuffix("==")


def _none_if_minus_one(value: int | None) -> int | None:
    return None if value == -1 else value


def _millis(time: datetime | None) -> int | None:
    if time is None:
        return None
    return round((time.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)

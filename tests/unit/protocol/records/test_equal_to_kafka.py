"""Tests that kgtui decodes and encodes records of every type and version like Kafka's group coordinator."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.protocol.records import RECORD_SCHEMAS, CoordinatorRecord, RecordType, Undecodable, as_json, decode, encode
from kgtui.protocol.schema import UNKNOWN_TAGS
from tests.unit.protocol.records.kafka_coordinator import read
from tests.unit.protocol.records.random_records import CASES, every_record_type
from tests.unit.protocol.test_damaged import damage

if TYPE_CHECKING:
    from tests.unit.protocol.records.kafka_coordinator import KafkaResult, Record

EACH = 40


@pytest.fixture(scope="module")
def answers() -> list[tuple[Record, KafkaResult]]:
    """Return pairs of a record and the result of decoding it with Kafka's coordinator, for every type and version.

    The records have random values, default values, or no value (tombstones).
    """
    records = every_record_type(20261121, EACH)
    records += [encode(kind.type, {}, {}, version=version) for kind, version in CASES]
    records += [encode(kind.type, {}, None) for kind in RECORD_SCHEMAS.values()]
    return list(zip(records, read(records), strict=True))


def test_kgtui_and_kafka_format_records_as_the_same_json(answers: list[tuple[Record, KafkaResult]]) -> None:
    compared: set[tuple[RecordType, int | None]] = set()
    for (key, value), kafka in answers:
        record = decode(key, value)
        assert isinstance(record, CoordinatorRecord), (key.hex(), value, record)
        assert as_json(record) == kafka.json, kafka.error
        compared.add((record.type, record.version))
    assert compared == {(kind.type, version) for kind, version in CASES} | {
        (kind.type, None) for kind in RECORD_SCHEMAS.values()
    }


def test_kgtui_and_kafka_encode_records_to_the_same_bytes(answers: list[tuple[Record, KafkaResult]]) -> None:
    for record, kafka in answers:
        assert kafka.written == record


def test_damaged_but_decodable_records_have_same_json_as_in_kafka() -> None:
    """Records that kgtui rejects are not compared: kgtui rejects trailing bytes and invalid UTF-8, which Kafka accepts.

    Unknown tagged fields are not compared, because Kafka's JSON does not contain them.
    """
    random = Random(9)
    damaged: list[Record] = []
    for key, value in every_record_type(3, 60):
        if value is None or random.random() < 0.3:
            damaged.append((damage(random, key), value))
        else:
            damaged.append((key, damage(random, value)))
    both = 0
    for (key, value), kafka in zip(damaged, read(damaged), strict=True):
        record = decode(key, value)
        if isinstance(record, Undecodable):
            continue
        assert _without_unknown_tags(as_json(record)) == kafka.json, (key.hex(), kafka.error)
        both += 1
    assert both > 100


def _without_unknown_tags(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_unknown_tags(part) for name, part in value.items() if name != UNKNOWN_TAGS}
    return [_without_unknown_tags(part) for part in value] if isinstance(value, list) else value

"""Tests that kgtui's definition of every record type equals Kafka's schema in the group coordinator's jar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from kgtui.protocol.records import RECORD_SCHEMAS, RecordType
from tests.jars import folder
from tests.unit.protocol.kafka_schemas import (
    check_every_field_is_used,
    check_versions,
    kafka_layout,
    kgtui_layout,
    read_schema,
)
from tests.unit.protocol.records.kafka_coordinator import types
from tests.unit.protocol.samples import name_of

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.protocol.api import Message
    from kgtui.protocol.records import RecordSchema

MESSAGES = [message for kind in RECORD_SCHEMAS.values() for message in (kind.key, kind.value)]


def coordinator_jar(version: str) -> Path:
    return folder(version) / f"kafka-group-coordinator-{version}.jar"


def names_in(version: str) -> set[str]:
    """Return the names of all record schemas in the jar of the group coordinator of a Kafka version."""
    with ZipFile(coordinator_jar(version)) as jar:
        files = [name for name in jar.namelist() if name.startswith("common/message/") and name.endswith(".json")]
    return {name.rpartition("/")[2].removesuffix(".json") for name in files}


def schema(message: Message) -> dict[str, Any]:
    return read_schema(coordinator_jar("4.3.1"), message.name)


def test_kgtui_has_a_record_table_for_each_record_schema_of_kafka() -> None:
    assert {message.name for message in MESSAGES} == names_in("4.3.1")
    assert len(MESSAGES) == 44


@pytest.mark.parametrize("message", MESSAGES, ids=name_of)
def test_fields_of_each_record_table_equal_the_fields_in_its_kafka_schema(message: Message) -> None:
    check_versions(message, schema(message))


@pytest.mark.parametrize("message", MESSAGES, ids=name_of)
def test_record_tables_support_all_versions_in_their_kafka_schemas(message: Message) -> None:
    newest = schema(message)["validVersions"].rpartition("-")[2]
    assert (message.low, message.high) == (0, int(newest))


@pytest.mark.parametrize("message", MESSAGES, ids=name_of)
def test_each_record_table_field_exists_in_some_record_version(message: Message) -> None:
    check_every_field_is_used(message)


@pytest.mark.parametrize("kind", RECORD_SCHEMAS.values(), ids=lambda kind: kind.type.name)
def test_type_numbers_and_names_in_record_tables_equal_those_in_kafka_schemas(kind: RecordSchema) -> None:
    for message, what in ((kind.key, "coordinator-key"), (kind.value, "coordinator-value")):
        kafka = schema(message)
        assert (kafka["apiKey"], kafka["type"], kafka["name"]) == (kind.type, what, message.name)


def test_numbers_names_and_newest_versions_of_record_types_equal_those_of_kafka() -> None:
    assert {number: (kind.type.name, kind.value.high) for number, kind in RECORD_SCHEMAS.items()} == types()
    assert set(RECORD_SCHEMAS) == set(RecordType)


RELEASED_IN_3_9 = sorted(name for name in names_in("3.9.2") if not name.startswith("Share"))
"""Names of the record schemas of Kafka 3.9.2, except the schemas of share groups, whose format changed later."""


@pytest.mark.parametrize("name", RELEASED_IN_3_9)
def test_records_of_kafka_3_9_and_4_3_differ_only_in_tagged_fields(name: str) -> None:
    """Therefore, kgtui can decode records of both Kafka releases with the same record table.

    A tagged field that a record of Kafka 3.9 lacks gets its default value.
    """
    kafka = read_schema(coordinator_jar("3.9.2"), name)
    shared = {struct["name"]: struct["fields"] for struct in kafka.get("commonStructs", [])}
    message = next(message for message in MESSAGES if message.name == name)
    # In Kafka 3.9, the highest version in the schema of a record key is the number of the record type.
    number = kafka["validVersions"].rpartition("-")[2] if name.endswith("Key") else None
    for version in range(message.high + 1):
        older = kafka_layout(kafka["fields"], shared, version if number is None else int(number))
        assert _untagged(older) == _untagged(kgtui_layout(message.struct, version)), version


def _untagged(rows: list[Any]) -> list[Any]:
    return [(*row[:-1], None if row[-1] is None else _untagged(row[-1])) for row in rows if row[3] is None]

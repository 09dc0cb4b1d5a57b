"""Tests that kgtui's message tables equal Kafka's message schemas in kafka-clients 4.4.0, in every version.

A message table lists the fields of one Kafka message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kgtui.protocol.member_data import consumer
from kgtui.protocol.messages import APIS
from kgtui.protocol.messages.security import DESCRIBE_ACLS, LOGIN_APIS
from tests.jars import clients_jar
from tests.unit.protocol.kafka_schemas import check_every_field_is_used, check_versions, read_schema
from tests.unit.protocol.samples import name_of

if TYPE_CHECKING:
    from kgtui.protocol.api import Api, Message

CASES = [m for api in (*APIS.values(), *LOGIN_APIS, DESCRIBE_ACLS) for m in (api.request, api.response)]
CASES += [consumer.SUBSCRIPTION, consumer.ASSIGNMENT]


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a message in the jar of kafka-clients 4.4.0."""
    return read_schema(clients_jar("4.4.0"), name)


@pytest.mark.parametrize("message", CASES, ids=name_of)
def test_fields_of_each_message_table_equal_the_fields_in_its_kafka_schema(message: Message) -> None:
    check_versions(message, schema(message.name))


@pytest.mark.parametrize("message", CASES, ids=name_of)
def test_each_message_table_field_exists_in_some_supported_version(message: Message) -> None:
    check_every_field_is_used(message)


@pytest.mark.parametrize("api", [*APIS.values(), DESCRIBE_ACLS], ids=name_of)
def test_api_keys_and_message_names_equal_those_of_kafka(api: Api) -> None:
    for message, kind in ((api.request, "request"), (api.response, "response")):
        kafka = schema(message.name)
        assert (kafka["apiKey"], kafka["type"], kafka["name"]) == (api.key, kind, message.name)
        assert not kafka.get("latestVersionUnstable", False)
        assert (message.low, message.high, message.flexible) == (api.low, api.high, api.flexible)


def test_each_api_supports_the_expected_versions() -> None:
    """The test contains the expected versions, so that it fails if somebody adds or removes a version by accident."""
    supported = {api.name: (api.low, api.high) for api in APIS.values()}
    assert supported == {
        "ApiVersions": (0, 4),
        "Metadata": (1, 12),
        "FindCoordinator": (0, 6),
        "ListGroups": (0, 5),
        "DescribeGroups": (0, 6),
        "ConsumerGroupDescribe": (0, 1),
        "ShareGroupDescribe": (1, 1),
        "StreamsGroupDescribe": (0, 1),
        "OffsetFetch": (1, 9),
        "ListOffsets": (1, 10),
        "DescribeShareGroupOffsets": (0, 1),
        "DescribeConfigs": (1, 4),
        "DeleteGroups": (0, 3),
    }
    assert all(key == api.key for key, api in APIS.items())

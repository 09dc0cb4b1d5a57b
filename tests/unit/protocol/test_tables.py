"""Every table equals, field by field and version by version, the schema inside kafka-clients 4.4.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kgtui.protocol.member_data import consumer
from kgtui.protocol.messages import APIS
from tests.jars import clients_jar
from tests.unit.protocol.samples import name_of
from tests.unit.protocol.schemas import check_no_row_is_dead, check_versions, read_schema

if TYPE_CHECKING:
    from kgtui.protocol.api import Api, Message

CASES = [m for api in APIS.values() for m in (api.request, api.response)]
CASES += [consumer.SUBSCRIPTION, consumer.ASSIGNMENT]


def schema(name: str) -> dict[str, Any]:
    """The schema of a message in the newest clients."""
    return read_schema(clients_jar("4.4.0"), name)


@pytest.mark.parametrize("message", CASES, ids=name_of)
def test_every_version_has_kafkas_fields(message: Message) -> None:
    check_versions(message, schema(message.name))


@pytest.mark.parametrize("message", CASES, ids=name_of)
def test_no_table_has_a_field_that_none_of_its_versions_has(message: Message) -> None:
    check_no_row_is_dead(message)


@pytest.mark.parametrize("api", APIS.values(), ids=name_of)
def test_keys_and_names_are_kafkas(api: Api) -> None:
    for message, kind in ((api.request, "request"), (api.response, "response")):
        kafka = schema(message.name)
        assert (kafka["apiKey"], kafka["type"], kafka["name"]) == (api.key, kind, message.name)
        assert not kafka.get("latestVersionUnstable", False)
        assert (message.low, message.high, message.flexible) == (api.low, api.high, api.flexible)


def test_the_versions_are_those_that_were_promised() -> None:
    spoken = {api.name: (api.low, api.high) for api in APIS.values()}
    assert spoken == {
        "ApiVersions": (0, 4),
        "Metadata": (1, 12),
        "FindCoordinator": (0, 6),
        "ListGroups": (0, 5),
        "DescribeGroups": (0, 6),
        "ConsumerGroupDescribe": (0, 1),
        "ShareGroupDescribe": (1, 1),
        "StreamsGroupDescribe": (0, 1),
        "OffsetFetch": (1, 9),
        "ListOffsets": (1, 7),
        "DescribeShareGroupOffsets": (0, 1),
        "DescribeConfigs": (1, 4),
        "DeleteGroups": (0, 3),
    }
    assert all(key == api.key for key, api in APIS.items())

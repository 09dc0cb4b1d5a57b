"""Tests that kgtui encodes and decodes messages like the packages kio and kafka-python."""

from __future__ import annotations

import dataclasses
import importlib
import io
import re
import warnings
from datetime import timedelta
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from kio.serial import entity_reader, entity_writer

from kgtui.protocol.messages.cluster import API_VERSIONS
from tests.unit.protocol.samples import Samples, messages, name_of

if TYPE_CHECKING:
    from kgtui.protocol.api import Message
    from kgtui.protocol.schema import Struct

VALUES_PER_VERSION = 15
# `(message name, version)` of the messages that are newer than the schemas of kio 0.6.5 and kafka-python 3.0.12.
NEWER_THAN_OTHERS = {
    ("DeleteGroupsRequest", 3),
    ("DeleteGroupsResponse", 3),
    ("StreamsGroupDescribeRequest", 1),
    ("StreamsGroupDescribeResponse", 1),
}
# API name → module in `kafka.protocol` of kafka-python 3.0. kafka-python does not support the APIs for consumer,
# share and streams groups.
KAFKA_PYTHON = {
    "ApiVersions": "metadata.api_versions",
    "Metadata": "metadata.metadata",
    "FindCoordinator": "metadata.find_coordinator",
    "ListGroups": "admin.groups",
    "DescribeGroups": "admin.groups",
    "DeleteGroups": "admin.groups",
    "DescribeConfigs": "admin.configs",
    "OffsetFetch": "consumer.group",
    "ListOffsets": "consumer.offsets",
}


class KnownCodes(Samples):
    """Generates random values that kio can decode: error codes up to 133, and times that fit into a `timedelta`."""

    def value(self, struct: Struct, version: int) -> dict[str, Any]:
        value = super().value(struct, version)
        for name in value.keys() & {"ErrorCode", "ThrottleTimeMs", "Timestamp"}:
            value[name] = self.random.randint(0, 133)
        return value


def in_order(struct: Struct, version: int, value: dict[str, Any], without: str = "\0") -> list[object]:
    """Return the field values of one version of a struct, in the order of the fields.

    Fields whose names end with the value of `without` are left out. By default, no field is left out.
    """
    found: list[object] = []
    for field in struct.fields:
        if not field.versions.has(version) or field.name.endswith(without):
            continue
        got = value[field.name]
        if field.struct is None or got is None:
            found.append(got)
        elif field.array:
            found.append([in_order(field.struct, version, item, without) for item in got])
        else:
            found.append(in_order(field.struct, version, got, without))
    return found


def plain(value: object) -> object:
    """Convert a message that kio has decoded, or a part of it, to plain lists, strings and numbers."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, Enum):
        return value.value[0] if isinstance(value.value, tuple) else value.value
    return value


def api_of(message: Message) -> str:
    return message.name.removesuffix("Request").removesuffix("Response")


def kio_class(message: Message, version: int) -> Any:
    folder = re.sub(r"(?<!^)(?=[A-Z])", "_", api_of(message)).lower()
    direction = message.name.removeprefix(api_of(message)).lower()
    module = importlib.import_module(f"kio.schema.{folder}.v{version}.{direction}")
    return getattr(module, message.name)


@pytest.mark.parametrize(
    ("message", "version"), [c for c in messages() if (c[0].name, c[1]) not in NEWER_THAN_OTHERS], ids=name_of
)
def test_kio_decodes_and_encodes_messages_like_kgtui(message: Message, version: int) -> None:
    kio = kio_class(message, version)
    read, write = entity_reader(kio), entity_writer(kio)
    random = Random(version)
    for _ in range(VALUES_PER_VERSION):
        value = KnownCodes(random).value(message.struct, version)
        data = message.encode(version, value)
        theirs, size = read(data, 0)
        assert size == len(data)
        expected = in_order(message.struct, version, value)
        assert plain(theirs) == expected
        out = io.BytesIO()
        write(out, theirs)
        assert out.getvalue() == data


def kafka_python_class(message: Message) -> Any:
    with warnings.catch_warnings():
        # Ignore the DeprecationWarning that kafka-python causes at import, because it uses a deprecated function of
        # importlib.
        warnings.simplefilter("ignore", DeprecationWarning)
        module = importlib.import_module(f"kafka.protocol.{KAFKA_PYTHON[api_of(message)]}")
    return getattr(module, message.name)


def dicts_to_lists(value: object) -> object:
    """Convert a message that kafka-python has decoded to a dict into a list of the field values.

    Nested dicts are converted, too. Authorized operations are left out, because kafka-python returns them as sets
    instead of integers.
    """
    if isinstance(value, dict):
        return [dicts_to_lists(item) for name, item in value.items() if not name.endswith("authorized_operations")]
    return [dicts_to_lists(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("message", "version"), [c for c in messages() if api_of(c[0]) in KAFKA_PYTHON], ids=name_of)
def test_kafka_python_decodes_and_encodes_messages_like_kgtui(message: Message, version: int) -> None:
    theirs = kafka_python_class(message)
    if version > theirs.max_version:
        assert (message.name, version) in NEWER_THAN_OTHERS
        return
    random = Random(version)
    for _ in range(VALUES_PER_VERSION):
        value = KnownCodes(random).value(message.struct, version)
        if message is API_VERSIONS.response:
            # The random error code is replaced with 0, because kafka-python decodes every ApiVersions response with an
            # error as version 0.
            value["ErrorCode"] = 0
        data = message.encode(version, value)
        decoded = theirs.decode(data, version=version)
        expected = in_order(message.struct, version, value, without="AuthorizedOperations")
        assert dicts_to_lists(decoded.to_dict(json=False)) == expected
        assert bytes(decoded.encode()) == data

"""Tests of encoding and decoding the metadata and the assignments of members of classic groups."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtui.protocol.member_data import connect, consumer, schema_registry
from tests.unit.protocol.java_oracle import ask
from tests.unit.protocol.samples import NOT_UTF8, Samples
from tests.unit.protocol.test_damaged import damage

if TYPE_CHECKING:
    from collections.abc import Callable

DECODERS: list[Callable[[bytes], object]] = [
    consumer.decode_subscription,
    consumer.decode_assignment,
    connect.decode_subscription,
    connect.decode_assignment,
    schema_registry.decode_identity,
    schema_registry.decode_assignment,
]
OWNED = (("orders", (0, 1, 2)), ("payments", ()))


@pytest.fixture(scope="module")
def connect_data_of_java() -> dict[str, bytes]:
    """Return a dict: name of a sample in `Oracle.java` → member data of a Connect worker, encoded by Kafka 4.3.1."""
    return {name: bytes.fromhex(data) for name, data in (line.split(" ") for line in ask(["connect"]))}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_consumer_subscription_is_unchanged_after_encoding_and_decoding(version: int) -> None:
    value = consumer.Subscription(
        version,
        ("orders", "payments", NOT_UTF8),
        user_data=b"\0\1",
        owned=OWNED if version >= 1 else (),
        generation=12 if version >= 2 else -1,
        rack="eu-1a" if version >= 3 else None,
    )
    assert consumer.decode_subscription(consumer.encode_subscription(value)) == value


def test_a_consumer_subscription_is_decoded_from_known_bytes() -> None:
    data = bytes.fromhex("0003 00000001 0001 61 ffffffff 00000001 0001 61 00000002 00000000 00000007 00000005 ffff")
    assert consumer.decode_subscription(data) == consumer.Subscription(3, ("a",), None, (("a", (0, 7)),), 5, None)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_consumer_assignment_is_unchanged_after_encoding_and_decoding(version: int) -> None:
    assert consumer.decode_assignment(consumer.encode_assignment(OWNED, version=version, user_data=b"x")) == OWNED
    assert consumer.decode_assignment(consumer.encode_assignment((), version=version)) == ()


def test_consumer_member_data_of_an_unknown_version_is_decoded_as_version_3() -> None:
    """Version 3 is the newest version that kgtui supports. The bytes after the fields of version 3 are ignored."""
    newest = consumer.encode_subscription(consumer.Subscription(3, ("a",), rack="r"))
    found = consumer.decode_subscription(b"\0\x09" + newest[2:] + b"what 9 adds")
    assert found == consumer.Subscription(9, ("a",), rack="r")
    assert consumer.decode_assignment(b"\0\x09" + consumer.encode_assignment(OWNED)[2:] + b"more") == OWNED


def test_consumer_subscription_without_its_last_fields_is_decoded() -> None:
    """A subscription of version 1 can end before the owned partitions, but not inside a field."""
    oldest = consumer.encode_subscription(consumer.Subscription(0, ("orders",)))
    assert consumer.decode_subscription(b"\0\1" + oldest[2:]) == consumer.Subscription(1, ("orders",))
    full = consumer.encode_subscription(consumer.Subscription(1, ("orders",), owned=OWNED))
    ends = [size for size in range(len(full)) if consumer.decode_subscription(full[:size]) is not None]
    assert ends == [len(oldest)]


def connect_assignment(version: int) -> connect.Assignment:
    return connect.Assignment(
        version=version,
        error=0 if version else 1,
        leader="leader-1",
        leader_url="http://worker:8083/",
        config_offset=7,
        assigned=(("source", (-1,)), ("sink", (0, 1))),
        revoked=(("old", (3,)),) if version else (),
        delay_ms=300_000 if version else 0,
    )


@pytest.mark.parametrize("version", [0, 1, 2])
def test_connect_assignments_are_encoded_and_decoded_as_in_java(
    connect_data_of_java: dict[str, bytes], version: int
) -> None:
    data = connect_data_of_java[f"assignment-{version}" if version else "eager-assignment"]
    value = connect_assignment(version)
    assert connect.decode_assignment(data) == value
    assert connect.encode_assignment(value) == data


@pytest.mark.parametrize("version", [0, 1, 2])
def test_connect_subscriptions_are_encoded_and_decoded_as_in_java(
    connect_data_of_java: dict[str, bytes], version: int
) -> None:
    data = connect_data_of_java[f"state-{version}" if version else "eager-state"]
    value = connect.Subscription(version, "http://worker:8083/", 42, connect_assignment(version) if version else None)
    assert connect.decode_subscription(data) == value
    assert connect.encode_subscription(value) == data


@pytest.mark.parametrize("version", [1, 2])
def test_a_connect_subscription_without_an_allocation_is_decoded(
    connect_data_of_java: dict[str, bytes], version: int
) -> None:
    """The allocation is the previous assignment of a Connect worker. A new worker has no allocation.

    A new worker in Java sends null as the allocation. Data that ends before the allocation has the same meaning.
    """
    data = connect_data_of_java[f"fresh-{version}"]
    value = connect.Subscription(version, "http://worker:8083/", 42)
    assert connect.decode_subscription(data) == value
    assert connect.encode_subscription(value) == data
    assert connect.decode_subscription(data[:-4]) == value


def test_a_connect_assignment_without_its_last_fields_is_decoded(connect_data_of_java: dict[str, bytes]) -> None:
    """The data can end before the assigned tasks, the revoked tasks or the delay, but not inside a field."""
    full = connect_data_of_java["assignment-2"]
    found = {size: connect.decode_assignment(full[:size]) for size in range(len(full))}
    read = {size: value for size, value in found.items() if value is not None}
    assert [(len(v.assigned), len(v.revoked), v.delay_ms) for v in read.values()] == [
        (0, 0, 0),
        (2, 0, 0),
        (2, 1, 0),
    ]


def test_a_schema_registry_identity_is_unchanged_after_encoding_and_decoding() -> None:
    value = schema_registry.Identity(1, "registry-1", 8081, master_eligibility=True, scheme="https")
    data = schema_registry.encode_identity(value)
    assert json.loads(data) == {
        "version": 1,
        "host": "registry-1",
        "port": 8081,
        "master_eligibility": True,
        "scheme": "https",
    }
    assert schema_registry.decode_identity(data) == value
    assert value.url == "https://registry-1:8081"


def test_a_schema_registry_assignment_is_unchanged_after_encoding_and_decoding() -> None:
    identity = schema_registry.Identity(1, "registry-1", 8081, master_eligibility=True)
    value = schema_registry.Assignment(1, 0, "sr-1-uuid", identity)
    assert schema_registry.decode_assignment(schema_registry.encode_assignment(value)) == value
    nobody = schema_registry.Assignment(1, schema_registry.DUPLICATE_URLS, None, None)
    assert schema_registry.encode_assignment(nobody) == b'{"version":1,"error":1}'
    assert schema_registry.decode_assignment(b'{"version":1,"error":1,"master":null}') == nobody


def test_missing_or_invalid_fields_in_schema_registry_metadata_are_decoded_as_none() -> None:
    """Registries other than Confluent's, such as Karapace, can send incomplete data.

    Only a missing `scheme` is decoded as `http`, not as None. Unknown fields are ignored.
    """
    data = b'{"host":"karapace","port":"8081","master_eligibility":"yes","leader":false,"new":[1]}'
    found = schema_registry.decode_identity(data)
    assert found == schema_registry.Identity(None, "karapace", None, None, "http", leader=False)
    assert found.url == "http://karapace"


@pytest.mark.parametrize("read", DECODERS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\xff\xff\0\0\0\0",
        b"\x7f\xff",
        b"\0\0\x7f\xff\xff\xff",
        b"\0\1\0\0\0\1\x7f\xffab",
        b"null",
        b"[]",
        b"{}",
        b'"x"',
        b"{" * 2,
        b"[" * 100_000,
        b"1" * 10_000,
        b"\xff\xfe{",
        b'{"host":1}',
        b'{"port":1}',
        b"garbage of some other protocol",
    ],
    ids=lambda data: repr(data)[:30],
)
def test_malformed_member_data_is_decoded_as_none(read: Callable[[bytes], object], data: bytes) -> None:
    assert read(data) is None


@pytest.mark.parametrize("read", DECODERS)
@settings(max_examples=200)
@given(data=st.binary(max_size=120))
def test_decoding_random_bytes_as_member_data_never_raises_an_error(
    read: Callable[[bytes], object], data: bytes
) -> None:
    read(data)


def test_decoding_damaged_member_data_never_raises_an_error(connect_data_of_java: dict[str, bytes]) -> None:
    random = Random(11)
    samples = Samples(random)
    seeds = [*connect_data_of_java.values(), schema_registry.encode_identity(schema_registry.Identity(1, "h", 1, None))]
    for version in range(4):
        value = samples.value(consumer.SUBSCRIPTION.struct, version)
        seeds.append(version.to_bytes(2, "big") + consumer.SUBSCRIPTION.encode(version, value))
    for _ in range(3000):
        data = damage(random, random.choice(seeds))
        for read in DECODERS:
            read(data)

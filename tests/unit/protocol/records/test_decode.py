"""Tests of decoding records: records with known bytes, malformed records, and the members in classic group records."""

from __future__ import annotations

import json
from random import Random
from uuid import UUID

import pytest

from kgtui.errors import EncodeError
from kgtui.protocol.member_data import connect, consumer, schema_registry
from kgtui.protocol.records import (
    RECORD_SCHEMAS,
    CoordinatorRecord,
    DecodeFailure,
    RecordSchema,
    RecordType,
    Undecodable,
    as_json,
    classic_members,
    decode,
    encode,
)
from tests.unit.protocol.records.random_records import CASES, name_of
from tests.unit.protocol.samples import Samples
from tests.unit.protocol.test_round_trips import with_defaults

COMMIT_KEY = bytes.fromhex("0001 0007 62696c6c696e67 0006 6f7264657273 00000002")
COMMIT_V4 = b"\0\4" + bytes(12) + b"\1" + bytes(8)
"""The value of an offset commit in version 4, without the section of tagged fields at the end of the value."""
MEMBER = {
    "memberId": "m-1",
    "groupInstanceId": "static-1",
    "clientId": "c-1",
    "clientHost": "/127.0.0.1",
    "rebalanceTimeout": 60_000,
    "sessionTimeout": 45_000,
    "subscription": b"",
    "assignment": b"",
}


def decoded(key: bytes, value: bytes | None) -> CoordinatorRecord:
    record = decode(key, value)
    assert isinstance(record, CoordinatorRecord), record
    return record


def undecodable(key: bytes | None, value: bytes | None) -> Undecodable:
    record = decode(key, value)
    assert isinstance(record, Undecodable), record
    return record


@pytest.mark.parametrize(
    ("version", "rest"),
    [
        (0, "0000000000000029 0000 0000018bcfe56800"),
        (1, "0000000000000029 0000 0000018bcfe56800 0000018bcfe56801"),
        (2, "0000000000000029 0000 0000018bcfe56800"),
        (3, "0000000000000029 00000005 0000 0000018bcfe56800"),
        (4, "0000000000000029 00000005 01 0000018bcfe56800 01 00 10 000102030405060708090a0b0c0d0e0f"),
    ],
)
def test_offset_commits_are_decoded_to_the_expected_fields(version: int, rest: str) -> None:
    record = decoded(COMMIT_KEY, version.to_bytes(2, "big") + bytes.fromhex(rest))
    assert record.type is RecordType.OFFSET_COMMIT
    assert (record.group, record.member, record.version) == ("billing", None, version)
    assert record.key == {"group": "billing", "topic": "orders", "partition": 2}
    assert record.value == {
        "offset": 41,
        "leaderEpoch": 5 if version >= 3 else -1,
        "metadata": "",
        "commitTimestamp": 1_700_000_000_000,
        "expireTimestamp": 1_700_000_000_001 if version == 1 else -1,
        "topicId": UUID("00010203-0405-0607-0809-0a0b0c0d0e0f") if version == 4 else UUID(int=0),
    }


def test_decoding_a_record_keeps_unknown_tagged_fields_by_number() -> None:
    """A newer broker can add tagged fields to a flexible value without a new version number (KIP-915)."""
    record = decoded(
        COMMIT_KEY, COMMIT_V4 + bytes.fromhex("03 00 10 000102030405060708090a0b0c0d0e0f 07 03 aabbcc 09 00")
    )
    assert record.value is not None
    assert record.value["topicId"] == UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")
    assert record.value["unknownTaggedFields"] == {7: b"\xaa\xbb\xcc", 9: b""}
    assert as_json(record)["value"]["data"]["unknownTaggedFields"] == {"7": "qrvM", "9": ""}
    assert "unknownTaggedFields" not in (decoded(COMMIT_KEY, COMMIT_V4 + b"\0").value or {})


def test_new_tagged_field_of_kafka_4_4_is_kept() -> None:
    """kgtui's record tables describe Kafka 4.3.1, so they lack the new field, which has tag 2.

    The decoded record keeps the bytes of the field.
    """
    key, value = encode(RecordType.STREAMS_GROUP_METADATA, {"GroupId": "g"}, {"Epoch": 3, "ValidatedTopologyEpoch": 1})
    assert value is not None
    assert value.endswith(b"\1\0\4\0\0\0\1"), "one tagged field with number 0 and four bytes"
    record = decoded(key, value[:-7] + bytes.fromhex("02 00 04 00000001 02 04 00000005"))
    assert as_json(record)["value"]["data"] == {
        "epoch": 3, "metadataHash": 0, "validatedTopologyEpoch": 1, "unknownTaggedFields": {"2": "AAAABQ=="}
    }  # fmt: skip


def test_offset_commits_with_an_old_key_and_a_newer_value_are_decoded() -> None:
    """Before Kafka 4, the key of an offset commit had version 0 even if its value had a newer version."""
    for version in (1, 2, 3, 4):
        value = {"offset": 41, "metadata": "m", "commitTimestamp": 1_700_000_000_000}
        key, written = encode(
            RecordType.OFFSET_COMMIT, {"group": "g", "topic": "t", "partition": 2}, value, version=version
        )
        record = decoded(b"\0\0" + key[2:], written)
        assert (record.type, record.version) == (RecordType.LEGACY_OFFSET_COMMIT, version)
        assert record.value == decoded(key, written).value
        assert as_json(record)["value"] == as_json(decoded(key, written))["value"]


def test_a_decoded_tombstone_has_no_value_and_no_version() -> None:
    record = decoded(COMMIT_KEY, None)
    assert (record.value, record.version) == (None, None)
    assert record.key["partition"] == 2
    assert as_json(record)["value"] is None


def test_consumer_group_members_are_decoded_with_and_without_classic_metadata() -> None:
    """The tagged field ClassicMemberMetadata is null if the member does not use the classic protocol.

    In this field, null is encoded as the byte 0. In other structs, null is the byte 255.
    """
    key = bytes.fromhex("0005 0001 67 0001 6d")
    start = bytes.fromhex("0000 00 00 02 63 02 68 02 02 74 00 0000ea60 00")
    record = decoded(key, start + bytes.fromhex("01 00 01 00"))
    assert (record.group, record.member) == ("g", "m")
    assert record.value is not None
    assert record.value["SubscribedTopicNames"] == ["t"]
    assert record.value["ClassicMemberMetadata"] is None
    classic = decoded(key, start + bytes.fromhex("01 00 10 01 0000afc8 02 06 72616e6765 02 aa 00 00"))
    assert classic.value is not None
    assert classic.value["ClassicMemberMetadata"] == {
        "SessionTimeoutMs": 45_000,
        "SupportedProtocols": [{"Name": "range", "Metadata": b"\xaa"}],
    }


@pytest.mark.parametrize(
    ("key", "value", "failure", "reason"),
    [
        (None, None, DecodeFailure.DAMAGED_KEY, "the record has no key"),
        (b"", b"", DecodeFailure.DAMAGED_KEY, "the key has only 0 bytes"),
        (b"\0", None, DecodeFailure.DAMAGED_KEY, "the key has only 1 bytes"),
        (b"\0\x09\0\1g", None, DecodeFailure.UNKNOWN_TYPE, "type 9 is not known"),
        (b"\0\x12\0\1g", None, DecodeFailure.UNKNOWN_TYPE, "type 18 is not known"),
        (b"\0\x18\0\1g", b"\0\0", DecodeFailure.UNKNOWN_TYPE, "type 24 is not known"),
        (b"\xff\xff\0\1g", b"\0\0", DecodeFailure.UNKNOWN_TYPE, "type -1 is not known"),
        (COMMIT_KEY[:-1], None, DecodeFailure.DAMAGED_KEY, "ends too early"),
        (COMMIT_KEY + b"\0", None, DecodeFailure.DAMAGED_KEY, "followed by 1 bytes"),
        (COMMIT_KEY.replace(b"orders", b"ord\xffrs"), None, DecodeFailure.DAMAGED_KEY, "not UTF-8"),
        (COMMIT_KEY.replace(b"\0\x06o", b"\xff\xffo"), None, DecodeFailure.DAMAGED_KEY, "topic is null"),
        (COMMIT_KEY.replace(b"\0\x06o", b"\x7f\xffo"), None, DecodeFailure.DAMAGED_KEY, "topic has a length of 32767"),
        (COMMIT_KEY, b"", DecodeFailure.DAMAGED_VALUE, "the value has only 0 bytes"),
        (COMMIT_KEY, b"\0", DecodeFailure.DAMAGED_VALUE, "the value has only 1 bytes"),
        (COMMIT_KEY, b"\0\5" + bytes(40), DecodeFailure.UNKNOWN_VERSION, "versions 0 to 4, not 5"),
        (COMMIT_KEY, b"\xff\xff" + bytes(40), DecodeFailure.UNKNOWN_VERSION, "versions 0 to 4, not -1"),
        (COMMIT_KEY, b"\0\3" + bytes(21), DecodeFailure.DAMAGED_VALUE, "ends too early"),
        (COMMIT_KEY, b"\0\3" + bytes(23), DecodeFailure.DAMAGED_VALUE, "followed by 1 bytes"),
        (COMMIT_KEY, COMMIT_V4 + b"\x01\x00\x11" + bytes(17), DecodeFailure.DAMAGED_VALUE, "followed by 1 bytes"),
        (COMMIT_KEY, COMMIT_V4 + b"\x01\x00\x0f" + bytes(16), DecodeFailure.DAMAGED_VALUE, "ends too early"),
        (b"\0\0" + COMMIT_KEY[2:], b"\0\5" + bytes(40), DecodeFailure.UNKNOWN_VERSION, "versions 0 to 4, not 5"),
    ],
)
def test_decoding_a_malformed_record_returns_the_reason_why_it_is_undecodable(
    key: bytes | None, value: bytes | None, failure: DecodeFailure, reason: str
) -> None:
    found = undecodable(key, value)
    assert found.failure is failure
    assert reason in found.reason


def test_undecodable_record_keeps_type_and_version_if_they_are_decodable() -> None:
    found = [
        undecodable(b"", None),
        undecodable(b"\0\x18", b"\0\7"),
        undecodable(COMMIT_KEY[:5], b"\0\3"),
        undecodable(COMMIT_KEY, b""),
        undecodable(COMMIT_KEY, b"\0\5"),
        undecodable(COMMIT_KEY, b"\0\3"),
    ]
    assert [(one.type, one.version) for one in found] == [
        (None, None), (24, None), (1, None), (1, None), (1, 5), (1, 3)
    ]  # fmt: skip


def test_a_tombstone_with_a_damaged_key_is_undecodable() -> None:
    """If kgtui accepted the damaged key, the tombstone could delete the committed offset of a different partition."""
    assert undecodable(COMMIT_KEY[:-2], None).failure is DecodeFailure.DAMAGED_KEY


@pytest.mark.parametrize(("kind", "version"), CASES, ids=name_of)
def test_a_record_is_unchanged_after_encoding_and_decoding(kind: RecordSchema, version: int) -> None:
    random = Random(f"{kind.type} {version}")
    for _ in range(25):
        samples = Samples(random)
        key = samples.value(kind.key.struct, 0)
        value = samples.value(kind.value.struct, version)
        written = encode(kind.type, key, value, version=version)
        record = decoded(*written)
        assert (record.type, record.key, record.version) == (kind.type, key, version)
        assert record.value == with_defaults(kind.value.struct, value)
        assert encode(record.type, record.key, record.value, version=record.version) == written
        assert record.group == next(iter(key.values()))
        json.dumps(as_json(record)).encode("ascii")


def test_encoding_a_record_uses_the_newest_version_by_default() -> None:
    for kind in RECORD_SCHEMAS.values():
        assert decoded(*encode(kind.type, {}, {})).version == kind.value.high


def test_encoding_a_record_rejects_an_unknown_version_and_an_unknown_field() -> None:
    """A field is unknown if no version of the record has it.

    A field that only other versions have, such as `leaderEpoch`, is not rejected, but left out, if Kafka's schema marks
    it as ignorable.
    """
    key = {"group": "g", "topic": "t", "partition": 0}
    assert decoded(*encode(RecordType.OFFSET_COMMIT, key, {"leaderEpoch": 3}, version=0)).value is not None
    with pytest.raises(EncodeError, match="in versions 0 to 4, not 5"):
        encode(RecordType.OFFSET_COMMIT, key, {}, version=5)
    with pytest.raises(EncodeError, match="Group"):
        encode(RecordType.OFFSET_COMMIT, {"GroupId": "g"}, {})


def group_of(protocol_type: str, *members: tuple[bytes, bytes]) -> CoordinatorRecord:
    rows = [{**MEMBER, "subscription": metadata, "assignment": assigned} for metadata, assigned in members]
    value = {"protocolType": protocol_type, "generation": 1, "protocol": "x", "leader": "m-1", "members": rows}
    return decoded(*encode(RecordType.GROUP_METADATA, {"group": "g"}, value, version=3))


def test_members_of_a_classic_group_of_consumers_are_decoded() -> None:
    subscription = consumer.Subscription(3, ("orders",), rack="eu-1a")
    assigned = (("orders", (0, 2)),)
    record = group_of("consumer", (consumer.encode_subscription(subscription), consumer.encode_assignment(assigned)))
    (member,) = classic_members(record)
    assert (member.subscription, member.assignment) == (subscription, assigned)
    assert (member.member_id, member.instance_id, member.client_id) == ("m-1", "static-1", "c-1")
    assert (member.client_host, member.rebalance_timeout_ms, member.session_timeout_ms) == (
        "/127.0.0.1", 60_000, 45_000
    )  # fmt: skip


def test_members_of_connect_and_schema_registry_groups_are_decoded() -> None:
    worker = connect.Subscription(2, "http://worker:8083/", 42)
    tasks = connect.Assignment(2, 0, "m-1", "http://worker:8083/", 42, assigned=(("sink", (0, -1)),))
    (member,) = classic_members(
        group_of("connect", (connect.encode_subscription(worker), connect.encode_assignment(tasks)))
    )
    assert (member.subscription, member.assignment) == (worker, tasks)
    node = schema_registry.Identity(1, "registry-1", 8081, master_eligibility=True)
    primary = schema_registry.Assignment(1, 0, "m-1", node)
    (member,) = classic_members(
        group_of("sr", (schema_registry.encode_identity(node), schema_registry.encode_assignment(primary)))
    )
    assert (member.subscription, member.assignment) == (node, primary)


def test_malformed_data_of_a_classic_member_is_kept_as_bytes() -> None:
    """If a member's data cannot be decoded, `subscription` and `assignment` are None, but the raw bytes are kept."""
    noise = (b"\xff\xfe noise", b"")
    for protocol_type in ("consumer", "connect", "sr", "of somebody's own"):
        members = classic_members(group_of(protocol_type, noise, noise))
        assert [(m.subscription, m.assignment) for m in members] == [(None, None)] * 2
        assert {(m.raw_subscription, m.raw_assignment) for m in members} == {noise}


def test_a_record_without_members_has_no_classic_members() -> None:
    """The test decodes a tombstone of a group, a group without members, and a tombstone of an offset commit."""
    assert classic_members(decoded(*encode(RecordType.GROUP_METADATA, {"group": "g"}, None))) == ()
    assert classic_members(decoded(*encode(RecordType.GROUP_METADATA, {"group": "g"}, {"members": []}))) == ()
    assert classic_members(decoded(COMMIT_KEY, None)) == ()

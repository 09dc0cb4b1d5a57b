"""Tests of encoding messages: fields that a version lacks, default values, invalid values, malformed message tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kgtui.errors import DecodeError, EncodeError
from kgtui.protocol.api import Message
from kgtui.protocol.messages.cluster import API_VERSIONS, FIND_COORDINATOR, METADATA
from kgtui.protocol.messages.groups import DESCRIBE_GROUPS, LIST_GROUPS
from kgtui.protocol.messages.offsets import OFFSET_FETCH
from kgtui.protocol.schema import Rows, Versions, parse

if TYPE_CHECKING:
    from kgtui.protocol.api import Api


def short_id(value: object) -> str:
    """Return a short text for a parameter in the name of a parametrized test."""
    return getattr(value, "name", repr(value)[:40])


@pytest.mark.parametrize(
    ("api", "version", "value"),
    [
        (LIST_GROUPS, 3, {"StatesFilter": ["Stable"]}),
        (LIST_GROUPS, 4, {"TypesFilter": ["share"]}),
        (FIND_COORDINATOR, 0, {"Key": "g", "KeyType": 1}),
        (FIND_COORDINATOR, 4, {"Key": "g"}),
        (OFFSET_FETCH, 6, {"GroupId": "g", "RequireStable": True}),
        (OFFSET_FETCH, 7, {"Groups": [{"GroupId": "g"}]}),
        (METADATA, 3, {"AllowAutoTopicCreation": False}),
        (DESCRIBE_GROUPS, 2, {"Groups": ["g"], "IncludeAuthorizedOperations": True}),
    ],
    ids=short_id,
)
def test_encoding_rejects_a_field_that_the_message_version_lacks(api: Api, version: int, value: dict[str, Any]) -> None:
    """Without the field, the request would have a different meaning.

    For example, ListGroups without `StatesFilter` returns the groups in all states.
    """
    with pytest.raises(EncodeError, match="so the value for this field cannot be encoded"):
        api.request.encode(version, value)


@pytest.mark.parametrize(
    ("api", "version", "value", "same_as"),
    [
        (LIST_GROUPS, 3, {"StatesFilter": [], "TypesFilter": []}, {}),
        (FIND_COORDINATOR, 0, {"Key": "g", "KeyType": 0}, {"Key": "g"}),
        (METADATA, 3, {"Topics": [], "AllowAutoTopicCreation": True}, {"Topics": []}),
        (
            OFFSET_FETCH,
            8,
            {"Groups": [{"GroupId": "g", "Topics": None, "MemberId": "m", "MemberEpoch": 4}]},
            {"Groups": [{"GroupId": "g", "Topics": None}]},
        ),
    ],
    ids=short_id,
)
def test_encoding_drops_ignorable_and_default_fields_that_a_version_lacks(
    api: Api, version: int, value: dict[str, Any], same_as: dict[str, Any]
) -> None:
    assert api.request.encode(version, value) == api.request.encode(version, same_as)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"Groups": [{"GroupId": None}]}, "GroupId cannot be null"),
        ({"Groups": None}, "Groups cannot be null"),
        ({"Groups": [{"GroupId": 7}]}, "encode"),
        ({"Groups": [{"Groupid": "typo"}]}, "no field Groupid"),
        ({"Grops": []}, "no field Grops"),
        ({"Groups": 5}, "len"),
        ({"Groups": ["not a row"]}, "keys"),
        ({"ErrorCode": 2**15}, "format"),
        ({"ErrorCode": "16"}, "integer"),
        ({"Groups": [{"GroupId": "x" * 32_768}]}, "32768 bytes; Kafka allows at most 32767"),
        ({"Groups": [{"GroupId": "\ud800"}]}, "surrogates not allowed"),
    ],
    ids=short_id,
)
@pytest.mark.parametrize("version", [0, 5])
def test_encoding_an_invalid_value_raises_encode_error(version: int, value: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        LIST_GROUPS.response.encode(version, value)


def test_the_longest_possible_group_id_can_be_encoded_and_decoded() -> None:
    value = {"Groups": [{"GroupId": "x" * 32_767}]}
    for version in (0, 5):
        data = LIST_GROUPS.response.encode(version, value)
        assert LIST_GROUPS.response.decode(version, data)["Groups"][0]["GroupId"] == "x" * 32_767


@pytest.mark.parametrize("version", [-1, 6])
def test_encoding_and_decoding_an_unsupported_version_raises_an_error(version: int) -> None:
    with pytest.raises(EncodeError, match="ListGroupsRequest is supported in versions 0 to 5"):
        LIST_GROUPS.request.encode(version, {})
    with pytest.raises(DecodeError, match="ListGroupsRequest is supported in versions 0 to 5"):
        LIST_GROUPS.request.decode(version, b"")


def test_decoding_null_in_a_non_nullable_field_raises_decode_error() -> None:
    with pytest.raises(DecodeError, match="GroupId is null") as caught:
        LIST_GROUPS.response.decode(5, bytes(6) + b"\2\0\1\1\1\0\0")
    assert caught.value.position == 8
    with pytest.raises(DecodeError, match="Groups is null"):
        LIST_GROUPS.response.decode(5, bytes(8))


def test_decoding_rejects_a_tagged_field_whose_size_is_too_small() -> None:
    """A size that is too large is accepted, because the decoder can skip the bytes after the value of the field."""
    start = bytes(2) + b"\1" + bytes(4)
    epoch = (9).to_bytes(8, "big")
    longer = start + b"\1\1\x0a" + epoch + b"??"
    assert API_VERSIONS.response.decode(3, longer)["FinalizedFeaturesEpoch"] == 9
    with pytest.raises(DecodeError):
        API_VERSIONS.response.decode(3, start + b"\1\1\4" + epoch)


def test_encoding_accepts_all_kinds_of_mappings_and_sequences() -> None:
    from types import MappingProxyType

    rows = (MappingProxyType({"GroupId": "g"}),)
    assert LIST_GROUPS.response.encode(5, MappingProxyType({"Groups": rows})) == (
        LIST_GROUPS.response.encode(5, {"Groups": [{"GroupId": "g"}]})
    )


@pytest.mark.parametrize(
    "rows",
    [
        (("Name", "text", "0+"),),
        (("Name", "Struct", "0+"),),
        (("Name", "string", "0+", (("Inner", "int8", "0+"),)),),
        (("Name", "string", "0+", "nulable 0+"),),
        (("Name", "string", "zero"),),
        (("Name", "int32", "0+", "default none"),),
    ],
    ids=short_id,
)
def test_parsing_a_malformed_message_definition_raises_value_error(rows: Rows) -> None:
    with pytest.raises(ValueError, match=r"Name|invalid literal"):
        parse("Broken", rows)


@pytest.mark.parametrize(("text", "low", "high"), [("3+", 3, 32767), ("0-7", 0, 7), ("5", 5, 5)])
def test_version_ranges_are_parsed_with_and_without_a_highest_version(text: str, low: int, high: int) -> None:
    versions = Versions.parse(text)
    assert versions == (low, high)
    assert versions.has(low)
    assert versions.has(high)
    assert not versions.has(low - 1)


def test_strings_are_encoded_with_a_compact_length_only_in_flexible_versions() -> None:
    message = Message("Once", (("Name", "string", "0+"),), low=0, high=1, flexible=1)
    assert message.encode(0, {"Name": "x"}) == b"\0\1x"
    assert message.encode(1, {"Name": "x"}) == b"\2x\0"
    assert message.decode(1, b"\2x\0") == {"Name": "x"}
    assert repr(message) == "Message(Once 0-1)"

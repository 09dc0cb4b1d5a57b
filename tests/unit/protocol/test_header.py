"""Tests of the headers of requests and responses."""

from __future__ import annotations

from random import Random

import pytest

from kgtui.errors import DecodeError, EncodeError
from kgtui.protocol.header import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from kgtui.protocol.messages import APIS
from kgtui.protocol.messages.cluster import API_VERSIONS
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.unit.protocol.samples import NOT_UTF8

CASES = [(api, version) for api in APIS.values() for version in range(api.low, api.high + 1)]


@pytest.mark.parametrize("client_id", ["kgtui", "", None, NOT_UTF8, "x" * 1000])
def test_request_headers_are_unchanged_after_encoding_and_decoding(client_id: str | None) -> None:
    for api, version in CASES:
        data = encode_request_header(api, version, 77, client_id)
        header = decode_request_header(data + b"body")
        assert header == RequestHeader(api.key, version, 77, client_id, len(data))


def test_response_headers_are_unchanged_after_encoding_and_decoding() -> None:
    for api, version in CASES:
        data = encode_response_header(api, version, -5)
        assert encode_response_header(api.key, version, -5) == data
        assert decode_response_header(api.response_header(version), data + b"body") == (-5, len(data))


def test_client_id_has_two_byte_length_in_every_header_version() -> None:
    assert encode_request_header(LIST_GROUPS, 5, 1, "ab").hex() == "001000050000000100026162" + "00"
    assert encode_request_header(LIST_GROUPS, 2, 1, "ab").hex() == "001000020000000100026162"
    assert encode_request_header(LIST_GROUPS, 2, 1, None).hex() == "0010000200000001ffff"


def test_the_header_of_an_apiversions_response_has_no_tagged_fields() -> None:
    """A client must decode an ApiVersions response before it knows which versions the broker supports (KIP-511)."""
    assert encode_response_header(API_VERSIONS, 4, 9) == bytes.fromhex("00000009")
    assert encode_response_header(LIST_GROUPS, 5, 9) == bytes.fromhex("0000000900")


def test_decoding_a_header_skips_unknown_tagged_fields() -> None:
    tags = bytes.fromhex("02 00 03 aabbcc 07 00".replace(" ", ""))
    request = encode_request_header(LIST_GROUPS, 5, 1, "ab")[:-1] + tags
    assert decode_request_header(request + b"body").size == len(request)
    assert decode_response_header(1, bytes(4) + tags + b"body") == (0, 4 + len(tags))


def test_request_header_of_an_unsupported_api_or_version_is_decoded() -> None:
    """The simulator needs the correlation id for its response to an ApiVersions request of an unsupported version."""
    produce = bytes.fromhex("0000 000b 0000002a 0002 6162 00".replace(" ", ""))
    assert decode_request_header(produce)[:4] == (0, 11, 42, "ab")
    newer = bytes.fromhex("0012 0063 0000002b ffff 00".replace(" ", ""))
    assert decode_request_header(newer)[:4] == (18, 99, 43, None)
    assert encode_response_header(0, 11, 42) == bytes.fromhex("0000002a")


def test_decoding_a_truncated_header_raises_decode_error() -> None:
    for api, version in CASES:
        request = encode_request_header(api, version, 1, "kgtui")
        response = encode_response_header(api, version, 1)
        for size in range(len(request)):
            with pytest.raises(DecodeError):
                decode_request_header(request[:size])
        for size in range(len(response)):
            with pytest.raises(DecodeError):
                decode_response_header(api.response_header(version), response[:size])
    with pytest.raises(DecodeError):
        decode_request_header(bytes.fromhex("001000050000000100026162") + b"\xff" * Random(1).randint(6, 9))


def test_encoding_an_invalid_client_id_raises_encode_error() -> None:
    with pytest.raises(EncodeError):
        encode_request_header(LIST_GROUPS, 5, 1, "x" * 40_000)
    with pytest.raises(EncodeError):
        encode_request_header(LIST_GROUPS, 5, 1, "\ud800")

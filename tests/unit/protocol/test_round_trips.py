"""Tests that encoded values are decoded to the same values in every version of every message."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtui.errors import DecodeError
from kgtui.protocol.schema import default_value
from tests.unit.protocol.samples import data_messages, messages, name_of, samples_with_invalid_utf8

if TYPE_CHECKING:
    from kgtui.protocol.api import Message
    from kgtui.protocol.schema import Struct

CASES = messages() + data_messages()


def with_defaults(struct: Struct, value: dict[str, Any]) -> dict[str, Any]:
    """Return `value` with the default of each missing field. The decoder is expected to return the same dict."""
    whole: dict[str, Any] = {}
    for field in struct.fields:
        got = value.get(field.name, default_value(field))
        if field.struct is None:
            whole[field.name] = list(got) if isinstance(got, tuple) else got
        elif got is None:
            whole[field.name] = None
        elif field.array:
            whole[field.name] = [with_defaults(field.struct, item) for item in got]
        else:
            whole[field.name] = with_defaults(field.struct, got)
    return whole


@pytest.mark.parametrize(("message", "version"), CASES, ids=name_of)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32))
def test_a_message_is_unchanged_after_encoding_and_decoding(message: Message, version: int, seed: int) -> None:
    value = samples_with_invalid_utf8(Random(seed)).value(message.struct, version)
    data = message.encode(version, value)
    decoded = message.decode(version, data)
    assert decoded == with_defaults(message.struct, value)
    assert message.encode(version, decoded) == data


@pytest.mark.parametrize(("message", "version"), CASES, ids=name_of)
def test_fields_without_a_value_are_encoded_and_decoded_as_their_defaults(message: Message, version: int) -> None:
    decoded = message.decode(version, message.encode(version, {}))
    assert decoded == with_defaults(message.struct, {})


@pytest.mark.parametrize(("message", "version"), CASES, ids=name_of)
def test_decoding_ignores_bytes_before_and_after_a_message(message: Message, version: int) -> None:
    """A message can start after the bytes of its header, and a newer broker can add bytes after the message."""
    value = samples_with_invalid_utf8(Random(7)).value(message.struct, version)
    data = message.encode(version, value)
    assert message.decode(version, b"head" + data + b"tail", 4) == message.decode(version, data)
    assert message.decode(version, memoryview(data)) == message.decode(version, data)


@pytest.mark.parametrize(("message", "version"), CASES, ids=name_of)
def test_decoding_a_truncated_message_raises_decode_error(message: Message, version: int) -> None:
    """A message is rejected if it is cut off at any position before its end."""
    value = samples_with_invalid_utf8(Random(3)).value(message.struct, version)
    data = message.encode(version, value)
    for size in range(min(len(data), 800)):
        with pytest.raises(DecodeError):
            message.decode(version, data[:size])

"""Tests of variable-length integers and sections of tagged fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.errors import DecodeError
from kgtui.protocol.primitives import skip_tags, tag_section, uvarint, uvarint_bytes


@given(value=st.integers(0, 2**32 - 1), before=st.binary(max_size=3))
def test_a_variable_length_integer_is_unchanged_after_encoding_and_decoding(value: int, before: bytes) -> None:
    data = before + uvarint_bytes(value)
    assert uvarint(data + b"\xff", len(before)) == (value, len(data))


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**31 - 1, "ffffffff07"), (2**32 - 1, "ffffffff0f")],
)
def test_variable_length_integers_are_encoded_to_the_expected_bytes(value: int, data: str) -> None:
    assert uvarint_bytes(value).hex() == data


def test_variable_length_integer_of_more_than_five_bytes_is_rejected() -> None:
    """Kafka has the same limit of five bytes.

    Without the limit, a long sequence of 0x80 bytes would be decoded as one integer of any length.
    """
    with pytest.raises(DecodeError, match="more than five bytes") as caught:
        uvarint(b"\x80\x80\x80\x80\x80\x00", 0)
    assert caught.value.position == 5
    with pytest.raises(IndexError):
        uvarint(b"\x80\x80", 0)


@given(tags=st.dictionaries(st.integers(0, 1000), st.binary(max_size=200), max_size=5))
def test_skipping_tagged_fields_returns_the_position_after_them(tags: dict[int, bytes]) -> None:
    section = tag_section(sorted(tags.items()))
    assert skip_tags(b"?" + section + b"rest", 1) == 1 + len(section)


def test_a_tagged_field_that_is_longer_than_the_data_is_rejected() -> None:
    with pytest.raises(DecodeError, match="a length of 9 bytes"):
        skip_tags(b"\x01\x00\x09abc", 0)

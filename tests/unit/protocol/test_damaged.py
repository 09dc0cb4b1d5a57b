"""Tests that decoding a damaged frame returns a value or raises DecodeError.

Memory and time for decoding depend only on the size of the frame, not on the lengths that are encoded in it.
"""

from __future__ import annotations

import time
import tracemalloc
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtui.errors import DecodeError
from kgtui.protocol.fast_list_groups import decode_list_groups
from kgtui.protocol.fast_offsets import decode_list_offsets, decode_offset_fetch
from kgtui.protocol.header import decode_request_header, decode_response_header
from kgtui.protocol.messages.groups import LIST_GROUPS
from kgtui.protocol.messages.offsets import LIST_OFFSETS, OFFSET_FETCH
from tests.unit.protocol.samples import data_messages, messages, name_of, samples_with_invalid_utf8

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.protocol.api import Message

CASES = messages() + data_messages()
FORGED_LENGTHS = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff",
    b"\xfe\xff\xff\xff\x07",
    b"\x80\x80\x80\x80\x80\x80\x01",
    b"\x7f\xff\xff\xff",
    b"\x7f\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xfe",
    b"\xff\xff\xff\xff",
    b"\x00",
    b"\x7f",
    b"\x80",
)
FAST: dict[str, Callable[[int, bytes], object]] = {
    LIST_GROUPS.response.name: decode_list_groups,
    OFFSET_FETCH.response.name: decode_offset_fetch,
    LIST_OFFSETS.response.name: decode_list_offsets,
}


def damage(random: Random, data: bytes) -> bytes:
    """Return a copy of `data` with one to five random changes, such as a missing end or a flipped bit."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        at = random.randint(0, len(out)) if out else 0
        match random.randrange(6):
            case 0:
                del out[at:]
            case 1:
                if at < len(out):
                    out[at] ^= 1 << random.randrange(8)
            case 2:
                length = random.choice(FORGED_LENGTHS)
                out[at : at + len(length)] = length
            case 3:
                out[at:at] = random.choice(FORGED_LENGTHS)
            case 4:
                del out[at : at + random.randint(1, 9)]
            case _:
                out[at:at] = bytes(random.randrange(256) for _ in range(random.randint(1, 9)))
    return bytes(out)


def outcome(decode: Callable[[int, bytes], object], version: int, data: bytes) -> object:
    """Return the decoded value, or "rejected" if `decode` raises DecodeError. Other exceptions are not caught."""
    try:
        return decode(version, data)
    except DecodeError:
        return "rejected"


@pytest.mark.parametrize(("message", "version"), CASES, ids=name_of)
def test_decoding_a_damaged_message_raises_no_error_except_decode_error(message: Message, version: int) -> None:
    """If a damaged message can be decoded, then encoding and decoding the value again does not change the value."""
    random = Random(f"{message.name}{version}")
    rejected = 0
    for _ in range(40):
        data = message.encode(version, samples_with_invalid_utf8(random).value(message.struct, version))
        for _ in range(6):
            try:
                value = message.decode(version, damage(random, data))
            except DecodeError:
                rejected += 1
            else:
                assert message.decode(version, message.encode(version, value)) == value
    assert rejected > 0 or not message.encode(version, {})


@pytest.mark.parametrize(("message", "version"), [c for c in CASES if c[0].name in FAST], ids=name_of)
def test_fast_and_generated_decoders_agree_on_damaged_frames(message: Message, version: int) -> None:
    """Both decoders return the same values, or both reject the frame.

    The fast decoder is hand-written. The generated decoder is created from a table of the message's fields.
    """
    random = Random(version)
    for _ in range(300):
        data = damage(random, message.encode(version, samples_with_invalid_utf8(random).value(message.struct, version)))
        generated = outcome(message.decode, version, data)
        fast = outcome(FAST[message.name], version, data)
        assert (generated == "rejected") == (fast == "rejected"), data.hex()
        if generated != "rejected":
            assert as_fast_decoded(message.name, version, generated) == fast, data.hex()


def as_fast_decoded(name: str, version: int, value: Any) -> object:
    """Convert a value from the generated decoder to the format of the fast decoder for the message `name`."""

    def topics(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"Name": t["Name"], "Partitions": [tuple(row.values()) for row in t["Partitions"]]} for t in found]

    throttle = value["ThrottleTimeMs"]
    if name == LIST_GROUPS.response.name:
        return throttle, value["ErrorCode"], [tuple(row.values()) for row in value["Groups"]]
    if name == LIST_OFFSETS.response.name:
        return {"ThrottleTimeMs": throttle, "Topics": topics(value["Topics"])}
    found = value["Groups"] if version >= 8 else [{**value, "GroupId": None}]
    groups = [{"GroupId": g["GroupId"], "Topics": topics(g["Topics"]), "ErrorCode": g["ErrorCode"]} for g in found]
    return {"ThrottleTimeMs": throttle, "Groups": groups}


@pytest.mark.parametrize(("message", "version"), CASES, ids=name_of)
@settings(max_examples=15)
@given(data=st.binary(max_size=300))
def test_decoding_random_bytes_as_a_message_raises_no_error_except_decode_error(
    message: Message, version: int, data: bytes
) -> None:
    outcome(message.decode, version, data)
    if message.name in FAST:
        outcome(FAST[message.name], version, data)


@pytest.mark.parametrize("length", FORGED_LENGTHS)
def test_decoding_a_frame_with_a_forged_length_needs_little_memory(length: bytes) -> None:
    """At many positions of a frame, the test overwrites a few bytes with a false length, such as two billion."""
    random = Random(1)
    started = time.process_time()
    tracemalloc.start()
    try:
        for message, version in CASES:
            if version not in {message.low, message.high}:
                continue
            data = message.encode(version, samples_with_invalid_utf8(random).value(message.struct, version))[:400]
            for at in range(0, len(data), 11):
                bad = data[:at] + length + data[at + len(length) :]
                outcome(message.decode, version, bad)
                if message.name in FAST:
                    outcome(FAST[message.name], version, bad)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000
    assert time.process_time() - started < 60


HALF_A_FRAME = bytes(3_000_000)


@pytest.mark.parametrize(
    ("message", "version", "start"),
    [
        (LIST_GROUPS.response, 5, bytes(6) + b"\xff\xff\xff\xff\x07"),
        (LIST_GROUPS.response, 0, bytes(2) + b"\x7f\xff\xff\xff"),
        (OFFSET_FETCH.response, 8, bytes(4) + b"\x80\x80\xff\xff\x07"),
        (OFFSET_FETCH.request, 1, b"\0\1g\0\0\0\1\0\1t\x7f\xff\xff\xff"),
        (LIST_OFFSETS.response, 7, bytes(4) + b"\2\2t\xff\xff\xff\xff\x07"),
    ],
    ids=name_of,
)
def test_decoding_rejects_an_array_length_that_exceeds_the_size_of_the_frame(
    message: Message, version: int, start: bytes
) -> None:
    """The array claims to have two billion elements, but only 3 MB follow. The decoder must not read any element."""
    decoders = [message.decode, *([FAST[message.name]] if message.name in FAST else [])]
    for decode in decoders:
        with pytest.raises(DecodeError, match=r"has a length of 2[0-9]{9}, but") as caught:
            decode(version, start + HALF_A_FRAME)
        assert caught.value.position == len(start)


def test_decoding_rejects_a_string_length_that_exceeds_the_size_of_the_frame() -> None:
    for version, start in ((5, bytes(6) + b"\2\x80\1"), (0, bytes(2) + b"\0\0\0\1\0\x7f")):
        for decode in (LIST_GROUPS.response.decode, decode_list_groups):
            with pytest.raises(DecodeError, match=r"GroupId has a length of 127, but|ends too early"):
                decode(version, start + b"x" * 126)
            with pytest.raises(DecodeError):
                decode(version, start + b"x" * 127)


@settings(max_examples=300)
@given(data=st.binary(max_size=40), version=st.sampled_from((0, 1)))
def test_decoding_a_random_header_raises_no_error_except_decode_error(data: bytes, version: int) -> None:
    outcome(lambda _, noise: decode_request_header(noise), 0, data)
    outcome(decode_response_header, version, data)

"""Tests that decoding a damaged record returns a record or an `Undecodable`, never an exception.

Memory and time for decoding depend only on the size of the record, not on the lengths that are encoded in it.
"""

from __future__ import annotations

import time
import tracemalloc
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from tests.unit.protocol.records.random_records import CASES, every_record_type, name_of, random_record
from tests.unit.protocol.test_damaged import FORGED_LENGTHS, damage


def check_usable(record: CoordinatorRecord) -> None:
    """Check that a decoded record can be formatted as JSON and encoded, and that its classic members can be decoded.

    Encoding and decoding the record must return an equal record.
    """
    as_json(record)
    classic_members(record)
    again = decode(*encode(record.type, record.key, record.value, version=record.version))
    assert again == record
    record.group.encode()


@pytest.mark.parametrize(("kind", "version"), CASES, ids=name_of)
def test_decoding_a_damaged_record_never_raises_an_error(kind: RecordSchema, version: int) -> None:
    """Decoding returns a record or an `Undecodable` object. A returned record can be formatted and encoded again."""
    random = Random(f"{kind.type} {version}")
    found: Counter[str] = Counter()
    for _ in range(60):
        key, value = random_record(random, kind, version)
        for _ in range(6):
            if value is None or random.random() < 0.3:
                outcome = decode(damage(random, key), value)
            else:
                outcome = decode(key, damage(random, value))
            if isinstance(outcome, Undecodable):
                found[outcome.failure] += 1
                assert outcome.reason.isascii()
            else:
                found["read"] += 1
                check_usable(outcome)
    assert found[DecodeFailure.DAMAGED_KEY] > 0
    assert found[DecodeFailure.DAMAGED_VALUE] > 0


@pytest.mark.parametrize(("kind", "version"), CASES, ids=name_of)
def test_a_truncated_or_extended_record_is_undecodable(kind: RecordSchema, version: int) -> None:
    random = Random(5)
    samples = [record for record in (random_record(random, kind, version) for _ in range(8)) if record[1]]
    for key, value in samples:
        assert value is not None
        for size in range(min(len(key), 400)):
            assert isinstance(decode(key[:size], value), Undecodable)
        for size in range(min(len(value), 400)):
            assert isinstance(decode(key, value[:size]), Undecodable)
        assert isinstance(decode(key + b"\0", value), Undecodable)
        assert isinstance(decode(key, value + b"\0"), Undecodable)


@settings(max_examples=400)
@given(
    number=st.sampled_from([*RECORD_SCHEMAS, 9, 24]),
    key=st.binary(max_size=60),
    version=st.integers(0, 5),
    value=st.none() | st.binary(max_size=200),
)
def test_decoding_random_bytes_as_a_record_never_raises_an_error(
    number: int, key: bytes, version: int, value: bytes | None
) -> None:
    outcome = decode(number.to_bytes(2, "big") + key, None if value is None else version.to_bytes(2, "big") + value)
    if isinstance(outcome, CoordinatorRecord):
        check_usable(outcome)
    decode(key, value)


@pytest.mark.parametrize("length", FORGED_LENGTHS)
def test_decoding_a_record_with_a_forged_length_needs_little_memory(length: bytes) -> None:
    """The test overwrites bytes at many positions of the key and the value with a false, often huge length."""
    records = every_record_type(1, 1)
    started = time.process_time()
    tracemalloc.start()
    try:
        for key, value in records:
            for at in range(0, min(len(key), 300), 7):
                decode(key[:at] + length + key[at + len(length) :], value)
            for at in range(0, min(len(value or b""), 400), 7):
                assert value is not None
                decode(key, value[:at] + length + value[at + len(length) :])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000
    assert time.process_time() - started < 60


@pytest.mark.parametrize(
    ("record_type", "start"),
    [
        (RecordType.GROUP_METADATA, b"\0\3\0\0" + bytes(4) + b"\xff\xff\xff\xff" + bytes(8) + b"\x7f\xff\xff\xff"),
        (RecordType.GROUP_METADATA, b"\0\4\1" + bytes(4) + b"\0\0" + bytes(8) + b"\xff\xff\xff\xff\x07"),
        (RecordType.SHARE_GROUP_STATE_PARTITION_METADATA, b"\0\0\xff\xff\xff\xff\x07"),
        (RecordType.STREAMS_GROUP_TOPOLOGY, b"\0\0\0\0\0\1\xff\xff\xff\xff\x07"),
    ],
)
def test_decoding_rejects_an_array_length_that_exceeds_the_size_of_the_record(
    record_type: RecordType, start: bytes
) -> None:
    """The array claims to have about two billion elements, but only 3 MB follow.

    No element is read, so decoding needs less than 100 kB of memory.
    """
    key, _ = encode(record_type, {}, None)
    value = start + bytes(3_000_000)
    tracemalloc.start()
    try:
        outcome = decode(key, value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(outcome, Undecodable)
    assert "has a length of 21474836" in outcome.reason
    assert peak < 100_000

"""Tests that the fast, hand-written decoders return the same values as the generated decoders.

A generated decoder is created from a message table, which lists the fields of one Kafka message.
"""

from __future__ import annotations

import gc
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtui.errors import DecodeError
from kgtui.protocol.fast_list_groups import GroupRow, decode_list_groups, row_decoder, split_list_groups
from kgtui.protocol.fast_offsets import decode_list_offsets, decode_offset_fetch
from kgtui.protocol.messages.groups import LIST_GROUPS
from kgtui.protocol.messages.offsets import LIST_OFFSETS, OFFSET_FETCH
from kgtui.protocol.primitives import tag_section, uvarint_bytes
from tests.unit.protocol.samples import NOT_UTF8, Samples, samples_with_invalid_utf8

LIST_GROUPS_VERSIONS = range(6)
OFFSET_FETCH_VERSIONS = range(1, 10)
LIST_OFFSETS_VERSIONS = range(1, 8)

TAGS = tag_section([(0, b""), (5, b"unknown"), (200, b"x" * 200)])
LONG = "long-" * 60


def generated_list_groups(version: int, body: bytes) -> tuple[int, int, list[tuple[str, ...]]]:
    value = LIST_GROUPS.response.decode(version, body)
    rows = [tuple(row.values()) for row in value["Groups"]]
    return value["ThrottleTimeMs"], value["ErrorCode"], rows


def generated_offset_fetch(version: int, body: bytes) -> dict[str, Any]:
    value = OFFSET_FETCH.response.decode(version, body)
    groups = value["Groups"]
    if version < 8:
        groups = [{"GroupId": None, "Topics": value["Topics"], "ErrorCode": value["ErrorCode"]}]
    return {"ThrottleTimeMs": value["ThrottleTimeMs"], "Groups": [_tuples(group) for group in groups]}


def generated_list_offsets(version: int, body: bytes) -> dict[str, Any]:
    return _tuples(LIST_OFFSETS.response.decode(version, body))


def _tuples(holder: dict[str, Any]) -> dict[str, Any]:
    topics = [
        {"Name": topic["Name"], "Partitions": [tuple(row.values()) for row in topic["Partitions"]]}
        for topic in holder["Topics"]
    ]
    return {**holder, "Topics": topics}


@pytest.mark.parametrize("version", LIST_GROUPS_VERSIONS)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_fast_and_generated_decoders_decode_listgroups_to_the_same_values(version: int, seed: int) -> None:
    value = samples_with_invalid_utf8(Random(seed)).value(LIST_GROUPS.response.struct, version)
    body = LIST_GROUPS.response.encode(version, value)
    assert decode_list_groups(version, body) == generated_list_groups(version, body)
    assert decode_list_groups(version, memoryview(body + b"more")) == generated_list_groups(version, body)


@pytest.mark.parametrize("version", OFFSET_FETCH_VERSIONS)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), alike=st.sampled_from(["", None, "nine byte", LONG, NOT_UTF8]))
def test_fast_and_generated_decoders_decode_offsetfetch_to_the_same_values(
    version: int, seed: int, alike: str | None
) -> None:
    value = samples_with_invalid_utf8(Random(seed)).value(OFFSET_FETCH.response.struct, version)
    if seed % 2:
        for group in value.get("Groups", [value]):
            for topic in group["Topics"]:
                topic["Partitions"] = [{**row, "Metadata": alike} for row in topic["Partitions"] * 5]
    body = OFFSET_FETCH.response.encode(version, value)
    assert decode_offset_fetch(version, body) == generated_offset_fetch(version, body)


@pytest.mark.parametrize("version", LIST_OFFSETS_VERSIONS)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_fast_and_generated_decoders_decode_listoffsets_to_the_same_values(version: int, seed: int) -> None:
    value = samples_with_invalid_utf8(Random(seed)).value(LIST_OFFSETS.response.struct, version)
    body = LIST_OFFSETS.response.encode(version, value)
    assert decode_list_offsets(version, body) == generated_list_offsets(version, body)


def compact(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    size = len(raw) + 1
    return (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + raw


def list_groups_body(*rows: bytes) -> bytes:
    return bytes(6) + bytes([len(rows) + 1]) + b"".join(rows) + TAGS


def test_listgroups_rows_with_tagged_fields_or_long_strings_are_decoded() -> None:
    """The response contains rows (one per group) with and without tagged fields, and rows with long strings."""
    plain = b"".join(map(compact, ("a", "consumer", "Stable", "classic")))
    long_id = b"".join(map(compact, (LONG, "consumer", "Stable", "classic")))
    long_state = b"".join(map(compact, ("b", "consumer", LONG, "classic")))
    rows = [row + tags for row in (plain, long_id, long_state) for tags in (b"\0", TAGS)] * 3
    body = list_groups_body(*rows)
    assert split_list_groups(5, body).rows == rows
    assert decode_list_groups(5, body) == generated_list_groups(5, body)
    assert {row.group_id for row in decode_list_groups(5, body)[2]} == {"a", "b", LONG}


def test_equal_group_states_in_listgroups_rows_share_one_string_object() -> None:
    """All rows with the state `Stable` share one string object, which saves memory.

    In the second response, the state of one group is different.
    """
    groups = [
        {"GroupId": f"g{n}", "ProtocolType": "consumer", "GroupState": "Stable", "GroupType": "classic"}
        for n in range(50)
    ]
    first = split_list_groups(5, LIST_GROUPS.response.encode(5, {"Groups": groups}))
    groups[7]["GroupState"] = "Empty"
    second = split_list_groups(5, LIST_GROUPS.response.encode(5, {"Groups": groups}))
    assert [n for n in range(50) if first.rows[n] != second.rows[n]] == [7]
    rows = list(map(row_decoder(5), second.rows))
    assert rows[7] == GroupRow("g7", "consumer", "Empty", "classic")
    assert len({id(row.state) for row in rows}) == 2
    assert isinstance(rows[0], GroupRow)


def test_cache_of_decoded_listgroups_rows_has_a_maximum_size() -> None:
    """The decoder's cache maps the bytes of a row after the group id to the decoded values.

    These bytes differ in all 20,000 rows, but the cache keeps at most 4,096 entries.
    """
    decode = row_decoder(4)
    for number in range(20_000):
        decode(b"".join(map(compact, (f"g{number}", "consumer", f"State{number}"))) + b"\0")
    caches = [d for d in gc.get_objects() if isinstance(d, dict) and b"\x09consumer\x07State1\0" in d]
    assert len(caches) == 1
    assert len(caches[0]) <= 4096


def test_equal_group_states_share_one_string_despite_tagged_fields() -> None:
    """Each of the 9,000 rows has a tagged field with a different value, so no row is in the cache of decoded rows."""
    rows = [
        b"".join(map(compact, (f"g{n}", "consumer", "Stable", "classic"))) + tag_section([(7, n.to_bytes(4, "big"))])
        for n in range(9000)
    ]
    decoded = decode_list_groups(5, bytes(6) + uvarint_bytes(9001) + b"".join(rows) + b"\0")[2]
    assert decoded[8999] == ("g8999", "consumer", "Stable", "classic")
    assert len({id(row.state) for row in decoded}) == 1


def test_group_id_whose_length_takes_two_bytes_is_decoded() -> None:
    """If the decoder read only the first byte of the length, the group id would end too early.

    The bytes after this wrong end are those of a cached row, so the decoder would return the values of that row.
    """
    cached = compact("a") + compact("\1") + b"\1\1\0"
    long_id = "x" * 149 + "\2"
    rows = list(map(row_decoder(5), [cached, cached, compact(long_id) + b"\1\1\1\0"]))
    assert rows[2] == (long_id, "", "", "")


@pytest.mark.parametrize("row", [b"", b"\x05ab", b"\x02a", b"\0\x02a\x02a\x02a\0", b"\xff\xff\xff\xff\xff\x01"])
def test_decoding_a_damaged_listgroups_row_raises_decode_error(row: bytes) -> None:
    row_decoder(5)(b"".join(map(compact, ("a", "b", "c", "d"))) + b"\0")
    with pytest.raises(DecodeError):
        row_decoder(5)(row)


def test_offsetfetch_response_with_tagged_fields_in_some_partitions_is_decoded() -> None:
    """Rows of partitions with tagged fields are longer than other rows, so the decoder reads all rows one by one."""

    def partition(index: int, metadata: bytes, tags: bytes) -> bytes:
        fixed = index.to_bytes(4, "big") + (1000 + index).to_bytes(8, "big") + bytes(4)
        return fixed + metadata + b"\0\0" + tags

    for metadata in (b"\0", b"\1", b"\x0aninebytes", compact(LONG)):
        for tagged in ({0}, {4}, {9}, {0, 4, 9}, set(range(10))):
            rows = [partition(n, metadata, TAGS if n in tagged else b"\0") for n in range(10)]
            topic = compact("topic") + bytes([11]) + b"".join(rows) + TAGS
            body = bytes(4) + b"\2" + compact("group") + b"\2" + topic + b"\0\x10" + TAGS + TAGS
            decoded = decode_offset_fetch(9, body)
            assert decoded == generated_offset_fetch(9, body)
            assert [row[:2] for row in decoded["Groups"][0]["Topics"][0]["Partitions"]] == [
                (n, 1000 + n) for n in range(10)
            ]
            assert decoded["Groups"][0]["ErrorCode"] == 16


def test_listoffsets_response_with_tagged_fields_in_some_partitions_is_decoded() -> None:
    def partition(index: int, tags: bytes) -> bytes:
        return index.to_bytes(4, "big") + bytes(2) + bytes(8) + (7 * index).to_bytes(8, "big") + bytes(4) + tags

    for tagged in (set[int](), {0}, {9}, {3, 4}):
        rows = [partition(n, TAGS if n in tagged else b"\0") for n in range(10)]
        body = bytes(4) + b"\2" + compact("topic") + bytes([11]) + b"".join(rows) + TAGS + TAGS
        decoded = decode_list_offsets(7, body)
        assert decoded == generated_list_offsets(7, body)
        assert [row[3] for row in decoded["Topics"][0]["Partitions"]] == [7 * n for n in range(10)]


def test_offsetfetch_rows_with_different_sizes_are_decoded_correctly() -> None:
    """To find out quickly whether all rows have the same size, the decoder checks one byte per row.

    Here, the checked bytes can be equal although the rows have different sizes.
    """
    samples = Samples(Random(5), ("\x01" * 20, "\x0a" * 29, "", "\0" * 126, "ninebytes"))
    for _ in range(300):
        value = samples.value(OFFSET_FETCH.response.struct, 9)
        for group in value["Groups"]:
            for topic in group["Topics"]:
                topic["Partitions"] = topic["Partitions"] * 4
        body = OFFSET_FETCH.response.encode(9, value)
        assert decode_offset_fetch(9, body) == generated_offset_fetch(9, body)


@pytest.mark.parametrize("version", [-1, 6, 99])
def test_fast_decoders_of_listgroups_reject_an_unsupported_version(version: int) -> None:
    with pytest.raises(DecodeError, match="versions 0 to 5"):
        split_list_groups(version, bytes(100))
    with pytest.raises(DecodeError, match="versions 0 to 5"):
        row_decoder(version)

"""ListOffsets: the partitions of a topic in one `struct` call."""

from __future__ import annotations

from struct import Struct, error
from typing import TypeAlias, TypedDict

from kgtui.protocol.fast.reading import INT32, as_bytes, checked, count, string
from kgtui.protocol.messages import LIST_OFFSETS
from kgtui.protocol.wire import skip_tags, too_long, truncated

OffsetRow: TypeAlias = tuple[int, int, int, int, int]
"""Partition, error code, timestamp in ms (-1 is none), offset (-1 is none), leader epoch (-1 is unknown)."""


class ListOffsetsTopic(TypedDict):
    """The partitions of one topic."""

    Name: str
    Partitions: list[OffsetRow]


class ListOffsetsAnswer(TypedDict):
    """An answer of any version."""

    ThrottleTimeMs: int
    Topics: list[ListOffsetsTopic]


_FLEXIBLE = LIST_OFFSETS.flexible
_WITH_EPOCH = 4
_OLDEST = Struct(">ihqq")
_PLAIN = Struct(">ihqqi")
_NO_TAGS = Struct(">ihqqix")


def decode_list_offsets(version: int, body: bytes | memoryview) -> ListOffsetsAnswer:
    """Decode a whole answer, partitions as tuples. Raises DecodeError."""
    what = checked(LIST_OFFSETS, version)
    data = as_bytes(body)
    flexible = version >= _FLEXIBLE
    row = _NO_TAGS if flexible else _PLAIN if version >= _WITH_EPOCH else _OLDEST
    topics: list[ListOffsetsTopic] = []
    try:
        pos, throttle = 0, 0
        if version >= 2:
            (throttle,) = INT32(data, 0)
            pos = 4
        number, pos = count(what, "Topics", data, pos, 3 if flexible else 6, flexible=flexible)
        for _ in range(number):
            name, pos = string(what, "Name", data, pos, flexible=flexible)
            size, pos = count(what, "Partitions", data, pos, row.size, flexible=flexible)
            rows, pos = _partitions(what, data, pos, size, row)
            topics.append({"Name": name, "Partitions": rows})
            if flexible:
                pos = skip_tags(data, pos)
        if flexible:
            skip_tags(data, pos)
    except (IndexError, error):
        raise truncated(what, len(data)) from None
    return {"ThrottleTimeMs": throttle, "Topics": topics}


def _partitions(what: str, data: bytes, pos: int, number: int, row: Struct) -> tuple[list[OffsetRow], int]:
    stop = pos + number * row.size
    if row is _NO_TAGS and any(data[pos + row.size - 1 : stop : row.size]):
        return _one_by_one(data, pos, number)
    if stop > len(data):
        raise too_long(what, "Partitions", number, pos)
    if row is _OLDEST:
        return [(*values, -1) for values in row.iter_unpack(data[pos:stop])], stop
    return list(row.iter_unpack(data[pos:stop])), stop


def _one_by_one(data: bytes, pos: int, number: int) -> tuple[list[OffsetRow], int]:
    rows: list[OffsetRow] = []
    for _ in range(number):
        rows.append(_PLAIN.unpack_from(data, pos))
        pos = skip_tags(data, pos + _PLAIN.size)
    return rows, pos

"""OffsetFetch: the partitions of a topic in one `struct` call."""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from kgtui.protocol.fast.reading import INT16, INT32, as_bytes, checked, count, nullable, string, text
from kgtui.protocol.messages import OFFSET_FETCH
from kgtui.protocol.wire import skip_tags, truncated

if TYPE_CHECKING:
    from collections.abc import Callable

CommitRow: TypeAlias = tuple[int, int, int, "str | None", int]
"""Partition, committed offset (-1 is none), leader epoch (-1 is unknown), metadata, error code."""


class OffsetFetchTopic(TypedDict):
    """The partitions of one topic."""

    Name: str
    Partitions: list[CommitRow]


class OffsetFetchGroup(TypedDict):
    """The topics of one group."""

    GroupId: str | None
    """None before version 8, where the one group is the one that was asked for."""
    Topics: list[OffsetFetchTopic]
    ErrorCode: int


class OffsetFetchAnswer(TypedDict):
    """An answer of any version in the shape of version 8."""

    ThrottleTimeMs: int
    Groups: list[OffsetFetchGroup]


_FLEXIBLE = OFFSET_FETCH.flexible
_BATCHED = 8
_HEAD = Struct(">iqi")
# Index, offset, epoch, length of the metadata, error, tags: 20 bytes if metadata is null or empty.
_LENGTH_AT = _HEAD.size
_LEAST = 20
_EMPTY = Struct(">iqixhx").iter_unpack
_WITH_METADATA: dict[int, Callable[[bytes], Any]] = {}


def decode_offset_fetch(version: int, body: bytes | memoryview) -> OffsetFetchAnswer:
    """Decode a whole answer, partitions as tuples. Raises DecodeError."""
    what = checked(OFFSET_FETCH, version)
    data = as_bytes(body)
    if version < _FLEXIBLE:
        return _from_general(OFFSET_FETCH.response.decode(version, data))
    groups: list[OffsetFetchGroup] = []
    try:
        (throttle,) = INT32(data, 0)
        if version < _BATCHED:
            topics, pos = _topics(what, data, 4)
            groups.append({"GroupId": None, "Topics": topics, "ErrorCode": INT16(data, pos)[0]})
            pos += 2
        else:
            number, pos = count(what, "Groups", data, 4, 5, flexible=True)
            for _ in range(number):
                group_id, pos = string(what, "GroupId", data, pos, flexible=True)
                topics, pos = _topics(what, data, pos)
                groups.append({"GroupId": group_id, "Topics": topics, "ErrorCode": INT16(data, pos)[0]})
                pos = skip_tags(data, pos + 2)
        skip_tags(data, pos)
    except (IndexError, error):
        raise truncated(what, len(data)) from None
    return {"ThrottleTimeMs": throttle, "Groups": groups}


def _topics(what: str, data: bytes, pos: int) -> tuple[list[OffsetFetchTopic], int]:
    topics: list[OffsetFetchTopic] = []
    number, pos = count(what, "Topics", data, pos, 3, flexible=True)
    for _ in range(number):
        name, pos = string(what, "Name", data, pos, flexible=True)
        size, pos = count(what, "Partitions", data, pos, _LEAST, flexible=True)
        rows, pos = _partitions(what, data, pos, size)
        topics.append({"Name": name, "Partitions": rows})
        pos = skip_tags(data, pos)
    return topics, pos


def _partitions(what: str, data: bytes, pos: int, number: int) -> tuple[list[CommitRow], int]:
    """Read all partitions at once if their metadata has the same length and there are no tags, else one by one.

    That every row has the length of the first is seen in the bytes where their lengths and tags must then be.
    """
    if not number:
        return [], pos
    length = data[pos + _LENGTH_AT]
    if length < 128:
        width = max(length - 1, 0)
        size = _LEAST + width
        stop = pos + number * size
        if stop <= len(data) and not any(data[pos + size - 1 : stop : size]):
            lengths = data[pos + _LENGTH_AT : stop : size]
            if lengths.count(length) == number:
                return _alike(data[pos:stop], length, width), stop
            if not width and lengths.count(0) + lengths.count(1) == number:
                rows = _EMPTY(data[pos:stop])
                return [
                    (i, offset, epoch, "" if at else None, code)
                    for (i, offset, epoch, code), at in zip(rows, lengths, strict=True)
                ], stop
    return _one_by_one(what, data, pos, number)


def _alike(raw: bytes, length: int, width: int) -> list[CommitRow]:
    if not width:
        metadata = "" if length else None
        return [(i, offset, epoch, metadata, code) for i, offset, epoch, code in _EMPTY(raw)]
    unpack = _WITH_METADATA.get(width)
    if unpack is None:
        unpack = _WITH_METADATA[width] = Struct(f">iqix{width}shx").iter_unpack
    try:
        return [(i, offset, epoch, meta.decode(), code) for i, offset, epoch, meta, code in unpack(raw)]
    except UnicodeDecodeError:
        return [(i, offset, epoch, text(meta, 0, width), code) for i, offset, epoch, meta, code in unpack(raw)]


def _one_by_one(what: str, data: bytes, pos: int, number: int) -> tuple[list[CommitRow], int]:
    rows: list[CommitRow] = []
    for _ in range(number):
        index, offset, epoch = _HEAD.unpack_from(data, pos)
        metadata, pos = nullable(what, "Metadata", data, pos + _LENGTH_AT, flexible=True)
        rows.append((index, offset, epoch, metadata, INT16(data, pos)[0]))
        pos = skip_tags(data, pos + 2) if data[pos + 2] else pos + 3
    return rows, pos


def _from_general(answer: dict[str, Any]) -> OffsetFetchAnswer:
    topics: list[OffsetFetchTopic] = [
        {"Name": topic["Name"], "Partitions": [tuple(row.values()) for row in topic["Partitions"]]}
        for topic in answer["Topics"]
    ]
    group: OffsetFetchGroup = {"GroupId": None, "Topics": topics, "ErrorCode": answer["ErrorCode"]}
    return {"ThrottleTimeMs": answer["ThrottleTimeMs"], "Groups": [group]}

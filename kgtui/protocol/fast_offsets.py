"""Hand-written decoders for OffsetFetch and ListOffsets responses.

The decoders are faster than the generated decoders (`Message.decode`). They return the same values, but a tuple for
each partition instead of a dict. If the rows of all partitions of a topic have the same size in bytes, a single call of
Python's `struct` module decodes all rows of the topic.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from kgtui.protocol.messages.offsets import LIST_OFFSETS, OFFSET_FETCH
from kgtui.protocol.primitives import (
    INT16,
    INT32,
    array_length,
    as_bytes,
    nullable_string,
    skip_tags,
    string,
    too_long,
    truncated,
    utf8,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CommitRow: TypeAlias = tuple[int, int, int, "str | None", int]
"""A row of an OffsetFetch response: `(partition, committed offset, leader epoch, metadata, error code)`.

The offset is -1 if no offset is committed. The leader epoch is -1 if it is unknown.
"""


class OffsetFetchTopic(TypedDict):
    """The committed offsets of one group in one topic."""

    Name: str
    Partitions: list[CommitRow]


class OffsetFetchGroup(TypedDict):
    """The committed offsets of one group."""

    GroupId: str | None
    """Group id. None in versions before 8, in which a response is about a single group and does not contain its id."""
    Topics: list[OffsetFetchTopic]
    ErrorCode: int


class OffsetFetchResponse(TypedDict):
    """A decoded OffsetFetch response. Responses of all versions are converted to the structure of version 8."""

    ThrottleTimeMs: int
    Groups: list[OffsetFetchGroup]


OffsetRow: TypeAlias = tuple[int, int, int, int, int]
"""A row of a ListOffsets response: `(partition, error code, timestamp in ms, offset, leader epoch)`.

-1 stands for a missing timestamp, offset or leader epoch.
"""


class ListOffsetsTopic(TypedDict):
    """The offsets that ListOffsets returned for one topic."""

    Name: str
    Partitions: list[OffsetRow]


class ListOffsetsResponse(TypedDict):
    """A decoded ListOffsets response. The structure is the same for all versions."""

    ThrottleTimeMs: int
    Topics: list[ListOffsetsTopic]


_BATCHED = 8
_HEAD = Struct(">iqi")
# The row of a partition in an OffsetFetch response consists of partition, offset and leader epoch (`_HEAD`), length of
# the metadata, metadata, error code and tagged fields. A row without metadata and tagged fields has 20 bytes
# (`_LEAST`).
_LENGTH_AT = _HEAD.size
_LEAST = 20
_EMPTY = Struct(">iqixhx").iter_unpack
_WITH_METADATA: dict[int, Callable[[bytes], Any]] = {}
_WITH_EPOCH = 4
_OLDEST = Struct(">ihqq")
_PLAIN = Struct(">ihqqi")
_NO_TAGS = Struct(">ihqqix")


def decode_offset_fetch(version: int, body: bytes | memoryview) -> OffsetFetchResponse:
    """Decode the body of an OffsetFetch response. Each partition becomes a tuple (`CommitRow`).

    Raises DecodeError if the body is truncated or malformed.
    """
    message = OFFSET_FETCH.response.label(version)
    data = as_bytes(body)
    if version < OFFSET_FETCH.flexible:
        return _from_generated_decoder(OFFSET_FETCH.response.decode(version, data))
    groups: list[OffsetFetchGroup] = []
    try:
        (throttle,) = INT32(data, 0)
        if version < _BATCHED:
            topics, pos = _commit_topics(message, data, 4)
            groups.append({"GroupId": None, "Topics": topics, "ErrorCode": INT16(data, pos)[0]})
            pos += 2
        else:
            number, pos = array_length(message, "Groups", data, 4, 5, flexible=True)
            for _ in range(number):
                group_id, pos = string(message, "GroupId", data, pos, flexible=True)
                topics, pos = _commit_topics(message, data, pos)
                groups.append({"GroupId": group_id, "Topics": topics, "ErrorCode": INT16(data, pos)[0]})
                pos = skip_tags(data, pos + 2)
        skip_tags(data, pos)
    except (IndexError, error):
        raise truncated(message, len(data)) from None
    return {"ThrottleTimeMs": throttle, "Groups": groups}


def _commit_topics(message: str, data: bytes, pos: int) -> tuple[list[OffsetFetchTopic], int]:
    topics: list[OffsetFetchTopic] = []
    number, pos = array_length(message, "Topics", data, pos, 3, flexible=True)
    for _ in range(number):
        name, pos = string(message, "Name", data, pos, flexible=True)
        size, pos = array_length(message, "Partitions", data, pos, _LEAST, flexible=True)
        rows, pos = _commit_partitions(message, data, pos, size)
        topics.append({"Name": name, "Partitions": rows})
        pos = skip_tags(data, pos)
    return topics, pos


def _commit_partitions(message: str, data: bytes, pos: int, number: int) -> tuple[list[CommitRow], int]:
    """Read the rows of one topic in an OffsetFetch response. The topic has `number` partitions, each with one row.

    Returns:
        The rows, and the position in `data` after the last row.
    """
    if not number:
        return [], pos
    length = data[pos + _LENGTH_AT]
    if length < 128:
        # If all rows have the size of the first row and no tagged fields, decode them with one call. This is checked
        # with two slices of `data` whose step is the size of the first row. The first slice contains the last byte of
        # each row, which is the number of tagged fields. The second slice contains the metadata length of each row.
        width = max(length - 1, 0)
        size = _LEAST + width
        stop = pos + number * size
        if stop <= len(data) and not any(data[pos + size - 1 : stop : size]):
            lengths = data[pos + _LENGTH_AT : stop : size]
            if lengths.count(length) == number:
                return _uniform_commits(data[pos:stop], length, width), stop
            if not width and lengths.count(0) + lengths.count(1) == number:
                rows = _EMPTY(data[pos:stop])
                return [
                    (i, offset, epoch, "" if at else None, code)
                    for (i, offset, epoch, code), at in zip(rows, lengths, strict=True)
                ], stop
    return _commit_one_by_one(message, data, pos, number)


def _uniform_commits(raw: bytes, length: int, width: int) -> list[CommitRow]:
    if not width:
        metadata = "" if length else None
        return [(i, offset, epoch, metadata, code) for i, offset, epoch, code in _EMPTY(raw)]
    unpack = _WITH_METADATA.get(width)
    if unpack is None:
        unpack = _WITH_METADATA[width] = Struct(f">iqix{width}shx").iter_unpack
    try:
        return [(i, offset, epoch, meta.decode(), code) for i, offset, epoch, meta, code in unpack(raw)]
    except UnicodeDecodeError:
        return [(i, offset, epoch, utf8(meta, 0, width), code) for i, offset, epoch, meta, code in unpack(raw)]


def _commit_one_by_one(message: str, data: bytes, pos: int, number: int) -> tuple[list[CommitRow], int]:
    rows: list[CommitRow] = []
    for _ in range(number):
        index, offset, epoch = _HEAD.unpack_from(data, pos)
        metadata, pos = nullable_string(message, "Metadata", data, pos + _LENGTH_AT, flexible=True)
        rows.append((index, offset, epoch, metadata, INT16(data, pos)[0]))
        pos = skip_tags(data, pos + 2) if data[pos + 2] else pos + 3
    return rows, pos


def _from_generated_decoder(response: dict[str, Any]) -> OffsetFetchResponse:
    topics: list[OffsetFetchTopic] = [
        {"Name": topic["Name"], "Partitions": [tuple(row.values()) for row in topic["Partitions"]]}
        for topic in response["Topics"]
    ]
    group: OffsetFetchGroup = {"GroupId": None, "Topics": topics, "ErrorCode": response["ErrorCode"]}
    return {"ThrottleTimeMs": response["ThrottleTimeMs"], "Groups": [group]}


def decode_list_offsets(version: int, body: bytes | memoryview) -> ListOffsetsResponse:
    """Decode the body of a ListOffsets response. Each partition becomes a tuple (`OffsetRow`).

    Raises DecodeError if the body is truncated or malformed.
    """
    message = LIST_OFFSETS.response.label(version)
    data = as_bytes(body)
    flexible = version >= LIST_OFFSETS.flexible
    row = _NO_TAGS if flexible else _PLAIN if version >= _WITH_EPOCH else _OLDEST
    topics: list[ListOffsetsTopic] = []
    try:
        pos, throttle = 0, 0
        if version >= 2:
            (throttle,) = INT32(data, 0)
            pos = 4
        number, pos = array_length(message, "Topics", data, pos, 3 if flexible else 6, flexible=flexible)
        for _ in range(number):
            name, pos = string(message, "Name", data, pos, flexible=flexible)
            size, pos = array_length(message, "Partitions", data, pos, row.size, flexible=flexible)
            rows, pos = _log_offset_partitions(message, data, pos, size, row)
            topics.append({"Name": name, "Partitions": rows})
            if flexible:
                pos = skip_tags(data, pos)
        if flexible:
            skip_tags(data, pos)
    except (IndexError, error):
        raise truncated(message, len(data)) from None
    return {"ThrottleTimeMs": throttle, "Topics": topics}


def _log_offset_partitions(
    message: str, data: bytes, pos: int, number: int, row: Struct
) -> tuple[list[OffsetRow], int]:
    stop = pos + number * row.size
    if row is _NO_TAGS and any(data[pos + row.size - 1 : stop : row.size]):
        return _log_offset_one_by_one(data, pos, number)
    if stop > len(data):
        raise too_long(message, "Partitions", number, pos)
    if row is _OLDEST:
        return [(*values, -1) for values in row.iter_unpack(data[pos:stop])], stop
    return list(row.iter_unpack(data[pos:stop])), stop


def _log_offset_one_by_one(data: bytes, pos: int, number: int) -> tuple[list[OffsetRow], int]:
    rows: list[OffsetRow] = []
    for _ in range(number):
        rows.append(_PLAIN.unpack_from(data, pos))
        pos = skip_tags(data, pos + _PLAIN.size)
    return rows, pos

"""Hand-written decoder for ListGroups responses. It can skip rows that have not changed since an earlier response.

The decoder first splits the bytes of a response into rows, one per group. The caller can compare the bytes of these
rows with an earlier response, and decode only the rows that have changed. The decoded values are the same as those of
the decoder that kgtui generates from the table of fields (`LIST_GROUPS.response.decode`).
"""

from __future__ import annotations

from functools import partial
from struct import error
from typing import TYPE_CHECKING, NamedTuple

from kgtui.protocol.messages.groups import LIST_GROUPS
from kgtui.protocol.primitives import INT16, INT32, array_length, as_bytes, skip_tags, string, too_long, truncated

if TYPE_CHECKING:
    from collections.abc import Callable

_FLEXIBLE = LIST_GROUPS.flexible
_FIELDS = ("GroupId", "ProtocolType", "GroupState", "GroupType")
_BEYOND = 1 << 62
# Index: first byte of a compact string (KIP-482). Item: size of the whole encoded string in bytes, including this byte.
# For null, which is not allowed in a row, and for strings of more than 126 bytes, the item is `_BEYOND`. This is larger
# than any response, so the next access to the data raises IndexError. The row is then read field by field.
_STRING_SIZES = [_BEYOND, *range(1, 128), *([_BEYOND] * 128)]
_MOST_TAILS, _LONGEST_TAIL = 4096, 128
# Size of the part of a response, in bytes, in which `skip_known` looks for the start of rows from an earlier response.
_SEARCH_BYTES = 16_384

_Tail = tuple[str, str, str]


class GroupRow(NamedTuple):
    """One row of a ListGroups response. Fields that do not exist in the response's version are empty strings."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class ListGroupsFrame(NamedTuple):
    """A ListGroups response whose rows are not decoded yet."""

    throttle_ms: int
    error_code: int
    rows: list[bytes]
    """The encoded bytes of each row, which `row_decoder` can decode."""


def split_list_groups(version: int, body: bytes | memoryview) -> ListGroupsFrame:
    """Split the body of a ListGroups response into its rows, one per group, without decoding the rows.

    If an earlier response of the same version contained a row with the same bytes, the group of this row has not
    changed. Raises DecodeError if the body is truncated or malformed.
    """
    message = LIST_GROUPS.response.label(version)
    data = as_bytes(body)
    try:
        throttle, code, number, pos = _head(message, version, data)
        if version >= _FLEXIBLE:
            rows, pos = _split_flexible(message, data, pos, number, strings=_strings(version))
            skip_tags(data, pos)
        else:
            rows, _ = _split(message, data, pos, number, strings=_strings(version))
    except (IndexError, error):
        raise truncated(message, len(data)) from None
    return ListGroupsFrame(throttle, code, rows)


class ListGroupsRows:
    """Splits a ListGroups response into rows, step by step. It can skip rows that an earlier response contained.

    The constructor and all methods raise DecodeError if the response is truncated or malformed.

    Attributes:
        throttle_ms: how long the broker throttles the connection, in milliseconds.
        error_code: error code of the whole response.
        left: number of rows that were neither returned nor skipped yet.
    """

    __slots__ = ("_data", "_pos", "_split", "error_code", "left", "throttle_ms", "version")

    def __init__(self, version: int, body: bytes | memoryview) -> None:
        message = LIST_GROUPS.response.label(version)
        self.version = version
        self._data = data = as_bytes(body)
        self._split = partial(
            _split_flexible if version >= _FLEXIBLE else _split, message, data, strings=_strings(version)
        )
        try:
            self.throttle_ms, self.error_code, self.left, self._pos = _head(message, version, data)
        except (IndexError, error):
            raise truncated(message, len(data)) from None

    def take(self, most: int) -> list[bytes]:
        """Return up to `most` further rows of the response, each as its encoded bytes."""
        return self._take(min(most, self.left), _BEYOND)

    def skip_known(self, known: bytes, number: int) -> list[bytes] | None:
        """Skip the rows in `known` if they begin within the next 16 KiB of the response.

        Args:
            known: bytes of consecutive rows from an earlier response of the same version.
            number: number of rows in `known`.

        Returns:
            The rows before the rows in `known`, usually an empty list. These rows are no longer returned by `take`.
            None if the rows in `known` are not found; nothing is skipped in this case.
        """
        if number > self.left:
            return None
        if self._data.startswith(known, self._pos):
            before: list[bytes] = []
        else:
            at = self._data.find(known, self._pos, self._pos + len(known) + _SEARCH_BYTES)
            if at < 0:
                return None
            start, left = self._pos, self.left
            before = self._take(left - number, at)
            if self._pos != at:
                # The bytes of `known` were found, but not at the start of a row, for example inside a group id. So this
                # is not where the known rows begin.
                self._pos, self.left = start, left
                return None
        self._pos += len(known)
        self.left -= number
        return before

    def _take(self, most: int, stop: int) -> list[bytes]:
        try:
            rows, self._pos = self._split(self._pos, most, stop=stop)
        except (IndexError, error):
            raise truncated(LIST_GROUPS.response.label(self.version), len(self._data)) from None
        self.left -= len(rows)
        return rows


def split_rows(version: int, data: bytes, number: int) -> list[bytes]:
    """Split `data`, the bytes of `number` consecutive rows of a ListGroups response, into the bytes of each row."""
    split = _split_flexible if version >= _FLEXIBLE else _split
    return split(LIST_GROUPS.response.label(version), data, 0, number, strings=_strings(version))[0]


def row_decoder(version: int) -> Callable[[bytes], GroupRow]:
    """Return a function that decodes the bytes of one row (one group). It raises DecodeError if the row is malformed.

    The function caches the values that follow the group id (protocol type, state and group type), because a cluster has
    only a few dozen combinations of these values.
    """
    message = LIST_GROUPS.response.label(version)
    tails = _TAILS.setdefault(version, {})
    flexible = version >= _FLEXIBLE
    new = tuple.__new__

    def decode_any(row: bytes) -> GroupRow:
        try:
            group_id, stop = string(message, "GroupId", row, 0, flexible=flexible)
            tail = tails.get(row[stop:])
            if tail is None:
                tail = _read_tail(message, row, stop, version)
                if len(tails) < _MOST_TAILS and len(row) - stop < _LONGEST_TAIL:
                    tails[row[stop:]] = tail
        except (IndexError, error):
            raise truncated(message, len(row)) from None
        return GroupRow(group_id, *tail)

    def decode(row: bytes) -> GroupRow:
        try:
            stop = row[0]
            if stop < 128:
                # `tuple.__new__` needs only two thirds of the time that `GroupRow(…)` needs.
                return new(GroupRow, (row[1:stop].decode(),) + tails[row[stop:]])
        except (IndexError, KeyError, UnicodeDecodeError):
            # The row is truncated, its group id is not UTF-8, or the values after the group id are not cached yet.
            # `decode_any` handles all three cases.
            pass
        return decode_any(row)

    return decode if flexible else decode_any


def decode_list_groups(version: int, body: bytes | memoryview) -> tuple[int, int, list[GroupRow]]:
    """Decode the body of a ListGroups response into `(throttle time in ms, error code, rows)`.

    Raises DecodeError if the body is truncated or malformed.
    """
    frame = split_list_groups(version, body)
    return frame.throttle_ms, frame.error_code, list(map(row_decoder(version), frame.rows))


# API version → cache of the values that follow the group id in a row: encoded bytes → `(protocol type, state, group
# type)`. Equal tuples are stored only once, in `_SHARED_TAILS`. The sizes of the caches and of `_SHARED_TAILS` are
# limited, because responses can contain any number of different states.
_TAILS: dict[int, dict[bytes, _Tail]] = {}
_SHARED_TAILS: dict[_Tail, _Tail] = {}


def _strings(version: int) -> int:
    return 2 + (version >= 4) + (version >= 5)


def _head(message: str, version: int, data: bytes) -> tuple[int, int, int, int]:
    """Return the throttle time in ms, error code, number of rows, and position of the first row of a response."""
    pos, throttle = 0, 0
    if version >= 1:
        (throttle,) = INT32(data, 0)
        pos = 4
    (code,) = INT16(data, pos)
    flexible, strings = version >= _FLEXIBLE, _strings(version)
    number, pos = array_length(
        message, "Groups", data, pos + 2, strings + 1 if flexible else strings * 2, flexible=flexible
    )
    return throttle, code, number, pos


def _split_flexible(
    message: str, data: bytes, pos: int, number: int, *, strings: int, stop: int = _BEYOND
) -> tuple[list[bytes], int]:
    """Split `data` into rows, in versions with compact string lengths (KIP-482). The first row begins at `pos`.

    Stop after `number` rows, or earlier if the next row begins at or after position `stop`. Return the bytes of each
    row, and the position of the next row.
    """
    rows: list[bytes] = []
    add, step = rows.append, _STRING_SIZES
    third, fourth = strings > 2, strings > 3
    while len(rows) < number and pos < stop:
        start = pos
        try:
            for _ in range(number - len(rows)):
                start = pos
                pos += step[data[pos]]
                pos += step[data[pos]]
                if third:
                    pos += step[data[pos]]
                if fourth:
                    pos += step[data[pos]]
                if data[pos]:
                    break
                pos += 1
                add(data[start:pos])
                if pos >= stop:
                    return rows, pos
            else:
                break
        except IndexError:
            pass
        pos = _end_of_row(message, data, start, strings)
        add(data[start:pos])
    return rows, pos


def _end_of_row(message: str, data: bytes, pos: int, strings: int) -> int:
    for field in _FIELDS[:strings]:
        _, pos = string(message, field, data, pos, flexible=True)
    return skip_tags(data, pos)


def _split(
    message: str, data: bytes, pos: int, number: int, *, strings: int, stop: int = _BEYOND
) -> tuple[list[bytes], int]:
    """Split `data` into rows, in versions with 16-bit string lengths. The first row begins at `pos`.

    Stop after `number` rows, or earlier if the next row begins at or after position `stop`. Return the bytes of each
    row, and the position of the next row.
    """
    rows: list[bytes] = []
    end = len(data)
    for _ in range(number):
        if pos >= stop:
            break
        start = pos
        for field in _FIELDS[:strings]:
            (length,) = INT16(data, pos)
            if length < 0:
                string(message, field, data, pos, flexible=False)
            pos += 2 + length
        if pos > end:
            raise too_long(message, "Groups", number, start)
        rows.append(data[start:pos])
    return rows, pos


def _read_tail(message: str, row: bytes, pos: int, version: int) -> _Tail:
    flexible = version >= _FLEXIBLE
    values = ["", "", ""]
    for index, field in enumerate(_FIELDS[1 : _strings(version)]):
        value, pos = string(message, field, row, pos, flexible=flexible)
        values[index] = value
    if flexible:
        skip_tags(row, pos)
    protocol, state, group_type = values
    tail = (protocol, state, group_type)
    if sum(map(len, tail)) < _LONGEST_TAIL and len(_SHARED_TAILS) < _MOST_TAILS:
        return _SHARED_TAILS.setdefault(tail, tail)
    return _SHARED_TAILS.get(tail, tail)

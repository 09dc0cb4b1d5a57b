"""ListGroups: split a frame into the bytes of its rows, decode only the rows that are new."""

from __future__ import annotations

from struct import error
from typing import TYPE_CHECKING, NamedTuple

from kgtui.protocol.fast.reading import INT16, INT32, as_bytes, checked, count, string
from kgtui.protocol.messages import LIST_GROUPS
from kgtui.protocol.wire import skip_tags, too_long, truncated

if TYPE_CHECKING:
    from collections.abc import Callable

_FLEXIBLE = LIST_GROUPS.flexible
_FIELDS = ("GroupId", "ProtocolType", "GroupState", "GroupType")
_BEYOND = 1 << 62
# How far the field goes that starts with this byte, for strings of 0 to 126 bytes; a null or longer one leads
# beyond the frame, where the next look raises IndexError and the row is read the long way.
_STEP = [_BEYOND, *range(1, 128), *([_BEYOND] * 128)]
_MOST_TAILS, _LONGEST_TAIL = 4096, 128

_Tail = tuple[str, str, str]


class GroupRow(NamedTuple):
    """One listed group; what the version does not have is the empty string."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class ListGroupsFrame(NamedTuple):
    """A ListGroups answer whose rows are not decoded yet."""

    throttle_ms: int
    error_code: int
    rows: list[bytes]
    """The bytes of each row, tagged fields included; `row_decoder` reads them."""


def split_list_groups(version: int, body: bytes | memoryview) -> ListGroupsFrame:
    """Split the body of an answer into its rows without decoding them.

    Two polls are compared by their rows' bytes: an equal row is an equal group. Raises DecodeError.
    """
    what = checked(LIST_GROUPS, version)
    data = as_bytes(body)
    flexible = version >= _FLEXIBLE
    strings = _strings(version)
    try:
        pos, throttle = 0, 0
        if version >= 1:
            (throttle,) = INT32(data, 0)
            pos = 4
        (code,) = INT16(data, pos)
        least = strings + 1 if flexible else strings * 2
        number, pos = count(what, "Groups", data, pos + 2, least, flexible=flexible)
        if flexible:
            rows, pos = _split_flexible(what, data, pos, number, strings)
            skip_tags(data, pos)
        else:
            rows = _split(what, data, pos, number, strings)
    except (IndexError, error):
        raise truncated(what, len(data)) from None
    return ListGroupsFrame(throttle, code, rows)


def row_decoder(version: int) -> Callable[[bytes], GroupRow]:
    """Return the function that decodes one row of `split_list_groups`; it raises DecodeError.

    What stands after the group id (protocol, state and type together are a few dozen different byte strings)
    is decoded once and shared by all rows, answers and decoders of that version.
    """
    what = checked(LIST_GROUPS, version)
    tails = _TAILS.setdefault(version, {})
    flexible = version >= _FLEXIBLE
    new = tuple.__new__

    def decode_any(row: bytes) -> GroupRow:
        try:
            group_id, stop = string(what, "GroupId", row, 0, flexible=flexible)
            tail = tails.get(row[stop:])
            if tail is None:
                tail = _read_tail(what, row, stop, version)
                if len(tails) < _MOST_TAILS and len(row) - stop < _LONGEST_TAIL:
                    tails[row[stop:]] = tail
        except (IndexError, error):
            raise truncated(what, len(row)) from None
        return GroupRow(group_id, *tail)

    def decode(row: bytes) -> GroupRow:
        try:
            stop = row[0]
            if stop < 128:
                # Concatenated and made by tuple itself: a third faster than calling GroupRow.
                return new(GroupRow, (row[1:stop].decode(),) + tails[row[stop:]])
        except (IndexError, KeyError, UnicodeDecodeError):
            pass  # cut short, a tail not seen before, or an id that is not UTF-8
        return decode_any(row)

    return decode if flexible else decode_any


def decode_list_groups(version: int, body: bytes | memoryview) -> tuple[int, int, list[GroupRow]]:
    """Decode a whole answer: throttle time in ms, error code, rows. Raises DecodeError."""
    frame = split_list_groups(version, body)
    return frame.throttle_ms, frame.error_code, list(map(row_decoder(version), frame.rows))


# Both bounded, against a broker that makes up states: by version and bytes, and by what they say (a tagged
# field that differs from row to row makes the bytes differ but not the words).
_TAILS: dict[int, dict[bytes, _Tail]] = {}
_KINDS: dict[_Tail, _Tail] = {}


def _strings(version: int) -> int:
    return 2 + (version >= 4) + (version >= 5)


def _split_flexible(what: str, data: bytes, pos: int, number: int, strings: int) -> tuple[list[bytes], int]:
    rows: list[bytes] = []
    add, step = rows.append, _STEP
    third, fourth = strings > 2, strings > 3
    while len(rows) < number:
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
            else:
                break
        except IndexError:
            pass
        pos = _end_of_row(what, data, start, strings)
        add(data[start:pos])
    return rows, pos


def _end_of_row(what: str, data: bytes, pos: int, strings: int) -> int:
    for field in _FIELDS[:strings]:
        _, pos = string(what, field, data, pos, flexible=True)
    return skip_tags(data, pos)


def _split(what: str, data: bytes, pos: int, number: int, strings: int) -> list[bytes]:
    rows: list[bytes] = []
    end = len(data)
    for _ in range(number):
        start = pos
        for field in _FIELDS[:strings]:
            (length,) = INT16(data, pos)
            if length < 0:
                string(what, field, data, pos, flexible=False)
            pos += 2 + length
        if pos > end:
            raise too_long(what, "Groups", number, start)
        rows.append(data[start:pos])
    return rows


def _read_tail(what: str, row: bytes, pos: int, version: int) -> _Tail:
    flexible = version >= _FLEXIBLE
    values = ["", "", ""]
    for index, field in enumerate(_FIELDS[1 : _strings(version)]):
        value, pos = string(what, field, row, pos, flexible=flexible)
        values[index] = value
    if flexible:
        skip_tags(row, pos)
    protocol, state, kind = values
    tail = (protocol, state, kind)
    if sum(map(len, tail)) < _LONGEST_TAIL and len(_KINDS) < _MOST_TAILS:
        return _KINDS.setdefault(tail, tail)
    return _KINDS.get(tail, tail)

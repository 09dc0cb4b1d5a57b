"""ListGroups: split a frame into the bytes of its rows, decode only the rows that are new."""

from __future__ import annotations

from functools import partial
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
_NEAR = 16_384  # bytes within which rows that are known are looked for

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
    try:
        throttle, code, number, pos = _head(what, version, data)
        if version >= _FLEXIBLE:
            rows, pos = _split_flexible(what, data, pos, number, strings=_strings(version))
            skip_tags(data, pos)
        else:
            rows, _ = _split(what, data, pos, number, strings=_strings(version))
    except (IndexError, error):
        raise truncated(what, len(data)) from None
    return ListGroupsFrame(throttle, code, rows)


class ListGroupsRows:
    """The rows of an answer, split off a few at a time, or passed over where they are known already.

    Raises DecodeError, as all its methods do.

    Attributes:
        version: of the answer.
        error_code: of the whole answer.
        left: rows that have not been taken yet.
    """

    __slots__ = ("_data", "_pos", "_split", "error_code", "left", "version")

    def __init__(self, version: int, body: bytes | memoryview) -> None:
        what = checked(LIST_GROUPS, version)
        self.version = version
        self._data = data = as_bytes(body)
        self._split = partial(
            _split_flexible if version >= _FLEXIBLE else _split, what, data, strings=_strings(version)
        )
        try:
            _, self.error_code, self.left, self._pos = _head(what, version, data)
        except (IndexError, error):
            raise truncated(what, len(data)) from None

    def take(self, most: int) -> list[bytes]:
        """Split off the next rows, at most so many; none when none is left."""
        return self._take(min(most, self.left), _BEYOND)

    def pass_over(self, known: bytes, number: int) -> list[bytes] | None:
        """Go behind some rows whose bytes are known, if they come soon.

        Args:
            known: rows as they stood in an answer of the same version.
            number: how many rows they are.

        Returns:
            The rows before them, nearly always none; None if they are not near, and nothing has been taken then.
        """
        if number > self.left:
            return None
        if self._data.startswith(known, self._pos):
            before: list[bytes] = []
        else:
            at = self._data.find(known, self._pos, self._pos + len(known) + _NEAR)
            if at < 0:
                return None
            start, left = self._pos, self.left
            before = self._take(left - number, at)
            if self._pos != at:  # they stand inside of a row, as when a group is named so
                self._pos, self.left = start, left
                return None
        self._pos += len(known)
        self.left -= number
        return before

    def _take(self, most: int, stop: int) -> list[bytes]:
        try:
            rows, self._pos = self._split(self._pos, most, stop=stop)
        except (IndexError, error):
            raise truncated(checked(LIST_GROUPS, self.version), len(self._data)) from None
        self.left -= len(rows)
        return rows


def split_rows(version: int, data: bytes, number: int) -> list[bytes]:
    """Split rows that stand one after the other, as `ListGroupsRows.pass_over` takes them."""
    split = _split_flexible if version >= _FLEXIBLE else _split
    return split(checked(LIST_GROUPS, version), data, 0, number, strings=_strings(version))[0]


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


def _head(what: str, version: int, data: bytes) -> tuple[int, int, int, int]:
    """Throttle time in ms, error code, number of rows, where they start."""
    pos, throttle = 0, 0
    if version >= 1:
        (throttle,) = INT32(data, 0)
        pos = 4
    (code,) = INT16(data, pos)
    flexible, strings = version >= _FLEXIBLE, _strings(version)
    number, pos = count(what, "Groups", data, pos + 2, strings + 1 if flexible else strings * 2, flexible=flexible)
    return throttle, code, number, pos


def _split_flexible(
    what: str, data: bytes, pos: int, number: int, *, strings: int, stop: int = _BEYOND
) -> tuple[list[bytes], int]:
    """At most `number` rows, those that start before `stop`; and where the next one starts."""
    rows: list[bytes] = []
    add, step = rows.append, _STEP
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
        pos = _end_of_row(what, data, start, strings)
        add(data[start:pos])
    return rows, pos


def _end_of_row(what: str, data: bytes, pos: int, strings: int) -> int:
    for field in _FIELDS[:strings]:
        _, pos = string(what, field, data, pos, flexible=True)
    return skip_tags(data, pos)


def _split(
    what: str, data: bytes, pos: int, number: int, *, strings: int, stop: int = _BEYOND
) -> tuple[list[bytes], int]:
    """As `_split_flexible`, for versions whose strings have a length of two bytes."""
    rows: list[bytes] = []
    end = len(data)
    for _ in range(number):
        if pos >= stop:
            break
        start = pos
        for field in _FIELDS[:strings]:
            (length,) = INT16(data, pos)
            if length < 0:
                string(what, field, data, pos, flexible=False)
            pos += 2 + length
        if pos > end:
            raise too_long(what, "Groups", number, start)
        rows.append(data[start:pos])
    return rows, pos


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

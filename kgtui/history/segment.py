"""A keyframe with all that changed until the next, in memory; and the state of a table at one poll of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from kgtui.history.schemas import TABLES
from kgtui.history.stored_text import restored, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from kgtui.history.rows import Row

_MANY = 100
"""Groups of which one table was asked for before all of it is unpacked at once."""


class Segment:
    """The rows of one keyframe.

    Args:
        load: gives the rows of a table, sorted by key and poll; asked once for each that is used.
        polls: the polls that count.
    """

    def __init__(self, load: Callable[[str], pa.Table], polls: Sequence[int]) -> None:
        self._load = load
        self._polls = polls
        self._tables: dict[str, pa.Table] = {}
        self._lock = threading.Lock()

    def at(self, name: str, poll: int) -> State:
        """The state of a table after a poll."""
        import pyarrow.compute as pc

        with self._lock:
            if name not in self._tables:
                self._tables[name] = _counting(self._load(name), self._polls)
        rows, key = self._tables[name], _KEYS[name]
        rows = rows.filter(pc.less_equal(rows["poll"], poll))
        rows = rows.filter(_last_of_each(rows, key))
        rows = rows.filter(pc.invert(rows["gone"]))
        return State(rows.drop_columns(["poll", "gone"]))


class State:
    """Rows of one table at one poll, by group. Text is unpacked when asked for."""

    def __init__(self, rows: pa.Table) -> None:
        rows = rows.combine_chunks()
        self._rows = rows.drop_columns(["group"])
        self._spans = _spans(rows["group"])
        self._columns: list[list[object]] | None = None
        self._asked = 0

    def __contains__(self, group: str) -> bool:
        return stored(group) in self._spans

    def groups(self) -> Iterator[str]:
        """Every group that has rows."""
        return map(restored, self._spans)

    def all(self, *columns: str) -> Iterator[tuple[str, Row]]:
        """Every row's group and these columns, without unpacking the rest."""
        unpacked = list(zip(*(_unpacked(self._rows[name]) for name in columns), strict=True))
        for group, (start, stop) in self._spans.items():
            for row in unpacked[start:stop]:
                yield restored(group), row

    def of(self, group: str) -> list[Row]:
        """The rows of a group, without the group, in the order of the table's columns."""
        start, stop = self._spans.get(stored(group), (0, 0))
        if start == stop:
            return []
        self._asked += 1
        if self._columns is None and self._asked > _MANY:
            self._columns = [_unpacked(column) for column in self._rows.columns]
        if self._columns is not None:
            return list(zip(*(column[start:stop] for column in self._columns), strict=True))
        some = self._rows.slice(start, stop - start)
        return list(zip(*(_unpacked(column) for column in some.columns), strict=True))


_KEYS = {table.name: table.key for table in TABLES}


def _unpacked(column: pa.ChunkedArray) -> list[object]:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        values: list[object] = column.to_pylist()
        return values
    found: list[object] = []
    for chunk in column.chunks:
        if len(chunk) < len(chunk.dictionary):
            found += [None if text is None else restored(text) for text in chunk.dictionary_decode().to_pylist()]
            continue
        texts = [None if text is None else restored(text) for text in chunk.dictionary.to_pylist()]
        found += [None if code is None else texts[code] for code in chunk.indices.to_pylist()]
    return found


def _counting(rows: pa.Table, polls: Sequence[int]) -> pa.Table:
    """Without rows of polls that never came to be: a flush was cut off."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(polls, pa.int64())
    if pc.all(pc.is_in(pc.unique(rows["poll"]), known)).as_py() in (True, None):
        return rows
    return rows.filter(pc.is_in(rows["poll"], known))


def _last_of_each(rows: pa.Table, key: Sequence[str]) -> pa.Array:
    """For each row, whether the next one has another key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if rows.num_rows == 0:
        return pa.array([], pa.bool_())
    rows = rows.select(list(key)).combine_chunks()
    differs = None
    for name in key:
        column = rows[name].chunk(0)
        if pa.types.is_dictionary(column.type):
            column = column.indices
        column = pc.fill_null(column, -1)
        one = pc.not_equal(column[1:], column[:-1])
        differs = one if differs is None else pc.or_(differs, one)
    return pa.concat_arrays([differs, pa.array([True])])


def _spans(column: pa.ChunkedArray) -> dict[str, tuple[int, int]]:
    """Value → first row and the one after its last; values lie together. A null is ``."""
    import pyarrow.compute as pc

    spans: dict[str, tuple[int, int]] = {}
    for chunk in column.chunks:
        names, start = chunk.dictionary.to_pylist(), 0
        runs = pc.run_end_encode(chunk.indices)
        for code, stop in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            spans["" if code is None else names[code]] = (start, stop)
            start = stop
    return spans

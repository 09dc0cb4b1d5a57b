"""A keyframe with all that changed until the next; and the state of a table at one poll of it."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from kgtui.history.arrow import of_polls, unpacked
from kgtui.history.schemas import PARTITION, TABLES
from kgtui.history.stored_text import restored, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from kgtui.history.parquet import Sorted
    from kgtui.history.rows import Row

_MANY = 16
"""Groups of a block that were asked for before all of it is unpacked at once."""


class Segment:
    """The rows of one keyframe, read as far as they are asked for, and kept.

    Args:
        load: gives the rows of a table; asked once for each that is used.
        polls: the polls that count.
        reading: entered whenever something is read; makes our errors of the disk's.
    """

    def __init__(
        self,
        load: Callable[[str], Sorted],
        polls: Sequence[int],
        reading: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._load = load
        self._polls = polls
        self._reading = reading
        self._tables: dict[str, Blocks] = {}
        self._lock = threading.Lock()

    def at(self, name: str, poll: int) -> State:
        """The state of a table after a poll."""
        with self._lock:
            if name not in self._tables:
                self._tables[name] = Blocks(name, self._load(name), self._polls, self._reading)
        return State(self._tables[name], poll)


class Blocks:
    """The rows of one table of a segment; what was read is kept."""

    def __init__(
        self, name: str, rows: Sorted, polls: Sequence[int], reading: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._table = _TABLES[name]
        self._columns = [column for column in self._table.names if column not in (PARTITION, "keyframe")]
        self._rows = rows
        self._polls = polls
        self._reading = reading
        self._blocks: dict[int, pa.Table] = {}
        self._narrow: dict[tuple[str, ...], pa.Table] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def holding(self, group: str) -> int | None:
        """The block that may have a group, named as it is stored."""
        return self._rows.holding(group)

    def block(self, index: int, poll: int) -> Block:
        """The state of some groups after a poll."""
        rows = self._blocks.get(index)
        if rows is None:
            rows = self._blocks[index] = self._read([index], self._columns)
        return Block(self._after(rows, poll))

    def narrow(self, columns: tuple[str, ...], poll: int) -> pa.Table:
        """Some columns of all groups after a poll, `group` among them."""
        rows = self._narrow.get(columns)
        if rows is None:
            needed = dict.fromkeys(("poll", "gone", *self._table.key, *columns))
            rows = self._narrow[columns] = self._read(range(len(self._rows)), list(needed))
        return self._after(rows, poll).select(["group", *columns])

    def _read(self, blocks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        with self._reading():
            return of_polls(self._rows.read(blocks, columns), self._polls)

    def _after(self, rows: pa.Table, poll: int) -> pa.Table:
        import pyarrow.compute as pc

        rows = rows.filter(pc.less_equal(rows["poll"], poll))
        rows = rows.filter(_last_of_each(rows, self._table.key))
        rows = rows.filter(pc.invert(rows["gone"]))
        return rows.drop_columns(["poll", "gone"])


class State:
    """Rows of one table at one poll, by group."""

    def __init__(self, blocks: Blocks, poll: int) -> None:
        self._blocks = blocks
        self._poll = poll
        self._known: dict[int, Block] = {}

    def __contains__(self, group: str) -> bool:
        block = self._holding(group)
        return block is not None and group in block

    def groups(self) -> Iterator[str]:
        """Every group that has rows."""
        for index in range(len(self._blocks)):
            yield from self._block(index).groups()

    def all(self, *columns: str) -> Iterator[tuple[str, Row]]:
        """Every row's group and these columns; nothing else is read."""
        rows = self._blocks.narrow(columns, self._poll)
        values = zip(*(unpacked(rows[name]) for name in columns), strict=True)
        yield from zip(map(str, unpacked(rows["group"])), values, strict=True)

    def of(self, group: str) -> list[Row]:
        """The rows of a group, without the group, in the order of the table's columns."""
        block = self._holding(group)
        return [] if block is None else block.of(group)

    def _holding(self, group: str) -> Block | None:
        index = self._blocks.holding(stored(group))
        return None if index is None else self._block(index)

    def _block(self, index: int) -> Block:
        found = self._known.get(index)
        if found is None:
            found = self._known[index] = self._blocks.block(index, self._poll)
        return found


class Block:
    """Some groups of a state. Text is unpacked when asked for."""

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

    def of(self, group: str) -> list[Row]:
        """The rows of a group."""
        start, stop = self._spans.get(stored(group), (0, 0))
        if start == stop:
            return []
        self._asked += 1
        if self._columns is None and self._asked > _MANY:
            self._columns = [unpacked(column) for column in self._rows.columns]
        if self._columns is not None:
            return list(zip(*(column[start:stop] for column in self._columns), strict=True))
        some = self._rows.slice(start, stop - start)
        return list(zip(*(unpacked(column) for column in some.columns), strict=True))


_TABLES = {table.name: table for table in TABLES}


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

"""Read a keyframe and the polls after it, and compute the state of a table at any of these polls.

A poll is one read of the cluster by the recorder. A keyframe is a poll for which the recorder stored the complete
state. For other polls, it stored only changed rows.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from kgtui.lake.arrow import escape_surrogates, filter_polls, to_values, unescape_surrogates
from kgtui.lake.schemas import PARTITION, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from kgtui.lake.parquet import RowBlocks
    from kgtui.lake.schemas.definition import RowValues

_MAX_GROUPS, _MAX_FRACTION = 16, 0.02
"""Number and fraction of groups that decide when `BlockState` converts all its rows from Arrow to Python at once.

At first, `BlockState` converts only the rows of the requested group. When the method `of` has been called for more than
16 groups and for more than 2 % of all groups in the `BlockState`, all rows are converted.
"""


class Keyframe:
    """Rows of a keyframe (a poll with the complete state) and of the polls before the next keyframe.

    The rows of a table are read from disk when they are needed.

    Args:
        load: function that takes the name of a table, and returns the table's rows. It is called once per table.
        polls: times of the keyframe and of the polls before the next keyframe, in milliseconds since the epoch. Rows of
            other polls come from an interrupted write, and are ignored.
        reading: function that returns a context manager, which converts read errors to `LakeError`.
    """

    def __init__(
        self,
        load: Callable[[str], RowBlocks],
        polls: Sequence[int],
        reading: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._load = load
        self._polls = polls
        self._reading = reading
        self._tables: dict[str, KeyframeTable] = {}
        self._lock = threading.Lock()

    def at(self, name: str, poll: int) -> TableState:
        """Return the state of the cluster at a poll, as rows of one table.

        Args:
            name: name of the table.
            poll: time of the poll in milliseconds since the epoch.
        """
        with self._lock:
            if name not in self._tables:
                self._tables[name] = KeyframeTable(name, self._load(name), self._polls, self._reading)
        return TableState(self._tables[name], poll)


class KeyframeTable:
    """Rows of one table for a keyframe (a poll with the complete state) and the polls before the next keyframe.

    Rows are read from disk in blocks. All rows of a group are in the same block.
    """

    def __init__(
        self, name: str, rows: RowBlocks, polls: Sequence[int], reading: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._table = _TABLES[name]
        self._columns = [column for column in self._table.names if column not in (PARTITION, "keyframe")]
        self._rows = rows
        self._polls = polls
        self._reading = reading
        self._blocks: dict[int, _KeyframeRows] = {}
        self._narrow: dict[tuple[str, ...], _KeyframeRows] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def block_of(self, group: str) -> int | None:
        """Return the index of the only block that can contain rows of a group; None if there is no such block.

        Args:
            group: group id, with lone surrogates escaped.
        """
        return self._rows.block_of(group)

    def load(self, indices: Iterable[int]) -> None:
        """Read blocks from disk, except those that are already in memory.

        All missing blocks are read in one call of `RowBlocks.read`, because each call is slow.
        """
        missing = sorted({index for index in indices if index not in self._blocks})
        if missing:
            self._blocks.update(dict.fromkeys(missing, self._read(missing, self._columns)))

    def block(self, index: int) -> _KeyframeRows:
        """Return the rows of a block, which is read from disk if necessary.

        If `load` read several blocks together with this one, the result contains the rows of all these blocks.
        """
        self.load([index])
        return self._blocks[index]

    def narrow(self, columns: tuple[str, ...], poll: int) -> pa.Table:
        """Return the state of the table at a poll, reduced to the column `group` and the given columns."""
        rows = self._narrow.get(columns)
        if rows is None:
            needed = dict.fromkeys(("poll", "gone", *self._table.key, *columns))
            rows = self._narrow[columns] = self._read(range(len(self._rows)), list(needed))
        return rows.after(poll).select(["group", *columns])

    def _read(self, blocks: Sequence[int], columns: Sequence[str]) -> _KeyframeRows:
        with self._reading():
            return _KeyframeRows(filter_polls(self._rows.read(blocks, columns), self._polls), self._table.key)


class _KeyframeRows:
    """Rows of one table for a keyframe (a poll with the complete state) and the polls before the next keyframe.

    The rows are sorted by key and poll.
    """

    def __init__(self, rows: pa.Table, key: Sequence[str]) -> None:
        self._rows = rows.combine_chunks()
        self._last = _last_of_each(self._rows, key)

    def after(self, poll: int) -> pa.Table:
        """Return the state at a poll: for each object, such as a member, its newest row at or before this poll.

        Objects that no longer existed at this poll are left out.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._rows.num_rows:
            return self._rows
        polls, gone = self._rows["poll"].chunk(0), self._rows["gone"].chunk(0)
        known = pc.less_equal(polls, poll)
        newest = pc.or_(self._last, pa.concat_arrays([pc.invert(known[1:]), pa.array([True])]))
        return self._rows.filter(pc.and_(pc.and_(known, newest), pc.invert(gone)))


class TableState:
    """The state of all groups at one poll, as rows of one recorded table.

    The rows of a group are read from disk when they are needed.
    """

    def __init__(self, blocks: KeyframeTable, poll: int) -> None:
        self._blocks = blocks
        self._poll = poll
        self._known: dict[_KeyframeRows, BlockState] = {}

    def __contains__(self, group: str) -> bool:
        block = self._block_of(group)
        return block is not None and group in block

    def groups(self) -> Iterator[str]:
        """Yield the id of every group that has rows in the table at this poll."""
        every = range(len(self._blocks))
        self._blocks.load(every)
        for block in dict.fromkeys(map(self._block, every)):
            yield from block.groups()

    def prepare(self, groups: Iterable[str]) -> None:
        """Read the rows of the given groups from disk in one step. This is faster than one read per group."""
        found = (self._blocks.block_of(escape_surrogates(group)) for group in groups)
        self._blocks.load(index for index in found if index is not None)

    def all(self, *columns: str) -> Iterator[tuple[str, RowValues]]:
        """Yield a pair (group id, values of the given columns) for every row of all groups.

        Only these columns and the columns that identify a row are read from disk.
        """
        rows = self._blocks.narrow(columns, self._poll)
        values = zip(*(to_values(rows[name]) for name in columns), strict=True)
        yield from zip(map(str, to_values(rows["group"])), values, strict=True)

    def of(self, group: str) -> list[RowValues]:
        """Return the rows of a group, without columns `day`, `keyframe`, `poll`, `gone` and `group`."""
        block = self._block_of(group)
        return [] if block is None else block.of(group)

    def _block_of(self, group: str) -> BlockState | None:
        index = self._blocks.block_of(escape_surrogates(group))
        return None if index is None else self._block(index)

    def _block(self, index: int) -> BlockState:
        rows = self._blocks.block(index)
        found = self._known.get(rows)
        if found is None:
            found = self._known[rows] = BlockState(rows.after(self._poll).drop_columns(["poll", "gone"]))
        return found


class BlockState:
    """The state of several groups at one poll, as rows of one recorded table.

    One call of `KeyframeTable.load` has read the rows of all these groups from disk.

    Args:
        rows: one row for each object (such as a member) that existed at the poll, sorted by group.
    """

    def __init__(self, rows: pa.Table) -> None:
        rows = rows.combine_chunks()
        self._rows = rows.drop_columns(["group"])
        self._spans = _spans(rows["group"])
        self._columns: list[list[object]] | None = None
        self._asked = 0

    def __contains__(self, group: str) -> bool:
        return escape_surrogates(group) in self._spans

    def groups(self) -> Iterator[str]:
        """Yield the id of every group that has at least one row."""
        return map(unescape_surrogates, self._spans)

    def of(self, group: str) -> list[RowValues]:
        """Return the rows of a group as tuples of Python values, without column `group`."""
        start, stop = self._spans.get(escape_surrogates(group), (0, 0))
        if start == stop:
            return []
        self._asked += 1
        if self._columns is None and self._asked > max(_MAX_GROUPS, _MAX_FRACTION * len(self._spans)):
            self._columns = [to_values(column) for column in self._rows.columns]
        if self._columns is not None:
            return list(zip(*(column[start:stop] for column in self._columns), strict=True))
        some = self._rows.slice(start, stop - start)
        return list(zip(*(to_values(column) for column in some.columns), strict=True))


_TABLES = {table.name: table for table in TABLES}


def _last_of_each(rows: pa.Table, key: Sequence[str]) -> pa.Array:
    """Return a boolean per row: whether no later row has the same values in the columns `key`.

    Rows with equal values in these columns must be adjacent.
    """
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
    """Return a dict: value → pair (index of the first row with this value, index of the last such row plus 1).

    Example: `a a b` → `{"a": (0, 2), "b": (2, 3)}`. The key for null is an empty string. Equal values must be adjacent.
    """
    import pyarrow.compute as pc

    spans: dict[str, tuple[int, int]] = {}
    for chunk in column.chunks:
        names, start = chunk.dictionary.to_pylist(), 0
        runs = pc.run_end_encode(chunk.indices)
        for code, stop in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            spans["" if code is None else names[code]] = (start, stop)
            start = stop
    return spans

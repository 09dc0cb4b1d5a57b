"""The files of a lake: written so that a group is found in them, and read no further than what is asked for.

Compaction sorts a file by key and cuts it between two groups into row groups, whose statistics tell which groups are
in them. Files that were written otherwise are read as a whole. Knows pyarrow alone; it loads when a file is used.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kgtui.lake.arrow import sort_by_key, text_columns, to_one_chunk
from kgtui.lake.schemas import PARTITION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.parquet as pq

    from kgtui.lake.schemas import Table

BLOCK = 8_192
"""Rows of a row group at least, in files that compaction writes: few enough to be read in milliseconds."""

_GROUP = "group"
_HARDLY_REPEATED = frozenset({"committed", "spso", "lag", "log_end"})
"""Columns that take less room without a dictionary: a tenth of a lake."""
_LOOKED_UP = frozenset({_GROUP, "keyframe", "poll"})
"""Columns whose smallest and largest values are kept."""
_ALL_AT_ONCE = 4_000_000  # rows of a row group, in files that nobody looks a group up in


class RowBlocks(Protocol):
    """Rows of one table and keyframe, sorted by key and poll, in blocks that share no group."""

    def __len__(self) -> int:
        """How many blocks there are."""
        ...

    def block_of(self, group: str) -> int | None:
        """The only block that may have rows of a group, named as it is stored; None when none has."""
        ...

    def read(self, blocks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Columns of some blocks in one piece, text dictionary-encoded."""
        ...


class RowsInMemory:
    """Rows in memory: one block."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return 1

    def block_of(self, group: str) -> int | None:
        return 0

    def read(self, blocks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        return self._rows.select(list(columns))


class CompactedFile:
    """A file that compaction wrote. It stays readable when it is removed meanwhile.

    Raises what `kgtui.lake.delta.disk_errors` names, `FileNotFoundError` among it.
    """

    def __init__(self, path: Path, table: Table) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(path, read_dictionary=text_columns(table))
        self._lock = threading.Lock()
        looked_up = any(column.name == _GROUP and not column.nullable for column in table.columns)
        self._blocks = _blocks(self._file.metadata) if looked_up else None

    def __len__(self) -> int:
        return 1 if self._blocks is None else len(self._blocks)

    def block_of(self, group: str) -> int | None:
        if self._blocks is None:
            return 0
        index = bisect_left(self._blocks, group, key=lambda block: block.last)
        return index if index < len(self._blocks) and self._blocks[index].first <= group else None

    def read(self, blocks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        with self._lock:  # it is one file, with one place that is being read
            if self._blocks is None:
                return to_one_chunk(self._file.read(list(columns)))
            row_groups = [row_group for block in blocks for row_group in self._blocks[block].row_groups]
            return to_one_chunk(self._file.read_row_groups(row_groups, list(columns)))


class _Block(NamedTuple):
    """Row groups that belong together, with the first and the last group in them."""

    first: str
    last: str
    row_groups: range


def _blocks(metadata: pq.FileMetaData) -> list[_Block] | None:
    """None when the file does not tell which groups are where."""
    found: list[_Block] = []
    column = metadata.schema.names.index(_GROUP)
    for row_group in range(metadata.num_row_groups):
        told = metadata.row_group(row_group).column(column).statistics
        if told is None or not told.has_min_max:  # as of ids of more than 4,096 bytes
            return None
        if found and found[-1].last >= told.min:
            found[-1] = _Block(found[-1].first, told.max, range(found[-1].row_groups.start, row_group + 1))
        else:
            found.append(_Block(told.min, told.max, range(row_group, row_group + 1)))
    return found


def read_rows(paths: Sequence[str], table: Table, columns: Sequence[str], where: Any) -> pa.Table:
    """Rows of files that an expression chooses, text dictionary-encoded.

    A dataset made by deltalake itself takes ten milliseconds a file to make.
    """
    import pyarrow.dataset as ds

    form = ds.ParquetFileFormat(dictionary_columns=set(text_columns(table)))
    return ds.dataset(list(paths), format=form).to_table(columns=list(columns), filter=where)


def merge_files(paths: Iterable[Path], table: Table, polls: Collection[int]) -> pa.Table:
    """The rows of some files that belong to these polls, sorted by key and poll."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    names, codes = [name for name in table.names if name != PARTITION], text_columns(table)
    parts = [pq.ParquetFile(path, read_dictionary=codes).read(names) for path in paths]
    rows = to_one_chunk(pa.concat_tables(parts, promote_options="permissive"))
    return sort_by_key(rows.filter(pc.is_in(rows["poll"], pa.array(sorted(polls), pa.int64()))), table)


def write_rows(path: Path, rows: pa.Table, *, compact: bool) -> dict[str, Any]:
    """Write a file; what Delta's log tells of its rows, so that a reader can pass it by.

    Args:
        rows: sorted by key when `compact`.
        compact: it is there to stay: take the time to make it small, and cut it where groups begin.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        with pq.ParquetWriter(
            path,
            _plain(rows.slice(0, 0)).schema,
            compression="zstd",
            compression_level=6 if compact else 1,
            use_dictionary=[column for column in rows.column_names if column not in _HARDLY_REPEATED],
            write_statistics=[column for column in rows.column_names if column in _LOOKED_UP],
            store_schema=False,
        ) as file:
            for start, stop in _cuts(rows) if compact else [(0, rows.num_rows)]:
                # A dictionary would be written into each row group as a whole.
                file.write_table(_plain(rows.slice(start, stop - start)), row_group_size=_ALL_AT_ONCE)
    except BaseException:
        path.unlink(missing_ok=True)  # a disk that is full is not to be filled with halves of files
        raise
    ends = {column: pc.min_max(rows[column]).as_py() for column in ("keyframe", "poll")}
    return {
        "numRecords": rows.num_rows,
        "minValues": {column: end["min"] for column, end in ends.items()},
        "maxValues": {column: end["max"] for column, end in ends.items()},
        "nullCount": dict.fromkeys(ends, 0),
    }


def _cuts(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """First row and the one after its last of each row group."""
    import pyarrow.compute as pc

    start = end = 0
    if _GROUP in rows.column_names:
        for chunk in rows[_GROUP].chunks:
            codes = chunk.indices if hasattr(chunk, "indices") else chunk
            first = end
            for stop in pc.run_end_encode(codes).run_ends.to_pylist():
                end = first + stop
                if end - start >= BLOCK:
                    yield start, end
                    start = end
    if start < rows.num_rows:
        yield start, rows.num_rows


def _plain(rows: pa.Table) -> pa.Table:
    """Text as text."""
    import pyarrow as pa

    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))

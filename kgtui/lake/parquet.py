"""Read and write the Parquet files of recorded tables, so that the rows of one group are found quickly.

Compaction sorts a file by key and begins a new row group only between two groups. The statistics of each row group
tell which groups it contains. Files written by a flush are read as a whole.
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
"""Smallest number of rows in a row group of a compacted file; so few rows are read in milliseconds."""

_GROUP = "group"
_HARDLY_REPEATED = frozenset({"committed", "spso", "lag", "log_end"})
"""Columns that are smaller without dictionary encoding; this saves a tenth of the lake's size."""
_LOOKED_UP = frozenset({_GROUP, "keyframe", "poll"})
"""Columns for which the file has statistics."""
_ALL_AT_ONCE = 4_000_000  # rows of a row group in files that are read as a whole


class RowBlocks(Protocol):
    """Rows of one table and keyframe, sorted by key and poll, in blocks. No group spans two blocks."""

    def __len__(self) -> int:
        """Return the number of blocks."""
        ...

    def block_of(self, group: str) -> int | None:
        """Return the index of the block that may have rows of a group (with escaped surrogates), or None."""
        ...

    def read(self, blocks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Read columns of some blocks as one chunk, with dictionary-encoded text."""
        ...


class RowsInMemory:
    """Rows in memory, as a single block."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return 1

    def block_of(self, group: str) -> int | None:
        return 0

    def read(self, blocks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        return self._rows.select(list(columns))


class CompactedFile:
    """A compacted file. It can be read even after it was removed from the folder, because it stays open.

    Raises the exceptions of `kgtui.lake.delta.storage_errors`; `FileNotFoundError` if the file is missing.
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
        with self._lock:  # a ParquetFile has one read position
            if self._blocks is None:
                return to_one_chunk(self._file.read(list(columns)))
            row_groups = [row_group for block in blocks for row_group in self._blocks[block].row_groups]
            return to_one_chunk(self._file.read_row_groups(row_groups, list(columns)))


class _Block(NamedTuple):
    """Consecutive row groups of a file, with the first and the last group id in them."""

    first: str
    last: str
    row_groups: range


def _blocks(metadata: pq.FileMetaData) -> list[_Block] | None:
    """Return the blocks of a file; None when the file has no statistics of the group column."""
    blocks: list[_Block] = []
    column = metadata.schema.names.index(_GROUP)
    for row_group in range(metadata.num_row_groups):
        statistics = metadata.row_group(row_group).column(column).statistics
        if statistics is None or not statistics.has_min_max:  # statistics leave out ids of more than 4,096 bytes
            return None
        if blocks and blocks[-1].last >= statistics.min:
            blocks[-1] = _Block(blocks[-1].first, statistics.max, range(blocks[-1].row_groups.start, row_group + 1))
        else:
            blocks.append(_Block(statistics.min, statistics.max, range(row_group, row_group + 1)))
    return blocks


def read_rows(paths: Sequence[str], table: Table, columns: Sequence[str], where: Any) -> pa.Table:
    """Read the rows of files that match a filter expression, with dictionary-encoded text.

    This is a dataset of pyarrow, because one of deltalake takes ten milliseconds per file to create.
    """
    import pyarrow.dataset as ds

    form = ds.ParquetFileFormat(dictionary_columns=set(text_columns(table)))
    return ds.dataset(list(paths), format=form).to_table(columns=list(columns), filter=where)


def merge_files(paths: Iterable[Path], table: Table, polls: Collection[int]) -> pa.Table:
    """Read files and return their rows of these polls, sorted by key and poll."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    names, codes = [name for name in table.names if name != PARTITION], text_columns(table)
    parts = [pq.ParquetFile(path, read_dictionary=codes).read(names) for path in paths]
    rows = to_one_chunk(pa.concat_tables(parts, promote_options="permissive"))
    return sort_by_key(rows.filter(pc.is_in(rows["poll"], pa.array(sorted(polls), pa.int64()))), table)


def write_rows(path: Path, rows: pa.Table, *, compact: bool) -> dict[str, Any]:
    """Write a Parquet file, and return its statistics for the log of the Delta table.

    Args:
        rows: sorted by key when `compact`.
        compact: compress more, and begin row groups only between two groups.
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
                # The whole dictionary would be repeated in each row group.
                file.write_table(_plain(rows.slice(start, stop - start)), row_group_size=_ALL_AT_ONCE)
    except BaseException:
        path.unlink(missing_ok=True)  # parts of files must not fill a full disk
        raise
    ends = {column: pc.min_max(rows[column]).as_py() for column in ("keyframe", "poll")}
    return {
        "numRecords": rows.num_rows,
        "minValues": {column: end["min"] for column, end in ends.items()},
        "maxValues": {column: end["max"] for column, end in ends.items()},
        "nullCount": dict.fromkeys(ends, 0),
    }


def _cuts(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """Yield the first row, and the row after the last, of each row group."""
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
    """Convert dictionary-encoded text to plain text."""
    import pyarrow as pa

    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))

"""Read and write the Parquet files of recorded tables.

Compacted files are sorted by key. They contain all rows of a Kafka group in one Parquet row group, so that these rows
can be read without the rest of the file.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kgtui.lake.arrow import dictionary_schema, select_columns, sort_by_key, text_columns, to_one_chunk
from kgtui.lake.schemas import PARTITION
from kgtui.lake.store import StorePath, arrow_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pyarrow as pa
    import pyarrow.parquet as pq

    from kgtui.lake.schemas import Table
    from kgtui.lake.store import LakePath

BLOCK = 8_192
"""Minimum number of rows in each Parquet row group of a compacted file, except the last row group.

Reading 8,192 rows takes a few milliseconds.
"""

_GROUP = "group"
_HARDLY_REPEATED = frozenset({"committed", "spso", "lag", "log_end"})
"""Columns whose values rarely repeat. They are not dictionary-encoded, which saves 10 % of the disk space."""
_LOOKED_UP = frozenset({_GROUP, "keyframe", "poll"})
"""Columns whose minimum and maximum are stored in each file, because readers select rows by these columns."""
_MAX_ROW_GROUP = 4_000_000
"""Maximum number of rows in a Parquet row group.

This number is so large that pyarrow's `write_table` never splits the rows of one call into several row groups.
"""


class RowBlocks(Protocol):
    """The rows of one table for a keyframe, and for the later polls before the next keyframe.

    A keyframe is a poll with the complete state. The rows are sorted by key and poll, and divided
    into blocks. All rows of a Kafka group are in the same block.
    """

    def __len__(self) -> int:
        """Return the number of blocks."""
        ...

    def block_of(self, group: str) -> int | None:
        """Return the index of the only block that can contain rows of a group; None if there is no such block.

        Args:
            group: group id, with lone surrogates escaped.
        """
        ...

    def read(self, blocks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Return all rows of the given blocks as a table with one chunk. Text columns are dictionary-encoded.

        Args:
            blocks: indices of the blocks.
            columns: names of the columns to return.
        """
        ...


class RowsInMemory:
    """Implements `RowBlocks` for rows that are already in memory. All rows form a single block."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return 1

    def block_of(self, group: str) -> int | None:
        return 0

    def read(self, blocks: Sequence[int], columns: Sequence[str]) -> pa.Table:
        return self._rows.select(list(columns))


class CompactedFile:
    """A file that was written by compaction. The file stays open, so that it can be read even after its deletion.

    The constructor raises `FileNotFoundError` if the file does not exist. If the file cannot be read, methods raise one
    of the exceptions in `kgtui.lake.delta.storage_errors`.
    """

    def __init__(self, path: LakePath, table: Table) -> None:
        self._table = table
        self._file = _open(path, table)
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
        # Let only one thread at a time read the file, because a `ParquetFile` has only one read position.
        with self._lock:
            if self._blocks is None:
                rows = self._file.read(list(columns))
            else:
                row_groups = [row_group for block in blocks for row_group in self._blocks[block].row_groups]
                rows = self._file.read_row_groups(row_groups, list(columns))
        return to_one_chunk(select_columns(rows, self._table, columns))


class _Block(NamedTuple):
    """Consecutive Parquet row groups of a file.

    Attributes:
        first: smallest id of a Kafka group in the block.
        last: largest id of a Kafka group in the block.
        row_groups: indices of the Parquet row groups.
    """

    first: str
    last: str
    row_groups: range


def _blocks(metadata: pq.FileMetaData) -> list[_Block] | None:
    """Divide a file into blocks; return None if the file lacks statistics of column `group`.

    Usually, a block is one Parquet row group. Adjacent row groups whose ranges of Kafka group ids overlap form one
    block together, so that all rows of a Kafka group are in the same block.
    """
    blocks: list[_Block] = []
    column = metadata.schema.names.index(_GROUP)
    for row_group in range(metadata.num_row_groups):
        statistics = metadata.row_group(row_group).column(column).statistics
        if statistics is None or not statistics.has_min_max:
            # Parquet stores no statistics if a group id is longer than 4,096 bytes. Return None, so that the caller
            # reads the whole file.
            return None
        if blocks and blocks[-1].last >= statistics.min:
            blocks[-1] = _Block(blocks[-1].first, statistics.max, range(blocks[-1].row_groups.start, row_group + 1))
        else:
            blocks.append(_Block(statistics.min, statistics.max, range(row_group, row_group + 1)))
    return blocks


def read_rows(paths: Sequence[LakePath], table: Table, columns: Sequence[str], where: Any) -> pa.Table:
    """Read files, and return the rows that match the filter expression `where`. Text columns are dictionary-encoded.

    Args:
        columns: names of the columns to return.
        where: filter expression of `pyarrow.dataset`.
    """
    import pyarrow.dataset as ds

    # Read with pyarrow, because deltalake would need ten milliseconds per file.
    form = ds.ParquetFileFormat(dictionary_columns=set(text_columns(table)))
    schema = dictionary_schema(table)
    # Pass a schema. Otherwise, pyarrow would read only the columns of the first file, and later files can have more.
    schema = schema.remove(schema.get_field_index(PARTITION))
    files = [arrow_file(path) for path in paths]
    file_system = files[0][1] if files else None
    return ds.dataset([name for name, _ in files], schema, form, file_system).to_table(
        columns=list(columns), filter=where
    )


def merge_files(paths: Iterable[LakePath], table: Table, polls: Collection[int]) -> pa.Table:
    """Read several files, and return the rows of the given polls, sorted by the columns in `table.key` and by poll.

    Unknown columns, which a newer kgtui may have added, are kept.

    Args:
        polls: times of the polls (reads of the cluster by the recorder), in milliseconds since the epoch.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [_open(path, table).read() for path in paths]
    rows = to_one_chunk(pa.concat_tables(parts, promote_options="permissive"))
    return sort_by_key(rows.filter(pc.is_in(rows["poll"], pa.array(sorted(polls), pa.int64()))), table)


def _open(path: LakePath, table: Table) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    name, file_system = arrow_file(path)
    metadata = pq.read_metadata(name, filesystem=file_system)
    # Pass only columns that the file has, because `ParquetFile` raises `KeyError` for a missing column.
    codes = [name for name in text_columns(table) if name in metadata.schema.names]
    return pq.ParquetFile(name, metadata=metadata, read_dictionary=codes, filesystem=file_system)


def write_rows(path: LakePath, rows: pa.Table, *, compact: bool) -> dict[str, Any]:
    """Write a Parquet file, and return its statistics for the Delta log.

    Args:
        rows: the rows to write. If `compact` is true, they must be sorted by key.
        compact: whether to compress more, and to write all rows of a Kafka group into the same Parquet row group.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    # If the path is in a store, write the file to memory first. A single call then copies it to the store, completely
    # or not at all.
    content = BytesIO() if isinstance(path, StorePath) else None
    try:
        with pq.ParquetWriter(
            arrow_file(path)[0] if content is None else content,
            _plain(rows.slice(0, 0)).schema,
            compression="zstd",
            compression_level=6 if compact else 1,
            use_dictionary=[column for column in rows.column_names if column not in _HARDLY_REPEATED],
            write_statistics=[column for column in rows.column_names if column in _LOOKED_UP],
            store_schema=False,
        ) as file:
            for start, stop in _cuts(rows) if compact else [(0, rows.num_rows)]:
                # `_plain` removes the dictionary encoding. Otherwise, each Parquet row group would contain a dictionary
                # with the texts of all rows.
                file.write_table(_plain(rows.slice(start, stop - start)), row_group_size=_MAX_ROW_GROUP)
    except BaseException:
        # Delete the incomplete file. Failed writes are repeated, so such files could fill the disk.
        path.unlink(missing_ok=True)
        raise
    if isinstance(path, StorePath) and content is not None:
        path.write_bytes(content.getvalue())
    ends = {column: pc.min_max(rows[column]).as_py() for column in ("keyframe", "poll")}
    return {
        "numRecords": rows.num_rows,
        "minValues": {column: end["min"] for column, end in ends.items()},
        "maxValues": {column: end["max"] for column, end in ends.items()},
        "nullCount": dict.fromkeys(ends, 0),
    }


def _cuts(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """Divide sorted rows into Parquet row groups, so that the rows of one Kafka group stay together.

    Yields:
        Pairs (index of the first row, index of the last row plus 1), one per Parquet row group
    """
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
    import pyarrow as pa

    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))

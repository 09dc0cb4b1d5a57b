"""Convert between rows in Python and Arrow tables, according to the schemas of the lake."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues

COMMENT = "comment"
"""Key in a column's metadata under which a Delta table stores the comment (description) of the column."""


def arrow_schema(table: Table) -> pa.Schema:
    import pyarrow as pa

    types = {
        "long": pa.int64(),
        "int": pa.int32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([pa.field(column.name, types[column.type], column.nullable) for column in table.columns])


def commented_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema for a new Delta table. The description of each column becomes the column's comment."""
    import pyarrow as pa

    comments = [{COMMENT: column.about} if column.about else None for column in table.columns]
    fields = zip(arrow_schema(table), comments, strict=True)
    return pa.schema([field.with_metadata(comment) if comment else field for field, comment in fields])


def to_table(data: Any) -> pa.Table:
    """Convert data from deltalake, such as the result of a query, into an Arrow table."""
    import pyarrow as pa

    # Do not use `pyarrow.table`, because it would import pandas. This import takes more than a second.
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).read_all()
    return pa.Table.from_batches([pa.record_batch(data)])


def text_columns(table: Table) -> list[str]:
    """Return the names of the text columns. They are read dictionary-encoded, because many of their values repeat."""
    return [column.name for column in table.columns if column.type == "string"]


def dictionary_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema of rows that were read from a table. Text columns are dictionary-encoded."""
    import pyarrow as pa

    codes = pa.dictionary(pa.int32(), pa.string())
    fields = [field.with_type(codes) if field.type == pa.string() else field for field in arrow_schema(table)]
    return pa.schema(fields)


def select_columns(rows: pa.Table, table: Table, columns: Sequence[str]) -> pa.Table:
    """Return the given columns of `rows`, in the given order. If `rows` lacks a column, add it with null values.

    Columns can be missing in rows that an older kgtui wrote.
    """
    import pyarrow as pa

    types = dictionary_schema(table)
    return pa.table(
        {
            name: rows[name] if name in rows.column_names else pa.nulls(rows.num_rows, types.field(name).type)
            for name in columns
        }
    )


def arrow_table(table: Table, rows: Sequence[RowValues]) -> pa.Table:
    """Convert rows into an Arrow table. Each row must have a value for every column."""
    import pyarrow as pa

    schema = arrow_schema(table)
    columns = []
    for column, kind, values in zip(table.columns, schema.types, zip(*rows, strict=True), strict=True):
        if column.type == "string":
            values = tuple([text if text is None else escape_surrogates(text) for text in values])
        columns.append(pa.array(values, kind))
    return pa.Table.from_arrays(columns, schema=schema)


def to_values(column: pa.ChunkedArray) -> list[Any]:
    """Convert a column into a list of Python values. Restore escaped lone surrogates in texts. Datetimes are in UTC."""
    import pyarrow as pa

    if column.null_count == len(column):
        return [None] * len(column)
    if pa.types.is_timestamp(column.type):
        # `to_pylist` would import pandas for timestamps, which takes more than a second.
        micros = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64()).to_pylist()
        times = {micro: None if micro is None else _EPOCH + timedelta(microseconds=micro) for micro in set(micros)}
        return [times[micro] for micro in micros]
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        return [None if text is None else unescape_surrogates(text) for text in column.to_pylist()]
    if not pa.types.is_dictionary(column.type):
        values: list[Any] = column.to_pylist()
        return values
    result: list[Any] = []
    for chunk in column.chunks:
        if len(chunk) < len(chunk.dictionary):
            result += [
                None if text is None else unescape_surrogates(text) for text in chunk.dictionary_decode().to_pylist()
            ]
            continue
        texts = [None if text is None else unescape_surrogates(text) for text in chunk.dictionary.to_pylist()]
        result += [None if code is None else texts[code] for code in chunk.indices.to_pylist()]
    return result


def to_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Convert a table into one dict per row: column name → Python value."""
    columns = [to_values(column) for column in table.columns]
    return [dict(zip(table.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


def to_milliseconds(time: datetime | int) -> int:
    """Convert a datetime to milliseconds since the epoch, rounded down. Return an integer `time` unchanged."""
    if isinstance(time, int):
        return time
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (time - _EPOCH) // timedelta(milliseconds=1)


def filter_polls(rows: pa.Table, polls: Sequence[int]) -> pa.Table:
    """Return only the rows of the given polls (reads of the cluster by the recorder).

    Callers pass the polls that are in table `polls`, because rows of other polls come from an interrupted write.

    Args:
        polls: times of the polls, in milliseconds since the epoch.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(polls, pa.int64())
    if pc.all(pc.is_in(pc.unique(rows["poll"]), wanted)).as_py() in (True, None):
        return rows
    return rows.filter(pc.is_in(rows["poll"], wanted))


def sort_by_key(rows: pa.Table, table: Table) -> pa.Table:
    """Sort rows by the columns in `table.key`, then by the column `poll` (time of the poll)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    order = (*(name for name in table.key if name != "poll"), "poll")
    ranks = pa.table({name: _ranked(rows[name]) for name in order})
    return rows.take(pc.sort_indices(ranks, [(name, "ascending") for name in order]))


def to_one_chunk(rows: pa.Table) -> pa.Table:
    """Combine the chunks of each column into one. A dictionary-encoded text column then has only one dictionary."""
    import pyarrow as pa

    columns = []
    for column in rows.columns:
        if pa.types.is_dictionary(column.type) and column.num_chunks != 1:
            try:
                column = column.unify_dictionaries()
            except pa.ArrowInvalid:
                # A chunk with only nulls can have a dictionary of type null, which Arrow cannot merge with text
                # dictionaries.
                column = column.cast(pa.string()).dictionary_encode()
        columns.append(column)
    fields = [field.with_type(column.type) for field, column in zip(rows.schema, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields)).combine_chunks()


def _ranked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace each text with its rank among the sorted texts, because numbers are sorted faster than texts.

    All chunks of the column must have the same dictionary. Columns without a dictionary are returned unchanged.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return column
    ranks = [pc.array_sort_indices(pc.array_sort_indices(part.dictionary)).take(part.indices) for part in column.chunks]
    return pa.chunked_array(ranks, pa.uint64())


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MARK = "\ufdd0"
_STRANGE = re.compile(f"[\ud800-\udfff{_MARK}]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def escape_surrogates(text: str) -> str:
    """Replace lone surrogates, which Arrow and Delta tables cannot store.

    Ids that are not valid UTF-8 contain lone surrogates (PEP 383). Each one is replaced with U+FDD0, followed by its
    code in hexadecimal. For example, U+DCFF becomes U+FDD0 followed by `dcff`. U+FDD0 itself is replaced in the same
    way, so that `unescape_surrogates` can restore every text.
    """
    return text if text.isascii() else _STRANGE.sub(lambda match: f"{_MARK}{ord(match[0]):04x}", text)


def unescape_surrogates(text: str) -> str:
    """Convert the result of `escape_surrogates` back to the original text."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)

"""Tables in memory: their Arrow schemas, from the one definition, and what pyarrow takes some care to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues


def arrow_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a table."""
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


def text_columns(table: Table) -> list[str]:
    """Columns that are read dictionary-encoded: few different values, many rows."""
    return [column.name for column in table.columns if column.type == "string"]


def dictionary_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a table as it is read: text dictionary-encoded."""
    import pyarrow as pa

    codes = pa.dictionary(pa.int32(), pa.string())
    fields = [field.with_type(codes) if field.type == pa.string() else field for field in arrow_schema(table)]
    return pa.schema(fields)


def arrow_table(table: Table, rows: Sequence[RowValues]) -> pa.Table:
    """Rows of all columns as an Arrow table."""
    import pyarrow as pa

    schema = arrow_schema(table)
    columns = []
    for column, kind, values in zip(table.columns, schema.types, zip(*rows, strict=True), strict=True):
        if column.type == "string":
            values = tuple([text if text is None else escape_surrogates(text) for text in values])
        columns.append(pa.array(values, kind))
    return pa.Table.from_arrays(columns, schema=schema)


def to_values(column: pa.ChunkedArray) -> list[object]:
    """The values of a column, text as it was before it was stored."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        values: list[object] = column.to_pylist()
        return values
    found: list[object] = []
    for chunk in column.chunks:
        if len(chunk) < len(chunk.dictionary):
            found += [
                None if text is None else unescape_surrogates(text) for text in chunk.dictionary_decode().to_pylist()
            ]
            continue
        texts = [None if text is None else unescape_surrogates(text) for text in chunk.dictionary.to_pylist()]
        found += [None if code is None else texts[code] for code in chunk.indices.to_pylist()]
    return found


def filter_polls(rows: pa.Table, polls: Sequence[int]) -> pa.Table:
    """The rows of these polls: where a flush was cut off there are others, which never came to be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(polls, pa.int64())
    if pc.all(pc.is_in(pc.unique(rows["poll"]), known)).as_py() in (True, None):
        return rows
    return rows.filter(pc.is_in(rows["poll"], known))


def sort_by_key(rows: pa.Table, table: Table) -> pa.Table:
    """The rows sorted by key and poll."""
    import pyarrow as pa
    import pyarrow.compute as pc

    order = (*(name for name in table.key if name != "poll"), "poll")
    ranks = pa.table({name: _ranked(rows[name]) for name in order})
    return rows.take(pc.sort_indices(ranks, [(name, "ascending") for name in order]))


def to_one_chunk(rows: pa.Table) -> pa.Table:
    """The rows in one piece, each text column with one dictionary."""
    import pyarrow as pa

    columns = []
    for column in rows.columns:
        if pa.types.is_dictionary(column.type) and column.num_chunks != 1:
            try:
                column = column.unify_dictionaries()
            except pa.ArrowInvalid:  # a file whose column is null throughout has a dictionary of a null
                column = column.cast(pa.string()).dictionary_encode()
        columns.append(column)
    fields = [field.with_type(column.type) for field, column in zip(rows.schema, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields)).combine_chunks()


def _ranked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers in the order of the values; those of text, which comes dictionary-encoded, sort faster than the text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return column
    ranks = [pc.array_sort_indices(pc.array_sort_indices(part.dictionary)).take(part.indices) for part in column.chunks]
    return pa.chunked_array(ranks, pa.uint64())


_MARK = "\ufdd0"
_STRANGE = re.compile(f"[\ud800-\udfff{_MARK}]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def escape_surrogates(text: str) -> str:
    """The text without lone surrogates; different texts stay different."""
    return text if text.isascii() else _STRANGE.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def unescape_surrogates(text: str) -> str:
    """The text that was stored."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)

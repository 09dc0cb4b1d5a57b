"""Merge the small files of tables that Spark writes, and sort the rows of gold tables by Kafka group.

Recorded tables, which the recorder writes, are compacted by `RecordedTable.compact` in `kgtui.lake.delta`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kgtui.lake.arrow import to_milliseconds, to_table
from kgtui.lake.delta import DAY, data_files, load_deltalake
from kgtui.lake.schemas import FILE_BYTES, GOLD, GOLD_STATE, PARTITION
from kgtui.lake.store import arrow_file
from kgtui.model.rfc3339 import utc_datetime
from kgtui.private_files import owner_only

if TYPE_CHECKING:
    from datetime import datetime

    from deltalake import DeltaTable
    from pyarrow.parquet import ParquetSchema

    from kgtui.lake.store import LakePath

COMPACTION = "kgtui.compaction"
"""Key in the metadata of a Delta commit that only merged files.

Only this key distinguishes such a commit from a commit that added rows. For both kinds of commits, Delta records the
operation WRITE.
"""

_GROUP = "group"


def compact_table(delta: DeltaTable, path: LakePath, layer: str, name: str) -> tuple[int, int]:
    """Merge the small files of each day. Sort the rows of gold tables by group, so that one group is read quickly.

    Normally, the commits have `dataChange` false, so that Spark streams on the table do not read the merged rows again.
    But for tables with a `file_span` (maximum time span of a file), commits that merge files have `dataChange` true;
    no Spark stream reads these tables.

    Args:
        path: folder of the table.
        layer, name: layer and name of the table in the lake.

    Returns:
        Pair (number of replaced files, number of new files)
    """
    properties = load_deltalake().WriterProperties(compression="ZSTD", compression_level=3)
    names = [field.name for field in delta.schema().fields if field.name != PARTITION]
    order = [_GROUP] if _GROUP in names else names[:2]
    with owner_only():
        # Rewrite INT96 timestamps, which older versions of kgtui wrote, because they need twice the space.
        sorted_days = _days_with_int96(delta, path)
        spans = [table.file_span for table in (*GOLD, *GOLD_STATE) if (table.layer, table.name) == (layer, name)]
        span = next((span for span in spans if span is not None and span[0] in names), None)
        if span is None and layer == "gold" and _GROUP in names:
            sorted_days += [days for days in _days_with_small_files(delta) if days not in sorted_days]
        done = [
            delta.optimize.z_order(order, days, target_size=FILE_BYTES, writer_properties=properties)
            for days in sorted_days
        ]
        if span is None:
            done.append(delta.optimize.compact(target_size=FILE_BYTES, writer_properties=properties))
        else:
            column, _ = span
            found = _fragmented_spans(delta, *span)
            done += [_merge_span(delta, column, start, end, properties, files) for start, end, files in found]
    removed, added = (sum(int(one[key]) for one in done) for key in ("numFilesRemoved", "numFilesAdded"))
    return removed, added


def _fragmented_spans(delta: DeltaTable, column: str, seconds: int) -> list[tuple[datetime, datetime, int]]:
    """Return the time spans (see `Table.file_span`) whose rows are in several files that together fit into one file.

    Args:
        column: column with the times of the rows.
        seconds: length of a span.

    Returns:
        List of tuples (start of the span, end of the span, number of files)
    """
    found: dict[int, list[int]] = {}
    for file in data_files(delta):
        first, last = file.get(f"min.{column}"), file.get(f"max.{column}")
        if file["num_records"] and first is not None and last is not None:
            span = to_milliseconds(first) // (seconds * 1000)
            if span == to_milliseconds(last) // (seconds * 1000):
                found.setdefault(span, []).append(file["size_bytes"])
    return [
        (utc_datetime(span * seconds), utc_datetime((span + 1) * seconds), len(sizes))
        for span, sizes in sorted(found.items())
        if len(sizes) > 1 and sum(sizes) <= FILE_BYTES
    ]


def _merge_span(
    delta: DeltaTable, column: str, start: datetime, end: datetime, properties: Any, files: int
) -> dict[str, int]:
    """Merge the files with the rows of one time span into one file, sorted by group and time.

    Args:
        column: column with the times of the rows.
        files: number of files that are merged. The function only copies this number to the result.

    Returns:
        Dict with `numFilesRemoved` and `numFilesAdded`, as in the result of Delta's `optimize`.
    """
    library = load_deltalake()
    # Read and replace the rows with the same SQL condition, so that no row is lost.
    limits = (f"\"{column}\" {compare} '{at.isoformat()}'" for compare, at in ((">=", start), ("<", end)))
    where = " AND ".join((f"\"{PARTITION}\" = DATE '{start.date()}'", *limits))
    query = f'SELECT * FROM rows WHERE {where} ORDER BY "{_GROUP}", "{column}"'  # noqa: S608 - no values from outside
    library.write_deltalake(
        delta,
        to_table(library.QueryBuilder().register("rows", delta).execute(query)),
        mode="overwrite",
        predicate=where,
        writer_properties=properties,
        commit_properties=library.CommitProperties(custom_metadata={COMPACTION: "true"}),
    )
    return {"numFilesRemoved": files, "numFilesAdded": 1}


def _days_with_int96(delta: DeltaTable, path: LakePath) -> list[list[tuple[str, str, str]] | None]:
    """Return a Delta partition filter for each day with a file that contains INT96 timestamps.

    If the table is not partitioned by day, the only filter in the list is None. It selects all files.

    Args:
        path: folder of the table.
    """
    import pyarrow.parquet as pq

    actions = to_table(delta.get_add_actions(flatten=True))
    days = actions[DAY].to_pylist() if DAY in actions.column_names else [None] * actions.num_rows
    found = set()
    for name, day in zip(actions["path"].to_pylist(), days, strict=True):
        if day not in found:
            file, file_system = arrow_file(path / unquote(name))  # paths in the Delta log are URI-encoded
            if _has_int96(pq.ParquetFile(file, filesystem=file_system).schema):
                found.add(day)
    return [None if day is None else [(PARTITION, "=", day.isoformat())] for day in sorted(found, key=str)]


def _days_with_small_files(delta: DeltaTable) -> list[list[tuple[str, str, str]] | None]:
    """Return a Delta partition filter for each day that has at least two files smaller than half of `FILE_BYTES`.

    Compaction leaves at most one such small file per day. Therefore, a compacted day is not returned again until new
    files are added to the day.
    """
    small = Counter(file.get(DAY) for file in data_files(delta) if file["size_bytes"] < FILE_BYTES / 2)
    return [[(PARTITION, "=", str(day))] for day, count in small.items() if day is not None and count > 1]


def _has_int96(schema: ParquetSchema) -> bool:
    return any(schema.column(index).physical_type == "INT96" for index in range(len(schema)))

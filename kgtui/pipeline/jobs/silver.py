"""The silver job: decode the records in the bronze table, and write the four silver tables.

- `commits`: offset commits
- `group_events`: all other records, which are about groups and members
- `quarantine`: records that cannot be decoded
- `rebalances`: rebalances of groups, which are found from the rows of `group_events`

The bronze table contains undecoded records of `__consumer_offsets`. The job is a streaming query.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE, REBALANCES
from kgtui.pipeline.jobs.streaming import days_of, start_query
from kgtui.pipeline.jvm_decoder import KeptRecords, decode_in_jvm, has_decoder
from kgtui.pipeline.spark_lake import MERGES_BY_KEY, SparkLake
from kgtui.pipeline.transforms.group_events import with_created
from kgtui.pipeline.transforms.offset_commits import commit_records, irregular_commits, non_commits, regular_commits
from kgtui.pipeline.transforms.rebalances import needed_events, rebalance_starts, rebalances
from kgtui.pipeline.transforms.record_decoding import STRUCTS, decode_records, rows_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from kgtui.lake.schemas import Table

    WriteRows = Callable[[SparkLake, Table, DataFrame, list[str]], None]
    """Function that writes rows of a batch into a table. The last argument is a list of their days.

    If Spark repeats a batch, the function does not write the rows twice.
    """


def decode_commits(records: DataFrame) -> DataFrame:
    """Decode offset commits into rows of the silver table `commits`.

    Damaged commits are left out. Without the Java decoder, commits that Spark expressions cannot
    decode (for example, because of long metadata) are left out, too. `decode_unusual_commits`
    processes all commits that are left out here.

    Args:
        records: rows of the bronze table: undecoded records of all types.
    """
    if has_decoder(records.sparkSession):
        return rows_for(decode_in_jvm(records.transform(commit_records)), COMMITS)
    return records.transform(regular_commits)


def decode_non_commits(records: DataFrame) -> DataFrame:
    """Decode all records that are not offset commits. Return rows of `record_decoding.SCHEMA`.

    Args:
        records: rows of the bronze table: undecoded records of all types.
    """
    decode = decode_in_jvm if has_decoder(records.sparkSession) else decode_records
    return records.transform(non_commits).transform(decode)


def decode_unusual_commits(records: DataFrame) -> DataFrame:
    """Decode the offset commits that `decode_commits` leaves out.

    Return rows of `record_decoding.SCHEMA`. The row of a damaged commit is for the silver table
    `quarantine`.

    Args:
        records: rows of the bronze table: undecoded records of all types.
    """
    if has_decoder(records.sparkSession):
        return records.transform(commit_records).transform(decode_in_jvm).where("commit IS NULL")
    return records.transform(irregular_commits).transform(decode_records)


_LAYER = "silver"
_BATCH_SIZE = "512m"
"""Maximum total size of the files of the bronze table that are decoded in one batch.

The text is the value of a Delta Lake option. Delta Lake may read slightly more in a batch.
"""


def start_decoding(lake: SparkLake, *, interval: float | None, max_files: int | None = None) -> StreamingQuery:
    """Start the streaming query that decodes all rows of the bronze table that are not decoded yet.

    Args:
        interval: seconds between two batches; None to decode everything that exists now, and then
            stop.
        max_files: maximum number of files of the bronze table per batch; None for about 512 MB per
            batch.
    """
    limit = {"maxBytesPerTrigger": _BATCH_SIZE} if max_files is None else {"maxFilesPerTrigger": str(max_files)}
    # `kgtui lake prune` deletes whole days from the bronze table. Without the option
    # `ignoreDeletes`, such a deletion would make the streaming query fail.
    records = lake.stream(COORDINATOR_RECORDS, ignoreDeletes="true", **limit)
    name = lake.query_name(COMMITS, _LAYER)
    writer = records.writeStream.foreachBatch(partial(decode_batch, str(lake.folder.path), name))
    return start_query(lake, writer, _LAYER, name, interval)


_LOG_GONE = ("DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE", "DELTA_MISSING_FILES_UNEXPECTED_VERSION")
"""Delta Lake's error classes if a streaming query needs table versions that were deleted."""

_FILE_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"
"""Spark's error class if a file that a query must read was deleted."""


def restart_if_rows_are_gone(
    lake: SparkLake,
    error: Exception,
    on_progress: Callable[[str], None],
    *,
    interval: float | None,
    max_files: int | None = None,
) -> StreamingQuery:
    """Restart a failed decoding query without its checkpoint, if it needs files that were deleted.

    The files are files of the bronze table. They can be missing if this table was compacted or
    pruned while the pipeline was not running. The new query decodes all rows of the bronze table,
    and skips rows that the silver tables already have.

    Args:
        error: the error of the failed query. If the query failed for another reason, the error is
            raised again.
        on_progress: called with a message for the user before the query is started.
        interval, max_files: as in `start_decoding`.
    """
    text = str(error)
    file_gone = _FILE_GONE in text and f"/{COORDINATOR_RECORDS.title}/" in text
    if not file_gone and not any(mark in text for mark in _LOG_GONE):
        raise error
    on_progress("decoding all records again, because the bronze table has been compacted or pruned since the last run")
    lake.delete_checkpoint(_LAYER, lake.query_name(COMMITS, _LAYER))
    return start_decoding(lake, interval=interval, max_files=max_files)


def decode_batch(path: str, query_name: str, batch: DataFrame, batch_id: int) -> None:
    """Decode one batch of rows of the bronze table, and write the result into the silver tables.

    A second call for the same batch changes nothing.

    Args:
        path: path or URI of the lake.
        query_name: name of the streaming query to which the batch belongs.
    """
    lake, app = SparkLake(batch.sparkSession, path), f"kgtui-{query_name}"
    if query_name.endswith(MERGES_BY_KEY):
        # This query began without a checkpoint, although the silver tables may already have rows.
        # Therefore, an earlier query may have decoded rows of this batch.
        _merge_batch(lake, batch)
        return
    kept = KeptRecords.of(batch.sparkSession)
    commits = batch.transform(decode_commits if kept is None else kept.decode_commits)
    written = lake.append(COMMITS, commits, app=app, batch_id=batch_id)
    if written is None:
        # An earlier attempt has probably appended commits of this batch. It may have used the other
        # decoder (Java or Spark expressions), and the two decoders leave out different commits.
        # Therefore, compare the decoded rows with the stored rows, and add the missing ones.
        if kept is not None:
            kept.discard()
        _merge_batch(lake, batch)
        return
    # `remaining` is the number of records in the batch that were not written into the table
    # `commits`. `batch.count()` is fast, because Spark reads the number of rows from the metadata
    # of files.
    remaining = batch.count() - written
    others_kept = None if kept is None else kept.take(remaining)
    if remaining:
        # If the records that are not in `commits` were not kept in memory, read the whole batch
        # again.
        rest = batch if others_kept is None else others_kept
        others = rest.transform(decode_non_commits)
        decoded = _write_decoded(lake, others, partial(_append, f"{app}-others", batch_id))
        if decoded < remaining:
            unusual = rest.transform(decode_unusual_commits)
            _write_decoded(lake, unusual, partial(_append, f"{app}-doubtful", batch_id))


def _merge_batch(lake: SparkLake, batch: DataFrame) -> None:
    """Decode a batch of the bronze table that may have been decoded before.

    Add only rows that the silver tables do not have yet.
    """
    _merge(lake, COMMITS, batch.transform(decode_commits), days_of(batch))
    others = batch.transform(decode_non_commits).unionByName(batch.transform(decode_unusual_commits))
    _write_decoded(lake, others, _merge)


def _append(app: str, batch_id: int, lake: SparkLake, table: Table, rows: DataFrame, _: list[str]) -> None:
    lake.append(table, rows, app=app, batch_id=batch_id)


def _merge(lake: SparkLake, table: Table, rows: DataFrame, days: list[str]) -> None:
    lake.merge(table, rows, days=days)


def _write_decoded(lake: SparkLake, decoded: DataFrame, write_rows: WriteRows) -> int:
    """Write decoded records into the silver tables, and return the number of records.

    Args:
        decoded: decoded records of all types, as rows of `record_decoding.SCHEMA`.
        write_rows: function that writes the rows of one table.
    """
    decoded = decoded.persist()
    try:
        count, days = _count_and_days(decoded)
        for table in (COMMITS, QUARANTINE):
            if table in days:
                write_rows(lake, table, rows_for(decoded, table), days[table])
        if GROUP_EVENTS in days:
            _write_events(lake, rows_for(decoded, GROUP_EVENTS), days[GROUP_EVENTS], write_rows)
    finally:
        decoded.unpersist()
    return count


def _write_events(lake: SparkLake, events: DataFrame, days: list[str], write_rows: WriteRows) -> None:
    """Write new rows of the table `group_events`, and recompute the rebalances of their groups.

    Stored rows about these groups are read again, because a rebalance can have begun in an earlier
    batch.

    Args:
        events: the new rows. Each row is a decoded record about a group or a member.
        days: days of the new rows, as ISO dates.
        write_rows: function that writes the rows.
    """
    stored = lake.read(GROUP_EVENTS)
    starts = rebalance_starts(stored, events).persist()
    needed = needed_events(stored, starts).persist()
    try:
        days_needed = needed.select("day", "is_state").distinct().collect()
        # Do not read the column `detail`. This column makes up most of the table's size, and is not
        # needed to compute rebalances.
        earlier = stored.where(F.col("day").isin([row.day for row in days_needed]))
        earlier = earlier.withColumn("detail", F.lit(None).cast("string"))
        earlier = earlier.join(needed, [*GROUP_EVENTS.key, "day"], "left_semi")
        every = earlier.join(events, list(GROUP_EVENTS.key), "left_anti").unionByName(events).transform(with_created)
        every = every.persist()
        try:
            write_rows(lake, GROUP_EVENTS, every.join(events, list(GROUP_EVENTS.key), "left_semi"), days)
            computed = every.transform(rebalances).join(F.broadcast(starts), ["record_partition", "group"])
            days_changed = [row.day for row in days_needed if not row.is_state]
            _write_rebalances(lake, computed.where("record_offset >= since"), starts, days_changed)
        finally:
            every.unpersist()
    finally:
        needed.unpersist()
        starts.unpersist()


def _write_rebalances(lake: SparkLake, computed: DataFrame, starts: DataFrame, days: list[date]) -> None:
    """Replace the newest stored rebalances of some groups with `computed`. Write only changed rows.

    A rebalance is identified by the offset of its record in `__consumer_offsets`. For each group,
    the rebalances from a certain offset `since` on are replaced.

    Args:
        computed: for each group, the recomputed rebalances with a record offset of at least
            `since`.
        starts: one row per group, with the offset `since`.
        days: days of the stored rows of `group_events` with a record offset of at least `since`.
    """
    computed = computed.select(*REBALANCES.names).persist()
    first_day = computed.agg(F.min("day").alias("day")).collect()[0].day
    first = min([day for day in (first_day, *days) if day is not None], default=None)
    if first is not None:
        stored = lake.read(REBALANCES).where(F.col("day") >= F.lit(first))
        stored = stored.join(F.broadcast(starts), ["record_partition", "group"]).where("record_offset >= since")
        stored = stored.select(*REBALANCES.names)
        changed = computed.subtract(stored).withColumn("gone", F.lit(False))
        gone = stored.join(computed, list(REBALANCES.key), "left_anti").withColumn("gone", F.lit(True))
        both = changed.unionByName(gone).persist()
        times = both.groupBy("gone").agg(F.min(F.unix_millis("start")).alias("at"))
        earliest = {row.gone: row.at for row in times.collect()}
        for is_gone in sorted(earliest, reverse=True):
            rows = both.where(F.col("gone") == is_gone).drop("gone")
            lake.merge(REBALANCES, rows, matched="DELETE" if is_gone else "UPDATE", since_day=str(first),
                       changed_from=earliest[is_gone])  # fmt: skip
        both.unpersist()
    computed.unpersist()


def _count_and_days(decoded: DataFrame) -> tuple[int, dict[Table, list[str]]]:
    """Return a pair: number of decoded records, and dict: silver table → ISO dates of its rows.

    Tables without rows are missing from the dict.
    """
    count = 0
    days: dict[Table, list[str]] = {}
    present = [F.col(name).isNotNull().alias(name) for name in STRUCTS]
    for row in decoded.select("day", *present).groupBy("day", *STRUCTS).count().collect():
        count += row["count"]
        for name, table in STRUCTS.items():
            if row[name]:
                days.setdefault(table, []).append(str(row.day))
    return count, days

"""Read and write a lake's Delta tables with Spark.

A lake is a folder with tables. This module uses Delta Lake only through SQL, and through DataFrame
readers and writers and their options, because these also work through Spark Connect.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from kgtui.lake.delta import plain_parquet_files
from kgtui.lake.folder import LOG, LakeFolder, is_table
from kgtui.lake.store import remove_folder
from kgtui.lake.table_changes import CHANGED_FROM, newest_version
from kgtui.model.rfc3339 import utc_datetime
from kgtui.pipeline.spark_schema import conform, with_comments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import date

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.lake.schemas import Table
    from kgtui.lake.store import LakePath

MERGES_BY_KEY = "-anew"
"""Suffix of the names of streaming queries that merge their rows into a table by key.

A query gets this name if it begins without a checkpoint, although rows have been written to its
table before. The table may already contain some rows of the query, which must not be added twice.
"""


_MOST_PARQUET_FILES = 32
"""Maximum number of files that `SparkLake.read_days` reads directly, as Parquet files.

If there are more files, `read_days` reads them through Delta Lake instead, because Spark would
start a slow job to look up so many paths.
"""

_WITHOUT_NEW_ROWS = frozenset({"ADD COLUMN", "SET TBLPROPERTIES", "OPTIMIZE", "VACUUM START", "VACUUM END"})
"""Names of operations, as in the Delta log, whose commits to a table add no rows."""

_CONFLICT = "DELTA_CONCURRENT"
"""Text in the error of a write that conflicts with another Delta commit to the same table."""

_ATTEMPTS = 5
"""Maximum number of attempts if a write conflicts with another Delta commit to the same table.

The other commit can be a compaction of the table.
"""

_COMMIT_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""Spark option whose value is stored in the Delta log with each commit that the session makes.

In the Delta log, the value has the name `userMetadata`.
"""


class SparkLake:
    """A lake with the Spark session that reads and writes its tables.

    Args:
        path: path or URI of the lake. A local path must lead to the same folder on all machines on
            which Spark runs.

    Raises:
        LakeError: the folder contains files but is not a lake, or a newer version of kgtui has
            written the lake.
    """

    def __init__(self, spark: SparkSession, path: LakePath | str) -> None:
        self.spark = spark
        self.folder = LakeFolder.of(path)
        self.folder.prepare()

    def exists(self, table: Table) -> bool:
        """Return whether the table exists, with or without rows."""
        return is_table(self.path(table))

    def version(self, table: Table) -> int | None:
        """Return the newest version number in the Delta log; None if the table does not exist."""
        return newest_version(self.path(table))

    def was_written(self, table: Table) -> bool:
        """Return whether rows were ever written to a bronze or silver table.

        The result is true even if these rows have been deleted since.
        """
        # Skip version 0 of the Delta table, because this version is always empty (see
        # `kgtui.lake.tables.create_tables`).
        return any(commit.get("operation") not in _WITHOUT_NEW_ROWS for commit in self._commits(table, 0))

    def read(self, table: Table) -> DataFrame:
        """Return all rows of a table, or an empty DataFrame if the table does not exist.

        Columns that an older kgtui did not write are null.
        """
        rows = self.spark.read.format("delta").load(self.uri(table)) if self.exists(table) else self.spark.range(0)
        return self._with_all_columns(rows, table)

    def read_days(self, table: Table, first: date, last: date) -> DataFrame:
        """Return the rows of the days from `first` to `last`, including `last`.

        Rows that are written after this call are left out.
        """
        if not self.exists(table):
            return self.read(table)
        # Find the files of these days without Spark, because Spark would need 0.3 s for this. If
        # there are only a few files, let Spark read them as plain Parquet files, without Delta
        # Lake.
        found, uri = plain_parquet_files(self.path(table), first, last), self.uri(table)
        if found is None or len(found[1]) > _MOST_PARQUET_FILES:
            rows = self.spark.read.format("delta").load(uri).filter(F.col("day").between(F.lit(first), F.lit(last)))
        elif not found[1]:
            rows = self.spark.range(0)
        else:
            schema, files = StructType.fromJson(json.loads(found[0])), [f"{uri}/{path}" for path in found[1]]
            # With `basePath`, Spark reads the column `day` from the names of folders. Without
            # `__globPaths__="false"`, characters such as `[` in the path of the lake would be
            # wildcards.
            rows = self.spark.read.schema(schema).options(basePath=uri, __globPaths__="false").parquet(*files)
        return self._with_all_columns(rows, table)

    def _with_all_columns(self, rows: DataFrame, table: Table) -> DataFrame:
        """Convert rows that Spark has read to the columns and types of a table.

        Columns that are missing from `rows` become null.
        """
        stored = rows.columns
        missing = (F.lit(None).alias(name) for name in table.names if name not in stored)
        return rows.select("*", *missing).transform(conform, table)

    def stream(self, table: Table, **options: str) -> DataFrame:
        """Return a streaming DataFrame of a table's rows, including rows that are added later.

        Args:
            options: options of Spark's Delta source, such as `maxFilesPerTrigger`.
        """
        return self.spark.readStream.format("delta").options(**options).load(self.uri(table))

    def append(self, table: Table, rows: DataFrame, *, app: str, batch_id: int) -> int | None:
        """Append a batch of rows. A second call with the same `app` and `batch_id` changes nothing.

        Args:
            app: id of the writer (Delta Lake's `txnAppId`).
            batch_id: number of the batch (`txnVersion`). Later batches must have larger numbers.

        Returns:
            Number of written rows. None if the batch had already been written, or if the number is
                unknown.
        """
        attempt, before = uuid.uuid4().hex, self.version(table)
        writer = rows.transform(conform, table).write.format("delta").mode("append").option("userMetadata", attempt)
        writer.option("txnAppId", app).option("txnVersion", batch_id).save(self.uri(table))
        for commit in self._commits(table, -1 if before is None else before):
            if commit.get("userMetadata") == attempt:
                written = commit.get("operationMetrics", {}).get("numOutputRows")
                return None if written is None else int(written)
        return None

    def merge(
        self,
        table: Table,
        rows: DataFrame,
        *,
        matched: Literal["KEEP", "UPDATE", "DELETE"] = "KEEP",
        days: Iterable[str] | None = None,
        since_day: str | None = None,
        changed_from: int | None = None,
    ) -> None:
        """Merge rows into a table by the columns `Table.key`.

        Args:
            rows: rows to merge. Each key occurs only once. A row whose key is not in the table is
                inserted, unless `matched` is `DELETE`.
            matched: what to do with a row of the table that has the key of a row to merge: `KEEP`,
                `UPDATE` or `DELETE` it.
            days: days of all `rows` (ISO dates). Only these days of the table are read. None if the
                days are not known.
            since_day: first day of the table to read (ISO date); None to read all days. On earlier
                days, the table must not contain any key of `rows`.
            changed_from: earliest time of `rows`, in milliseconds since the epoch; None to store no
                time. The time is stored in the Delta commit, because the gold job needs the time,
                and cannot get it from the rewritten files, which also contain old rows.
        """
        # Run the SQL in the session of `rows`, because only this session has the temporary view. In
        # the function of a `foreachBatch` query, `self.spark` is a different session.
        spark = rows.sparkSession
        view = f"kgtui_{table.layer}_{table.name}"
        rows.transform(conform, table).createOrReplaceTempView(view)
        match = [f"t.`{name}` = s.`{name}`" for name in table.key]
        if days is not None and table.partition is not None:
            match += [f"t.`{table.partition}` = s.`{table.partition}`"]
            match += [f"t.`{table.partition}` IN ({_sql_dates(days)})"]
        if since_day is not None:
            match.append(f"t.`{table.partition}` >= DATE '{since_day}'")
        actions = {
            "KEEP": "WHEN NOT MATCHED THEN INSERT *",
            "UPDATE": "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            "DELETE": "WHEN MATCHED THEN DELETE",
        }
        if changed_from is not None:
            spark.conf.set(_COMMIT_METADATA, json.dumps({CHANGED_FROM: changed_from}))
        merge_into = f"MERGE INTO {self.sql_name(table)} AS t USING `{view}` AS s ON {' AND '.join(match)}"
        try:
            _repeat_on_conflict(lambda: spark.sql(f"{merge_into} {actions[matched]}"))
        finally:
            spark.conf.unset(_COMMIT_METADATA)
        spark.catalog.dropTempView(view)

    def overwrite(self, table: Table, rows: DataFrame, *, since: tuple[str, int] | None = None) -> None:
        """Replace all rows of a table, or only its newest rows.

        If the table does not exist, it is created, with the descriptions of its columns as
        comments. If columns are missing from the table, they are added.

        Args:
            rows: the new rows.
            since: pair (name of a timestamp column or `day`, milliseconds since the epoch). Only
                rows from this time on are replaced. None to replace all rows.
        """
        rows, is_new = rows.transform(conform, table), not self.exists(table)
        if is_new:
            rows = rows.transform(with_comments, table)
        writer = rows.write.format("delta").mode("overwrite").option("mergeSchema", "true")
        if is_new:
            partition_by = [] if table.partition is None else [table.partition]
            writer = writer.partitionBy(*partition_by).options(**table.delta_properties)
        elif since is not None:
            writer = writer.option("replaceWhere", _sql_since(table, *since))
        _repeat_on_conflict(lambda: writer.save(self.uri(table)))

    def optimize(self, table: Table) -> None:
        """Merge the small files of each day of a table, and delete files that are no longer needed.

        `Table.delta_properties` says for how long replaced files are kept. Streaming queries may
        write to the table and read it at the same time.
        """
        _repeat_on_conflict(lambda: self.spark.sql(f"OPTIMIZE {self.sql_name(table)}"))
        self.spark.sql(f"VACUUM {self.sql_name(table)}")

    def path(self, table: Table) -> LakePath:
        """Return the absolute path of a table's folder."""
        return self.folder.path.absolute() / table.layer / table.name

    def uri(self, table: Table) -> str:
        """Return the path or URI of a table's folder, as text for Spark (see `spark_uri`)."""
        return spark_uri(self.path(table))

    def _commits(self, table: Table, after: int) -> Iterator[dict[str, Any]]:
        """Yield the `commitInfo` of each table version above `after`, newest first.

        The Delta log is read without a Spark job. Versions that the Delta log no longer contains
        are skipped.
        """
        for version in range(self.version(table) or 0, after, -1):
            with suppress(FileNotFoundError):
                for line in (self.path(table) / LOG / f"{version:020}.json").read_text(encoding="utf-8").splitlines():
                    if commit := json.loads(line).get("commitInfo"):
                        yield commit

    def sql_name(self, table: Table) -> str:
        """Return the identifier of a table in Spark SQL."""
        return f"delta.`{self.uri(table).replace('`', '``')}`"

    def checkpoint(self, *names: str) -> LakePath:
        """Return the folder of a streaming query's checkpoint, or of all checkpoints of a layer.

        Args:
            names: name of the layer and, for one query, the query's name.
        """
        path = self.folder.path.absolute() / "_checkpoints"
        for name in names:
            path = path / name
        return path

    def checkpoint_names(self, *names: str) -> list[str]:
        """Return the sorted names of the files and folders in the folder `checkpoint(*names)`.

        The list is empty if the folder is missing.
        """
        try:
            return sorted(entry.name for entry in self.checkpoint(*names).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def delete_checkpoint(self, layer: str, name: str) -> None:
        """Delete the checkpoint of a streaming query, so that the query begins from the start."""
        remove_folder(self.checkpoint(layer, name))

    def query_name(self, table: Table, layer: str, prefix: str = "") -> str:
        """Return the name of the streaming query that writes a table.

        The checkpoint folder of the query has the same name. If the layer has a checkpoint folder
        whose name begins with `prefix`, return its name. Otherwise, create a folder with a new
        name. The new name ends with `MERGES_BY_KEY` if rows were ever written to the table.
        """
        folder = self.checkpoint(layer)
        folder.mkdir(parents=True, exist_ok=True)
        existing = [
            name for name in self.checkpoint_names(layer) if name.startswith(prefix) and (folder / name).is_dir()
        ]
        if existing:
            return existing[0]
        name = f"{prefix}{uuid.uuid4().hex}" + (MERGES_BY_KEY if self.was_written(table) else "")
        (folder / name).mkdir()
        return name


def _repeat_on_conflict(write: Callable[[], object]) -> None:
    """Call `write`, and call it again if the write conflicts with another Delta commit.

    There are at most `_ATTEMPTS` calls.
    """
    for attempt in range(_ATTEMPTS):
        try:
            write()
        except PySparkException as error:
            if _CONFLICT not in str(error) or attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def spark_uri(path: LakePath) -> str:
    """Return a path or URI as text for Spark.

    The scheme `s3://`, which Hadoop does not support, is replaced with `s3a://`.
    """
    text = str(path)
    return f"s3a{text.removeprefix('s3')}" if text.startswith("s3://") else text


def _sql_since(table: Table, column: str, since: int) -> str:
    """Return an SQL condition that is true if the value of a column is at or after `since`.

    Args:
        column: a timestamp column, or the date column by which the table is partitioned. If it is
            the date column, all rows of the day of `since` meet the condition.
        since: milliseconds since the epoch.
    """
    at = utc_datetime(since / 1000)
    if column == table.partition:
        return f"`{column}` >= DATE '{at.date()}'"
    return f"`{table.partition}` >= DATE '{at.date()}' AND `{column}` >= TIMESTAMP '{at.isoformat()}'"


def _sql_dates(days: Iterable[str]) -> str:
    """Return ISO dates as a list of SQL literals for `IN (…)`.

    If there are no dates, return `NULL`, which matches nothing.
    """
    return ", ".join(f"DATE '{day}'" for day in sorted(days)) or "NULL"

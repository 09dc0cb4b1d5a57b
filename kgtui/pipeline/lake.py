"""The tables of a lake, as Spark reads and writes them: the only place that does.

Everything is said in SQL or by options, so that it works through Spark Connect as well.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from kgtui.lake.folder import LOG, LakeFolder, is_table
from kgtui.lake.schemas import SETTINGS
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.lake.schemas import Table

ANEW = "-anew"
"""What the name of a stream ends in that began when something had written to its table already."""


class SparkLake:
    """A lake and the session that works on it.

    Args:
        path: its folder, at the same place for this process and for Spark.

    Raises:
        LakeError: it is something else, or of a newer version.
    """

    def __init__(self, spark: SparkSession, path: Path | str) -> None:
        self.spark = spark
        self.folder = LakeFolder.of(path)
        self.folder.prepare()

    # -- reading -------------------------------------------------------------------------------------------------

    def exists(self, table: Table) -> bool:
        """Whether anything has made the table."""
        return is_table(self.path(table))

    def version(self, table: Table) -> int | None:
        """The newest version of a table, by the name of its file in Delta's log; None while there is none."""
        return max((int(file.stem) for file in self._log(table).glob("*.json") if file.stem.isdigit()), default=None)

    def written(self, table: Table) -> bool:
        """Whether anything was ever written to a table of bronze or silver: by its first version it was only made."""
        return bool(self.version(table))

    def read(self, table: Table) -> DataFrame:
        """All rows of a table; none while it does not exist."""
        if not self.exists(table):
            nothing = [F.lit(None).alias(name) for name in table.names]
            return self.spark.range(0).select(nothing).transform(conform, table)
        return self.spark.read.format("delta").load(str(self.path(table))).transform(conform, table)

    def stream(self, table: Table, **options: str) -> DataFrame:
        """The rows of a table as they are added."""
        return self.spark.readStream.format("delta").options(**options).load(str(self.path(table)))

    # -- writing -------------------------------------------------------------------------------------------------

    def append(self, table: Table, rows: DataFrame, *, app: str, serial: int) -> int | None:
        """Append rows, once for each serial number of an app, however often it is tried.

        Args:
            app: names the series of batches; `serial` grows in it.

        Returns:
            How many rows; None when that is not known, as when an earlier try had already done it.
        """
        attempt, before = uuid.uuid4().hex, self.version(table)
        writer = rows.transform(conform, table).write.format("delta").mode("append").option("userMetadata", attempt)
        writer.option("txnAppId", app).option("txnVersion", serial).save(str(self.path(table)))
        for told in self._commits(table, -1 if before is None else before):
            if told.get("userMetadata") == attempt:
                rows_written = told.get("operationMetrics", {}).get("numOutputRows")
                return None if rows_written is None else int(rows_written)
        return None

    def merge(self, table: Table, rows: DataFrame, *, update: bool = False, days: Iterable[str] | None = None) -> None:
        """Add rows whose key the table does not have yet.

        Args:
            rows: at most one of each key.
            update: rows whose key it has are replaced.
            days: the only values of the partition column among the rows, so that no other files are read.
        """
        spark = rows.sparkSession  # in a stream's batch this is the batch's own
        view = f"kgtui_{table.layer}_{table.name}"
        rows.transform(conform, table).createOrReplaceTempView(view)
        match = [f"t.`{name}` = s.`{name}`" for name in table.key]
        if days is not None and table.partition is not None:
            match += [f"t.`{table.partition}` = s.`{table.partition}`"]
            match += [f"t.`{table.partition}` IN ({_listed(days)})"]
        replace = "WHEN MATCHED THEN UPDATE SET * " if update else ""
        spark.sql(
            f"MERGE INTO {self.name(table)} AS t USING `{view}` AS s ON {' AND '.join(match)} "
            f"{replace}WHEN NOT MATCHED THEN INSERT *"
        )
        spark.catalog.dropTempView(view)

    def overwrite(self, table: Table, rows: DataFrame, *, days: Iterable[str] | None = None) -> None:
        """Replace all rows of a table, or all of some days; the table is made if there is none.

        Args:
            days: the values of the partition column whose rows are replaced; rows of other days are an error.
        """
        writer = rows.transform(conform, table).write.format("delta").mode("overwrite")
        if not self.exists(table):
            parted = [] if table.partition is None else [table.partition]
            writer = writer.partitionBy(*parted).options(**SETTINGS)
        elif days is not None and table.partition is not None:
            writer = writer.option("replaceWhere", f"`{table.partition}` IN ({_listed(days)})")
        writer.save(str(self.path(table)))

    # -- places --------------------------------------------------------------------------------------------------

    def path(self, table: Table) -> Path:
        """The folder of a table."""
        return self.folder.path.absolute() / table.layer / table.name

    def _log(self, table: Table) -> Path:
        return self.path(table) / LOG

    def _commits(self, table: Table, after: int) -> Iterator[dict[str, Any]]:
        """What Delta's log tells of the commits after a version: reading it by Spark would take a job."""
        for version in range(after + 1, (self.version(table) or 0) + 1):
            with suppress(FileNotFoundError), (self._log(table) / f"{version:020}.json").open(encoding="utf-8") as file:
                for line in file:
                    if told := json.loads(line).get("commitInfo"):
                        yield told

    def name(self, table: Table) -> str:
        """The table in SQL."""
        return f"delta.`{str(self.path(table)).replace('`', '``')}`"

    def checkpoint(self, *names: str) -> Path:
        """Where a stream keeps how far it has come."""
        return self.folder.path.absolute().joinpath("_checkpoints", *names)

    def series(self, table: Table, layer: str, source: str = "") -> str:
        """The name of a stream into a table, which is the folder of its checkpoint; a new one where that is gone.

        It ends in `ANEW` when the table was written to before the stream began, so that rows of it may come again.
        """
        folder = self.checkpoint(layer)
        folder.mkdir(parents=True, exist_ok=True)
        known = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name.startswith(source))
        if known:
            return known[0]
        name = f"{source}{uuid.uuid4().hex}" + (ANEW if self.written(table) else "")
        (folder / name).mkdir()
        return name


def _listed(days: Iterable[str]) -> str:
    """Days as SQL has them between the brackets of `IN`."""
    return ", ".join(f"DATE '{day}'" for day in sorted(days)) or "NULL"

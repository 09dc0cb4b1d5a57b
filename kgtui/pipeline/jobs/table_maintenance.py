"""Merge small files in the tables of a lake (compaction) while the pipeline runs continuously."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.lake.delta import storage_errors
from kgtui.lake.schemas import BRONZE, GOLD, GOLD_STATE, SILVER
from kgtui.lake.store_errors import lake_error_text
from kgtui.lake.tables import StoredTable
from kgtui.pipeline.spark_errors import SPARK_ERRORS, to_source_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.lake.schemas import Table
    from kgtui.pipeline.spark_lake import SparkLake


def compact_tables(lake: SparkLake, on_progress: Callable[[str], None]) -> None:
    """Merge small files of the bronze, silver and gold tables, and delete files no longer needed.

    The gold job, which computes the gold tables, must not run at the same time, because it also
    writes to these tables.

    Args:
        on_progress: called with a message for the user if a table cannot be compacted.
    """
    # While this function runs, Spark's streaming queries write to the bronze and silver tables. In
    # an object store, Spark would not notice that another Delta library commits to a table at the
    # same time. Therefore, compact the bronze and silver tables with Spark itself. Nothing else
    # writes to the gold tables now, so compact them with the library deltalake.
    for table in (*BRONZE, *SILVER):
        if lake.exists(table):
            try:
                lake.optimize(table)
            except SPARK_ERRORS as error:
                on_progress(_failure(table, str(to_source_error(error))))
    for table in (*GOLD, *GOLD_STATE):
        if lake.exists(table):
            stored = StoredTable(table.layer, table.name, lake.path(table))
            try:
                stored.compact()
                stored.vacuum()
            except storage_errors() as error:
                on_progress(_failure(table, lake_error_text(error)))


def _failure(table: Table, reason: str) -> str:
    return f"{table.title} was not compacted: {reason}"

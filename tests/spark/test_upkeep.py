"""What `kgtui lake` does to tables that Spark works with, and that Spark goes on with them afterwards."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from kgtui.lake import maintenance as upkeep
from kgtui.lake.arrow import arrow_schema
from kgtui.lake.delta import library
from kgtui.lake.maintenance import Keep
from kgtui.lake.schemas import COORDINATOR_RECORDS
from kgtui.pipeline.jobs import silver
from kgtui.pipeline.jobs.streaming import await_end
from tests.spark.test_records import NOON, commit

if TYPE_CHECKING:
    from kgtui.pipeline.spark_lake import SparkLake


def append(lake: SparkLake, first: int, count: int) -> None:
    """Records of commits of as many groups, as one file of the bronze table."""
    records = [commit(4, f"g{at}") for at in range(first, first + count)]
    columns = [
        [NOON.date()] * count,
        [0] * count,
        [*range(first, first + count)],
        [NOON] * count,
        *zip(*records, strict=True),
    ]
    schema = arrow_schema(COORDINATOR_RECORDS)
    rows = pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
    )
    library().write_deltalake(str(lake.path(COORDINATOR_RECORDS)), rows, mode="append", partition_by=["day"])


def decode(lake: SparkLake) -> dict[str, int | None]:
    """Let Spark decode what is new; table → rows."""
    await_end(silver.start_decoding(lake, interval=None), lambda _: None)
    found = {one.table.title: one for one in upkeep.status(lake.folder.path).tables}
    assert all(not one.trouble for one in found.values()), found
    return {title: one.contents.rows for title, one in found.items() if one.contents is not None}


def test_a_stream_goes_on_after_compaction_and_pruning(lake: SparkLake) -> None:
    path = lake.folder.path
    append(lake, 0, 3)
    append(lake, 3, 3)
    before = decode(lake)
    assert (before["bronze/coordinator_records"], before["silver/commits"]) == (6, 6)
    done = {one.table: one for one in upkeep.optimize(path)}
    assert all(not one.trouble for one in done.values()), done
    assert done["bronze/coordinator_records"].what == "2 files are 1 now"
    (pruned,) = upkeep.prune(path, Keep(None, (("bronze", 1),)), now=(NOON + timedelta(days=5)).timestamp())
    assert pruned.what.startswith("6 rows before")
    append(lake, 6, 1)
    assert decode(lake) == {**before, "bronze/coordinator_records": 1, "silver/commits": 7}

"""Save the state of each partition, so that old polls and commits are not needed to update the gold table `health`.

The state at the last poll of each hour is saved. It has one row per partition, with the partition's newest commits.
The next update of `health` reads this state and the rows of later polls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import HEALTH_STATE
from kgtui.pipeline.spark_schema import conform
from kgtui.pipeline.transforms.recorded_state import PARTITION_KEY, to_day, to_timestamp

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COMMIT = "struct<offset: bigint, at: bigint, lag: bigint>"
"""Spark type of one offset commit in the column `commits`. Its time `at` is in milliseconds since the epoch."""

RECORDED = ("keyframe", "kind", "committed", "spso", "lag", "error", "log_end", "log_error")
"""Columns of the recorded table `partitions` from which commit windows (newest commits) are computed."""

DECODED = f"struct<ring: array<{COMMIT}>, at: bigint, record_offset: bigint, log_end: bigint>"
"""Spark type of the field `decoded` in `STATE`.

The field is computed from silver `commits`. If only polls are used, the field is null.

- `ring`: the newest commits of the partition; null if there are none
- `at`: time of the newest commit or tombstone, in milliseconds
- `record_offset`: offset of this commit or tombstone in `__consumer_offsets`
- `log_end`: newest known log end offset of the partition
"""

STATE = f"""struct<
    recorded: struct<keyframe: bigint, kind: string, committed: bigint, spso: bigint, lag: bigint, error: int,
        log_end: bigint, log_error: int>,
    latest: struct<position: bigint, lag: bigint>,
    known_end: bigint,
    ends: array<struct<at: bigint, end: bigint>>,
    commits: array<{COMMIT}>,
    moves: bigint,
    first_read: bigint,
    still_since: bigint,
    decoded: {DECODED}
>"""
"""Spark type of the state of one partition, which the gold table `health_state` stores as JSON.

`recorded` has the columns `RECORDED` of the partition's newest row. `decoded` has the type `DECODED`. For the other
fields, see the functions `observed_windows` and `_with_saved_values` in the module `observed_windows`.
"""


@dataclass(frozen=True, slots=True)
class Carried:
    """The saved state of all partitions at one poll. An earlier run of the pipeline saved it.

    Attributes:
        at: time of the poll in milliseconds since the epoch.
        rows: one row per partition. It has columns of table `partitions`, and column `carried` of type `STATE`.
    """

    at: int
    rows: DataFrame


def read_state(table: DataFrame, at: int) -> Carried:
    """Read the state of one poll from the gold table `health_state`. `at` is the poll's time in ms since the epoch."""
    moment = F.timestamp_millis(F.lit(at))
    rows = table.filter((F.col("at") == moment) & (F.col("day") == F.to_date(moment)))
    rows = rows.select(*PARTITION_KEY, F.from_json("state", STATE).alias("carried"))
    recorded = (F.col(f"carried.recorded.{name}").alias(name) for name in RECORDED)
    return Carried(
        at, rows.select(F.lit(at).alias("poll"), *PARTITION_KEY, F.lit(False).alias("gone"), *recorded, "carried")
    )


def state_rows(windows: DataFrame) -> DataFrame:
    """Convert the saved states in column `saved` (see `observed_windows`) to rows of the gold table `health_state`."""
    at = F.col("at")
    return windows.filter(F.col("saved").isNotNull()).select(
        to_day(at).alias("day"), *PARTITION_KEY, to_timestamp(at).alias("at"), F.to_json("saved").alias("state")
    ).transform(conform, HEALTH_STATE)  # fmt: skip

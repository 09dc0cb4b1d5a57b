"""The gold table `health_state`, from which the pipeline updates the gold table `health`.

Each run of the pipeline saves the newest commits and offsets of each group in each partition, for
the last poll of each complete hour. The next run reads this state, and then needs only the polls
and commits after it.
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
"""Spark type of one offset commit: `offset`, time `at` (ms since the epoch) and lag in records."""

RECORDED = ("keyframe", "kind", "committed", "spso", "lag", "error", "log_end", "log_error")
"""Columns of the recorded table `partitions` from which the commits of a group are derived."""

DECODED = f"struct<ring: array<{COMMIT}>, at: bigint, record_offset: bigint, log_end: bigint>"
"""Spark type of the field `decoded` in `STATE`: state of one partition, from decoded records.

The field is computed from the silver table `commits`. If only polls are used, the field is null.

- `ring`: array of the group's newest commits in the partition; null if there are none
- `at`: time at which the newest commit or tombstone was written, in milliseconds since the epoch
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
"""Spark type of the saved state of a group in one partition, up to the last poll of an hour.

The gold table `health_state` stores the state as JSON. The field `recorded` has the columns
`RECORDED` of the partition's newest row in the recording. The field `decoded` has the type
`DECODED`. The docstrings of `observed_windows` and `_with_saved_values` in the module
`observed_windows` describe the other fields.
"""


@dataclass(frozen=True, slots=True)
class Carried:
    """The state of all partitions at one poll, which an earlier run of the pipeline has saved.

    Attributes:
        at: time of the poll in milliseconds since the epoch.
        rows: one row per group and partition. Its column `carried` is the state (type `STATE`). The
            other columns are those of the recorded table `partitions`, so that the row replaces
            all recorded rows of the partition up to the poll.
    """

    at: int
    rows: DataFrame


def read_state(table: DataFrame, at: int) -> Carried:
    """Return the state that was saved at one poll.

    Args:
        table: the gold table `health_state`.
        at: time of the poll, in milliseconds since the epoch.
    """
    moment = F.timestamp_millis(F.lit(at))
    rows = table.filter((F.col("at") == moment) & (F.col("day") == F.to_date(moment)))
    rows = rows.select(*PARTITION_KEY, F.from_json("state", STATE).alias("carried"))
    recorded = (F.col(f"carried.recorded.{name}").alias(name) for name in RECORDED)
    return Carried(
        at, rows.select(F.lit(at).alias("poll"), *PARTITION_KEY, F.lit(False).alias("gone"), *recorded, "carried")
    )


def state_rows(windows: DataFrame) -> DataFrame:
    """Return rows of the gold table `health_state` from the column `saved` of `observed_windows`.

    Rows in which `saved` is null are left out.
    """
    at = F.col("at")
    return windows.filter(F.col("saved").isNotNull()).select(
        to_day(at).alias("day"), *PARTITION_KEY, to_timestamp(at).alias("at"), F.to_json("saved").alias("state")
    ).transform(conform, HEALTH_STATE)  # fmt: skip

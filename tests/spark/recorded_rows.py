"""Build the tables of a recording (stored polls of a cluster) as DataFrames for tests.

Columns that a test does not set have default values. Tests give times in seconds after `START`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructField, StructType

from kgtui.lake.schemas import FAULTS, GROUPS, PARTITIONS, POLLS
from kgtui.pipeline.transforms.recorded_state import poll_timeline
from tests.spark.table_schemas import spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.lake.schemas import Table

START = 1_795_392_000
"""Monday, 23 November 2026, 0:00 UTC, in seconds since the epoch."""

DAY = date(2026, 11, 23)


def ms(seconds: float) -> int:
    """Convert seconds after `START` to milliseconds since the epoch, as in the tables of a recording."""
    return round((START + seconds) * 1000)


def at(seconds: float) -> datetime:
    """Convert seconds after `START` to a `datetime` in UTC."""
    return datetime.fromtimestamp(START + seconds, UTC)


def frame(spark: SparkSession, table: Table, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Create a DataFrame with the columns of `table`. Missing values become null, even where the table forbids null."""
    schema = StructType([StructField(column.name, column.dataType) for column in spark_schema(table)])
    return spark.createDataFrame([tuple(row.get(name) for name in table.names) for row in rows], schema)


@dataclass
class RecordedTables:
    """Collects the rows that the polls of a cluster write to the tables of a recording.

    `poll` begins a new poll. `group`, `member`, `commit`, `partition_gone` and `fault` add a row for the latest poll.
    """

    polls: list[dict[str, Any]] = field(default_factory=list)
    groups: list[dict[str, Any]] = field(default_factory=list)
    partitions: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    members: list[dict[str, Any]] = field(default_factory=list)
    keyframe: int = 0

    def poll(self, seconds: float, *, keyframe: bool = False, gap: str | None = None) -> None:
        """Add a row to the table `polls`.

        Args:
            seconds: time of the poll, in seconds after `START`.
            keyframe: whether the poll writes all rows, not only changes. The first poll always does.
            gap: reason for the gap (time without polls) before this poll; None if there is no gap.
        """
        if keyframe or not self.polls:
            self.keyframe = ms(seconds)
            gap = gap or (None if self.polls else "the recording begins")
        self._now = seconds
        row = {"taken_at": at(seconds), "run": "run", "gap": gap, "interval_ms": 10_000, "took_ms": 1, "rows": 0,
               "groups": 0, "brokers": 1, "brokers_answered": 1}  # fmt: skip
        self._add(self.polls, row)

    def group(self, group: str, state: str | None = "Stable", *, gone: bool = False, **more: Any) -> None:
        """Add a row to the table `groups`. If `gone` is true, the row says that the group was deleted."""
        row = {"group": group, "gone": gone, "state": state, "type": "consumer", "coordinator": 1}
        self._add(self.groups, row | more)

    def member(self, group: str, member_id: str, *, gone: bool = False) -> None:
        """Add a row to the table `members`. If `gone` is true, the row says that the member has left."""
        self._add(self.members, {"group": group, "member_id": member_id, "gone": gone})

    def commit(
        self, group: str, topic: str, partition: int, committed: int | None, end: int | None, start: int | None = 0,
        **more: Any,
    ) -> None:  # fmt: skip
        """Add a row to the table `partitions`, with a committed offset, the log end offset and the log start offset."""
        row = {"group": group, "topic": topic, "partition": partition, "gone": False, "kind": "commit",
               "committed": committed, "error": 0, "log_start": start, "log_end": end,
               "log_error": None if end is None else 0}  # fmt: skip
        self._add(self.partitions, row | more)

    def partition_gone(self, group: str, topic: str, partition: int) -> None:
        """Add a row to the table `partitions` that says that the group no longer has an offset in this partition."""
        self._add(self.partitions, {"group": group, "topic": topic, "partition": partition, "gone": True})

    def fault(
        self, scope: str = "offsets", *, group: str | None = None, broker: int | None = None, gone: bool = False
    ) -> None:
        """Add a row to the table `faults`: data that the poll could not read, such as the offsets of `group`.

        `broker` is the node id of the broker concerned. If `gone` is true, the row says that an earlier error is gone.
        """
        row = {"scope": scope, "group": group, "broker": broker, "name": "NO_ANSWER", "gone": gone}
        self._add(self.faults, row)

    def _add(self, rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
        place = {"day": at(self._now).date(), "keyframe": self.keyframe, "poll": ms(self._now)}
        rows.append(place | row)

    def frames(self, spark: SparkSession) -> tuple[DataFrame, DataFrame, DataFrame, DataFrame]:
        """Return four DataFrames: the result of `poll_timeline`, and the tables `groups`, `partitions` and `faults`."""
        tables = ((POLLS, self.polls), (GROUPS, self.groups), (PARTITIONS, self.partitions), (FAULTS, self.faults))
        polls, groups, partitions, faults = (frame(spark, table, rows) for table, rows in tables)
        return poll_timeline(polls).localCheckpoint(), groups, partitions, faults

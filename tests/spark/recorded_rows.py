"""Rows of recorded tables and DataFrames of them, of which only what matters to a test needs saying.

Times are seconds after `START`, which is Monday, 23 November 2026, 0:00 UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructField, StructType

from kgtui.lake.schemas import FAULTS, GROUPS, PARTITIONS, POLLS
from kgtui.pipeline.spark_schema import spark_schema
from kgtui.pipeline.transforms.recorded_state import poll_timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.lake.schemas import Table

START = 1_795_392_000
DAY = date(2026, 11, 23)


def ms(seconds: float) -> int:
    """As in recorded tables."""
    return round((START + seconds) * 1000)


def at(seconds: float) -> datetime:
    """As a timestamp."""
    return datetime.fromtimestamp(START + seconds, UTC)


def frame(spark: SparkSession, table: Table, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Rows of a table; columns that are not named are null, also those that never are in a lake."""
    schema = StructType([StructField(field.name, field.dataType) for field in spark_schema(table)])
    return spark.createDataFrame([tuple(row.get(name) for name in table.names) for row in rows], schema)


@dataclass
class Recorded:
    """Recorded tables that are written down row by row."""

    polls: list[dict[str, Any]] = field(default_factory=list)
    groups: list[dict[str, Any]] = field(default_factory=list)
    partitions: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    members: list[dict[str, Any]] = field(default_factory=list)
    keyframe: int = 0

    def poll(self, seconds: float, *, keyframe: bool = False, gap: str | None = None) -> None:
        """A poll; the rows that are added next are its own."""
        if keyframe or not self.polls:
            self.keyframe = ms(seconds)
            gap = gap or (None if self.polls else "the recording begins")
        self.polls.append({**self._always(seconds), "taken_at": at(seconds), "run": "run", "gap": gap,
                           "interval_ms": 10_000, "took_ms": 1, "rows": 0, "groups": 0, "brokers": 1,
                           "brokers_answered": 1})  # fmt: skip
        self._now = seconds

    def _always(self, seconds: float) -> dict[str, Any]:
        return {"day": at(seconds).date(), "keyframe": self.keyframe, "poll": ms(seconds)}

    def group(self, group: str, state: str | None = "Stable", *, gone: bool = False, **more: Any) -> None:
        """A row of `groups`."""
        row = {"group": group, "gone": gone, "state": state, "type": "consumer", "coordinator": 1, **more}
        self.groups.append(self._always(self._now) | row)

    def member(self, group: str, member_id: str, *, gone: bool = False) -> None:
        """A row of `members`."""
        self.members.append(self._always(self._now) | {"group": group, "member_id": member_id, "gone": gone})

    def commit(
        self, group: str, topic: str, partition: int, committed: int | None, end: int | None, start: int | None = 0,
        **more: Any,
    ) -> None:  # fmt: skip
        """A row of `partitions`: a commit with its log."""
        known = None if end is None else 0
        row = {"group": group, "topic": topic, "partition": partition, "gone": False, "kind": "commit",
               "committed": committed, "error": 0, "log_start": start, "log_end": end, "log_error": known,
               **more}  # fmt: skip
        self.partitions.append(self._always(self._now) | row)

    def gone(self, group: str, topic: str, partition: int) -> None:
        """A row of `partitions`: it is no more."""
        row = {"group": group, "topic": topic, "partition": partition, "gone": True}
        self.partitions.append(self._always(self._now) | row)

    def fault(
        self, scope: str = "offsets", *, group: str | None = None, broker: int | None = None, gone: bool = False
    ) -> None:
        """A row of `faults`."""
        row = {"scope": scope, "group": group, "broker": broker, "name": "NO_ANSWER", "gone": gone}
        self.faults.append(self._always(self._now) | row)

    def frames(self, spark: SparkSession) -> tuple[DataFrame, DataFrame, DataFrame, DataFrame]:
        """The timeline of the polls, groups, partitions, faults."""
        tables = ((POLLS, self.polls), (GROUPS, self.groups), (PARTITIONS, self.partitions), (FAULTS, self.faults))
        polls, groups, partitions, faults = (frame(spark, table, rows) for table, rows in tables)
        return poll_timeline(polls).localCheckpoint(), groups, partitions, faults

"""Write commits to the silver table `commits`, with the offsets that polls of a simulated cluster return."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import write_deltalake

from kgtui.lake.arrow import arrow_schema, escape_surrogates
from kgtui.lake.schemas import COMMITS

if TYPE_CHECKING:
    from random import Random

    from kgtui.history.changes import PollResult
    from kgtui.pipeline.spark_lake import SparkLake
    from tests.spark.sample_data import Cluster

PARTITIONS = 3
"""Number of partitions of the simulated `__consumer_offsets`."""


class FollowingCommits:
    """Collects offset commits of the groups in a simulated `Cluster`, and writes them to the silver table `commits`."""

    def __init__(self, lake: SparkLake, random: Random, cluster: Cluster) -> None:
        self._lake, self._random, self._cluster = lake, random, cluster
        self._offsets: Counter[int] = Counter()
        self._rows: list[dict[str, Any]] = []

    def add(self, at: int, step: int, *, tombstones: float = 0.01) -> None:
        """Add 0, 1 or 3 commits (chosen at random) for each partition of each group, except the share group.

        Share groups do not commit offsets to `__consumer_offsets`.

        Args:
            at: time of the current poll of the cluster, in milliseconds since the epoch.
            step: time since the previous poll, in milliseconds. Each commit gets a random time in this interval.
            tombstones: fraction of the commits that are replaced with tombstones.
        """
        for group, (topic, partition) in self._cluster.positions:
            if group != "shared":
                times = sorted(at - self._random.randrange(step) for _ in range(self._random.choice((0, 1, 3))))
                for time in times:
                    is_tombstone = self._random.random() < tombstones
                    self.commit(group, topic, partition, time, time, is_tombstone=is_tombstone)

    def commit(
        self, group: str, topic: str, partition: int, committed_at: int, written_at: int, *, is_tombstone: bool = False
    ) -> None:
        """Add a commit of the group's current offset in a partition, or a tombstone, which deletes this offset.

        Args:
            committed_at: time of the commit, in milliseconds since the epoch; not used for a tombstone.
            written_at: timestamp of the commit's record in `__consumer_offsets`, in milliseconds since the epoch.
        """
        record_partition = len(group) % PARTITIONS
        written = datetime.fromtimestamp(written_at / 1000, UTC)
        self._rows.append({
            "day": written.date(), "record_partition": record_partition,
            "record_offset": self._offsets[record_partition], "record_time": written,
            "group": escape_surrogates(group), "topic": topic, "partition": partition,
            "offset": None if is_tombstone else self._cluster.positions[group, (topic, partition)],
            "commit_time": None if is_tombstone else datetime.fromtimestamp(committed_at / 1000, UTC),
        })  # fmt: skip
        self._offsets[record_partition] += 1

    def write(self, *, late: float = 0.0, group: str | None = None) -> None:
        """Write the collected commits to the table. Hold some back for a later call, so that these commits arrive late.

        Args:
            late: fraction of the commits to hold back, chosen at random.
            group: if not None, only commits of this group are written, and those of all other groups are held back.
        """
        held = [row for row in self._rows if self._random.random() < late or group not in (None, row["group"])]
        rows = [row for row in self._rows if row not in held]
        self._rows = held
        made = pa.Table.from_pylist(rows, arrow_schema(COMMITS))
        write_deltalake(str(self._lake.path(COMMITS)), made, mode="append", partition_by=["day"])


def without_group(result: PollResult, group: str) -> PollResult:
    """Return a copy of a poll's result without one group, as if the brokers had not listed this group."""
    parts: dict[str, Any] = {
        name: {other: value for other, value in getattr(result, name).items() if other != group}
        for name in ("listings", "descriptions", "committed", "share")
    }
    return replace(result, **parts)

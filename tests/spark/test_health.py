"""Tests that Spark computes the same health status as `kgtui.model`, which the terminal UI uses.

Most tests compare both results for random data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import COMMITS
from kgtui.model.burrow import CommitRing, Options, Status, Window
from kgtui.model.health.judging import judge_observed, judge_share
from kgtui.model.health.read_history import Sample
from kgtui.model.health.values import Watching
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, lag_of_commit, lag_of_share
from kgtui.pipeline.transforms.commit_windows import with_silver_commits
from kgtui.pipeline.transforms.health import commit_status, health, with_verdicts
from kgtui.pipeline.transforms.health_state import COMMIT
from kgtui.pipeline.transforms.observed_windows import observed_windows
from kgtui.pipeline.transforms.recorded_state import time_slots
from tests.burrow_verdict import judge_partition
from tests.spark.recorded_rows import RecordedTables, at, frame, ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgtui.model.offsets import PartitionLag

OPTIONS = (
    Options(),
    Options(intervals=4, allowed_lag=3),
    Options(intervals=6, minimum_complete=0.5),
    Options(min_distance=2),
)


def random_window(random: Random, options: Options) -> tuple[Window, int]:
    """Return the latest commits of a random consumer, and a time (in ms) for which to compute its status."""
    ring, now, end, offset = CommitRing(options), 1_000, random.randrange(20), random.randrange(10)
    most_read, most_written = random.choice([0, 1, 3, 8]), random.choice([0, 1, 3, 8])
    for _ in range(random.randrange(25)):
        now += random.choice([0, 500, 1_000, 10_000])
        end += random.randrange(most_written + 1)
        if random.random() < 0.5:
            ring.log_end(end)
        if random.random() < 0.7:
            rewinds = random.random() < 0.1
            offset = offset - random.randrange(6) if rewinds else min(offset + random.randrange(most_read + 1), end)
            ring.commit(max(offset, 0), now)
    return ring.window(end if random.random() < 0.8 else None), now + random.choice([0, 1_000, 50_000])


def test_spark_and_kgtui_model_compute_the_same_health_for_random_commits(spark: SparkSession) -> None:
    random, rows, expected = Random(4), [], []
    for number in range(1_200):
        choice = number % len(OPTIONS)
        window, now = random_window(random, OPTIONS[choice])
        commits = [(commit.offset, commit.at, commit.lag) for commit in window.commits]
        rows.append((number, choice, commits, window.current_lag, min(window.log_ends, default=None), now))
        expected.append((number, judge_partition(window, now, OPTIONS[choice]).status.value))
    assert {status for _, status in expected} == {1, 2, 4, 5, 6}
    columns = f"number INT, choice INT, commits ARRAY<{COMMIT}>, lag BIGINT, lowest_end BIGINT, now BIGINT"
    windows = spark.createDataFrame(rows, columns)
    status = F.coalesce(
        *(F.when(F.col("choice") == choice, commit_status(options)) for choice, options in enumerate(OPTIONS))
    )
    assert [tuple(row) for row in windows.select("number", status).orderBy("number").collect()] == expected


@dataclass
class PartitionHistory:
    """Committed offset and lag of one partition, each time that kgtui polls the cluster."""

    share: bool
    reads: list[tuple[float, PartitionLag]]

    def samples(self, since: float, until: float) -> list[Sample]:
        """Return the polls from `since` to `until` as `Sample` objects, from which `kgtui.model` computes a status.

        Both times are in seconds after `START`.
        """
        return [
            Sample(ms(time), row.position, row.log_end, row.log_start, row.lag)
            for time, row in self.reads
            if since <= time <= until
        ]


def random_history(random: Random, times: list[float], share: bool) -> PartitionHistory:
    """Return the history of a random consumer that may stop, fall behind or rewind. Some log end offsets are unknown.

    Args:
        times: times of the polls, in seconds after `START`.
        share: whether the consumer belongs to a share group.
    """
    reads, end, position = [], random.randrange(50), random.randrange(20)
    most_written, most_read = random.choice([0, 0, 2, 9]), random.choice([0, 0, 1, 2, 9])
    stops, resumes = sorted(random.sample(range(len(times) + 10), 2))
    for number, time in enumerate(times):
        end += random.randrange(most_written + 1)
        if not stops <= number < resumes:
            position = min(position + random.randrange(most_read + 1), end)
        if random.random() < 0.02:
            position = max(position - 3, 0)
        end_is_known = random.random() > 0.03
        bounds = PartitionBounds(0, end) if end_is_known else PartitionBounds(None, None, 6)
        offset = None if number < 3 and stops % 3 == 0 else position
        reads.append((time, (
            lag_of_share(ShareOffset("t", 0, offset, 0, end - position if end_is_known else None), bounds)
            if share else lag_of_commit(CommittedOffset("t", 0, offset), bounds)
        )))  # fmt: skip
    return PartitionHistory(share, reads)


def record(histories: list[PartitionHistory], polls: list[tuple[float, bool, str | None]]) -> RecordedTables:
    """Return the rows that the recorder would write for `histories`.

    Args:
        polls: one tuple per poll: time in seconds after `START`, whether the poll is a keyframe (writes all rows), and
            the reason for a recording gap before the poll (None if there is no gap).
    """
    tables = RecordedTables()
    before: dict[int, PartitionLag] = {}
    for index, (time, keyframe, gap) in enumerate(polls):
        tables.poll(time, keyframe=keyframe, gap=gap)
        for number, history in enumerate(histories):
            row = history.reads[index][1]
            values = {"lag": row.lag, "spso": row.position, "kind": "share"} if history.share else {}
            committed = None if history.share else row.position
            if keyframe or before.get(number) != row:
                tables.commit("g", "t", number, committed, row.log_end, row.log_start,
                              **{"log_error": 0 if row.log_end is not None else 6, **values})  # fmt: skip
            before[number] = row
    return tables


def test_spark_and_kgtui_model_compute_the_same_health_for_random_recordings(spark: SparkSession) -> None:
    random, watching = Random(7), Watching()
    polls: list[tuple[float, bool, str | None]] = []
    time, stretch_starts = 0.0, [0.0]
    for number in range(70):
        gap = "no poll for 60 s" if number in (21, 50) else None
        time += 60.0 if gap else random.choice([10.0, 10.0, 11.0, 14.0]) if number else 0.0
        stretch_starts += [time] if gap else []
        polls.append((time, number % 25 == 0, gap if number else None))
    times = [time for time, _, _ in polls]
    histories = [random_history(random, times, number % 5 == 4) for number in range(150)]
    timeline, _, partitions, _ = record(histories, polls).frames(spark)
    slots = time_slots(timeline, 120).localCheckpoint()
    windows = observed_windows(timeline, partitions, slots, watching.rules).withColumn("members", F.lit(1))
    results = {(row["at"], row["partition"]): row for row in windows.transform(with_verdicts, watching).collect()}
    compared: set[tuple[bool, int]] = set()
    for slot_end in [row["at"] for row in slots.collect()]:
        now = next(time for time in times if ms(time) == slot_end)
        since = max(start for start in stretch_starts if start <= now)
        for number, history in enumerate(histories):
            samples, row = history.samples(since, now), dict(history.reads)[now]
            result = results[slot_end, number]
            if history.share:
                verdict, details = judge_share(row, samples, 1, watching)
                if Status.WARN in (verdict.status, *(one.status for one in details.undecided)):
                    # Do not compare this history. Spark never returns the status WARN for share groups, because WARN
                    # depends on the lag at every poll, but a recording contains only changes of the lag.
                    continue
            else:
                verdict, details = judge_observed(row, samples, watching)
            undecided = [one.status.value for one in details.undecided if one.why == ""]
            expected = (verdict.status.value, undecided[0] if undecided else None)
            if history.share and expected[1] is None and result["undecided"] == Status.WARN:
                expected = (expected[0], Status.WARN.value)
            assert (result["status"], result["undecided"]) == expected, (number, now, samples, result)
            assert result["lag"] == row.lag
            compared.add((history.share, verdict.status.value))
    assert compared >= {(False, 1), (False, 2), (False, 4), (False, 6), (True, 1), (True, 5), (True, 6)}


@dataclass
class Consumer:
    """Simulates a consumer of one partition, and collects its commits as rows of the silver table `commits`."""

    ring: CommitRing = field(default_factory=CommitRing)
    commits: list[dict[str, Any]] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [0])
    offset: int = 0

    @property
    def committed(self) -> int | None:
        return self.commits[-1]["offset"] if self.commits else None

    def write(self, records: int) -> None:
        """Append `records` records to the partition. This increases the log end offset that the next poll reads."""
        self.ends.append(self.ends[-1] + records)
        self.ring.log_end(self.ends[-1])

    def commit(self, seconds: float, number: int, *, tombstone: bool) -> None:
        """Commit the current offset, or write a tombstone.

        Args:
            seconds: seconds after `START`.
            number: id of the partition.
            tombstone: whether to write a tombstone, which deletes the committed offset.
        """
        time, offset = at(seconds), None if tombstone else self.offset
        row = {"record_offset": len(self.commits), "record_time": time, "commit_time": None if tombstone else time}
        self.commits.append({"group": "g", "topic": "t", "partition": number, "offset": offset, **row})
        if not tombstone:
            self.ring.commit(self.offset, ms(seconds))
            return
        self.ring = CommitRing()
        for end in self.ends[1:]:
            self.ring.log_end(end)


def test_spark_and_kgtui_model_compute_the_same_health_from_silver_commits(spark: SparkSession) -> None:
    random, tables, options = Random(4), RecordedTables(), Options()
    consumers = [Consumer() for _ in range(120)]
    # Each habit describes one consumer: the maximum number of records that are produced between two polls of the
    # cluster, the maximum number of records that the consumer reads before a commit, and the index of the poll at which
    # the consumer stops.
    habits = [(random.choice([0, 3, 20]), random.choice([0, 1, 9]), random.randrange(2, 60)) for _ in consumers]
    for poll in range(31):
        tables.poll(poll * 10, keyframe=poll == 18)
        for number, (one, (most_written, most_read, stops)) in enumerate(zip(consumers, habits, strict=True)):
            one.write(random.randrange(most_written + 1))
            tables.commit("g", "t", number, one.committed, one.ends[-1])
            times = sorted(random.sample(range(1, 10), random.randrange(4))) if poll < min(stops, 30) else []
            for second in times:
                step = -random.randrange(30) if random.random() < 0.05 else random.randrange(most_read + 1)
                one.offset = max(min(one.offset + step, one.ends[-1]), 0)
                one.commit(poll * 10 + second, number, tombstone=random.random() < 0.005)
    model_windows = {number: one.ring.window() for number, one in enumerate(consumers)}
    expected = {
        number: (window.current_lag, judge_partition(window, ms(300)).status.value, "commits")
        for number, window in model_windows.items()
        if len(window.commits) == options.intervals
    }
    other = {"group": "other", "topic": "t", "partition": 0, "offset": 1, "record_time": at(301), "record_offset": 1}
    commits = frame(spark, COMMITS, [other, *(row for one in consumers for row in one.commits)])
    timeline, _, partitions, _ = tables.frames(spark)
    last_slot = time_slots(timeline, 300).filter(F.col("at") == ms(300))
    observed = observed_windows(timeline, partitions, last_slot, options)
    windows = with_silver_commits(observed, commits, partitions, timeline, options).withColumn("members", F.lit(1))
    rows = windows.transform(with_verdicts).filter("exact").select("partition", "lag", "status", "basis").collect()
    results = {row["partition"]: (row["lag"], row["status"], row["basis"]) for row in rows}
    assert results == expected
    assert {status for _, status, _ in results.values()} == {1, 2, 4, 5, 6}
    assert len(results) > 60


def test_a_group_has_the_worst_health_status_of_its_partitions(spark: SparkSession) -> None:
    tables = RecordedTables()
    for second in range(0, 1_200, 10):
        tables.poll(second, keyframe=second == 600)
        if second in (0, 600):
            for group in ("halts", "works", "hidden", "returns"):
                marked = {"works": True, "halts": False}.get(group)
                tables.group(group, coordinator=2 if group == "hidden" else 1, offsets_may_be_hidden=marked, members=2)
                if group != "returns":
                    tables.commit(group, "t", 1, 0, second)
        if second == 630:
            tables.fault(broker=2)
        tables.commit("works", "t", 0, second, second)
        tables.commit("halts", "t", 0, min(second, 320), second + 1)
        tables.commit("returns", "t", 0, 320 if 320 < second < 900 else second, second + 1)
        tables.commit("works", "t", 1, second, second)
    result = health(*tables.frames(spark)).cache()
    groups = result.filter("topic IS NULL").select(
        "group", "window_start", "status", "worst", "affected", "bad_since", "lag", "max_lag_topic", "max_lag_partition"
    )
    rows: list[tuple[Any, ...]] = [("works", at(300 * number), "OK", None, 0, None, 0, "t", 0) for number in range(4)]
    rows += [("hidden", at(300 * number), None, None, None, None, None, None, None) for number in (2, 3)]
    rows += [("hidden", at(300 * number), "OK", None, 0, None, 0, "t", 1) for number in (0, 1)]
    rows += [
        ("halts", at(0), "OK", None, 0, None, 1, "t", 0),
        ("halts", at(300), "ERR", "STOP", 1, at(320), 271, "t", 0),
        ("halts", at(600), "ERR", "STOP", 2, at(320), 571 + 600, "t", 1),
        ("halts", at(900), "ERR", "STOP", 2, at(320), 871 + 600, "t", 0),
        ("returns", at(0), "OK", None, 0, None, 1, "t", 0),
        ("returns", at(300), "ERR", "STOP", 1, at(320), 271, "t", 0),
        ("returns", at(600), "ERR", "STOP", 1, at(320), 571, "t", 0),
        ("returns", at(900), "OK", None, 0, None, 1, "t", 0),
    ]
    assertDataFrameEqual(groups, spark.createDataFrame(rows, groups.schema))
    ended = result.filter("ended_since IS NOT NULL").select("group", "window_start", "ended_since", "members")
    assertDataFrameEqual(ended, spark.createDataFrame([("returns", at(900), at(320), 2)], ended.schema))
    marks = result.filter((F.col("window_start") == F.lit(at(0))) & F.col("topic").isNull())
    marks = marks.select("group", "status", "undecided", "offsets_may_be_hidden")
    rows = [("works", "OK", "ERR", True), ("halts", "OK", None, False), ("hidden", "OK", None, None)]
    rows.append(("returns", "OK", None, None))
    assertDataFrameEqual(marks, spark.createDataFrame(rows, marks.schema))
    partitions = result.filter("topic IS NOT NULL AND partition = 0").select(
        "group", "window_start", "status", "bad_since", "last_commit", "position", "basis", "covered_to"
    )
    rows = [
        ("halts", at(300 * number), "STOP", at(320), at(320), 320, "observed", at(300 * number + 290))
        for number in (1, 2, 3)
    ]
    rows += [
        ("returns", at(300 * number), "STOP", at(320), at(320), 320, "observed", at(300 * number + 290))
        for number in (1, 2)
    ]
    assertDataFrameEqual(partitions, spark.createDataFrame(rows, partitions.schema))

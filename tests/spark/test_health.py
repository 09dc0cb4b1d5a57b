"""Gold `health` gives the verdicts of the model: on generated windows, and on generated recordings."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import COMMITS
from kgtui.model.health.judging import judge_observed, judge_share
from kgtui.model.health.read_history import Sample
from kgtui.model.health.values import Watching
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, lag_of_commit, lag_of_share
from kgtui.model.verdict import CommitRing, Options, Status, Window, judge_partition
from kgtui.pipeline.transforms.commit_windows import COMMIT, observed_windows, with_silver_commits
from kgtui.pipeline.transforms.health import commit_status, health, with_verdicts
from kgtui.pipeline.transforms.recorded_state import time_slots
from tests.spark.recorded_rows import Recorded, at, frame, ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgtui.model.offsets import PartitionLag

SETTINGS = (
    Options(),
    Options(intervals=4, allowed_lag=3),
    Options(intervals=6, minimum_complete=0.5),
    Options(min_distance=2),
)


def window_of(random: Random, options: Options) -> tuple[Window, int]:
    """What a consumer of some kind leaves in a window, and when it is looked at."""
    ring, now, end, offset = CommitRing(options), 1_000, random.randrange(20), random.randrange(10)
    eager, written = random.choice([0, 1, 3, 8]), random.choice([0, 1, 3, 8])
    for _ in range(random.randrange(25)):
        now += random.choice([0, 500, 1_000, 10_000])
        end += random.randrange(written + 1)
        if random.random() < 0.5:
            ring.log_end(end)
        if random.random() < 0.7:
            offset = (
                offset - random.randrange(6)
                if random.random() < 0.1
                else min(offset + random.randrange(eager + 1), end)
            )
            ring.commit(max(offset, 0), now)
    return ring.window(end if random.random() < 0.8 else None), now + random.choice([0, 1_000, 50_000])


def test_verdicts_on_generated_windows_are_those_of_the_model(spark: SparkSession) -> None:
    random, rows, expected = Random(4), [], []
    for number in range(1_200):
        kind = number % len(SETTINGS)
        window, now = window_of(random, SETTINGS[kind])
        commits = [(commit.offset, commit.at, commit.lag) for commit in window.commits]
        rows.append((number, kind, commits, window.current_lag, min(window.log_ends, default=None), now))
        expected.append((number, judge_partition(window, now, SETTINGS[kind]).status.value))
    assert {value for _, value in expected} == {1, 2, 4, 5, 6}
    made = spark.createDataFrame(
        rows, f"number INT, kind INT, commits ARRAY<{COMMIT}>, lag BIGINT, lowest_end BIGINT, now BIGINT"
    )
    said = F.coalesce(*(F.when(F.col("kind") == kind, commit_status(one)) for kind, one in enumerate(SETTINGS)))
    assert [tuple(row) for row in made.select("number", said).orderBy("number").collect()] == expected


@dataclass
class History:
    """The reads of one partition."""

    share: bool
    reads: list[tuple[float, PartitionLag]]

    def samples(self, since: float, until: float) -> list[Sample]:
        return [
            Sample(ms(at), row.position, row.log_end, row.log_start, row.lag)
            for at, row in self.reads
            if since <= at <= until
        ]


def reads_of(random: Random, times: list[float], share: bool) -> History:
    """A consumer that reads, rests, falls behind, goes back or is not readable for a while."""
    reads, end, position = [], random.randrange(50), random.randrange(20)
    written, eager = random.choice([0, 0, 2, 9]), random.choice([0, 0, 1, 2, 9])
    rests, again = sorted(random.sample(range(len(times) + 10), 2))
    for number, time in enumerate(times):
        end += random.randrange(written + 1)
        if not rests <= number < again:
            position = min(position + random.randrange(eager + 1), end)
        if random.random() < 0.02:
            position = max(position - 3, 0)
        known = random.random() > 0.03
        bounds = PartitionBounds(0, end) if known else PartitionBounds(None, None, 6)
        offset = None if number < 3 and rests % 3 == 0 else position
        reads.append((time, (
            lag_of_share(ShareOffset("t", 0, offset, 0, end - position if known else None), bounds)
            if share else lag_of_commit(CommittedOffset("t", 0, offset), bounds)
        )))  # fmt: skip
    return History(share, reads)


def recorded(histories: list[History], polls: list[tuple[float, bool, str | None]]) -> Recorded:
    """Only what changed, and everything in a keyframe."""
    made = Recorded()
    before: dict[int, PartitionLag] = {}
    for index, (time, keyframe, gap) in enumerate(polls):
        made.poll(time, keyframe=keyframe, gap=gap)
        for number, history in enumerate(histories):
            row = history.reads[index][1]
            values = {"lag": row.lag, "spso": row.position, "kind": "share"} if history.share else {}
            committed = None if history.share else row.position
            if keyframe or before.get(number) != row:
                made.commit("g", "t", number, committed, row.log_end, row.log_start,
                            **{"log_error": 0 if row.log_end is not None else 6, **values})  # fmt: skip
            before[number] = row
    return made


def test_observed_verdicts_on_generated_recordings_are_those_of_the_model(spark: SparkSession) -> None:
    random, watching = Random(7), Watching()
    polls: list[tuple[float, bool, str | None]] = []
    time, steady = 0.0, [0.0]
    for number in range(70):
        gap = "no poll for 60 s" if number in (21, 50) else None
        time += 60.0 if gap else random.choice([10.0, 10.0, 11.0, 14.0]) if number else 0.0
        steady += [time] if gap else []
        polls.append((time, number % 25 == 0, gap if number else None))
    times = [time for time, _, _ in polls]
    histories = [reads_of(random, times, number % 5 == 4) for number in range(150)]
    line, _, partitions, _ = recorded(histories, polls).frames(spark)
    moments = time_slots(line, 120).localCheckpoint()
    found = (
        observed_windows(line, partitions, moments, watching.rules)
        .withColumn("members", F.lit(1))
        .transform(with_verdicts, watching)
    )
    said = {(row["at"], row["partition"]): row for row in found.collect()}
    seen: set[tuple[bool, int]] = set()
    for moment in [row["at"] for row in moments.collect()]:
        now = next(time for time in times if ms(time) == moment)
        since = max(start for start in steady if start <= now)
        for number, history in enumerate(histories):
            samples, row, got = history.samples(since, now), dict(history.reads)[now], said[moment, number]
            if history.share:
                verdict, judged_so = judge_share(row, samples, 1, watching)
                if Status.WARN in (verdict.status, *(one.status for one in judged_so.undecided)):
                    continue  # left open: see `observed_share`
            else:
                verdict, judged_so = judge_observed(row, samples, watching)
            open_ = [one.status.value for one in judged_so.undecided if one.why == ""]
            expected = (verdict.status.value, open_[0] if open_ else None)
            if history.share and expected[1] is None and got["undecided"] == Status.WARN:
                expected = (expected[0], Status.WARN.value)
            assert (got["status"], got["undecided"]) == expected, (number, now, samples, got)
            assert got["lag"] == row.lag
            seen.add((history.share, verdict.status.value))
    assert seen >= {(False, 1), (False, 2), (False, 4), (False, 6), (True, 1), (True, 5), (True, 6)}


@dataclass
class Committer:
    """A consumer whose every commit is recorded by the broker, and what a poller sees of it."""

    ring: CommitRing = field(default_factory=CommitRing)
    commits: list[dict[str, Any]] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [0])
    offset: int = 0

    @property
    def committed(self) -> int | None:
        return self.commits[-1]["offset"] if self.commits else None

    def write(self, records: int) -> None:
        """The log grows, and a poll sees it."""
        self.ends.append(self.ends[-1] + records)
        self.ring.log_end(self.ends[-1])

    def commit(self, seconds: float, number: int, *, lose: bool) -> None:
        """Commit where it is, or lose the commits."""
        time, offset = at(seconds), None if lose else self.offset
        row = {"record_offset": len(self.commits), "record_time": time, "commit_time": None if lose else time}
        self.commits.append({"group": "g", "topic": "t", "partition": number, "offset": offset, **row})
        if not lose:
            self.ring.commit(self.offset, ms(seconds))
            return
        self.ring = CommitRing()
        for end in self.ends[1:]:
            self.ring.log_end(end)


def test_verdicts_on_the_commits_themselves_are_those_of_the_model(spark: SparkSession) -> None:
    random, made, options = Random(4), Recorded(), Options()
    committers = [Committer() for _ in range(120)]
    habits = [(random.choice([0, 3, 20]), random.choice([0, 1, 9]), random.randrange(2, 60)) for _ in committers]
    for poll in range(31):
        made.poll(poll * 10, keyframe=poll == 18)
        for number, (one, (written, eager, rests)) in enumerate(zip(committers, habits, strict=True)):
            one.write(random.randrange(written + 1))
            made.commit("g", "t", number, one.committed, one.ends[-1])
            times = sorted(random.sample(range(1, 10), random.randrange(4))) if poll < min(rests, 30) else []
            for second in times:
                step = -random.randrange(30) if random.random() < 0.05 else random.randrange(eager + 1)
                one.offset = max(min(one.offset + step, one.ends[-1]), 0)
                one.commit(poll * 10 + second, number, lose=random.random() < 0.005)
    windows_now = {number: one.ring.window() for number, one in enumerate(committers)}
    expected = {
        number: (window.current_lag, judge_partition(window, ms(300)).status.value, "commits")
        for number, window in windows_now.items()
        if len(window.commits) == options.intervals
    }
    other = {"group": "other", "topic": "t", "partition": 0, "offset": 1, "record_time": at(301), "record_offset": 1}
    records = frame(spark, COMMITS, [other, *(row for one in committers for row in one.commits)])
    line, _, partitions, _ = made.frames(spark)
    moments = time_slots(line, 300).filter(F.col("at") == ms(300))
    seen = observed_windows(line, partitions, moments, options)
    found = with_silver_commits(seen, records, partitions, line, options).withColumn("members", F.lit(1))
    rows = found.transform(with_verdicts).filter("exact").select("partition", "lag", "status", "basis").collect()
    said = {row["partition"]: (row["lag"], row["status"], row["basis"]) for row in rows}
    assert said == expected
    assert {row[1] for row in said.values()} == {1, 2, 4, 5, 6}
    assert len(said) > 60


def test_a_group_is_as_bad_as_its_worst_partition_and_since_when_is_said(spark: SparkSession) -> None:
    made = Recorded()
    for second in range(0, 1_200, 10):
        made.poll(second, keyframe=second == 600)
        if second in (0, 600):
            for group in ("halts", "works", "hidden"):
                made.group(group, coordinator=2 if group == "hidden" else 1)
                made.commit(group, "t", 1, 0, second)
        if second == 630:
            made.fault(broker=2)
        made.commit("works", "t", 0, second, second)
        made.commit("halts", "t", 0, min(second, 320), second + 1)
        made.commit("works", "t", 1, second, second)
    found = health(*made.frames(spark)).cache()
    groups = found.filter("topic IS NULL").select(
        "group", "window_start", "status", "worst", "affected", "bad_since", "lag", "max_lag_topic", "max_lag_partition"
    )
    rows: list[tuple[Any, ...]] = [("works", at(300 * number), "OK", None, 0, None, 0, "t", 0) for number in range(4)]
    rows += [("hidden", at(300 * number), None, None, None, None, None, None, None) for number in (2, 3)]
    rows += [("hidden", at(300 * number), "OK", None, 0, None, 0, "t", 1) for number in (0, 1)]
    rows += [
        ("halts", at(0), "OK", None, 0, None, 1, "t", 0),
        ("halts", at(300), "ERR", "STOP", 1, at(590), 271, "t", 0),
        ("halts", at(600), "ERR", "STOP", 2, at(590), 571 + 600, "t", 1),
        ("halts", at(900), "ERR", "STOP", 2, at(590), 871 + 600, "t", 0),
    ]
    assertDataFrameEqual(groups, spark.createDataFrame(rows, groups.schema))
    partitions = found.filter("topic IS NOT NULL AND partition = 0").select(
        "group", "window_start", "status", "bad_since", "last_commit", "position", "basis", "covered_to"
    )
    rows = [
        ("halts", at(300 * number), "STOP", at(590), at(320), 320, "observed", at(300 * number + 290))
        for number in (1, 2, 3)
    ]
    assertDataFrameEqual(partitions, spark.createDataFrame(rows, partitions.schema))

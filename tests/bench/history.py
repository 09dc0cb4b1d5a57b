"""Measure the CPU time for recording a large cluster, and the time for loading a past state from the recording."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgtui.admin import connect
from kgtui.history import Recorder, RecorderOptions, RecordingReader
from kgtui.history.changes import PollResult
from kgtui.lake.delta import RecordedTable
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import TABLES
from kgtui.lake.schemas.recorded import day_of
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, PartitionBounds
from kgtui.monitor import Monitor, MonitorOptions
from tests.bench.figures import Figure, percentile
from tests.bench.instruments import LONG_MS, Callbacks
from tests.bench.simulated_cluster import PARTITIONS, SimulatedCluster
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INTERVAL = 10.0
"""Time between two polls of the cluster, in seconds."""

POLLS_PER_KEYFRAME = 60
KEYFRAMES_PER_DAY = 144
TARGET_DAY_BYTES = 1e9
TARGET_SEEK_MS = 300.0
TARGET_DAY_MS = 2_000.0


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark.

    Attributes:
        polls: number of polls of a simulated cluster that the benchmark records.
        segments: index of the last segment in the `SyntheticLake`; the first segment has the index 0. A segment begins
            with a keyframe (a complete copy of the cluster's state), and ends before the next keyframe.
        seeks: number of measurements that load the state at a random poll, and then the state at the following poll.
        timelines: number of measurements that load one hour of a random group's history. As many measurements load
            one day.
        interval: seconds between two polls of the simulated cluster.
        segment_polls: number of polls from one keyframe to the next in the `SyntheticLake`.
    """

    groups: int = 10_000
    polls: int = 26
    segments: int = KEYFRAMES_PER_DAY
    seeks: int = 60
    timelines: int = 12
    interval: float = INTERVAL
    segment_polls: int = POLLS_PER_KEYFRAME


QUICK = Size(polls=13, segments=12, seeks=20, timelines=4)
TINY = Size(groups=60, polls=2, segments=2, seeks=4, timelines=2, interval=0.5, segment_polls=4)


def record_figures(size: Size) -> Iterator[Figure]:
    """Yield the recorder's CPU time per poll, the longest callback, and the recording's size per day and per row."""
    with tempfile.TemporaryDirectory() as folder:
        lake = SyntheticLake(Path(folder) / "synthetic", replace(size, segments=1))
        callbacks = Callbacks()
        with _measured(callbacks):
            poll = asyncio.run(_cpu_per_poll(Path(folder) / "live", size, callbacks))
    cpu = poll + lake.keyframe_cpu / size.segment_polls
    what = f"{size.groups:,} groups × {PARTITIONS}, a tenth of the groups commit per poll"
    yield Figure(f"recording, {what}: CPU time per poll", cpu, "s", "interval", size.interval, 0.15, of_ratio=True)
    keyframe_cpu = lake.keyframe_cpu / size.segment_polls
    yield Figure("recording: CPU time per poll for keyframes and compaction", keyframe_cpu, "s")
    yield Figure("recording: CPU time of the event loop's longest callback", callbacks.worst, "ms", target=LONG_MS)
    megabytes = lake.bytes * KEYFRAMES_PER_DAY * POLLS_PER_KEYFRAME / size.segment_polls / 1e6
    target = TARGET_DAY_BYTES / 1e6
    yield Figure("recording: size per day, extrapolated from one keyframe", megabytes, "MB", target=target)
    yield Figure("recording: bytes per row", lake.bytes / max(lake.rows, 1), "B")


@contextmanager
def _measured(callbacks: Callbacks) -> Iterator[None]:
    """Measure the CPU time of the event loop's callbacks in this process during the `with` block."""
    run = asyncio.Handle._run
    callbacks.install()
    try:
        yield
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]


async def _cpu_per_poll(lake: Path, size: Size, callbacks: Callbacks) -> float:
    """Record at least `size.polls` polls of a simulated cluster; return this process's CPU seconds per poll.

    Also reset `callbacks` after the first poll, which is not measured.
    """
    with SimulatedCluster("active", size.groups) as cluster:
        async with connect(cluster.bootstrap.split(",")) as admin:
            monitor = Monitor(admin, MonitorOptions(interval=size.interval, sweep_rate=0.001))
            recorder = Recorder(monitor, admin, lake, RecorderOptions(interval=size.interval, flush=size.interval))
            tasks = [asyncio.create_task(monitor.run()), asyncio.create_task(recorder.run())]
            while recorder.status.polls < 1:  # noqa: ASYNC110 - the first poll records all groups
                await asyncio.sleep(0.1)
            callbacks.reset()
            started, polls = time.process_time(), recorder.status.polls
            while recorder.status.polls < polls + size.polls:  # noqa: ASYNC110
                await asyncio.sleep(0.5)
            seconds = (time.process_time() - started) / (recorder.status.polls - polls)
            recorder.stop()
            await tasks[1]
            tasks[0].cancel()
            await asyncio.gather(tasks[0], return_exceptions=True)
    return seconds


class SyntheticLake:
    """A lake with a long recording, most of which is copied instead of simulated.

    Only the first keyframe (a complete copy of the cluster's state), the changes after it, and the second keyframe are
    simulated. Copies of the first keyframe and of its changes, with later times, fill the rest of the recording.

    Attributes:
        keyframe_cpu: CPU seconds for writing the second keyframe and compacting the changes before it.
        bytes: total size of the first keyframe and of the changes until the second keyframe, after compaction.
        rows: total number of rows in the first keyframe and in the changes until the second keyframe.
    """

    def __init__(self, path: Path, size: Size, *, topics: Mapping[str, str] | None = None, start: int = START) -> None:
        """Write the lake.

        Args:
            path: folder of the lake, which must not exist yet.
            topics: group id → topic that the group consumes; None for generated ids and topics.
            start: time of the first poll, in milliseconds since the epoch.
        """
        self.path = path
        self._random = random.Random(7)
        if topics is None:
            names = [f"team-{n % 300:03d}.service-{self._random.randrange(10**6)}" for n in range(size.groups)]
            topics = {name: f"topic-{n // 3}" for n, name in enumerate(names)}
        self._names, self._topics = [*topics], [*topics.values()]
        self._ends = {
            (n, part): self._random.randrange(10**9) for n in range(size.groups) for part in range(PARTITIONS)
        }
        self._lags = {key: self._random.randrange(1000) for key in self._ends}
        self._listing = Listing("consumer", "consumer", "Stable", 1)
        self._listings = dict.fromkeys(self._names, self._listing)
        recording, length = RecordingBuilder(self.path), int(INTERVAL * 1000)
        for poll in range(size.segment_polls):
            groups = range(size.groups) if poll == 0 else self._advance_a_tenth(size.groups)
            recording.poll(self._poll_result(groups, described=poll == 0), start + poll * length)
            recording.flush()
        started = time.process_time()
        recording.poll(PollResult(self._listings), start + size.segment_polls * length, keyframe=True)
        recording.flush()
        recording.compact()
        self.keyframe_cpu = time.process_time() - started
        folder = LakeFolder.of(self.path)
        self._tables = [RecordedTable(folder.table(table.name), table) for table in TABLES]
        self._first = {table.table.name: _files_of(table, start) for table in self._tables}
        self._segment = size.segment_polls * length
        self.bytes = sum(file["size_bytes"] for files in self._first.values() for file in files)
        self.rows = sum(file["num_records"] for files in self._first.values() for file in files)
        for number in range(2, size.segments + 1):
            self.add_segment(number)

    def add_segment(self, number: int) -> None:
        """Append segment `number` to the recording: a copy of the first keyframe and of the changes after it.

        A segment is the time from one keyframe (a complete copy of the cluster's state) to the next. `number` must be
        at least 2, because the constructor has already written segment 0 and the keyframe of segment 1.
        """
        for table in self._tables:
            for file in self._first[table.table.name]:
                _copy(table, file["path"], number * self._segment)

    def _advance_a_tenth(self, groups: int) -> list[int]:
        """Change the log end offsets and lags of a random tenth of the groups; return the indexes of these groups."""
        found = self._random.sample(range(groups), max(groups // 10, 1))
        for n in found:
            for part in range(PARTITIONS):
                self._ends[n, part] += self._random.randrange(2_000)
                self._lags[n, part] = self._random.randrange(1000)
        return found

    def _poll_result(self, groups: range | list[int], *, described: bool) -> PollResult:
        committed = {
            self._names[n]: tuple(
                CommittedOffset(self._topics[n], part, self._ends[n, part] - self._lags[n, part], 7)
                for part in range(PARTITIONS)
            )
            for n in groups
        }
        bounds = {
            (self._topics[n], part): PartitionBounds(0, self._ends[n, part])
            for n in groups
            for part in range(PARTITIONS)
        }
        descriptions = {self._names[n]: self._description(self._names[n], n) for n in groups} if described else {}
        return PollResult(self._listings, descriptions, committed, {}, bounds)

    def _description(self, group: str, n: int) -> GroupDescription:
        topic = self._topics[n]
        members = tuple(
            Member(
                f"consumer-{number}-{self._random.getrandbits(128):032x}",
                f"consumer-{number}",
                f"/10.0.{n % 250}.{number}",
                epoch=4,
                topics=(topic,),
                assignment=((topic, tuple(range(number, PARTITIONS, 3))),),
            )
            for number in range(3)
        )
        return GroupDescription(group, "consumer", "consumer", "Stable", 1, "uniform", 4, 4, members)


def _files_of(table: RecordedTable, keyframe: int) -> list[dict[str, Any]]:
    return [file for file in table.files() if file["min.keyframe"] == file["max.keyframe"] == keyframe]


def _copy(table: RecordedTable, path: str, later: int) -> None:
    """Append a copy of the rows in a file of `table` to the same table.

    Args:
        table: the table.
        path: path of the file, relative to the table's folder.
        later: milliseconds that are added to the times of the poll and of its keyframe in each copied row.
    """
    rows = pq.ParquetFile(table.path / path).read()
    for name in ("keyframe", "poll"):
        at = rows.column_names.index(name)
        rows = rows.set_column(at, rows.schema.field(name), pc.add(rows[name], later))
    day = day_of(rows["keyframe"][0].as_py())
    table._replace([], rows, day)


def replay_figures(size: Size) -> Iterator[Figure]:
    """Yield the times for opening a recording, loading 40 groups at a past time, and loading the history of a group."""
    with tempfile.TemporaryDirectory() as folder:
        path = SyntheticLake(Path(folder) / "synthetic", size).path
        started = time.perf_counter()
        recording = RecordingReader(path)
        opened = (time.perf_counter() - started) * 1000
        choices, seeks, steps = random.Random(3), [], []
        polls = recording.polls()
        for _ in range(size.seeks):
            poll = choices.choice(polls)
            seeks.append(_seek(recording, poll.at, choices))
            steps.append(_seek(recording, poll.at + INTERVAL, choices))
        hour = [_load_timeline(recording, choices, 3600.0) for _ in range(size.timelines)]
        day = [_load_timeline(recording, choices, 86_400.0) for _ in range(size.timelines)]
    hours = len(polls) * INTERVAL / 3600
    yield Figure(
        f"replay, {size.groups:,} groups, {hours:.0f} h: time to seek and load 40 groups, p50",
        percentile(seeks, 0.5),
        "ms",
        target=TARGET_SEEK_MS,
    )
    yield Figure("replay: time to seek and load 40 groups, p95", percentile(seeks, 0.95), "ms", target=TARGET_SEEK_MS)
    yield Figure("replay: time to seek one poll forward, p50", percentile(steps, 0.5), "ms", target=TARGET_SEEK_MS)
    yield Figure("replay: time to load 1 h of one group, p50", percentile(hour, 0.5), "ms", target=TARGET_SEEK_MS)
    yield Figure(
        f"replay: time to load {hours:.0f} h of one group, p50", percentile(day, 0.5), "ms", target=TARGET_DAY_MS
    )
    yield Figure("replay: time to open the lake", opened, "ms")


def _load_timeline(recording: RecordingReader, choices: random.Random, seconds: float) -> float:
    """Load `seconds` seconds of a random group's history; return how long loading takes, in milliseconds."""
    group = choices.choice(list(recording.at(recording.last).listings))
    until = choices.uniform(min(recording.first.at + seconds, recording.last.at), recording.last.at)
    started = time.perf_counter()
    timeline = recording.group_timeline(group, until - seconds, until)
    milliseconds = (time.perf_counter() - started) * 1000
    assert len(timeline.times) > 1
    return milliseconds


def _seek(recording: RecordingReader, at: float, choices: random.Random) -> float:
    """Load the state at the time `at`, with all details of 40 random groups; return the duration in milliseconds."""
    started = time.perf_counter()
    frame = recording.at(at)
    names = list(frame.listings)
    names = choices.sample(names, min(40, len(names)))
    for offsets in (False, True):
        frame.prepare(names, offsets=offsets)
    for group in names:
        frame.description(group)
        frame.offsets(group)
    return (time.perf_counter() - started) * 1000

"""What recording costs, and how long a seek takes: 10,000 groups × 10 partitions at 10 s, of which a tenth moves."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
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
from tests.bench.terminal import HOME
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVAL = 10.0
POLLS_A_KEYFRAME = 60
KEYFRAMES_A_DAY = 144
DAY_BYTES = 1e9
SEEK_MS = 300.0
DAY_MS = 2_000.0
PARTITIONS = 10


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        polls: intervals of a live recording that are measured.
        segments: keyframes of the lake that is looked into.
        seeks: how many.
        pasts: how many times one group's past is read.
    """

    groups: int = 10_000
    polls: int = 26
    segments: int = KEYFRAMES_A_DAY
    seeks: int = 60
    pasts: int = 12
    interval: float = INTERVAL
    segment_polls: int = POLLS_A_KEYFRAME


QUICK = Size(polls=13, segments=12, seeks=20, pasts=4)
TINY = Size(groups=60, polls=2, segments=2, seeks=4, pasts=2, interval=0.5, segment_polls=4)


def record_figures(size: Size) -> Iterator[Figure]:
    """CPU of an interval beside the interval, and bytes a day beside the rows they hold."""
    with tempfile.TemporaryDirectory() as folder:
        made = Made(Path(folder), replace(size, segments=1))
        callbacks = Callbacks()
        with _timed(callbacks):
            poll = asyncio.run(_cpu_of_a_poll(Path(folder) / "live", size, callbacks))
    cpu = poll + made.keyframe_cpu / size.segment_polls
    what = f"{size.groups:,} groups × {PARTITIONS}, a tenth moves"
    yield Figure(f"record, {what}: CPU a poll", cpu, "s", "the interval", size.interval, 0.15, of_ratio=True)
    yield Figure("record: of it keyframe and compaction", made.keyframe_cpu / size.segment_polls, "s")
    yield Figure("record: longest callback of the loop, CPU", callbacks.worst, "ms", aim=LONG_MS)
    day = made.bytes * KEYFRAMES_A_DAY * POLLS_A_KEYFRAME / size.segment_polls
    yield Figure("record: bytes a day, from one compacted keyframe", day / 1e6, "MB", aim=DAY_BYTES / 1e6)
    yield Figure("record: bytes a row", made.bytes / max(made.rows, 1), "B")


@contextmanager
def _timed(callbacks: Callbacks) -> Iterator[None]:
    """Every callback of the loops of this process is timed."""
    run = asyncio.Handle._run
    callbacks.install()
    try:
        yield
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]


async def _cpu_of_a_poll(lake: Path, size: Size, callbacks: Callbacks) -> float:
    """Seconds of CPU of this process for one interval, lists, offsets, descriptions and writing included."""
    cluster = subprocess.Popen(  # noqa: ASYNC220 - it starts once, before anything is measured
        [sys.executable, "-m", "tests.bench.tenth", str(size.groups)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME,
    )  # fmt: skip
    assert cluster.stdout is not None
    assert cluster.stdin is not None
    try:
        bootstrap = (await asyncio.to_thread(cluster.stdout.readline)).strip()
        async with connect(bootstrap.split(",")) as admin:
            monitor = Monitor(admin, MonitorOptions(interval=size.interval, sweep_rate=0.001))
            recorder = Recorder(monitor, admin, lake, RecorderOptions(interval=size.interval, flush=size.interval))
            tasks = [asyncio.create_task(monitor.run()), asyncio.create_task(recorder.run())]
            while recorder.status.polls < 1:  # noqa: ASYNC110 - the first poll is a keyframe
                await asyncio.sleep(0.1)
            callbacks.reset()
            began, polls = time.process_time(), recorder.status.polls
            while recorder.status.polls < polls + size.polls:  # noqa: ASYNC110
                await asyncio.sleep(0.5)
            took = (time.process_time() - began) / (recorder.status.polls - polls)
            recorder.stop()
            await tasks[1]
            tasks[0].cancel()
            await asyncio.gather(tasks[0], return_exceptions=True)
    finally:
        cluster.kill()
        cluster.wait()
        cluster.stdout.close()
        cluster.stdin.close()
    return took


class Made:
    """A lake made without a clock: one keyframe as it would be recorded, and more of them as copies of it.

    Attributes:
        keyframe_cpu: seconds of CPU to write a full picture and to compact what came after it.
        bytes, rows: of one keyframe with its changes, compacted.
    """

    def __init__(self, path: Path, size: Size) -> None:
        self.path = path / "made"
        self._dice = random.Random(7)
        self._names = [f"team-{n % 300:03d}.service-{self._dice.randrange(10**6)}" for n in range(size.groups)]
        self._ends = {(n, part): self._dice.randrange(10**9) for n in range(size.groups) for part in range(PARTITIONS)}
        self._lags = {key: self._dice.randrange(1000) for key in self._ends}
        self._listing = Listing("consumer", "consumer", "Stable", 1)
        self._listings = dict.fromkeys(self._names, self._listing)
        recording, length = RecordingBuilder(self.path), int(INTERVAL * 1000)
        for poll in range(size.segment_polls):
            seen = self._seen(range(size.groups) if poll == 0 else self._moved(size.groups), described=poll == 0)
            recording.poll(seen, START + poll * length)
            recording.flush()
        began = time.process_time()
        recording.poll(PollResult(self._listings), START + size.segment_polls * length, keyframe=True)
        recording.flush()
        recording.compact()
        self.keyframe_cpu = time.process_time() - began
        folder = LakeFolder.of(self.path)
        tables = [RecordedTable(folder.table(table.name), table) for table in TABLES]
        first = {table.table.name: _files_of(table, START) for table in tables}
        self.bytes = sum(file["size_bytes"] for files in first.values() for file in files)
        self.rows = sum(file["num_records"] for files in first.values() for file in files)
        for number in range(2, size.segments + 1):
            for table in tables:
                for file in first[table.table.name]:
                    _copy(table, file["path"], number * size.segment_polls * length)

    def _moved(self, groups: int) -> list[int]:
        found = self._dice.sample(range(groups), max(groups // 10, 1))
        for n in found:
            for part in range(PARTITIONS):
                self._ends[n, part] += self._dice.randrange(2_000)
                self._lags[n, part] = self._dice.randrange(1000)
        return found

    def _seen(self, groups: range | list[int], *, described: bool) -> PollResult:
        committed = {
            self._names[n]: tuple(
                CommittedOffset(f"topic-{n // 3}", part, self._ends[n, part] - self._lags[n, part], 7)
                for part in range(PARTITIONS)
            )
            for n in groups
        }
        bounds = {
            (f"topic-{n // 3}", part): PartitionBounds(0, self._ends[n, part])
            for n in groups
            for part in range(PARTITIONS)
        }
        about = {self._names[n]: self._described(self._names[n], n) for n in groups} if described else {}
        return PollResult(self._listings, about, committed, {}, bounds)

    def _described(self, group: str, n: int) -> GroupDescription:
        topic = f"topic-{n // 3}"
        members = tuple(
            Member(
                f"consumer-{number}-{self._dice.getrandbits(128):032x}",
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
    """The same rows once more, `later` milliseconds later."""
    rows = pq.ParquetFile(table.path / path).read()
    for name in ("keyframe", "poll"):
        at = rows.column_names.index(name)
        rows = rows.set_column(at, rows.schema.field(name), pc.add(rows[name], later))
    day = day_of(rows["keyframe"][0].as_py())
    table._replace([], rows, day)


def replay_figures(size: Size) -> Iterator[Figure]:
    """A seek to any moment of a day: the list of all groups, and the screenful in view in full."""
    with tempfile.TemporaryDirectory() as folder:
        made = Made(Path(folder), size)
        began = time.perf_counter()
        lake = RecordingReader(made.path)
        opened = (time.perf_counter() - began) * 1000
        dice, far, near = random.Random(3), [], []
        moments = lake.polls()
        for _ in range(size.seeks):
            moment = dice.choice(moments)
            far.append(_seek(lake, moment.at, dice))
            near.append(_seek(lake, moment.at + INTERVAL, dice))
        hour, all_of_it = ([_past(lake, dice, seconds) for _ in range(size.pasts)] for seconds in (3600.0, 86_400.0))
    hours = len(moments) * INTERVAL / 3600
    yield Figure(
        f"replay, {size.groups:,} groups, {hours:.0f} h: seek and a screenful, p50",
        percentile(far, 0.5),
        "ms",
        aim=SEEK_MS,
    )
    yield Figure("replay: the same, p95", percentile(far, 0.95), "ms", aim=SEEK_MS)
    yield Figure("replay: one step on, p50", percentile(near, 0.5), "ms", aim=SEEK_MS)
    yield Figure("replay: an hour of one group, p50", percentile(hour, 0.5), "ms", aim=SEEK_MS)
    yield Figure(f"replay: {hours:.0f} h of one group, p50", percentile(all_of_it, 0.5), "ms", aim=DAY_MS)
    yield Figure("replay: opening the lake", opened, "ms")


def _past(lake: RecordingReader, dice: random.Random, seconds: float) -> float:
    """What the History pane asks for: milliseconds."""
    group = dice.choice(list(lake.at(lake.last).listings))
    until = dice.uniform(min(lake.first.at + seconds, lake.last.at), lake.last.at)
    began = time.perf_counter()
    past = lake.group_timeline(group, until - seconds, until)
    took = (time.perf_counter() - began) * 1000
    assert len(past.times) > 1
    return took


def _seek(lake: RecordingReader, at: float, dice: random.Random) -> float:
    began = time.perf_counter()
    frame = lake.at(at)
    names = list(frame.listings)
    names = dice.sample(names, min(40, len(names)))
    for offsets in (False, True):
        frame.prepare(names, offsets=offsets)
    for group in names:
        frame.description(group)
        frame.offsets(group)
    return (time.perf_counter() - began) * 1000

"""Measure the time from an offset commit until the offset is in the silver table `commits` and the gold table `lag`.

The commits go to a real 4.3.1 broker. `kgtui record` and `kgtui pipeline watch` run as child processes, because the
table `lag` is computed from the results of both. The benchmark reads the tables without Spark, as kgtui's screens do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from tests import jars
from tests.bench.command_line import commit_all
from tests.bench.figures import Figure, percentile
from tests.bench.terminal import HOME
from tests.brokers.cluster import Cluster
from tests.brokers.kio_client import Connection

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUP, _TOPIC = "payments", "orders"
_INTERVAL = 5.0
"""Time between two polls of the recorder, and between two runs of each streaming query of the pipeline, in seconds.

The groups that only create load also commit at this interval.
"""
_LOAD_TOPIC, _LOAD_PARTITIONS = "load", 10
_TARGETS = {("gold lag", 0.5): 15.0, ("gold lag", 0.95): 30.0}
"""(table, percentile as a fraction) → maximum time from a commit to its row, in seconds."""

_POLL_SECONDS = 0.1
_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark at one scale (tiny, quick or full).

    Attributes:
        commits: number of commits whose latency is measured.
        pause: seconds between two measured commits; not a multiple of `_INTERVAL`, so that the time from a
            commit to the next poll varies.
        groups: number of groups that only create load. Each of them commits offsets of `_LOAD_PARTITIONS` partitions
            every `_INTERVAL` seconds.
    """

    commits: int = 40
    pause: float = 4.3
    groups: int = 1_000


QUICK = Size(20, 2.3, 100)
TINY = Size(2, 0.5, 10)


@dataclass(slots=True)
class _ObservedTable:
    """A table that is read repeatedly, to find out when each committed offset arrives in the table.

    Attributes:
        column: name of the column that contains committed offsets.
        newest: largest offset that has arrived in the table.
        seen: offset → time when this offset or a larger one was first found in the table.
    """

    path: Path
    column: str
    newest: int = -1
    seen: dict[int, float] = field(default_factory=dict)

    def poll(self) -> None:
        """Read the largest offset in the table. Store the current time for this offset and all new smaller offsets."""
        before, self.newest = self.newest, max(self.newest, self._read())
        now = time.monotonic()
        self.seen |= dict.fromkeys(range(before + 1, self.newest + 1), now)

    def _read(self) -> int:
        """Return the largest committed offset in the table; -1 if the table contains no committed offset."""
        try:
            rows: Any = DeltaTable(str(self.path)).to_pyarrow_dataset()
        except TableNotFoundError:
            return -1
        of_group = (pc.field("group") == _GROUP) & (pc.field("topic") == _TOPIC)
        largest = pc.max(rows.to_table(columns=[self.column], filter=of_group)[self.column]).as_py()
        return -1 if largest is None else int(largest)


def figures(size: Size) -> Iterator[Figure]:
    """For each table, yield the median and the 95th percentile of the time from a commit to its row in the table."""
    with tempfile.TemporaryDirectory(prefix="kgtui-bench-") as folder:
        broker = Cluster("4.3.1", Path(folder) / "broker")
        broker.start()
        try:
            broker.create_topic(_TOPIC)
            broker.produce(_TOPIC, 10 * size.commits)
            broker.create_topic(_LOAD_TOPIC, partitions=_LOAD_PARTITIONS)
            with _load(broker, size.groups):
                latencies = _measure(broker, Path(folder) / "lake", size)
        finally:
            broker.stop()
    for name, seconds in latencies.items():
        for fraction in (0.5, 0.95):
            load = f"{size.groups:,} groups × {_LOAD_PARTITIONS} partitions that commit every {_INTERVAL:g} s"
            what = f"time from a commit to its row in {name}, beside {load}, p{fraction * 100:.0f}"
            yield Figure(what, percentile(seconds, fraction), "s", target=_TARGETS.get((name, fraction)))


def _measure(broker: Cluster, lake: Path, size: Size) -> dict[str, list[float]]:
    """Return a dict: table name → for each committed offset, the seconds until it arrived in the table."""
    silver = _ObservedTable(lake / "silver" / "commits", "offset")
    gold = _ObservedTable(lake / "gold" / "lag", "position")
    every = f"{_INTERVAL:g}s"
    recorder = _running(broker, "record", str(lake), "--interval", every, "--flush", every)
    with recorder, _running(broker, "pipeline", "watch", "--lake", str(lake), "--every", every):
        broker.commit(_GROUP, {(_TOPIC, 0): 0})
        _poll_until((silver, gold), 0)
        committed: dict[int, float] = {}
        for offset in range(1, size.commits + 1):
            committed[offset] = time.monotonic()
            broker.commit(_GROUP, {(_TOPIC, 0): offset})
            while time.monotonic() < committed[offset] + size.pause:
                _poll((silver, gold))
        _poll_until((silver, gold), size.commits)
    tables = {"silver commits": silver, "gold lag": gold}
    return {name: [table.seen[offset] - at for offset, at in committed.items()] for name, table in tables.items()}


@contextmanager
def _load(broker: Cluster, groups: int) -> Iterator[None]:
    """Every `_INTERVAL` seconds during the `with` block, commit offsets for `groups` groups without members."""
    broker.commit("load-0", {(_LOAD_TOPIC, 0): 0})  # This call waits until the coordinator is available.
    connection, stop = Connection(broker.bootstrap), threading.Event()

    def commit() -> None:
        offset = 0
        while not stop.wait(_INTERVAL):
            offset += 1
            rows = [(f"load-{number}", _LOAD_TOPIC, (offset,) * _LOAD_PARTITIONS) for number in range(groups)]
            assert commit_all(connection, rows) == []

    thread = threading.Thread(target=commit)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        connection.close()


def _poll_until(tables: tuple[_ObservedTable, ...], offset: int) -> None:
    deadline = time.monotonic() + _TIMEOUT
    while any(table.newest < offset for table in tables):
        if time.monotonic() > deadline:
            raise TimeoutError(f"offset {offset} did not arrive in {[str(table.path) for table in tables]}")
        _poll(tables)


def _poll(tables: tuple[_ObservedTable, ...]) -> None:
    for table in tables:
        table.poll()
    time.sleep(_POLL_SECONDS)


@contextmanager
def _running(broker: Cluster, *arguments: str) -> Iterator[None]:
    """Run a kgtui command during the `with` block. At the end of the block, send SIGINT to the command."""
    command = [sys.executable, "-m", "kgtui", *arguments, "--bootstrap-server", broker.bootstrap]
    environment = os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder())}
    program = subprocess.Popen(command, cwd=HOME, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        program.send_signal(signal.SIGINT)
        try:
            program.wait(60)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

"""How long after a commit its offset is in the silver and in the gold tables, with a real 4.3.1 broker.

`kgtui record` polls the cluster and `kgtui pipeline watch` reads its `__consumer_offsets`, both as users run them;
gold `lag` needs both. Commits come one after the other without waiting for each other, and both tables are looked at
again and again, as the screen does, without Spark.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from tests import jars
from tests.bench.figures import Figure, percentile
from tests.bench.terminal import HOME
from tests.brokers.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUP, _TOPIC = "payments", "orders"
_EVERY = "1s"
_LOOK = 0.1
_PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        commits: whose way is timed.
        pause: seconds from one to the next; not a multiple of the programs' intervals.
    """

    commits: int = 30
    pause: float = 4.3


QUICK = Size(20, 2.3)
TINY = Size(2, 0.5)


@dataclass(slots=True)
class _Watched:
    """A table, the column with the offset, and when which offset was first seen there."""

    path: Path
    column: str
    newest: int = -1
    seen: dict[int, float] = field(default_factory=dict)

    def look(self) -> None:
        """Note the moment at which offsets up to the newest came."""
        before, self.newest = self.newest, max(self.newest, self._read())
        now = time.monotonic()
        self.seen |= dict.fromkeys(range(before + 1, self.newest + 1), now)

    def _read(self) -> int:
        try:
            rows: Any = DeltaTable(str(self.path)).to_pyarrow_dataset()
        except TableNotFoundError:
            return -1
        ours = (pc.field("group") == _GROUP) & (pc.field("topic") == _TOPIC)
        found = pc.max(rows.to_table(columns=[self.column], filter=ours)[self.column]).as_py()
        return -1 if found is None else int(found)


def figures(size: Size) -> Iterator[Figure]:
    """Seconds from a commit to each table."""
    with tempfile.TemporaryDirectory(prefix="kgtui-bench-") as place:
        broker = Cluster("4.3.1", Path(place) / "broker")
        broker.start()
        try:
            broker.create_topic(_TOPIC)
            broker.produce(_TOPIC, 10 * size.commits)
            found = _measured(broker, Path(place) / "lake", size)
        finally:
            broker.stop()
    for name, seconds in found.items():
        for share in (0.5, 0.95):
            what = f"{size.commits} commits, from commit to {name}, p{share * 100:.0f}"
            yield Figure(what, percentile(seconds, share), "s")


def _measured(broker: Cluster, lake: Path, size: Size) -> dict[str, list[float]]:
    silver, gold = _Watched(lake / "silver" / "commits", "offset"), _Watched(lake / "gold" / "lag", "position")
    recorder = _running(broker, "record", str(lake), "--interval", _EVERY, "--flush", _EVERY)
    with recorder, _running(broker, "pipeline", "watch", "--lake", str(lake), "--every", _EVERY):
        broker.commit(_GROUP, {(_TOPIC, 0): 0})
        _until((silver, gold), 0)
        made: dict[int, float] = {}
        for offset in range(1, size.commits + 1):
            made[offset] = time.monotonic()
            broker.commit(_GROUP, {(_TOPIC, 0): offset})
            while time.monotonic() < made[offset] + size.pause:
                _look((silver, gold))
        _until((silver, gold), size.commits)
    tables = {"silver commits": silver, "gold lag": gold}
    return {name: [table.seen[offset] - at for offset, at in made.items()] for name, table in tables.items()}


def _until(tables: tuple[_Watched, ...], offset: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while any(table.newest < offset for table in tables):
        if time.monotonic() > deadline:
            raise TimeoutError(f"offset {offset} did not come to {[str(table.path) for table in tables]}")
        _look(tables)


def _look(tables: tuple[_Watched, ...]) -> None:
    for table in tables:
        table.look()
    time.sleep(_LOOK)


@contextmanager
def _running(broker: Cluster, *words: str) -> Iterator[None]:
    """A command of kgtui, until it is told to end."""
    command = [sys.executable, "-m", "kgtui", *words, "--bootstrap-server", broker.bootstrap]
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

"""Compare the speed of `kgtui ls` and of Kafka's own tools, on a real 4.3.1 broker with 10,000 groups.

Each group has committed offsets in 10 partitions, but no members.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kio.schema.offset_commit.v9.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_commit.v9.response import OffsetCommitResponse
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i64

from tests import jars
from tests.bench.figures import Figure
from tests.bench.terminal import HOME
from tests.brokers.cluster import Cluster
from tests.brokers.kio_client import Connection, find_coordinator
from tests.brokers.tools import MAIN_CLASSES
from tests.java import FAST_START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

VERSION = "4.3.1"
PARTITIONS = 10
IN_FLIGHT = 100
"""Maximum number of OffsetCommit requests in flight on one connection."""

Commit = tuple[str, str, tuple[int, ...]]
"""`(group id, topic, offsets to commit)`. The offsets are for the partitions 0, 1, 2, … of the topic."""

RECORDS = 20
"""Number of records that are written to each topic."""


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark.

    Attributes:
        topics: number of topics with 10 partitions; each group has offsets in one of these topics.
        rounds: number of runs of `kgtui ls`. Kafka's `GroupsCommand` runs the same number of times.
        lag_rounds: number of runs of `kgtui ls --lag`. Kafka's `ConsumerGroupCommand` runs only once.
    """

    groups: int = 10_000
    topics: int = 50
    rounds: int = 5
    lag_rounds: int = 3


QUICK = Size(groups=1_000, rounds=3)
TINY = Size(groups=20, topics=2, rounds=1, lag_rounds=1)


def figures(size: Size) -> Iterator[Figure]:
    """Start a broker with many groups, and yield the wall times of `kgtui ls` and of Kafka's tools on this broker."""
    with broker() as running:
        make_groups(running, size)
        yield from compare(running, size)


def compare(broker: Cluster, size: Size) -> Iterator[Figure]:
    """Yield the wall times of `kgtui ls` and of Kafka's tools, on a broker with at least `size.groups` groups."""
    ours, theirs = [], []
    _kgtui(broker, "ls")  # Do not measure the first run, in which Python also compiles kgtui to byte code.
    for _ in range(size.rounds):
        ours.append(_seconds(lambda: _kgtui(broker, "ls"), size.groups))
        theirs.append(_seconds(lambda: _tool(broker, "GroupsCommand", "--list"), size.groups))
    yield Figure(
        f"wall time of kgtui ls with {size.groups} groups", statistics.median(ours), "s", "GroupsCommand --list",
        statistics.median(theirs), 1 / 5, of_ratio=True,
    )  # fmt: skip
    lag = [_seconds(lambda: _kgtui(broker, "ls", "--lag"), size.groups) for _ in range(size.lag_rounds)]
    described = _seconds(
        lambda: _tool(broker, "ConsumerGroupCommand", "--describe", "--all-groups"), size.groups * PARTITIONS
    )
    yield Figure(
        f"wall time of kgtui ls --lag with {size.groups} groups × {PARTITIONS} partitions", statistics.median(lag), "s",
        "ConsumerGroupCommand --describe --all-groups", described, 1 / 20, of_ratio=True,
    )  # fmt: skip


def _seconds(run: Callable[[], str], least: int) -> float:
    """Run a command, and return its duration in seconds.

    Raises:
        RuntimeError: the command printed fewer than `least` lines.
    """
    started = time.perf_counter()
    output = run()
    seconds = time.perf_counter() - started
    if output.count("\n") < least:
        raise RuntimeError(f"expected at least {least} lines, but got {output.count(chr(10))}: {output[:500]}")
    return seconds


def _kgtui(broker: Cluster, *arguments: str) -> str:
    command = [sys.executable, "-m", "kgtui", *arguments, "--bootstrap-server", broker.bootstrap, "--timeout", "300"]
    return subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=True).stdout


def _tool(broker: Cluster, tool: str, *arguments: str) -> str:
    given = ["--bootstrap-server", broker.bootstrap, *arguments]
    if tool == "ConsumerGroupCommand":
        given += ["--timeout", "300000"]
    # Start a new JVM for each run of a tool, as users do, so that the measured time includes the start of the JVM.
    # `tests.brokers.tools` cannot be used here, because it reuses a running JVM.
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    command = ["java", *FAST_START, quiet, "-cp", jars.classpath(VERSION), MAIN_CLASSES[tool], *given]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False).stdout


@contextmanager
def broker() -> Iterator[Cluster]:
    """Start a broker with an empty data folder, and stop the broker at the end of the context."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(VERSION, Path(folder))
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()


def make_groups(broker: Cluster, size: Size) -> None:
    """Create topics with records, and groups that have committed offsets but no members."""
    topics = [f"orders.events.{number:03}" for number in range(size.topics)]
    for topic in topics:
        broker.create_topic(topic, PARTITIONS)
        broker.produce(topic, RECORDS)
    names = [f"team-{number % 97:02}.orders-service.eu-west-1.{number:06}" for number in range(size.groups)]
    connection = Connection(find_coordinator(broker.bootstrap, names[0], 60))
    missing = [(name, topics[number % len(topics)], (*range(PARTITIONS),)) for number, name in enumerate(names)]
    try:
        for attempt in range(100):
            missing = commit_all(connection, missing)
            if not missing:
                return
            # Try again, because the coordinator rejects commits until it has loaded its partition of
            # `__consumer_offsets`. Wait longer each time.
            time.sleep(0.1 + attempt / 10)
    finally:
        connection.close()
    raise TimeoutError(f"{len(missing)} groups could not be created")


def commit_all(connection: Connection, commits: Sequence[Commit]) -> list[Commit]:
    """Commit the offsets of groups without members, and return the commits that the coordinator rejected.

    Args:
        connection: connection to the coordinator of all groups.
    """
    rejected = []
    for start in range(0, len(commits), IN_FLIGHT):
        batch = commits[start : start + IN_FLIGHT]
        for commit in batch:
            connection.send(_commit_request(*commit))
        for commit in batch:
            response = connection.receive(OffsetCommitResponse)
            if any(int(row.error_code) for topic in response.topics for row in topic.partitions):
                rejected.append(commit)
    return rejected


def _commit_request(group: str, topic: str, offsets: tuple[int, ...]) -> OffsetCommitRequest:
    rows = tuple(
        OffsetCommitRequestPartition(partition_index=i32(number), committed_offset=i64(offset), committed_metadata="")
        for number, offset in enumerate(offsets)
    )
    topics = (OffsetCommitRequestTopic(name=TopicName(topic), partitions=rows),)
    return OffsetCommitRequest(group_id=GroupId(group), member_id="", topics=topics)

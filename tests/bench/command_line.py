"""`kgtui ls` beside Kafka's own tools on one real 4.3.1 broker with 10,000 simple groups of 10 partitions each."""

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

from tests.bench.figures import Figure
from tests.bench.terminal import HOME
from tests.brokers.cluster import MAIN_CLASSES, Cluster
from tests.brokers.process import run_tool
from tests.brokers.wire import Connection, find_coordinator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

VERSION = "4.3.1"
PARTITIONS = 10
PIPELINE = 100  # commits under way at once
RECORDS = 20


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        topics: each with 10 partitions; a group commits to one of them.
        rounds: runs of `ls` and `GroupsCommand`, taking turns.
        lag_rounds: runs of `ls --lag`; Kafka's tool describes once.
    """

    groups: int = 10_000
    topics: int = 50
    rounds: int = 5
    lag_rounds: int = 3


QUICK = Size(groups=1_000, rounds=3)
TINY = Size(groups=20, topics=2, rounds=1, lag_rounds=1)


def figures(size: Size) -> Iterator[Figure]:
    """Measure on a broker of its own."""
    with tempfile.TemporaryDirectory() as folder, _broker(Path(folder)) as broker:
        _make_groups(broker, size)
        yield from compare(broker, size)


def compare(broker: Cluster, size: Size) -> Iterator[Figure]:
    """Wall time of our commands and of Kafka's, on a broker that has `size.groups` groups or more."""
    ours, theirs = [], []
    _kgtui(broker, "ls")  # byte code and file cache are warm for both
    for _ in range(size.rounds):
        ours.append(_seconds(lambda: _kgtui(broker, "ls"), size.groups))
        theirs.append(_seconds(lambda: _tool(broker, "GroupsCommand", "--list"), size.groups))
    yield Figure(
        f"kgtui ls, {size.groups} groups, wall", statistics.median(ours), "s", "GroupsCommand --list",
        statistics.median(theirs), 1 / 5, of_ratio=True,
    )  # fmt: skip
    lag = [_seconds(lambda: _kgtui(broker, "ls", "--lag"), size.groups) for _ in range(size.lag_rounds)]
    described = _seconds(
        lambda: _tool(broker, "ConsumerGroupCommand", "--describe", "--all-groups"), size.groups * PARTITIONS
    )
    yield Figure(
        f"kgtui ls --lag, {size.groups} groups × {PARTITIONS} partitions, wall", statistics.median(lag), "s",
        "ConsumerGroupCommand --describe --all-groups", described, 1 / 20, of_ratio=True,
    )  # fmt: skip


def _seconds(run: Callable[[], str], least: int) -> float:
    """How long a command takes that must print so many lines."""
    began = time.perf_counter()
    printed = run()
    took = time.perf_counter() - began
    if printed.count("\n") < least:
        raise RuntimeError(f"only {printed.count(chr(10))} lines of {least}: {printed[:500]}")
    return took


def _kgtui(broker: Cluster, *arguments: str) -> str:
    command = [sys.executable, "-m", "kgtui", *arguments, "--bootstrap-server", broker.bootstrap, "--timeout", "300"]
    return subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=True).stdout


def _tool(broker: Cluster, tool: str, *arguments: str) -> str:
    given = ["--bootstrap-server", broker.bootstrap, *arguments]
    if tool == "ConsumerGroupCommand":
        given += ["--timeout", "300000"]
    return run_tool(VERSION, MAIN_CLASSES[tool], given, timeout=1800).stdout


@contextmanager
def _broker(folder: Path) -> Iterator[Cluster]:
    broker = Cluster(VERSION, folder)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def _make_groups(broker: Cluster, size: Size) -> None:
    """Topics with records in them, and groups that have commits and no members."""
    topics = [f"orders.events.{number:03}" for number in range(size.topics)]
    for topic in topics:
        broker.create_topic(topic, PARTITIONS)
        broker.produce(topic, RECORDS)
    names = [f"team-{number % 97:02}.orders-service.eu-west-1.{number:06}" for number in range(size.groups)]
    connection = Connection(find_coordinator(broker.bootstrap, names[0], 60))
    wanted = {name: topics[number % len(topics)] for number, name in enumerate(names)}
    try:
        for attempt in range(100):
            wanted = _committed(connection, wanted)
            if not wanted:
                return
            time.sleep(0.1 + attempt / 10)  # the coordinator of some has yet to load
    finally:
        connection.close()
    raise TimeoutError(f"{len(wanted)} groups could not be made")


def _committed(connection: Connection, wanted: Mapping[str, str]) -> dict[str, str]:
    """Commit for each group on its topic, many at once; returns those that were not taken."""
    refused: dict[str, str] = {}
    names = list(wanted)
    for start in range(0, len(names), PIPELINE):
        some = names[start : start + PIPELINE]
        for name in some:
            connection.send(_commit(name, wanted[name]))
        for name in some:
            answer = connection.receive(OffsetCommitResponse)
            if any(int(p.error_code) for topic in answer.topics for p in topic.partitions):
                refused[name] = wanted[name]
    return refused


def _commit(group: str, topic: str) -> OffsetCommitRequest:
    partitions = tuple(
        OffsetCommitRequestPartition(partition_index=i32(p), committed_offset=i64(p), committed_metadata="")
        for p in range(PARTITIONS)
    )
    topics = (OffsetCommitRequestTopic(name=TopicName(topic), partitions=partitions),)
    return OffsetCommitRequest(group_id=GroupId(group), member_id="", topics=topics)

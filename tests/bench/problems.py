"""Measure on a real broker how fast the monitor reads all groups, and how fast it finds misbehaving groups.

Twenty groups misbehave in eight ways, such as stopped commits. The other groups commit every 5 seconds and keep up.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Producer
from kio.schema.join_group.v3.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.join_group.v3.response import JoinGroupResponse
from kio.schema.types import GroupId
from kio.static.primitive import i32Timedelta

from kgtui.admin.kafka import connect
from kgtui.model.health.values import DEFAULT_WATCHING
from kgtui.model.problem import Problem
from kgtui.monitor import Monitor, MonitorOptions
from tests.bench import command_line
from tests.bench.figures import Figure
from tests.brokers.kio_client import Connection, find_coordinator
from tests.brokers.members import CLASSIC, Members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kgtui.model.snapshot import Snapshot
    from tests.brokers.cluster import Cluster

TOPICS, PARTITIONS = 5, 2
BACKLOG = 1_000
"""Number of records in each partition of the benchmark's topics at the start."""

PER_SECOND = 5
"""Number of records per second that are written to each partition."""

COMMIT_EVERY = 5.0
"""Time between two commits of a group, in seconds."""

SAMPLES_WINDOW = 90.0
"""Time that the monitor needs to see that a group's lag grows, in seconds."""


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark's two parts: reading all groups (the sweep), and finding misbehaving groups.

    Attributes:
        groups: number of groups in the second part; 20 of them misbehave.
        begin: seconds from the first read of all groups until the 20 groups begin to misbehave.
        seconds: maximum time that the monitor has to find the 20 groups, in seconds.
        swept: number of groups in the first part, with 10 partitions each.
        swept_seconds: duration of the CPU measurement that follows the first read of all groups, in seconds.
    """

    groups: int = 1_000
    begin: float = 45.0
    seconds: float = 240.0
    swept: int = 10_000
    swept_seconds: float = 60.0


QUICK = Size(groups=300, swept=3_000, swept_seconds=20.0)
TINY = Size(groups=24, begin=1.0, seconds=2.0, swept=40, swept_seconds=0.5)


def figures(size: Size) -> Iterator[Figure]:
    """Yield the results for reading all groups on one broker, and for finding misbehaving groups on a second broker."""
    with command_line.broker() as broker:
        command_line.make_groups(broker, command_line.Size(groups=size.swept))
        yield from asyncio.run(_sweep(broker, size))
    with command_line.broker() as broker:
        yield from asyncio.run(_find(broker, size))


async def _sweep(broker: Cluster, size: Size) -> list[Figure]:
    idle = await _broker_cpu(broker, min(size.swept_seconds, 10.0))
    async with connect(broker.bootstrap.split(",")) as admin:
        monitor = Monitor(admin, MonitorOptions())
        began, cpu = time.perf_counter(), time.process_time()
        task = asyncio.create_task(monitor.run())
        monitor.set_view(None)
        await _until(monitor, lambda snapshot: snapshot.swept >= size.swept, 600.0)
        first, first_cpu = time.perf_counter() - began, time.process_time() - cpu
        began, cpu = time.perf_counter(), time.process_time()
        later_broker = await _broker_cpu(broker, size.swept_seconds)
        later = (time.process_time() - cpu) / (time.perf_counter() - began)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    name = f"real broker, {size.swept:,} groups × {command_line.PARTITIONS} partitions"
    return [
        Figure(f"time until every group is read with lag, {name}", first, "s", target=10.0),
        Figure("fraction of one core used during this first read of all groups", first_cpu / first, "", target=0.25),
        Figure("fraction of one core used after this first read of all groups", later, "", target=0.1),
        Figure(
            "fraction of one core used by the broker after this first read, above idle",
            max(later_broker - idle, 0.0),
            "",
            target=0.03,
        ),
    ]


async def _broker_cpu(broker: Cluster, seconds: float) -> float:
    """Measure the broker's CPU usage for `seconds` seconds; return it as a fraction of one core."""
    stat = Path(f"/proc/{broker.nodes[0].pid}/stat")

    def spent() -> float:
        user, system = stat.read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    before, began = spent(), time.perf_counter()
    await asyncio.sleep(seconds)
    return (spent() - before) / (time.perf_counter() - began)


async def _until(monitor: Monitor, holds: Callable[[Snapshot], bool], timeout: float) -> None:
    reached = asyncio.Event()
    monitor.subscribe(lambda snapshot: reached.set() if holds(snapshot) else None)
    async with asyncio.timeout(timeout):
        await reached.wait()


class _Misbehavior(NamedTuple):
    """A way in which groups misbehave.

    Attributes:
        name: short description. The ids of the groups begin with it.
        groups: number of groups that misbehave in this way.
        window: time in which the groups still seem healthy, although they already misbehave, in seconds.
        problem: the problem that the monitor must report.
    """

    name: str
    groups: int
    window: float
    problem: Problem


_WINDOW = DEFAULT_WATCHING.window
MISBEHAVIORS = (
    _Misbehavior("stopped", 3, _WINDOW, Problem.STOP),
    _Misbehavior("one partition stopped", 3, _WINDOW, Problem.STOP),
    _Misbehavior("the group reads half as fast as producers write", 3, SAMPLES_WINDOW, Problem.BEHIND),
    _Misbehavior("went back", 3, 0.0, Problem.REWIND),
    _Misbehavior("records deleted unread", 2, 0.0, Problem.DATA_LOST),
    _Misbehavior("the group rebalances every 10 s", 2, 30.0, Problem.FLAPPING),
    _Misbehavior("the group stays in a rebalance", 2, 15.0, Problem.REBALANCING),
    _Misbehavior("all members left", 2, 0.0, Problem.STOP),
)


@dataclass
class _Workload:
    """The groups and producers that the benchmark runs on a broker.

    Attributes:
        ends: log end offset, which is the same for all partitions of the topics `t-0`, `t-1`, …
        began_at: time at which groups began to misbehave; None if they have not begun yet.
        frozen: value of `ends` at the time `began_at`. Stopped groups commit no higher offset.
    """

    broker: Cluster
    groups: int
    ends: int = BACKLOG
    began_at: float | None = None
    frozen: int = 0
    members: list[Members] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _connections: list[Connection] = field(default_factory=list)

    def start(self) -> None:
        """Create topics and groups, and start the threads that write records and commit offsets."""
        for number in range(TOPICS):
            self.broker.create_topic(f"t-{number}", PARTITIONS)
        self.broker.create_topic("deleted", 1)
        self.broker.produce("deleted", BACKLOG)
        self._write(BACKLOG)
        self._connections.append(Connection(find_coordinator(self.broker.bootstrap, "good-0", 60)))
        for _ in range(60):  # Retry, because the coordinator rejects commits until it has loaded its offsets.
            if self._commit_all() == 0:
                break
            time.sleep(1.0)
        leaving = MISBEHAVIORS[7]
        self.members += [Members(self.broker, f"{leaving.name} {n}", "t-0", CLASSIC) for n in range(leaving.groups)]
        for members in self.members:
            members.wait_until_assigned()
            members.commit(dict.fromkeys(range(PARTITIONS), BACKLOG - 100))
        self._run(self._keep_writing)

    def misbehave(self) -> None:
        """Make the groups that `MISBEHAVIORS` describes begin to misbehave."""
        self.frozen, self.began_at = self.ends, time.time()
        self.broker.delete_records("deleted", 0, BACKLOG // 2)
        for members in self.members:
            members.leave()
        for number in range(MISBEHAVIORS[6].groups):
            self._join_only(f"{MISBEHAVIORS[6].name} {number}")
        for number in range(MISBEHAVIORS[5].groups):
            self._run(self._flap, f"{MISBEHAVIORS[5].name} {number}")

    def stop(self) -> None:
        """Stop all threads, and close all connections."""
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        for connection in self._connections:
            connection.close()

    def _run(self, target: Callable[..., None], *arguments: str) -> None:
        self._threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self._threads[-1].start()

    def _keep_writing(self) -> None:
        committed_at = 0.0
        while not self._stop.wait(1.0):
            self._write(PER_SECOND)
            self.ends += PER_SECOND
            if time.monotonic() - committed_at >= COMMIT_EVERY:
                committed_at = time.monotonic()
                self._commit_all()

    def _write(self, records: int) -> None:
        producer = Producer(self.broker.client_config())
        for number in range(TOPICS * PARTITIONS * records):
            producer.produce(f"t-{number % TOPICS}", b"record", partition=number // TOPICS % PARTITIONS)
        if left := producer.flush(60):
            raise TimeoutError(f"{left} records were not acknowledged")

    def _positions(self) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """For each group that commits without members, yield (group id, topic, next offset to commit per partition)."""
        ends, began = self.ends, self.began_at is not None
        stuck = self.frozen if began else ends
        half = stuck + (ends - stuck) // 2
        behind = ends - 500 if began else ends
        offsets = ((stuck - 1,) * 2, (ends, stuck - 1), (half, half), (behind, behind))
        for misbehavior, values in zip(MISBEHAVIORS, offsets, strict=False):
            for number in range(misbehavior.groups):
                yield f"{misbehavior.name} {number}", f"t-{number}", values
        for number in range(MISBEHAVIORS[4].groups):
            yield f"{MISBEHAVIORS[4].name} {number}", "deleted", (BACKLOG // 4,)
        for number in range(self.groups - sum(misbehavior.groups for misbehavior in MISBEHAVIORS)):
            yield f"good-{number}", f"t-{number % TOPICS}", (ends, ends)

    def _commit_all(self) -> int:
        """Commit the offsets of all groups without members, and return the number of rejected commits."""
        return len(command_line.commit_all(self._connections[0], list(self._positions())))

    def _join_only(self, group: str) -> None:
        """Join a group as its leader, but never send an assignment, so that the group's rebalance does not end."""
        connection = Connection(find_coordinator(self.broker.bootstrap, group, 60))
        self._connections.append(connection)
        half_an_hour = i32Timedelta.parse(timedelta(minutes=30))
        subscription = b"\0\0" + b"\0\0\0\1" + b"\0\3t-0" + b"\0\0\0\0"
        connection.call(
            JoinGroupRequest(
                group_id=GroupId(group), session_timeout=half_an_hour, rebalance_timeout=half_an_hour, member_id="",
                protocol_type="consumer",
                protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription),),
            ),
            JoinGroupResponse,
        )  # fmt: skip

    def _flap(self, group: str) -> None:
        while not self._stop.is_set():
            members = Members(self.broker, group, "t-0", CLASSIC)
            members.wait_until_assigned()
            self._stop.wait(5.0)
            members.leave()
            self._stop.wait(5.0)


@contextmanager
def _running(workload: _Workload) -> Iterator[None]:
    try:
        workload.start()
        yield
    finally:
        workload.stop()


async def _find(broker: Cluster, size: Size) -> list[Figure]:
    expected = {f"{each.name} {number}": each for each in MISBEHAVIORS for number in range(each.groups)}
    workload = _Workload(broker, size.groups)
    found: dict[str, float] = {}
    others: set[str] = set()
    all_found = asyncio.Event()
    with _running(workload):
        async with connect(broker.bootstrap.split(",")) as admin:
            monitor = Monitor(admin, MonitorOptions())

            def note(snapshot: Snapshot) -> None:
                for group, judgment in snapshot.problems() if workload.began_at is not None else ():
                    misbehavior = expected.get(group)
                    if misbehavior is None:
                        others.add(group)
                    elif misbehavior.problem in (judgment.kind, *judgment.others):
                        found.setdefault(group, time.time())
                if len(found) == len(expected):
                    all_found.set()

            monitor.subscribe(note)
            task = asyncio.create_task(monitor.run())
            monitor.set_view(None)
            existing = size.groups - MISBEHAVIORS[5].groups - MISBEHAVIORS[6].groups
            await _until(monitor, lambda snapshot: snapshot.swept >= existing, 120.0)
            await asyncio.sleep(size.begin)
            await asyncio.to_thread(workload.misbehave)
            with suppress(TimeoutError):
                async with asyncio.timeout(size.seconds):
                    await all_found.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert workload.began_at is not None
    return list(_figures_of(expected, found, others, workload.began_at, size))


def _figures_of(
    expected: Mapping[str, _Misbehavior], found: Mapping[str, float], others: set[str], began: float, size: Size
) -> Iterator[Figure]:
    """For each kind of misbehavior, yield the time until the monitor had found all groups that misbehave in this way.

    Omit a kind if one of its groups was not found. Also yield the number of misbehaving groups that were not found, and
    the number of healthy groups that the monitor wrongly reported.
    """
    for each in MISBEHAVIORS:
        times = [at - began for group, at in found.items() if expected[group] is each]
        if len(times) == each.groups:
            healthy = f"the groups seem healthy for the first {each.window:.0f} s"
            name = f"time until all {each.groups} groups with this problem are found: {each.name} ({healthy})"
            yield Figure(name, max(times), "s", target=each.window + 60)
    name = f"misbehaving groups that were not found (20 of {size.groups:,} groups misbehave)"
    yield Figure(name, len(expected) - len(found), "groups", target=0)
    yield Figure("other groups that were suspected", len(others), "groups", target=2)

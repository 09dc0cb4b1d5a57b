"""Tests that the monitor and `kgtui ls --watch` show no wrong values while real brokers stop, restart or pause.

The cluster's only group remains Empty with a constant lag, so its only events must be changes of the coordinator.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kgtui.admin import connect
from kgtui.model import facts
from kgtui.model.event import EventKind
from kgtui.model.problem import Problem
from kgtui.monitor import Monitor
from tests.contract.three_brokers import GROUP, LAG, TOPIC, three_brokers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from kgtui.model.snapshot import Snapshot
    from tests.brokers.cluster import Cluster

FRESH_WITHIN = 10.0
"""Maximum time from the first response of a restarted broker until all values are fresh, in seconds.

The values are fresh if the monitor has read them recently from all brokers (see `Watcher.is_fresh`).
"""


VERDICTS = (None, Problem.EMPTY, Problem.UNREADABLE)
"""Correct verdicts on the Empty group: None before the first read, EMPTY after a read, UNREADABLE after an error."""


class Watcher:
    """Checks each snapshot of a monitor. Adds a text to the set `wrong` for each wrong state, lag, verdict or event."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor, self.wrong = monitor, set[str]()
        monitor.subscribe(self.check)

    def check(self, snapshot: Snapshot) -> None:
        if GROUP not in snapshot.groups:
            self.wrong.add("the group was missing")
            return
        found = facts.lag_total(snapshot, GROUP)
        if snapshot.state_of(GROUP) != "Empty":
            self.wrong.add(f"state {snapshot.state_of(GROUP)}")
        if found is not None and not found.unknown and found.lag != LAG:
            self.wrong.add(f"lag {found}")
        judgment = snapshot.judgment(GROUP)
        if judgment.kind not in VERDICTS or GROUP in snapshot.state_since:
            self.wrong.add(f"verdict {judgment.kind}, {judgment.reason}, state since {snapshot.state_since.get(GROUP)}")
        of_group = [event for event in snapshot.events if event.group == GROUP]
        self.wrong.update(f"event {event}" for event in of_group if event.kind is not EventKind.COORDINATOR)

    def is_fresh(self) -> bool:
        """Return whether all brokers respond, and the group's complete lag was read in the last five seconds."""
        snapshot = self.monitor.snapshot
        found, at = facts.lag_total(snapshot, GROUP), facts.lag_read_at(snapshot, GROUP)
        return (
            snapshot.answering == len(snapshot.brokers) == 3
            and found is not None
            and (found.lag, found.unknown) == (LAG, 0)
            and not facts.has_fault(snapshot, GROUP)
            and at is not None
            and snapshot.taken_at - at < 5
        )

    async def until_fresh(self, timeout: float) -> float:
        """Wait until `is_fresh` returns true; return the waiting time in seconds. Fail after `timeout` seconds."""
        began = time.monotonic()
        async with asyncio.timeout(timeout):
            while not self.is_fresh():  # noqa: ASYNC110 - polling keeps the test simple
                await asyncio.sleep(0.2)
        return time.monotonic() - began


@contextmanager
def ls_watch(cluster: Cluster, output: Path) -> Iterator[None]:
    """Run `kgtui ls --watch 1 --lag` in a child process, and write each list as one JSON line to the file `output`."""
    words = ["ls", "--watch", "1", "--lag", "--format", "json", "--bootstrap-server", cluster.bootstrap]
    with output.open("wb") as stream:
        process = subprocess.Popen([sys.executable, "-m", "kgtui", *words], stdout=stream, stderr=subprocess.DEVNULL)
        try:
            yield
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()
            process.wait()


def check_verdicts(lists: Sequence[Mapping[str, Any]]) -> None:
    """Check the verdict on the group's health in each of the lists that `kgtui ls --watch` has printed.

    The verdict must be `empty`, `unreadable` or None, and at the end `empty`. The time at which kgtui first saw the
    group (`first_seen`) must never change.
    """
    groups = [group for one in lists for group in one["groups"]]
    assert {group["problem"] for group in groups} <= {None, "empty", "unreadable"}
    assert {group["state_since"] for group in groups} == {None}
    assert len({group["first_seen"] for group in groups} - {None}) == 1
    assert groups[-1]["problem"] == "empty"


@pytest.mark.full
@pytest.mark.timeout(900)
def test_no_wrong_values_are_shown_while_brokers_restart_or_pause(tmp_path: Path) -> None:
    # Each broker has a replica of `__consumer_offsets`, so that it can become the coordinator when a different broker
    # stops.
    extra = {"offsets.topic.replication.factor": "3", "min.insync.replicas": "1"}
    lists = tmp_path / "lists"
    with three_brokers(tmp_path / "cluster", extra) as cluster, ls_watch(cluster, lists):
        asyncio.run(_break_brokers(cluster))
    rows = [json.loads(line) for line in lists.read_text().splitlines()]
    assert len(rows) > 50
    check_verdicts(rows)
    shown = {(len(row["groups"]), group["state"]) for row in rows for group in row["groups"]}
    assert shown == {(1, "Empty")}
    assert {group["lag"] for row in rows for group in row["groups"] if not group["lag_unknown"]} <= {LAG, None}
    assert rows[-1]["coverage"]["brokers"] == [3, 3]
    assert rows[-1]["groups"][0]["lag"] == LAG


async def _break_brokers(cluster: Cluster) -> None:
    async with connect(cluster.bootstrap.split(",")) as admin:
        monitor = Monitor(admin)
        running = asyncio.create_task(monitor.run())
        try:
            async with asyncio.timeout(30):
                while GROUP not in monitor.snapshot.groups:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            monitor.set_view(GROUP, ())
            watcher = Watcher(monitor)
            await watcher.until_fresh(30)
            for node in (1, 2, 3):
                await _restart(cluster, node, signal.SIGTERM, watcher)
            await _restart(cluster, 2, signal.SIGKILL, watcher)
            os.kill(cluster.nodes[2].pid, signal.SIGSTOP)
            await asyncio.sleep(30)
            os.kill(cluster.nodes[2].pid, signal.SIGCONT)
            took = await _responds(cluster, 3, watcher)
            assert took < FRESH_WITHIN, f"all values were fresh only {took:.1f} s after broker 3 responded to SIGCONT"
            assert watcher.wrong == set()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _restart(cluster: Cluster, node: int, sent: signal.Signals, watcher: Watcher) -> None:
    """Stop broker `node` with the signal `sent`, and restart it.

    Assert that the monitor has fresh values within `FRESH_WITHIN` seconds after the broker's first response.
    """
    process = cluster.nodes[node - 1]
    os.kill(process.pid, sent)
    async with asyncio.timeout(60):
        while process.running:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    await asyncio.sleep(5)
    cluster.restart(node)
    took = await _responds(cluster, node, watcher)
    sys.stdout.write(f"{sent.name} to broker {node}: all values were fresh {took:.1f} s after the restart\n")
    assert took < FRESH_WITHIN, f"all values were fresh only {took:.1f} s after the restart of broker {node}"


async def _responds(cluster: Cluster, node: int, watcher: Watcher) -> float:
    """Wait until a new client can connect to broker `node` and reach all brokers. Then wait until all values are fresh.

    Return the duration of the second wait in seconds.
    """
    address = cluster.bootstrap.split(",")[node - 1]
    async with asyncio.timeout(120):
        while not await _quietly(lambda: _all_respond([address])):  # noqa: ASYNC110
            await asyncio.sleep(0.3)
    return await watcher.until_fresh(60)


async def _all_respond(address: list[str]) -> bool:
    async with connect(address) as observer:
        answer = await observer.list_groups(timeout=3)
        found = await observer.pool.find_leaders([TOPIC], timeout=3, refresh=True)
        return answer.coverage.brokers == (3, 3) and not found.errors


async def _quietly(check: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await check()
    except Exception:  # noqa: BLE001 - any error means that the broker is not back yet
        return False

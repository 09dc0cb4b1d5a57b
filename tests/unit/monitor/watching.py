"""Helpers for tests: run a monitor, and wait until it publishes a snapshot with the expected data."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from kgtui.monitor import Monitor, MonitorOptions
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.snapshot import Snapshot


FAST = MonitorOptions(
    interval=0.5,
    timeout=2.0,
    publish_interval=0.0,
    sweep_pause=0.05,
    sweep_rate=100_000.0,
    metadata_interval=0.05,
    describe_pause=0.05,
)


@asynccontextmanager
async def watching(admin: GroupAdmin, options: MonitorOptions = FAST) -> AsyncIterator[Monitor]:
    """Run a monitor until the `async with` block ends; yield the monitor."""
    monitor = Monitor(admin, options)
    task = asyncio.create_task(monitor.run())
    try:
        yield monitor
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def until(monitor: Monitor, holds: Callable[[Snapshot], object]) -> Snapshot:
    """Return the first snapshot for which `holds` returns true. The test fails if there is none within 60 s."""
    found: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()

    def check(snapshot: Snapshot) -> None:
        if not found.done() and holds(snapshot):
            found.set_result(snapshot)

    stop = monitor.subscribe(check)
    check(monitor.snapshot)
    try:
        async with asyncio.timeout(60):
            return await found
    finally:
        stop()


def three_groups() -> ScriptedAdmin:
    """Return a cluster with three brokers and three groups. Each broker is the coordinator of one group."""
    admin = ScriptedAdmin()
    admin.add("orders", "consumer", members=(member(topics=("t-orders",)),), lag=7)
    admin.add("billing", "classic", "connect", coordinator=2)
    admin.add("tasks", "share", coordinator=3, lag=4)
    return admin

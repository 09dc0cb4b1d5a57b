"""Measure how much slower calls to healthy brokers become while another broker never responds.

One fake cluster has three healthy brokers. In a second cluster, the third broker accepts requests but never responds.

- Only calls to the first two brokers of each cluster are measured, while a task keeps calling the third broker.
- The two clusters are called in turn for a short time each, so that other load on the machine affects both equally.
- At most two measured calls run at the same time. With more calls, queueing on a busy CPU would hide the effect.

The result is the 99th percentile of the call durations in the second cluster, divided by the same percentile in the
first cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import time
from typing import TYPE_CHECKING

from kgtui.client.pool import Pool, PoolOptions
from kgtui.errors import ClientError, UnreachableError
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.bench.figures import Figure, percentile
from tests.faults import FaultyLink
from tests.unit.client.server import always, cluster, groups

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

CALLS = 1_000
CONCURRENT = 2
"""Number of measured calls that are in flight at the same time."""

CALLS_PER_TURN = 50
ROUNDS = 4
GROUPS = 200
TARGET = 1.2
"""Maximum ratio with which the benchmark meets its target.

The ratio is the 99th percentile of the call durations in the faulty cluster, divided by that in the healthy cluster.
"""


async def _serve(pipe: Connection) -> None:
    async with cluster(3) as healthy, cluster(3) as silent:
        for fake in (healthy, silent):
            for broker in fake.brokers.values():
                broker.on[LIST_GROUPS.key] = always(groups(*(f"group-{number:06}" for number in range(GROUPS))))
        async with FaultyLink("127.0.0.1", silent[3].port) as link:
            silent.hosts[3] = ("127.0.0.1", link.port)
            link.black_hole()
            pipe.send((healthy.seeds[:2], silent.seeds[:2]))
            await asyncio.to_thread(pipe.recv)


def _brokers(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _turn(pool: Pool, calls: int) -> list[float]:
    """Make `calls` calls in total to brokers 1 and 2, while a second task keeps calling broker 3.

    Return the durations of the calls to brokers 1 and 2, in milliseconds.
    """
    milliseconds: list[float] = []
    other = asyncio.create_task(_keep_calling(pool, 3))
    numbers = iter(range(calls))

    async def caller() -> None:
        for number in numbers:
            started = time.perf_counter()
            await pool.call(1 + number % 2, LIST_GROUPS, {}, timeout=10)
            milliseconds.append((time.perf_counter() - started) * 1000)

    await asyncio.gather(*(caller() for _ in range(CONCURRENT)))
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    return milliseconds


async def _keep_calling(pool: Pool, node: int) -> None:
    """Call the broker `node` up to ten times per second. Ignore errors and timeouts."""
    while True:
        with contextlib.suppress(ClientError, UnreachableError):
            await pool.call(node, LIST_GROUPS, {}, timeout=0.5)
        await asyncio.sleep(0.1)


async def _compare(seeds: tuple[list[str], list[str]], calls: int) -> tuple[list[float], list[float]]:
    """Return the durations of calls to the healthy and to the faulty cluster, in milliseconds.

    Args:
        seeds: bootstrap addresses of the healthy cluster, and of the faulty cluster.
        calls: minimum number of measured calls per cluster.
    """
    milliseconds: tuple[list[float], list[float]] = ([], [])
    options = PoolOptions(connect_timeout=1.0)
    async with Pool(seeds[0], options=options) as healthy, Pool(seeds[1], options=options) as silent:
        sides = [(healthy, milliseconds[0]), (silent, milliseconds[1])]
        for pool, _ in sides:
            await pool.metadata(timeout=10)
            # Discard the durations of these calls, because the first calls to a broker also open connections.
            await _turn(pool, CALLS_PER_TURN)
        while len(milliseconds[0]) < calls:
            for pool, times in sides:
                times += await _turn(pool, CALLS_PER_TURN)
            sides.reverse()  # The clusters take turns at being called first, so that neither has an advantage.
    return milliseconds


def measure(calls: int = CALLS, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """Run a healthy and a faulty cluster in another process, and measure calls to both.

    Return two lists with durations in milliseconds: of the calls to the healthy cluster, and of the calls to the faulty
    cluster. Each list contains at least `calls` × `rounds` durations.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_brokers, args=(there,), daemon=True)
    process.start()
    seeds: tuple[list[str], list[str]] = here.recv()
    healthy, silent = asyncio.run(_compare(seeds, calls * rounds))
    here.send("stop")
    process.join(10)
    return healthy, silent


def figures(calls: int = CALLS, rounds: int = ROUNDS) -> Iterator[Figure]:
    """Yield the median and the 99th percentile of the call durations in the faulty cluster.

    In this cluster, one of three brokers never responds. The reference values are the same percentiles in the healthy
    cluster.
    """
    healthy, silent = measure(calls, rounds)
    for fraction, target in ((0.5, None), (0.99, TARGET)):
        yield Figure(
            f"{calls} calls while one of three brokers does not respond, p{fraction * 100:.0f}",
            percentile(silent, fraction), "ms", "all brokers healthy", percentile(healthy, fraction), target,
            of_ratio=True,
        )  # fmt: skip

"""How much a black-holed broker slows calls to healthy ones: `python -m tests.bench black_hole`.

Two clusters of three brokers, a few lines each, run in a process of their own: all of the one are healthy, the third of
the other takes bytes and never answers. One thousand calls go to the first two brokers of each, in short turns that
alternate, so that a busy machine is busy for both; beside each turn a call to the third broker is under way. Two calls
at a time leave the processors room: queues of our own making would hide what is measured. The figure is the ratio of
the 99th percentiles of all calls of several rounds.
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
AT_ONCE = 2
TURN = 50
ROUNDS = 4
GROUPS = 200
TARGET = 1.2


async def _serve(pipe: Connection) -> None:
    async with cluster(3) as healthy, cluster(3) as holed:
        for fake in (healthy, holed):
            for broker in fake.brokers.values():
                broker.on[LIST_GROUPS.key] = always(groups(*(f"group-{number:06}" for number in range(GROUPS))))
        async with FaultyLink("127.0.0.1", holed[3].port) as link:
            holed.hosts[3] = ("127.0.0.1", link.port)
            link.black_hole()
            pipe.send((healthy.seeds[:2], holed.seeds[:2]))
            await asyncio.to_thread(pipe.recv)


def _brokers(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _turn(pool: Pool, calls: int) -> list[float]:
    """So many calls to brokers 1 and 2, with calls to broker 3 going on beside them; milliseconds of each."""
    took: list[float] = []
    other = asyncio.create_task(_keep_calling(pool, 3))
    numbers = iter(range(calls))

    async def caller() -> None:
        for number in numbers:
            started = time.perf_counter()
            await pool.call(1 + number % 2, LIST_GROUPS, {}, timeout=10)
            took.append((time.perf_counter() - started) * 1000)

    await asyncio.gather(*(caller() for _ in range(AT_ONCE)))
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    return took


async def _keep_calling(pool: Pool, node: int) -> None:
    """Ask one broker again and again, as a poller does: ten times a second, whether it answers or not."""
    while True:
        with contextlib.suppress(ClientError, UnreachableError):
            await pool.call(node, LIST_GROUPS, {}, timeout=0.5)
        await asyncio.sleep(0.1)


async def _compare(seeds: tuple[list[str], list[str]], calls: int) -> tuple[list[float], list[float]]:
    """Milliseconds of so many calls to the healthy cluster and to the other one, in turns."""
    took: tuple[list[float], list[float]] = ([], [])
    options = PoolOptions(connect_timeout=1.0)
    async with Pool(seeds[0], options=options) as healthy, Pool(seeds[1], options=options) as holed:
        sides = [(healthy, took[0]), (holed, took[1])]
        for pool, _ in sides:
            await pool.metadata(timeout=10)
            await _turn(pool, TURN)  # connections are made here
        while len(took[0]) < calls:
            for pool, times in sides:
                times += await _turn(pool, TURN)
            sides.reverse()  # neither always comes first
    return took


def measure(calls: int = CALLS, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """Milliseconds of all calls: with three healthy brokers, and with one that is a black hole."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_brokers, args=(there,), daemon=True)
    process.start()
    seeds: tuple[list[str], list[str]] = here.recv()
    healthy, holed = asyncio.run(_compare(seeds, calls * rounds))
    here.send("stop")
    process.join(10)
    return healthy, holed


def figures(calls: int = CALLS, rounds: int = ROUNDS) -> Iterator[Figure]:
    """The 99th percentile with the black hole beside the one without."""
    healthy, holed = measure(calls, rounds)
    for share, aim in ((0.5, None), (0.99, TARGET)):
        yield Figure(
            f"{calls} calls, one of three brokers a black hole, p{share * 100:.0f}", percentile(holed, share), "ms",
            "none is", percentile(healthy, share), aim, of_ratio=True,
        )  # fmt: skip

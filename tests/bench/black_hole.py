"""How much a black-holed broker slows calls to healthy ones: `python -m tests.bench black_hole`.

Three brokers of a few lines run in a process of their own. One thousand calls go to the two healthy ones, eight at a
time, while a third broker is healthy in one round and takes bytes without ever answering in the other, where a call to
it is always under way. Rounds alternate, so that a busy machine is busy for both. The figure is the ratio of the
medians, over the rounds, of the 99th percentile.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import statistics
import time
from typing import TYPE_CHECKING

from kgtui.client.pool import Pool, PoolOptions
from kgtui.errors import ClientError, UnreachableError
from kgtui.protocol.messages import LIST_GROUPS
from tests.bench.figures import Figure, percentile
from tests.faults import FaultyLink
from tests.unit.client.server import always, cluster, groups

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

CALLS = 1_000
AT_ONCE = 8
ROUNDS = 9
GROUPS = 200
TARGET = 1.2


async def _serve(pipe: Connection) -> None:
    async with cluster(3) as fake:
        for broker in fake.brokers.values():
            broker.on[LIST_GROUPS.key] = always(groups(*(f"group-{number:06}" for number in range(GROUPS))))
        async with FaultyLink("127.0.0.1", fake[3].port) as link:
            fake.hosts[3] = ("127.0.0.1", link.port)
            pipe.send(fake.seeds[:2])
            while (word := await asyncio.to_thread(pipe.recv)) != "stop":
                if word == "hole":
                    link.black_hole()
                else:
                    await link.resume()
                pipe.send("done")


def _brokers(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _round(seeds: list[str], calls: int) -> list[float]:
    """So many calls to brokers 1 and 2, with calls to broker 3 going on beside them; milliseconds of each."""
    took: list[float] = []
    async with Pool(seeds, options=PoolOptions(connect_timeout=1.0)) as pool:
        await pool.metadata(timeout=10)
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


def measure(calls: int = CALLS, rounds: int = ROUNDS) -> tuple[list[list[float]], list[list[float]]]:
    """Milliseconds of all calls, by round: with three healthy brokers, and with one that is a black hole."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_brokers, args=(there,), daemon=True)
    process.start()
    seeds: list[str] = here.recv()
    healthy: list[list[float]] = []
    holed: list[list[float]] = []
    for _ in range(rounds):
        for word, took in (("healthy", healthy), ("hole", holed)):
            here.send(word)
            here.recv()
            took.append(asyncio.run(_round(seeds, calls)))
    here.send("stop")
    process.join(10)
    return healthy, holed


def figures(calls: int = CALLS, rounds: int = ROUNDS) -> Iterator[Figure]:
    """The 99th percentile with the black hole beside the one without."""
    healthy, holed = measure(calls, rounds)
    for share, aim in ((0.5, None), (0.99, TARGET)):
        yield Figure(
            f"{calls} calls, one of three brokers a black hole, p{share * 100:.0f}", _typical(holed, share), "ms",
            "none is", _typical(healthy, share), aim, of_ratio=True,
        )  # fmt: skip


def _typical(rounds: list[list[float]], share: float) -> float:
    return statistics.median(percentile(took, share) for took in rounds)

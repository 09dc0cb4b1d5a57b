"""Serves a cluster until told to stop: the whole of `python -m kgtui.simulator`, and of a demo without a screen."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import signal
import sys
from typing import TYPE_CHECKING, Any

from kgtui.simulator.cluster import Simulator
from kgtui.simulator.control import Control

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.simulator.options import Options


LONGEST_ORDER = 1024 * 1024
"""Bytes of a line of orders: a group id of 32,000 characters, each escaped, has room."""


async def serve(options: Options, *, say: Callable[[str], None], control: bool = False) -> None:
    """Start a cluster, `say` one line of JSON when it is ready, and serve.

    Ends at SIGINT, SIGTERM or SIGHUP; with `control`, orders are read from stdin and answered through `say`, and the
    end of stdin is the end of the cluster: that is how it learns that its parent is gone.

    Raises:
        UsageError: the options make no sense.
        OSError: a port is taken.
    """
    simulator = Simulator(
        brokers=options.brokers,
        groups=options.groups,
        partitions=options.partitions,
        seed=options.seed,
        kafka_version=options.kafka_version,
        scenario=options.scenario,
        churn=options.churn,
        features=options.features,
        host=options.host,
        port=options.port,
    )
    simulator.dispatch.warm()
    # What was built stays: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, over.set)
    async with simulator:
        say(json.dumps(_ready(simulator)))
        orders = loop.create_task(_obey(Control(simulator), say, over)) if control else None
        await over.wait()
        if orders is not None:
            orders.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await orders


def _ready(simulator: Simulator) -> dict[str, Any]:
    world = simulator.world
    generated = len(world.population.index) if world.population is not None else 0
    return {
        "ready": True,
        "bootstrap": simulator.bootstrap,
        "brokers": [
            {"node": node.id, "address": f"{node.host}:{node.port}", "version": node.release.name}
            for node in world.nodes
        ],
        "groups": len(world.groups) + generated,
        "cluster_id": world.cluster_id,
    }


async def _obey(control: Control, say: Callable[[str], None], over: asyncio.Event) -> None:
    """Read orders until stdin ends."""
    reader = asyncio.StreamReader(limit=LONGEST_ORDER)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while line := await reader.readline():
            if line.strip():
                say(await control.obey(line))
    finally:
        transport.close()
        over.set()

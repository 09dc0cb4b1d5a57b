"""The whole: a world, its brokers' ports, its faults and its clock."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from kgtui.simulator.clock import Clock, ManualClock, RealClock
from kgtui.simulator.faults import Faults
from kgtui.simulator.handlers.dispatch import Dispatch
from kgtui.simulator.nodes import RACKS, Node
from kgtui.simulator.population import TICK, Population
from kgtui.simulator.releases import DESCRIBED_BY, NEWEST, releases
from kgtui.simulator.scenario import build
from kgtui.simulator.server import Server
from kgtui.simulator.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from kgtui.simulator.releases import Release


class Simulator:
    """An embedded cluster; `async with Simulator() as cluster:` and connect to `cluster.bootstrap`.

    Attributes:
        world: brokers, topics and groups; may be changed while it runs.
        faults: bad days on demand.
        clock: the cluster's time.
    """

    def __init__(
        self,
        *,
        brokers: int = 3,
        groups: int | None = None,
        partitions: int = 6,
        seed: int = 1,
        kafka_version: str = NEWEST,
        scenario: str = "company",
        clock: Clock | None = None,
        churn: float = 0.005,
        features: Mapping[str, int] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        """Make a cluster; nothing listens yet.

        Args:
            brokers: how many; their ids begin at 1.
            groups: how many groups there are in all: those of the scenario are filled up with generated ones. None
                for the scenario alone.
            partitions: of each generated topic.
            seed: the same seed gives the same cluster.
            kafka_version: a release, or a comma list of releases: broker i runs number i modulo their count.
            scenario: one of `options.SCENARIOS`.
            clock: by default the machine's.
            churn: part of the generated groups that change state every 2 s.
            features: finalized features that differ from the release's own, such as `share.version` → 0.
            host: loopback address to listen on.
            port: of the first broker, the others take the next ones; 0 for any free ports.

        Raises:
            UsageError: an unknown release or scenario.
        """
        self.clock: Clock = clock or RealClock()
        runs = releases(kafka_version)
        nodes = [
            Node(i + 1, host, port + i if port else 0, RACKS[i % len(RACKS)], runs[i % len(runs)])
            for i in range(brokers)
        ]
        self.world = World(nodes, self.clock, seed=seed, features=finalized(runs, features or {}))
        build(scenario, self.world)
        if groups is not None and scenario != "empty":
            fill_up(self.world, groups, partitions=partitions, churn=churn)
        self.faults = Faults(self.world)
        self.dispatch = Dispatch(self.world, self.faults)
        self.servers = {node.id: Server(node, self.dispatch, self.faults.of(node.id)) for node in nodes}
        self.faults.wire(cut=self._cut, stop=self._stop_node, start=self._start_node)
        self._ticker: asyncio.Task[None] | None = None

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, `host:port,host:port`."""
        return ",".join(f"{node.host}:{node.port}" for node in self.world.nodes)

    def advance(self, seconds: float) -> None:
        """Let time pass on a manual clock.

        Raises:
            TypeError: the cluster runs on another clock.
        """
        if not isinstance(self.clock, ManualClock):
            raise TypeError("only a ManualClock can be advanced")
        self.clock.advance(seconds)
        if self.world.population is not None:
            self.world.population.settle(self.world.time())

    async def start(self) -> None:
        """Listen on all ports.

        Raises:
            OSError: a port is taken.
        """
        try:
            for server in self.servers.values():
                await server.start()
        except OSError:
            await self.stop()
            raise
        if self.world.population is not None and not isinstance(self.clock, ManualClock):
            self._ticker = asyncio.get_running_loop().create_task(self._tick())

    async def stop(self) -> None:
        """Close all ports and connections."""
        if self._ticker is not None:
            self._ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticker
            self._ticker = None
        for server in self.servers.values():
            await server.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _tick(self) -> None:
        """Let generated groups change while nobody asks, so that no backlog of changes ever stops the loop."""
        while True:
            await asyncio.sleep(TICK)
            if self.world.population is not None:
                self.world.population.settle(self.world.time())

    def _cut(self, node: int) -> None:
        self.servers[node].cut()

    async def _stop_node(self, node: int) -> None:
        await self.servers[node].stop()

    async def _start_node(self, node: int) -> None:
        await self.servers[node].start()


def finalized(runs: Sequence[Release], given: Mapping[str, int]) -> dict[str, int]:
    """Features of the newest release, and what was given instead.

    A real cluster finalizes only what its oldest broker knows; here newer types live next to older brokers, so that
    one cluster shows every fallback.
    """
    newest = max(runs, key=lambda release: release.number)
    return {**newest.default_features(), **given}


def fill_up(world: World, groups: int, *, partitions: int, churn: float) -> None:
    """Generate as many groups as are missing, of types that every broker knows."""
    missing = groups - len(world.groups)
    if missing <= 0:
        return
    types = {"classic"} | {name for name in DESCRIBED_BY if all(node.release.has_type(name) for node in world.nodes)}
    world.population = Population(missing, seed=world.seed, partitions=partitions, churn=churn, types=types)
    world.add_topics(world.population.topics)

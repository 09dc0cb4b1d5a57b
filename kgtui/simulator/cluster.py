"""`Simulator`: a simulated cluster that runs on the event loop of its caller."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from kgtui.simulator.broker_server import Server
from kgtui.simulator.cluster_state import RACKS, Clock, ClusterState, ManualClock, Node, RealClock
from kgtui.simulator.faults import Faults
from kgtui.simulator.generated_groups import TICK, GeneratedGroups
from kgtui.simulator.handlers.dispatch import Dispatcher
from kgtui.simulator.releases import DESCRIBED_BY, NEWEST, releases
from kgtui.simulator.scenarios import add_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from kgtui.simulator.releases import Release


class Simulator:
    """A simulated cluster on the event loop of its caller.

    `async with Simulator() as cluster:` starts the cluster, and stops it at the end of the block. Clients connect to
    `cluster.bootstrap`.

    Attributes:
        state: brokers, topics and groups. Tests are allowed to change them.
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
        """Build a cluster. It does not listen on any port until `start` is called.

        Args:
            groups: total number of groups. If the scenario has fewer groups, the missing ones are generated. With None,
                or with the scenario `empty`, no groups are generated.
            partitions: number of partitions of each generated topic.
            seed: number from which the cluster id, topic ids and generated groups are derived. In
                the groups of a scenario, member ids and hosts are the same for every seed.
            kafka_version: one release, such as `4.4`, or several: with `3.9,4.4`, brokers 1, 3, … have Kafka 3.9, and
                brokers 2, 4, … have Kafka 4.4.
            scenario: a name that `scenarios.scenario_names()` returns, such as `company`.
            clock: clock of the simulated cluster; None for the clock of this machine.
            churn: fraction of the generated groups that change their state every 2 s, from 0 to 1.
            features: feature → finalized level, such as `{"share.version": 0}`. All other features have their default
                levels.
            host: address or host name to listen on.
            port: port of the first broker; the next brokers use the next ports. 0 for free ports.

        Raises:
            UsageError: a release or the scenario does not exist, or the scenario file is invalid.
        """
        self.clock: Clock = clock or RealClock()
        broker_releases = releases(kafka_version)
        nodes = [
            Node(i + 1, host, port + i if port else 0, RACKS[i % len(RACKS)], broker_releases[i % len(broker_releases)])
            for i in range(brokers)
        ]
        self.state = ClusterState(
            nodes, self.clock, seed=seed, features=finalized_features(broker_releases, features or {})
        )
        add_scenario(scenario, self.state)
        if groups is not None and scenario != "empty":
            add_generated_groups(self.state, groups, partitions=partitions, churn=churn)
        self.faults = Faults(self.state)
        self.dispatcher = Dispatcher(self.state, self.faults)
        self.servers = {node.id: Server(node, self.dispatcher, self.faults.broker(node.id)) for node in nodes}
        self.faults.attach(cut=self._cut, stop=self._stop_node, start=self._start_node)
        self._ticker: asyncio.Task[None] | None = None

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, separated by commas: `host:port,host:port`."""
        return ",".join(f"{node.host}:{node.port}" for node in self.state.nodes)

    def advance(self, seconds: float) -> None:
        """Move the manual clock of the cluster forward.

        Raises:
            TypeError: the clock is not a `ManualClock`.
        """
        if not isinstance(self.clock, ManualClock):
            raise TypeError("only a ManualClock can be advanced")
        self.clock.advance(seconds)
        if self.state.generated is not None:
            self.state.generated.advance_to(self.state.time())

    async def start(self) -> None:
        """Listen on the ports of all brokers.

        Raises:
            OSError: a port is in use.
        """
        try:
            for server in self.servers.values():
                await server.start()
        except OSError:
            await self.stop()
            raise
        if self.state.generated is not None and not isinstance(self.clock, ManualClock):
            self._ticker = asyncio.get_running_loop().create_task(self._tick())

    async def stop(self) -> None:
        """Close the ports and connections of all brokers."""
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
        """Apply the due state changes of generated groups every 2 s.

        Otherwise, the next request would have to apply all of them, which would delay its response.
        """
        while True:
            await asyncio.sleep(TICK)
            if self.state.generated is not None:
                self.state.generated.advance_to(self.state.time())

    def _cut(self, node: int) -> None:
        self.servers[node].cut()

    async def _stop_node(self, node: int) -> None:
        await self.servers[node].stop()

    async def _start_node(self, node: int) -> None:
        await self.servers[node].start()


def finalized_features(broker_releases: Sequence[Release], changed: Mapping[str, int]) -> dict[str, int]:
    """Return a dict: feature → finalized level.

    The result contains the levels in `changed`, and for all other features the default levels of the newest release in
    `broker_releases`. Unlike in a real cluster, these levels can be higher than an older broker supports, so that tests
    can combine old brokers with new features.
    """
    newest = max(broker_releases, key=lambda release: release.number)
    return {**newest.default_features(), **changed}


def add_generated_groups(state: ClusterState, groups: int, *, partitions: int, churn: float) -> None:
    """Add generated groups until the cluster has `groups` groups. If it already has so many, add none.

    Args:
        partitions: number of partitions of each generated topic.
        churn: fraction of the generated groups that change their state every 2 s, from 0 to 1.
    """
    missing = groups - len(state.groups)
    if missing <= 0:
        return
    types = {"classic"} | {name for name in DESCRIBED_BY if all(node.release.has_type(name) for node in state.nodes)}
    state.generated = GeneratedGroups(missing, seed=state.seed, partitions=partitions, churn=churn, types=types)
    state.add_topics(state.generated.topics)

"""The simulated and real clusters on which contract tests run.

All of them have the same groups, except for groups of types that the Kafka version of a cluster does not support.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pytest

from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.client.pool import Pool
from tests.brokers.fixtures import checked, named, only_full
from tests.brokers.groups import numbers
from tests.contract import simulated_live_groups
from tests.jars import ALL_BROKER_VERSIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.brokers.live import Live, LiveGroup

SIMULATED = ("2.4", "2.8", "3.3", "3.9", "4.1", "4.4", "4.4,3.9")
REAL = {f"real {version}": named("live", version) for version in ALL_BROKER_VERSIONS}
"""Test parameter for a real cluster, such as `real 4.3.1` → fixture that creates its groups, such as `live_431`."""
ON_BROKERS = tuple(
    pytest.param(param, marks=[pytest.mark.broker(name), *only_full(param.removeprefix("real "))])
    for param, name in REAL.items()
)
PARAMS = (*(f"simulated {version}" for version in SIMULATED), *ON_BROKERS)
NEWEST = ("simulated 4.4", ON_BROKERS[0])
"""Test parameters for a simulated Kafka 4.4 cluster, and for the newest real cluster that needs no `--full` (4.3.1)."""


@dataclass(frozen=True, slots=True)
class TargetCluster:
    """A cluster on which a test runs.

    Attributes:
        version: lowest Kafka version of the brokers, such as `(4, 3, 1)`.
        newest: highest Kafka version of the brokers.
        groups: role (name in tests) → expected group. A real cluster can have additional groups.
        make_empty: function that takes a group id, and creates an Empty simple group.
    """

    bootstrap: tuple[str, ...]
    version: tuple[int, ...]
    newest: tuple[int, ...]
    groups: dict[str, LiveGroup]
    make_empty: Callable[[str], None]
    admin: KafkaGroupAdmin
    simulated: bool

    @property
    def ids(self) -> list[str]:
        """The ids of all groups in `groups`."""
        return [group.id for group in self.groups.values()]

    def of(self, *types: Literal["classic", "consumer", "share", "streams"]) -> list[LiveGroup]:
        """Return the groups whose type is one of `types`."""
        return [group for group in self.groups.values() if group.type in types]


async def targets(param: str, request: pytest.FixtureRequest) -> AsyncIterator[TargetCluster]:
    """Yield the cluster `param`, such as `simulated 4.4`; close the cluster's admin client after the test."""
    if param in REAL:
        live: Live = checked(request, REAL[param])
        number = numbers(live.version)
        async with KafkaGroupAdmin(Pool([live.bootstrap])) as admin:
            yield TargetCluster(
                (live.bootstrap,),
                number,
                number,
                dict(live.groups),
                lambda group: live.cluster.commit(group, {("orders", 0): 1}),
                admin,
                simulated=False,
            )
        return
    version = param.removeprefix("simulated ")
    releases = [numbers(one) for one in version.split(",")]
    async with simulated_live_groups.simulator(version) as cluster:
        seeds = tuple(cluster.bootstrap.split(","))
        async with KafkaGroupAdmin(Pool(seeds)) as admin:
            yield TargetCluster(
                seeds,
                min(releases),
                max(releases),
                simulated_live_groups.groups_of(version),
                lambda group: simulated_live_groups.add_empty_group(cluster, group),
                admin,
                simulated=True,
            )

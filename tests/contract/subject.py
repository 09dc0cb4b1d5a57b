"""What the contract suite runs on: a simulated or a real cluster with the same groups on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pytest

from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.client.pool import Pool
from tests.brokers.fixtures import checked
from tests.contract import mirror

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.brokers.live import Live, LiveGroup

SIMULATED = ("2.4", "2.8", "3.3", "3.9", "4.1", "4.4", "4.4,3.9")
REAL = {"real 4.3.1": "live_431", "real 3.9.2": "live_392"}
ON_BROKERS = tuple(pytest.param(name, marks=pytest.mark.broker(fixture)) for name, fixture in REAL.items())
PARAMS = (*(f"simulated {version}" for version in SIMULATED), *ON_BROKERS)
NEWEST = ("simulated 4.4", ON_BROKERS[0])
"""The newest of each kind of cluster."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A cluster under test.

    Attributes:
        version: lowest Kafka version of its brokers, as numbers.
        newest: highest Kafka version of its brokers.
        groups: what is to be seen, by role; nothing else is on a simulated cluster.
        make_empty: adds an Empty simple group of the name given.
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
        """Every group id."""
        return [group.id for group in self.groups.values()]

    def of(self, *types: Literal["classic", "consumer", "share", "streams"]) -> list[LiveGroup]:
        """Groups of some types."""
        return [group for group in self.groups.values() if group.type in types]


async def subjects(param: str, request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    """The subject of a fixture's parameter, with an admin that is closed afterwards."""
    if param in REAL:
        live: Live = checked(request, REAL[param])
        number = _numbers(live.version)
        async with KafkaGroupAdmin(Pool([live.bootstrap])) as admin:
            yield Subject(
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
    numbers = [_numbers(one) for one in version.split(",")]
    async with mirror.simulator(version) as cluster:
        seeds = tuple(cluster.bootstrap.split(","))
        async with KafkaGroupAdmin(Pool(seeds)) as admin:
            yield Subject(
                seeds,
                min(numbers),
                max(numbers),
                mirror.groups_of(version),
                lambda group: mirror.empty_group(cluster, group),
                admin,
                simulated=True,
            )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))

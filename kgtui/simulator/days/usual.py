"""Groups to which nothing out of the ordinary happens; now and then one of them is deployed anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.days.lives import Paced, Roster
from kgtui.simulator.facts import number_of
from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.groups.payload import ConnectPayload
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.groups.streams import Part, StreamsGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kgtui.simulator.days.plan import Plan
    from kgtui.simulator.groups.base import Group
    from kgtui.simulator.topics import Topic

TEAMS = 5
_JOBS = {"ingest": "web.clicks", "report": "orders.shipped", "cache": "inventory.levels"}


def groups(plan: Plan, topics: Mapping[str, Topic]) -> Iterator[Group]:
    """All of them."""
    seed = plan.seed
    for team in range(1, TEAMS + 1):
        for job, topic in _JOBS.items():
            name = f"team-{team:03d}.{job}"
            make = ConsumerGroup if number_of(name) % 2 else ClassicGroup
            habit = Paced(delay=1.0 + number_of(name) % 5)
            client = Client(f"{job}-{team:03d}")
            yield make(name, _deployed(plan, name), [Reads(topics[topic], habit)], client=client, seed=seed)
    yield ClassicGroup(
        "payments.ledger", _deployed(plan, "ledger"), [Reads(topics["payments.authorised"], Paced())], seed=seed
    )
    yield ShareGroup("jobs.run", Roster((0, 1, 2)), [Reads(topics["jobs.pending"], Paced(delay=5.0))], seed=seed)
    yield StreamsGroup(
        "rewards.points",
        _deployed(plan, "rewards"),
        [Reads(topics["rewards.earned"], Paced(delay=2.0))],
        topology=(Part(("rewards.earned",), 4, changelogs=("rewards.points-store-changelog",)),),
        client=Client("rewards"),
        seed=seed,
    )
    connectors = ConnectPayload(connectors=(("s3-sink", 4), ("jdbc-source", 2)))
    yield ClassicGroup("connect-main", Roster((0, 1)), protocol="connect", payload=connectors, seed=seed)


def _deployed(plan: Plan, name: str) -> Roster:
    """Two members, which are replaced one after the other once or twice."""
    at = plan.share(0.2 + number_of(plan.seed, name) % 50 / 100, name)
    return Roster((0, 1), ((at, (1, 2)), (at + 40.0, (2, 3))))

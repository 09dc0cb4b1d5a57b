"""Streams groups (KIP-1071)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.streams import Part, StreamsGroup
from kgtui.simulator.habits import Lagging, Never, Stuck
from kgtui.simulator.life import Held, Settled, Shifts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.company.topics import Topics
    from kgtui.simulator.groups.base import Group


def groups(topics: Topics) -> Iterator[Group]:
    """All of them."""
    yield _rewards(topics)
    yield _sessions(topics)
    yield StreamsGroup(
        "payments.enrich",
        Settled(2),
        [Reads(topics["payments.authorised"], Lagging(2_500, 0.97))],
        topology=[Part(("payments.authorised",), 12)],
        endpoint=False,
        client=Client("payments-enrich"),
    )
    yield _waiting(topics)
    # Each deployment changes the topology: until its internal topics are there, the group is not ready.
    yield StreamsGroup(
        "pricing.rollup",
        Shifts(80.0, ((), (0, 1), (0, 1)), ahead=90.0),
        [Reads(topics["catalog.changes"])],
        topology=[Part(("catalog.changes",), 4)],
        pace=(("NotReady", 4.0), ("Assigning", 2.0), ("Reconciling", 6.0)),
        client=Client("pricing-rollup"),
    )
    yield StreamsGroup(
        "clicks.heatmap-v1",
        Settled(0),
        [Reads(topics["web.clicks"], Stuck(50_000))],
        topology=[Part(("web.clicks",), 24)],
        client=Client("heatmap"),
    )


def _rewards(topics: Topics) -> Group:
    """Threads come and go: after each change stateful tasks warm up elsewhere."""
    repartition = topics.internal("rewards.points-by-customer-repartition", 6)
    balance = topics.internal("rewards.points-balance-changelog", 6)
    return StreamsGroup(
        "rewards.points",
        Shifts(75.0, ((0, 1, 2, 3), (0, 1, 2)), ahead=75.0 * 2 - 40.0),
        [Reads(topics["rewards.earned"]), Reads(repartition)],
        topology=[
            Part(("rewards.earned",), 6, sinks=(repartition.name,)),
            Part((), 6, repartition=(repartition.name,), changelogs=(balance.name,)),
        ],
        standbys=1,
        client=Client("rewards-points", racks=("eu-1a", "eu-1b")),
        epoch=31,
    )


def _sessions(topics: Topics) -> Group:
    store = topics.internal("clicks.sessionize-windows-changelog", 24)
    return StreamsGroup(
        "clicks.sessionize",
        Settled(6),
        [Reads(topics["web.clicks"])],
        topology=[Part(("web.clicks",), 24, changelogs=(store.name,))],
        standbys=1,
        client=Client("sessionize"),
        epoch=14,
    )


def _waiting(topics: Topics) -> Group:
    """Not ready for ever: it joins two topics that differ in their number of partitions."""
    repartition = topics.internal("fraud.features-by-card-repartition", 6)
    return StreamsGroup(
        "fraud.features",
        Held(2, since=60.0, change=1),
        [Reads(topics["fraud.scores"], Never())],
        topology=[
            Part(("fraud.scores", "customers.changed"), 6, sinks=(repartition.name,)),
            Part((), 6, repartition=(repartition.name,), changelogs=("fraud.features-changelog",)),
        ],
        pace=(("NotReady", math.inf),),
        client=Client("fraud-features"),
        epoch=2,
    )

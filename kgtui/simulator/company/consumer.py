"""Consumer groups of the protocol in which the broker assigns (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.habits import Draining, Lagging, Stuck
from kgtui.simulator.life import Settled, Shifts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.company.topics import Topics
    from kgtui.simulator.groups.base import Group


def groups(topics: Topics) -> Iterator[Group]:
    """All of them."""
    yield from _steady(topics)
    yield from _behind(topics)
    yield ConsumerGroup(
        "orders.invoice",
        Shifts(24.0, ((0, 1, 2), (0, 1, 2, 3)), ahead=20.0),
        [Reads(topics["orders.shipped"])],
        client=Client("invoicing"),
        epoch=310,
    )


def _steady(topics: Topics) -> Iterator[Group]:
    yield ConsumerGroup(
        "payments.ledger",
        Settled(3),
        [Reads(topics["payments.settled"], metadata="AgAAAaH8zkW1")],
        client=Client("ledger", racks=("eu-1a", "eu-1b", "eu-1c")),
        epoch=23,
    )
    yield ConsumerGroup(
        "inventory.reserve",
        Settled(4),
        [Reads(topics["inventory.reservations"]), Reads(topics["inventory.levels"])],
        assignor="range",
        client=Client("reserve", static=True, racks=("eu-1a", "eu-1b")),
    )
    # Two of five members still speak the classic protocol.
    yield ConsumerGroup(
        "web.recommend",
        Settled(5),
        [Reads(topics["web.clicks"])],
        classic=frozenset({1, 3}),
        client=Client("recommend"),
        epoch=9,
    )
    yield ConsumerGroup(
        "iot.aggregate",
        Settled(6),
        [Reads(topics["iot.telemetry"]), Reads(topics["iot.commands"])],
        regex="iot\\..*",
        client=Client("aggregate"),
    )


def _behind(topics: Topics) -> Iterator[Group]:
    yield ConsumerGroup(
        "search.index", Settled(2), [Reads(topics["search.documents"], Lagging(9_500, 0.75))], client=Client("indexer")
    )
    yield ConsumerGroup(
        "dwh.backfill", Settled(3), [Reads(topics["dwh.loads"], Draining(400_000, 1_500.0))], client=Client("backfill")
    )
    yield ConsumerGroup(
        "customers.sync", Settled(2), [Reads(topics["customers.changed"], Stuck(2_300))], client=Client("crm-sync")
    )

"""Consumer groups of the classic protocol: steady, lagging, draining, stuck, rebalancing for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.payload import ConsumerPayload, RawPayload
from kgtui.simulator.habits import Batch, Draining, Lagging, Lost, Never, Steady, Stuck
from kgtui.simulator.life import Settled, Shifts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.company.topics import Topics
    from kgtui.simulator.groups.base import Group

STICKY = ConsumerPayload("cooperative-sticky")
ROUND_ROBIN = ConsumerPayload("roundrobin", version=1)
LOOPING = (("PreparingRebalance", 5.0), ("CompletingRebalance", 2.0))


def groups(topics: Topics) -> Iterator[Group]:
    """All of them."""
    yield from _healthy(topics)
    yield from _unwell(topics)
    yield from _restless(topics)
    yield from _foreign(topics)


def _healthy(topics: Topics) -> Iterator[Group]:
    yield ClassicGroup(
        "payments.settle",
        Settled(4),
        [Reads(topics["payments.authorised"])],
        payload=STICKY,
        client=Client("settle-worker", racks=("eu-1a", "eu-1b")),
        epoch=41,
    )
    yield ClassicGroup("orders.pick", Settled(3), [Reads(topics["orders.placed"])], client=Client("picker"))
    yield ClassicGroup(
        "web.sessions",
        Settled(8),
        [Reads(topics["web.clicks"]), Reads(topics["web.sessions"], Steady(3.0))],
        payload=STICKY,
        client=Client("sessions", static=True),
        epoch=112,
    )
    yield ClassicGroup(
        "notifications.push",
        Settled(5),
        [Reads(topics["notifications.push"], metadata="v3")],
        client=Client("push-gateway"),
    )
    yield ClassicGroup("audit.sink", Settled(1), [Reads(topics["audit.log"])], payload=ROUND_ROBIN)
    yield ClassicGroup(
        "console-consumer-48213",
        Shifts(120.0, ((0,), ())),
        [Reads(topics["orders.placed"], Never())],
        outlives=100.0,
    )
    yield ClassicGroup(
        "dwh.nightly-load", Settled(2), [Reads(topics["dwh.loads"], Batch(90.0))], client=Client("dwh-loader")
    )


def _unwell(topics: Topics) -> Iterator[Group]:
    yield ClassicGroup(
        "payments.refund",
        Settled(2),
        [Reads(topics["payments.refunds"], Lagging(42_000, 0.7))],
        client=Client("refunds"),
    )
    yield ClassicGroup(
        "orders.archive", Settled(2), [Reads(topics["orders.shipped"], Stuck(18_400))], client=Client("archiver")
    )
    yield ClassicGroup(
        "orders.ship",
        Settled(3),
        [Reads(topics["orders.enriched"], Draining(180_000, 600.0))],
        payload=STICKY,
        client=Client("shipping"),
    )
    yield ClassicGroup(
        "fraud.score", Settled(2), [Reads(topics["fraud.scores"], Lost(9_000))], client=Client("fraud-model")
    )
    yield ClassicGroup(
        "customers.export",
        Settled(1),
        [Reads(topics["customers.changed"], without=frozenset({2})), Reads(topics["catalog.changes"], Never())],
    )
    yield ClassicGroup(
        "legacy.import",
        Settled(1),
        [Reads(topics["mainframe.feed"]), Reads(topics["dwh.loads"], Stuck(300), subscribed=False)],
        client=Client("cobol-bridge"),
        payload=ConsumerPayload("range", version=0),
    )


def _restless(topics: Topics) -> Iterator[Group]:
    yield ClassicGroup(
        "orders.enrich",
        Shifts(11.0, ((0, 1, 2), (0, 1, 2, 3)), ahead=12.0),
        [Reads(topics["orders.placed"], Lagging(6_000, 0.9))],
        client=Client("enricher"),
        pace=LOOPING,
        epoch=2_190,
    )
    yield ClassicGroup(
        "emails.send",
        Shifts(45.0, ((0, 1), (0, 1, 2), (0, 2)), ahead=20.0),
        [Reads(topics["emails.outbox"])],
        client=Client("mailer"),
        epoch=63,
    )
    yield ClassicGroup(
        "catalog.sync",
        Shifts(60.0, ((0, 1), (), (0, 1, 2)), ahead=10.0),
        [Reads(topics["catalog.changes"])],
        client=Client("catalog"),
        epoch=19,
    )
    yield ClassicGroup(
        "rewards-streams-v1",
        Shifts(150.0, ((0, 1, 2, 3), (0, 1, 2)), ahead=30.0),
        [Reads(topics["rewards.earned"])],
        payload=ConsumerPayload("stream", user_data=bytes.fromhex("0000000b0000000b7c1e55aa") + bytes(20)),
        client=Client("rewards-streams-v1-StreamThread"),
    )


def _foreign(topics: Topics) -> Iterator[Group]:
    yield ClassicGroup(
        "cluster-lock",
        Settled(3),
        protocol="leader-election",
        payload=RawPayload("bully", b"rank=3", b"leader=node-0"),
        client=Client("lock"),
    )
    yield ClassicGroup("spark-checkpoints", Settled(0), [Reads(topics["web.clicks"], Batch(60.0))], protocol="")
    yield ClassicGroup(
        "mirror-checkpoints",
        Settled(0),
        [Reads(topics["orders.placed"], Stuck(0), metadata="mm2"), Reads(topics["payments.settled"], Stuck(120))],
        protocol="",
    )
    yield ClassicGroup(
        "flink-savepoint-7",
        Settled(0),
        [Reads(topics["iot.telemetry"], Stuck(88_000))],
        protocol="",
    )

"""Connect clusters and schema registries: groups that assign other things than partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.payload import ConnectPayload, RegistryPayload
from kgtui.simulator.habits import Lagging
from kgtui.simulator.life import Settled, Shifts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.company.topics import Topics
    from kgtui.simulator.groups.base import Group

CONNECTORS = (("s3-sink-orders", 4), ("jdbc-source-customers", 1), ("es-sink-search", 3), ("debezium-inventory", 1))


def groups(topics: Topics) -> Iterator[Group]:
    """All of them."""
    yield from _workers()
    yield from _registries()
    sink = Client("connector-consumer-s3-sink-orders")
    yield ClassicGroup("connect-s3-sink-orders", Settled(4), [Reads(topics["orders.enriched"])], client=sink)
    yield ClassicGroup(
        "connect-es-sink-search",
        Settled(3),
        [Reads(topics["search.documents"], Lagging(1_500, 0.95))],
        client=Client("connector-consumer-es-sink-search"),
    )


def _workers() -> Iterator[Group]:
    yield ClassicGroup(
        "connect-cluster",
        Settled(3),
        protocol="connect",
        payload=ConnectPayload("sessioned", CONNECTORS),
        client=Client("connect-worker"),
        epoch=88,
    )
    yield ClassicGroup(
        "connect-analytics",
        Settled(2),
        protocol="connect",
        payload=ConnectPayload("default", (("hdfs-sink", 6), ("clickhouse-sink", 2)), domain="analytics.svc"),
        client=Client("connect-analytics"),
    )
    yield ClassicGroup(
        "connect-mirror",
        Shifts(120.0, ((0, 1, 2), (0, 1)), ahead=40.0),
        protocol="connect",
        payload=ConnectPayload("compatible", (("mirror-source", 8), ("mirror-heartbeat", 1)), delay_ms=180_000),
        client=Client("connect-mirror"),
    )


def _registries() -> Iterator[Group]:
    yield ClassicGroup(
        "schema-registry",
        Settled(3),
        protocol="sr",
        payload=RegistryPayload(ineligible=frozenset({2})),
        client=Client("sr", host="registry"),
    )
    yield ClassicGroup(
        "schema-registry-dr",
        Settled(2),
        protocol="sr",
        payload=RegistryPayload(duplicate=True),
        client=Client("sr-dr", host="registry-dr"),
    )

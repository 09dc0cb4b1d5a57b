"""Groups that everybody has left: the ones to clean up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.groups.base import Reads
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.habits import Stuck
from kgtui.simulator.life import Settled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.company.topics import Topics
    from kgtui.simulator.groups.base import Group

_CLASSIC = {
    "orders.enrich-v1": ("orders.placed", 610_000),
    "payments.settle-canary": ("payments.authorised", 2_400),
    "tmp-debug-anna": ("orders.enriched", 90_000),
    "test-group": ("payments.refunds", 11_000),
    "console-consumer-11877": ("web.clicks", 70_000),
    "console-consumer-20514": ("orders.placed", 5_000),
    "search.index-blue": ("search.documents", 0),
    "perf-test-2025-11": ("iot.telemetry", 1_100_000),
}
_CONSUMER = {
    "customers.sync-old": ("customers.changed", 31_000),
    "orders.invoice-shadow": ("orders.shipped", 700),
}


def groups(topics: Topics) -> Iterator[Group]:
    """All of them; the first has never committed anything."""
    yield ClassicGroup("payments.never-deployed", Settled(0), protocol="consumer", epoch=0)
    for name, (topic, behind) in _CLASSIC.items():
        yield ClassicGroup(name, Settled(0), [Reads(topics[topic], Stuck(behind))], epoch=12)
    for name, (topic, behind) in _CONSUMER.items():
        yield ConsumerGroup(name, Settled(0), [Reads(topics[topic], Stuck(behind))], epoch=12)

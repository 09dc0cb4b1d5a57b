"""A real cluster of three brokers with one Empty group, whose lag never changes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.brokers.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

GROUP, TOPIC = "billing", "orders"
_PARTITIONS, _RECORDS, _COMMITTED = 6, 10, 3
LAG = _PARTITIONS * (_RECORDS - _COMMITTED)
"""Total lag of the group over all partitions, in records. This lag never changes."""


@contextmanager
def three_brokers(folder: Path, extra: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Start three brokers, and create the group and a topic that has a replica on each broker.

    `extra` are additional broker configs.
    """
    cluster = Cluster("4.3.1", folder, nodes=3, extra=extra)
    cluster.start()
    try:
        cluster.create_topic(TOPIC, _PARTITIONS, replicas=3)
        for partition in range(_PARTITIONS):
            cluster.produce(TOPIC, _RECORDS, partition)
        cluster.commit(GROUP, {(TOPIC, partition): _COMMITTED for partition in range(_PARTITIONS)})
        yield cluster
    finally:
        cluster.stop()

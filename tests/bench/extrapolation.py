"""Extrapolate the measured rates of the pipeline to 100,000 groups × 10 partitions that commit every 5 seconds.

The cost per record is computed from the difference between two runs, so that fixed costs of a run are left out. The
extrapolation assumes that executors have cores as fast as the benchmark's. Half of the cores are meant to be idle, so
that one executor may fail, and so that a backlog is processed at twice the normal speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GROUPS, PARTITIONS, COMMIT_INTERVAL = 100_000, 10, 5.0
RECORDS_PER_SECOND = GROUPS * PARTITIONS / COMMIT_INTERVAL
DAY = 86_400
BUSY = 0.5
"""Maximum fraction of a layer's cores that may be busy. The other cores are spare capacity."""

WIRE_BYTES = 130
"""Assumed size of a record in the topic, in bytes: 40 to 70 for the key, 24 or 42 for the value, and log overhead.

By default, coordinators do not compress records.
"""


@dataclass(frozen=True, slots=True)
class LayerCost:
    """Cost per record of one layer of the pipeline (bronze, silver or gold).

    Attributes:
        micros: CPU time per record, in microseconds.
        stored: size on disk per record, in bytes; 0 if it is negligible.
    """

    name: str
    micros: float
    stored: float = 0.0

    @property
    def cores(self) -> float:
        """Number of cores that the layer keeps busy."""
        return RECORDS_PER_SECOND * self.micros / 1e6

    @property
    def cores_needed(self) -> int:
        """Number of cores that the layer needs if only the fraction `BUSY` of them may be busy."""
        return math.ceil(self.cores / BUSY)

    @property
    def gigabytes_per_day(self) -> float:
        """Gigabytes that the layer writes per day."""
        return RECORDS_PER_SECOND * DAY * self.stored / 1e9


def layer_costs(cores: int, smaller: Mapping[str, Any], larger: Mapping[str, Any]) -> list[LayerCost]:
    """Compute the cost of each layer from two runs with different numbers of records.

    Args:
        cores: number of cores that both runs used.
        smaller, larger: results of the two runs. The value `records` is the number of records. The values `seconds` and
            `bytes` are dicts by layer, with the layer's duration and the size of its tables.
    """
    records = larger["records"] - smaller["records"]
    return [
        LayerCost(
            name,
            max(larger["seconds"][name] - smaller["seconds"][name], 0.0) / records * cores * 1e6,
            larger["bytes"].get(name, 0) / larger["records"],
        )
        for name in larger["seconds"]
    ]


def figures(layers: list[LayerCost]) -> Iterator[Figure]:
    """Yield the load in records/s and bytes/s, and for each layer the cores and the disk space that it needs."""
    load = f"{GROUPS:,} groups × {PARTITIONS} partitions, commits every {COMMIT_INTERVAL:g} s"
    yield Figure(f"{load}: records", RECORDS_PER_SECOND, "/s")
    yield Figure(f"{load}: bytes sent by brokers", RECORDS_PER_SECOND * WIRE_BYTES / 1e6, "MB/s")
    for layer in layers:
        yield Figure(f"{load}: {layer.name}, busy cores", layer.cores, "cores")
        if layer.stored:
            yield Figure(f"{load}: {layer.name}, data written per day", layer.gigabytes_per_day, "GB")
    streaming = sum(layer.cores_needed for layer in layers if layer.name != "gold")
    yield Figure(f"{load}: number of cores for bronze and silver, spare cores included", streaming, "cores")
    gold = next(layer for layer in layers if layer.name == "gold")
    day = RECORDS_PER_SECOND * DAY * gold.micros / 1e6 / 3_600
    yield Figure(f"{load}: gold, CPU time to compute one day", day, "core-hours")

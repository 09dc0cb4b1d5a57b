"""Estimate the resources that the Spark pipeline needs for a large cluster, from the results of `tests.bench.pipeline`.

The cluster has 100,000 groups with 10 partitions each. Each group commits an offset per partition every 5 seconds.

- The CPU time per record is computed from the difference between two runs with different numbers of records. The fixed
  cost of a run is therefore not included.
- Executor cores are assumed to be as fast as the cores of the benchmark's machine.
- Half of the cores are idle in normal operation, so that the pipeline can catch up after a failure.
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
"""Maximum fraction of a layer's cores that are busy in normal operation. The layers are bronze, silver and gold.

The other cores are spare, for catching up after a failure.
"""

WIRE_BYTES = 130
"""Assumed size of an uncompressed record in `__consumer_offsets`, in bytes.

The key of the record has 40 to 70 bytes, and the value has 24 or 42 bytes. The rest is overhead of Kafka's log format.
"""


@dataclass(frozen=True, slots=True)
class LayerCost:
    """Cost per record in one layer of the pipeline (bronze, silver or gold).

    Attributes:
        micros: CPU time in microseconds.
        stored: bytes on disk; 0 for gold, whose size is not measured.
    """

    name: str
    micros: float
    stored: float = 0.0

    @property
    def cores(self) -> float:
        """Number of cores that the layer keeps busy if it processes `RECORDS_PER_SECOND`."""
        return RECORDS_PER_SECOND * self.micros / 1e6

    @property
    def cores_needed(self) -> int:
        """Number of cores to provide for the layer, so that at most the fraction `BUSY` of them is busy."""
        return math.ceil(self.cores / BUSY)

    @property
    def gigabytes_per_day(self) -> float:
        """Amount of data that the layer writes per day, in gigabytes."""
        return RECORDS_PER_SECOND * DAY * self.stored / 1e9


def layer_costs(cores: int, smaller: Mapping[str, Any], larger: Mapping[str, Any]) -> list[LayerCost]:
    """Compute the cost per record of each layer from two runs with different numbers of records.

    Args:
        cores: number of cores in both runs.
        smaller, larger: results of the two runs. The key `records` contains the number of records, `seconds` the
            duration of each layer, and `bytes` the size of each layer's tables except for gold.
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
    """Yield the large cluster's load in records/s and MB/s, and the cores and disk space that the pipeline needs."""
    load = f"{GROUPS:,} groups × {PARTITIONS} partitions, commits every {COMMIT_INTERVAL:g} s"
    yield Figure(f"{load}: records", RECORDS_PER_SECOND, "/s")
    yield Figure(f"{load}: data sent by brokers", RECORDS_PER_SECOND * WIRE_BYTES / 1e6, "MB/s")
    for layer in layers:
        yield Figure(f"{load}: cores that the {layer.name} job keeps busy", layer.cores, "cores")
        if layer.stored:
            yield Figure(f"{load}: data that the {layer.name} job writes per day", layer.gigabytes_per_day, "GB")
    streaming = sum(layer.cores_needed for layer in layers if layer.name != "gold")
    yield Figure(f"{load}: cores needed for the bronze and silver jobs, including spare cores", streaming, "cores")
    gold = next(layer for layer in layers if layer.name == "gold")
    day = RECORDS_PER_SECOND * DAY * gold.micros / 1e6 / 3_600
    yield Figure(f"{load}: CPU time to compute the gold tables of one day", day, "core-hours")

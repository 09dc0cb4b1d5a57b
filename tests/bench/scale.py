"""From measured rates to a large cluster: 100,000 groups × 10 partitions that commit every 5 seconds. Arithmetic only.

What grows with the records is taken from the difference of two runs, so that what every run costs once is in neither.
Executors are taken to be as fast as the cores of the run, and half idle, so that one can fail and a backlog be caught
up at twice the speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GROUPS, PARTITIONS, EVERY = 100_000, 10, 5.0
RECORDS_PER_SECOND = GROUPS * PARTITIONS / EVERY
DAY = 86_400
BUSY = 0.5
"""Share of its cores that a step may keep busy."""

WIRE = 130
"""Bytes of a record in the topic: key 40 to 70, value 24 or 42, and what the log adds; uncompressed, as coordinators
write by default."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step of the pipeline costs.

    Attributes:
        micros: of one core, per record.
        stored: bytes on disk per record; 0 when it leaves little.
    """

    name: str
    micros: float
    stored: float = 0.0

    @property
    def cores(self) -> float:
        """Cores that the rate keeps busy."""
        return RECORDS_PER_SECOND * self.micros / 1e6

    @property
    def needed(self) -> int:
        """Cores that it should have."""
        return math.ceil(self.cores / BUSY)

    @property
    def day(self) -> float:
        """Gigabytes a day."""
        return RECORDS_PER_SECOND * DAY * self.stored / 1e9


def steps(cores: int, smaller: Mapping[str, Any], larger: Mapping[str, Any]) -> list[Step]:
    """What each step costs, from two runs on so many cores: records, seconds and bytes of each step."""
    more = larger["records"] - smaller["records"]
    return [
        Step(
            name,
            max(larger["seconds"][name] - smaller["seconds"][name], 0.0) / more * cores * 1e6,
            larger["bytes"].get(name, 0) / larger["records"],
        )
        for name in larger["seconds"]
    ]


def figures(found: list[Step]) -> Iterator[Figure]:
    """The rate, and for each step cores and disk."""
    where = f"{GROUPS:,} × {PARTITIONS} every {EVERY:g} s"
    yield Figure(f"{where}: records", RECORDS_PER_SECOND, "/s")
    yield Figure(f"{where}: from brokers", RECORDS_PER_SECOND * WIRE / 1e6, "MB/s")
    for step in found:
        yield Figure(f"{where}: {step.name}, cores busy", step.cores, "cores")
        if step.stored:
            yield Figure(f"{where}: {step.name}, a day", step.day, "GB")
    streaming = sum(step.needed for step in found if step.name != "gold")
    yield Figure(f"{where}: bronze and silver, cores with as many idle", streaming, "cores")
    gold = next(step for step in found if step.name == "gold")
    day = RECORDS_PER_SECOND * DAY * gold.micros / 1e6 / 3_600
    yield Figure(f"{where}: gold of one day's commits, once", day, "core-hours")

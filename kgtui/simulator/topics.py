"""Topics of the simulated cluster: how their logs grow, as pure functions of time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.simulator.facts import number_of, uuid_of

if TYPE_CHECKING:
    from uuid import UUID

WAVE = 240.0
"""Seconds from one rush hour to the next: traffic is seen to swell and ebb."""

DELETES_EVERY = 30.0
"""Seconds between two times that retention deletes segments."""


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """A topic whose partitions grow with time.

    Attributes:
        name: topic name.
        partitions: number of partitions.
        rate: records a second in the slowest partition on average; others have up to 1.4 times that.
        base: log end of partition 0 at time 0.
        kept: records that retention keeps in a partition.
        swell: how much the rate swings around its average, 0 to 0.9.
        internal: whether Kafka calls it internal.
        configs: names and values that differ from the broker's defaults.
        seed: what the topic id depends on besides the name.
    """

    name: str
    partitions: int = 6
    rate: float = 5.0
    base: int = 1_000_000
    kept: int = 400_000
    swell: float = 0.5
    internal: bool = False
    configs: tuple[tuple[str, str], ...] = ()
    seed: int = 1
    id: UUID = field(init=False)
    salt: int = field(init=False)
    _shape: tuple[tuple[int, float], ...] = field(init=False)

    def __post_init__(self) -> None:
        salt = number_of("topic", self.name)
        shape = (
            (self.base + partition * 997, self.rate * (1 + (salt + partition * 7) % 5 / 10))
            for partition in range(self.partitions)
        )
        object.__setattr__(self, "id", uuid_of("topic", self.seed, self.name))
        object.__setattr__(self, "salt", salt)
        object.__setattr__(self, "_shape", tuple(shape))

    @property
    def settings(self) -> dict[str, str]:
        """Its configs. One that keeps so many records says how long that is, near enough."""
        own = dict(self.configs)
        if self.rate and not own:
            own["retention.ms"] = str(round(self.kept / (self.rate * 1.2)) * 1000)
        return own

    def flow(self, t: float) -> float:
        """Seconds' worth of average traffic that came in until `t`; grows without ever going back."""
        shift = self.salt % 628 / 100
        turn = WAVE / math.tau
        return t + self.swell * turn * (math.sin(t / turn + shift) - math.sin(shift))

    def ends_at_flow(self, flow: float) -> list[int]:
        """Log ends of all partitions once that much traffic came in."""
        return [max(0, base + int(rate * flow)) for base, rate in self._shape]

    def log_ends(self, t: float) -> list[int]:
        """Log end offsets of all partitions."""
        return self.ends_at_flow(self.flow(t))

    def log_starts(self, t: float) -> list[int]:
        """Log start offsets of all partitions."""
        return [max(0, end - self.kept) for end in self.log_ends(t // DELETES_EVERY * DELETES_EVERY)]

    def time_of(self, partition: int, offset: int, t: float) -> float:
        """When the record at `offset` came in, near enough for a timestamp."""
        rate = self._shape[partition][1]
        return t - (self.log_ends(t)[partition] - offset) / rate if rate else t

    def replicas(self, partition: int, nodes: int, factor: int = 3) -> tuple[int, ...]:
        """Indexes of the brokers that hold a partition, the preferred leader first."""
        first = self.salt + partition
        return tuple((first + step) % nodes for step in range(min(factor, nodes)))

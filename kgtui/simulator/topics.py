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


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """A topic whose partitions grow with time.

    Attributes:
        name: topic name.
        partitions: number of partitions.
        rate: records a second in partition 0 on average; the others differ a little.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", uuid_of("topic", self.seed, self.name))
        object.__setattr__(self, "salt", number_of("topic", self.name))

    def flow(self, t: float) -> float:
        """Seconds' worth of average traffic that came in until `t`; grows without ever going back."""
        shift = self.salt % 628 / 100
        turn = WAVE / math.tau
        return t + self.swell * turn * (math.sin(t / turn + shift) - math.sin(shift))

    def end_at_flow(self, partition: int, flow: float) -> int:
        """Log end of a partition once that much traffic came in."""
        rate = self.rate * (1 + (self.salt + partition * 7) % 5 / 10)
        return max(0, self.base + partition * 997 + int(rate * flow))

    def log_end(self, partition: int, t: float) -> int:
        """Log end offset of a partition."""
        return self.end_at_flow(partition, self.flow(t))

    def log_start(self, partition: int, t: float) -> int:
        """Log start offset of a partition: segments are deleted every 30 s."""
        return max(0, self.end_at_flow(partition, self.flow(t // 30 * 30)) - self.kept)

    def time_of(self, partition: int, offset: int, t: float) -> float:
        """When the record at `offset` came in, near enough for a timestamp."""
        behind = self.log_end(partition, t) - offset
        return t - behind / self.rate if self.rate else t

    def replicas(self, partition: int, nodes: int, factor: int = 3) -> tuple[int, ...]:
        """Indexes of the brokers that hold a partition, the preferred leader first."""
        first = self.salt + partition
        return tuple((first + step) % nodes for step in range(min(factor, nodes)))

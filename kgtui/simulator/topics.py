"""Topics of the simulated cluster. Log start and log end offsets are not stored, but computed from the current time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.simulator.hashing import hash_number, hash_uuid

if TYPE_CHECKING:
    from uuid import UUID

HOUR = 3_600.0
DAY = 86_400.0
WAVE_PERIOD = 240.0
"""Time between traffic peaks, in seconds. It is short, so that users of the demo see the traffic change."""

_OLDEST, _OLDEST_IDLE = 400 * DAY, HOUR
"""Age of a topic's oldest record when the cluster starts, in seconds. `_OLDEST_IDLE` is for topics without traffic.

`_OLDEST_IDLE` is less than seven days, because brokers would have deleted older records (Kafka's default retention).
"""

RETENTION_INTERVAL = 30.0
"""Time between two runs of retention, in seconds. Each run deletes old records."""


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """A topic whose partitions grow with time.

    Attributes:
        rate: number of records per second. The average rate of each partition is 1 to 1.4 times this number.
        base: log end offset of partition 0 at the start of the cluster. The log end offset of each further partition is
            997 higher than that of the previous partition.
        kept: number of records per partition that retention keeps.
        swell: amplitude of the regular wave in the traffic, as a fraction of the average rate.
        internal: whether Metadata responses mark the topic as internal.
        configs: configs that differ from the defaults.
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
        salt = hash_number("topic", self.name)
        shape = (
            (self.base + partition * 997, self.rate * (1 + (salt + partition * 7) % 5 / 10))
            for partition in range(self.partitions)
        )
        object.__setattr__(self, "id", hash_uuid("topic", self.seed, self.name))
        object.__setattr__(self, "salt", salt)
        object.__setattr__(self, "_shape", tuple(shape))

    @property
    def settings(self) -> dict[str, str]:
        """Config name → value, for topic configs that differ from the defaults.

        If `configs` is empty and the topic has traffic, `retention.ms` is estimated from `kept`, the number of records
        that retention keeps.
        """
        settings = dict(self.configs)
        if self.rate and not settings:
            settings["retention.ms"] = str(round(self.kept / (self.rate * 1.2)) * 1000)
        return settings

    def flow(self, t: float) -> float:
        """Return the amount of traffic from the start of the cluster to time `t`.

        The unit is the average traffic of one second. For example, if 120 records are written in the first 10 s, and
        the average is 10 records/s, `flow(10)` is 12.
        """
        shift = self.salt % 628 / 100
        turn = WAVE_PERIOD / math.tau
        return t + self.swell * turn * (math.sin(t / turn + shift) - math.sin(shift))

    def ends_at_flow(self, flow: float) -> list[int]:
        """Return the log end offset of each partition after a given amount of traffic.

        Args:
            flow: amount of traffic, as the method `flow` returns it.
        """
        return [max(0, base + int(rate * flow)) for base, rate in self._shape]

    def log_ends(self, t: float) -> list[int]:
        return self.ends_at_flow(self.flow(t))

    def log_starts(self, t: float) -> list[int]:
        """Return the log start offset of each partition. The offsets change only when retention runs."""
        return [max(0, end - self.kept) for end in self.log_ends(t // RETENTION_INTERVAL * RETENTION_INTERVAL)]

    def log_end(self, partition: int, t: float) -> int:
        return self.ends_at_flow(self.flow(t))[partition]

    @property
    def oldest(self) -> float:
        """Time of the oldest records, in seconds since the start of the cluster.

        The number is negative, because these records were written before the start.
        """
        return -_OLDEST if self.rate else -_OLDEST_IDLE

    def replicas(self, partition: int, nodes: int, factor: int = 3) -> tuple[int, ...]:
        """Return the indexes of the brokers with a replica of a partition, preferred leader first.

        Args:
            nodes: number of brokers.
            factor: replication factor.
        """
        first = self.salt + partition
        return tuple((first + step) % nodes for step in range(min(factor, nodes)))


_PEAK = 15 * HOUR
"""Time of the daily traffic peak, in seconds after midnight UTC."""

_RIPPLES = ((47 * 60.0, 0.10), (13 * 60.0, 0.06))
"""Two waves that vary the traffic within each hour: `(period in seconds, amplitude as a fraction of the average)`."""


@dataclass(frozen=True, slots=True, eq=False)
class DailyTopic(Topic):
    """A topic whose traffic follows the time of day.

    Attributes:
        hours: number of hours for which retention keeps records.
        midnight: seconds from midnight UTC to the start of the cluster.
        surge: start and end of a surge of traffic, in seconds since the start of the cluster.
        surging: additional traffic during the surge, as a multiple of the average traffic.
    """

    hours: float = 168.0
    midnight: float = 0.0
    surge: tuple[float, float] = (0.0, 0.0)
    surging: float = 0.0

    @property
    def settings(self) -> dict[str, str]:
        return dict(self.configs) | {"retention.ms": str(round(self.hours * HOUR) * 1000)}

    def flow(self, t: float) -> float:
        """Return the amount of traffic from the start of the cluster to time `t`.

        The unit is the average traffic of one second. The traffic is the sum of the average traffic, a daily wave, two
        shorter waves and a surge.
        """
        total = t + self._wave(t, DAY, self.swell, _PEAK - self.midnight)
        for period, height in _RIPPLES:
            total += self._wave(t, period, height, self.salt % period)
        begin, end = self.surge
        return total + self.surging * (min(max(t, begin), end) - begin)

    def log_starts(self, t: float) -> list[int]:
        return self.log_ends(t // RETENTION_INTERVAL * RETENTION_INTERVAL - self.hours * HOUR)

    @staticmethod
    def _wave(t: float, period: float, height: float, peak: float) -> float:
        """Return the amount that one sine wave adds to `flow(t)`.

        Args:
            period: length of the wave, in seconds.
            height: amplitude, as a fraction of the average traffic.
            peak: time at which the wave has a maximum, in seconds since the start of the cluster.
        """
        turn = period / math.tau
        return height * turn * (math.sin((t - peak) / turn) - math.sin(-peak / turn))

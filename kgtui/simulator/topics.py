"""Topics of the simulated cluster. The offsets of their logs are computed from the time and are not stored."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.simulator.hashing import hash_number, hash_uuid

if TYPE_CHECKING:
    from uuid import UUID

HOUR = 3_600.0
"""Seconds in an hour."""

DAY = 86_400.0
"""Seconds in a day."""

WAVE_PERIOD = 240.0
"""Time from one traffic peak to the next, in seconds. It is short, so that users of the demo see the traffic change."""

_OLDEST, _OLDEST_IDLE = 400 * DAY, HOUR
"""Age of the oldest record when the cluster starts, in seconds: in a topic with traffic, and in one without traffic.

All records of a topic without traffic have the same age. One hour is less than Kafka's default retention time of seven
days, so that these records are not deleted immediately.
"""

RETENTION_INTERVAL = 30.0
"""Time between two runs of retention, which deletes old records, in seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """A topic whose partitions grow with time.

    Attributes:
        name: topic name.
        partitions: number of partitions.
        rate: average records per second in the slowest partition. Other partitions are up to 1.4 times as fast.
        base: log end offset of partition 0 at the start of the cluster. Each partition begins 997 offsets above the
            previous one.
        kept: number of records per partition that retention keeps.
        swell: how much the rate rises and falls around its average, as a fraction of the average from 0 to 0.9.
        internal: whether Metadata responses mark the topic as internal.
        configs: names and values of configs that differ from the defaults of the broker.
        seed: the topic id is derived from this seed and the name.
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
        """Topic configs that differ from the defaults: names → values.

        If `configs` is empty and records are written to the topic, `retention.ms` is estimated from `kept`.
        """
        settings = dict(self.configs)
        if self.rate and not settings:
            settings["retention.ms"] = str(round(self.kept / (self.rate * 1.2)) * 1000)
        return settings

    def flow(self, t: float) -> float:
        """Return how many seconds of average traffic have the same number of records as the traffic until time `t`.

        For example, `flow(10)` is 12 if as many records are written to the topic in the first 10 s as in 12 s at the
        average rate. The result is the same for all partitions of the topic. It never decreases when `t` increases.
        """
        shift = self.salt % 628 / 100
        turn = WAVE_PERIOD / math.tau
        return t + self.swell * turn * (math.sin(t / turn + shift) - math.sin(shift))

    def ends_at_flow(self, flow: float) -> list[int]:
        """Return the log end offsets of all partitions at the time `t` for which `self.flow(t)` equals `flow`."""
        return [max(0, base + int(rate * flow)) for base, rate in self._shape]

    def log_ends(self, t: float) -> list[int]:
        """Return the log end offsets of all partitions at time `t`."""
        return self.ends_at_flow(self.flow(t))

    def log_starts(self, t: float) -> list[int]:
        """Return the log start offsets of all partitions at time `t`. They change only when retention runs."""
        return [max(0, end - self.kept) for end in self.log_ends(t // RETENTION_INTERVAL * RETENTION_INTERVAL)]

    def log_end(self, partition: int, t: float) -> int:
        """Return the log end offset of one partition at time `t`."""
        return self.ends_at_flow(self.flow(t))[partition]

    @property
    def oldest(self) -> float:
        """Time of the oldest records, in seconds. It is negative, because the cluster starts at time 0.

        All records that were in the log at this time have this time as their timestamp.
        """
        return -_OLDEST if self.rate else -_OLDEST_IDLE

    def replicas(self, partition: int, nodes: int, factor: int = 3) -> tuple[int, ...]:
        """Return the indexes of the brokers with a replica of a partition, the preferred leader first.

        `nodes` is the number of brokers, and `factor` the replication factor.
        """
        first = self.salt + partition
        return tuple((first + step) % nodes for step in range(min(factor, nodes)))


_PEAK = 15 * HOUR
"""Time of the daily peak of the traffic, in seconds after midnight UTC."""

_RIPPLES = ((47 * 60.0, 0.10), (13 * 60.0, 0.06))
"""Waves that are added to the daily wave of the traffic, so that no two hours are the same.

Each wave is `(period in seconds, amplitude as a fraction of the average traffic)`.
"""


@dataclass(frozen=True, slots=True, eq=False)
class DailyTopic(Topic):
    """A topic whose traffic follows the time of day.

    Attributes:
        hours: hours for which retention keeps records.
        midnight: seconds from midnight UTC to time 0 of the cluster.
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
        """Return what `Topic.flow` documents, for traffic with a daily wave, two shorter waves and a surge."""
        total = t + self._wave(t, DAY, self.swell, _PEAK - self.midnight)
        for period, height in _RIPPLES:
            total += self._wave(t, period, height, self.salt % period)
        begin, end = self.surge
        return total + self.surging * (min(max(t, begin), end) - begin)

    def log_starts(self, t: float) -> list[int]:
        """Return the log start offsets at time `t`. Retention deletes records that are older than `hours` hours."""
        return self.log_ends(t // RETENTION_INTERVAL * RETENTION_INTERVAL - self.hours * HOUR)

    @staticmethod
    def _wave(t: float, period: float, height: float, peak: float) -> float:
        """Return the part of `flow(t)`, in seconds, that one sine wave of the traffic causes; it may be negative.

        The wave repeats every `period` seconds, has an amplitude of `height`, and has a maximum at the time `peak`.
        """
        turn = period / math.tau
        return height * turn * (math.sin((t - peak) / turn) - math.sin(-peak / turn))

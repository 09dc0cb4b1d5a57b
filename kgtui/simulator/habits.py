"""How a group works through a log: the committed offset of a partition as a pure function of time.

No habit ever commits backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kgtui.simulator.topics import Topic

COMMIT_EVERY = 5.0
"""Seconds between commits (the default of `auto.commit.interval.ms`)."""


class Habit(Protocol):
    """One way to work through a topic."""

    def position(self, topic: Topic, partition: int, t: float) -> int | None:
        """The offset committed at `t`, or None where there never was a commit."""


@dataclass(frozen=True, slots=True)
class Steady:
    """Keeps up, `delay` seconds behind the end."""

    delay: float = 1.0

    def position(self, topic: Topic, partition: int, t: float) -> int:
        """Where the log ended `delay` seconds before the last commit."""
        return topic.log_end(partition, t // COMMIT_EVERY * COMMIT_EVERY - self.delay)


@dataclass(frozen=True, slots=True)
class Lagging:
    """Too slow: takes only a `share` of what comes in, and began `backlog` records behind."""

    backlog: int = 20_000
    share: float = 0.8

    def position(self, topic: Topic, partition: int, t: float) -> int:
        """Falls behind for ever."""
        flow = topic.flow(t // COMMIT_EVERY * COMMIT_EVERY)
        return max(0, topic.end_at_flow(partition, flow * self.share) - self.backlog)


@dataclass(frozen=True, slots=True)
class Draining:
    """Works off a backlog within `seconds`, and keeps up from then on."""

    backlog: int = 150_000
    seconds: float = 900.0

    def position(self, topic: Topic, partition: int, t: float) -> int:
        """Closer to the end with every commit."""
        at = t // COMMIT_EVERY * COMMIT_EVERY
        left = max(0.0, 1 - max(0.0, at) / self.seconds)
        return max(0, topic.log_end(partition, at - 1.0) - int(self.backlog * left))


@dataclass(frozen=True, slots=True)
class Batch:
    """Sleeps and then takes all at once: every `every` seconds a job works for the last third of the time."""

    every: float = 120.0

    def position(self, topic: Topic, partition: int, t: float) -> int:
        """Stands still, and then runs to the end."""
        turn, at = divmod(t // COMMIT_EVERY * COMMIT_EVERY, self.every)
        begin = topic.log_end(partition, turn * self.every)
        run = min(1.0, max(0.0, (at / self.every - 0.66) / 0.25))
        return begin + int((topic.log_end(partition, turn * self.every + at) - begin) * run)


@dataclass(frozen=True, slots=True)
class Stuck:
    """Stands still, `behind` records before where the log ended at the start; 0 or less has read it all."""

    behind: int = 5_000

    def position(self, topic: Topic, partition: int, t: float) -> int:
        """Always the same offset."""
        return max(0, topic.log_end(partition, 0.0) - self.behind)


@dataclass(frozen=True, slots=True)
class Lost:
    """Stands still before the start of the log: retention deleted `gap` records that nobody read."""

    gap: int = 7_000

    def position(self, topic: Topic, partition: int, t: float) -> int:
        """Always the same offset, below log start."""
        return max(0, topic.log_start(partition, 0.0) - self.gap)


@dataclass(frozen=True, slots=True)
class Never:
    """Subscribed, and never committed."""

    def position(self, topic: Topic, partition: int, t: float) -> None:
        """No commit."""
        return


STEADY = Steady()

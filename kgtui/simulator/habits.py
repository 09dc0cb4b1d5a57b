"""How a group works through a log: committed offsets as pure functions of time. No habit ever commits backwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.simulator.topics import Topic

COMMIT_EVERY = 5.0
"""Seconds between commits (the default of `auto.commit.interval.ms`)."""


FAR = 10.0
"""Seconds behind the end from which the way there is not quite even."""


class Habit(Protocol):
    """One way to work through a topic."""

    def positions(self, topic: Topic, t: float) -> Sequence[int | None]:
        """The offset committed at `t` in each partition; None where there never was a commit."""


def last_commit(t: float) -> float:
    """When the last commit before `t` was made."""
    return t // COMMIT_EVERY * COMMIT_EVERY


@dataclass(frozen=True, slots=True)
class Steady:
    """Keeps up, `delay` seconds behind the end; one that is far behind is now a bit more, now a bit less."""

    delay: float = 1.0

    def positions(self, topic: Topic, t: float) -> Sequence[int]:
        """Where the log ended `delay` seconds before the last commit."""
        at = last_commit(t)
        early = (at // COMMIT_EVERY % 3 - 1) * 2 if self.delay >= FAR else 0.0
        return topic.log_ends(at - self.delay + early)


@dataclass(frozen=True, slots=True)
class Lagging:
    """Too slow: takes only a `share` of what comes in, and began `backlog` records behind."""

    backlog: int = 20_000
    share: float = 0.8

    def positions(self, topic: Topic, t: float) -> Sequence[int]:
        """Falls behind for ever."""
        ends = topic.ends_at_flow(topic.flow(last_commit(t)) * self.share)
        return [max(0, end - self.backlog) for end in ends]


@dataclass(frozen=True, slots=True)
class Draining:
    """Works off a backlog within `seconds`, and keeps up from then on."""

    backlog: int = 150_000
    seconds: float = 900.0

    def positions(self, topic: Topic, t: float) -> Sequence[int]:
        """Closer to the end with every commit."""
        at = last_commit(t)
        left = int(self.backlog * max(0.0, 1 - max(0.0, at) / self.seconds))
        return [max(0, end - left) for end in topic.log_ends(at - 1.0)]


@dataclass(frozen=True, slots=True)
class Batch:
    """Sleeps and then takes all at once: every `every` seconds a job works for the last third of the time."""

    every: float = 120.0

    def positions(self, topic: Topic, t: float) -> Sequence[int]:
        """Stands still, and then runs to the end."""
        turn, at = divmod(last_commit(t), self.every)
        begins = topic.log_ends(turn * self.every)
        run = min(1.0, max(0.0, (at / self.every - 0.66) / 0.25))
        if run == 0:
            return begins
        ends = topic.log_ends(turn * self.every + at)
        return [begin + int((end - begin) * run) for begin, end in zip(begins, ends, strict=True)]


@dataclass(frozen=True, slots=True)
class Stuck:
    """Stands still, `behind` records before where the log ended at the start."""

    behind: int = 5_000

    def positions(self, topic: Topic, t: float) -> Sequence[int]:
        """Always the same offsets."""
        return [max(0, end - self.behind) for end in topic.log_ends(0.0)]


@dataclass(frozen=True, slots=True)
class Lost:
    """Stands still before the start of the log: retention deleted `gap` records that nobody read."""

    gap: int = 7_000

    def positions(self, topic: Topic, t: float) -> Sequence[int]:
        """Always the same offsets, below log start."""
        return [max(0, start - self.gap) for start in topic.log_starts(0.0)]


@dataclass(frozen=True, slots=True)
class Halted:
    """Stands where it came to with `habit` until `since`, when it stopped working; goes on from there some day."""

    habit: Habit
    since: float

    def positions(self, topic: Topic, t: float) -> Sequence[int | None]:
        """Always the same offsets."""
        return self.habit.positions(topic, self.since)


@dataclass(frozen=True, slots=True)
class Never:
    """Subscribed, and never committed."""

    def positions(self, topic: Topic, t: float) -> Sequence[None]:
        """No commits."""
        return [None] * topic.partitions


STEADY = Steady()

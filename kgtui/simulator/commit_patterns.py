"""Commit patterns, which compute the offsets that a simulated group has committed for a topic at a given time.

Scenario files select a pattern by name: `commits = { pattern = "lagging", backlog = 42_000 }`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kgtui.simulator.membership import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.simulator.topics import Topic

COMMIT_INTERVAL = 5.0
"""Time between two offset commits of a group, in seconds: the default value of Kafka's `auto.commit.interval.ms`."""

_UNEVEN_DELAY = 10.0
"""Minimum value of `Steady.delay`, in seconds, for which the delay varies from commit to commit."""


class CommitPattern(Protocol):
    """How a group reads a topic and commits offsets for it."""

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int | None]:
        """Return the committed offset of each partition; None for a partition without a committed offset.

        Args:
            t: time for which the offsets are computed, in seconds since the start of the cluster.
        """


def last_commit(t: float) -> float:
    """Return the time of the last commit at or before `t`, in seconds since the start of the cluster."""
    return t // COMMIT_INTERVAL * COMMIT_INTERVAL


class Steady(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="steady"):
    """The group keeps up with the producers.

    Each committed offset is equal to the log end offset that the partition had `delay` seconds before the commit. A
    delay of 10 s or more varies by up to 2 s from commit to commit.
    """

    delay: float = 1.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        at = last_commit(t)
        # Vary a long delay by up to 2 s, so that the lag is not constant.
        early = (at // COMMIT_INTERVAL % 3 - 1) * 2 if self.delay >= _UNEVEN_DELAY else 0.0
        return topic.log_ends(at - self.delay + early)


class Lagging(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="lagging"):
    """The group falls further and further behind.

    In each partition, the group starts `backlog` records behind the log end. Of the records that are written after the
    start, the group reads only the given `fraction` (from 0 to 1).
    """

    backlog: int = 20_000
    fraction: float = 0.8

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        ends = topic.ends_at_flow(topic.flow(last_commit(t)) * self.fraction)
        return [max(0, end - self.backlog) for end in ends]


class Draining(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="draining"):
    """The group starts with `backlog` unread records per partition, and needs `seconds` to catch up."""

    backlog: int = 150_000
    seconds: float = 900.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        at = last_commit(t)
        left = int(self.backlog * max(0.0, 1 - max(0.0, at) / self.seconds))
        return [max(0, end - left) for end in topic.log_ends(at - 1.0)]


class Batch(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="batch"):
    """The group is a batch job that runs periodically: in the last third of each period, it reads all unread records.

    The length of a period is `every` seconds.
    """

    every: float = 120.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        turn, at = divmod(last_commit(t), self.every)
        begins = topic.log_ends(turn * self.every)
        run = min(1.0, max(0.0, (at / self.every - 0.66) / 0.25))
        if run == 0:
            return begins
        ends = topic.log_ends(turn * self.every + at)
        return [begin + int((end - begin) * run) for begin, end in zip(begins, ends, strict=True)]


class Stuck(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="stuck"):
    """The group has committed only once, at the start of the cluster.

    Each committed offset is `behind` records below the log end offset at that time.
    """

    behind: int = 5_000

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        return [max(0, end - self.behind) for end in topic.log_ends(0.0)]


class BelowLogStart(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="below-log-start"):
    """The group committed only once, before the start of the cluster. Since then, retention has deleted unread records.

    At the start of the cluster, each committed offset is `gap` records below the log start offset of its partition.
    """

    gap: int = 7_000

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        return [max(0, start - self.gap) for start in topic.log_starts(0.0)]


class NeverCommitted(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="never"):
    """The group subscribes to the topic, but never commits."""

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[None]:
        return [None] * topic.partitions


class VariableSpeed(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="variable-speed"):
    """The group keeps up until the first time in `speeds`. From then on, it reads at the given speeds.

    Attributes:
        speeds: pairs `(time from which the speed applies, speed)`, in order of time. Times are in seconds since the
            start of the cluster. A speed is the number of records read per record written, for example 0 (stopped), 1
            (constant lag) or 3 (catches up).
        delay: number of seconds by which the group is behind the log end while it keeps up.
    """

    speeds: tuple[tuple[float, float], ...] = ()
    delay: float = 1.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        return topic.log_ends(self.read_until(last_commit(t)))

    def read_until(self, t: float) -> float:
        """Return the timestamp of the newest record that the group has read at time `t`.

        The timestamp and `t` are both in seconds since the start of the cluster.
        """
        if not self.speeds or t <= self.speeds[0][0]:
            return t - self.delay
        until = self.speeds[0][0] - self.delay
        ends = [begin for begin, _ in self.speeds[1:]] + [FOREVER]
        for (begin, speed), end in zip(self.speeds, ends, strict=True):
            if t <= begin:
                break
            now = min(t, end)
            until = min(until + speed * (now - begin), now - self.delay)
        return until


class Halted(Struct, frozen=True):
    """The group commits like `pattern` until `since` (seconds since the start of the cluster), and then never again."""

    pattern: CommitPattern
    since: float

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int | None]:
        return self.pattern.committed_offsets(topic, self.since)


STEADY = Steady()

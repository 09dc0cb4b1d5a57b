"""Commit patterns: which offsets a group has committed for a topic at a given time. The offsets never decrease.

In a scenario file, the key `pattern` names the commit pattern: `commits = { pattern = "lagging", backlog = 42_000 }`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kgtui.simulator.membership import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.simulator.topics import Topic

COMMIT_INTERVAL = 5.0
"""Time between two offset commits of a group, in seconds. Kafka's `auto.commit.interval.ms` has the same default."""

_UNEVEN_DELAY = 10.0
"""If `Steady.delay` is at least this many seconds, the actual delay varies from commit to commit."""


class CommitPattern(Protocol):
    """How a group reads a topic and commits offsets for it."""

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int | None]:
        """Return the committed offset of each partition at the time `t`, or None for a partition without a commit."""


def last_commit(t: float) -> float:
    """Return the time of the last commit at or before `t`, in seconds since the start of the cluster."""
    return t // COMMIT_INTERVAL * COMMIT_INTERVAL


class Steady(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="steady"):
    """The group keeps up with the topic, and is `delay` seconds behind the log end.

    A delay of 10 s or more is up to 2 s shorter or longer at each commit, so that the lag of the group is not constant.
    """

    delay: float = 1.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return the log ends at the time `delay` seconds before the last commit."""
        at = last_commit(t)
        early = (at // COMMIT_INTERVAL % 3 - 1) * 2 if self.delay >= _UNEVEN_DELAY else 0.0
        return topic.log_ends(at - self.delay + early)


class Lagging(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="lagging"):
    """The group falls further and further behind.

    In each partition, the group starts `backlog` records behind the log end, and then reads only a part of the new
    records. For example, the group reads four of five new records if `fraction` is 0.8.
    """

    backlog: int = 20_000
    fraction: float = 0.8

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return offsets that fall further behind the log end with every commit."""
        ends = topic.ends_at_flow(topic.flow(last_commit(t)) * self.fraction)
        return [max(0, end - self.backlog) for end in ends]


class Draining(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="draining"):
    """The group starts with `backlog` unread records per partition, reads them in `seconds` seconds, then keeps up."""

    backlog: int = 150_000
    seconds: float = 900.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return offsets that come closer to the log end with every commit."""
        at = last_commit(t)
        left = int(self.backlog * max(0.0, 1 - max(0.0, at) / self.seconds))
        return [max(0, end - left) for end in topic.log_ends(at - 1.0)]


class Batch(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="batch"):
    """The group is a batch job that reads to the log end during the last third of each period of `every` seconds."""

    every: float = 120.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return offsets that do not change between two runs of the job, and advance to the log end during a run."""
        turn, at = divmod(last_commit(t), self.every)
        begins = topic.log_ends(turn * self.every)
        run = min(1.0, max(0.0, (at / self.every - 0.66) / 0.25))
        if run == 0:
            return begins
        ends = topic.log_ends(turn * self.every + at)
        return [begin + int((end - begin) * run) for begin, end in zip(begins, ends, strict=True)]


class Stuck(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="stuck"):
    """The group has committed once, at the start of the cluster, and never commits again.

    In each partition, the committed offset is `behind` records below the log end offset at the start of the cluster.
    """

    behind: int = 5_000

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return the offsets of the only commit. They do not depend on `t`."""
        return [max(0, end - self.behind) for end in topic.log_ends(0.0)]


class BelowLogStart(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="below-log-start"):
    """The group has committed once, before the cluster started, and never commits again.

    When the cluster starts, the committed offset of each partition is `gap` records below the log start offset, because
    retention has deleted records that the group had not read.
    """

    gap: int = 7_000

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return the offsets of the only commit. They do not depend on `t`. They are below the log start offsets."""
        return [max(0, start - self.gap) for start in topic.log_starts(0.0)]


class NeverCommitted(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="never"):
    """The group subscribes to the topic, but never commits."""

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[None]:
        """Return None for every partition."""
        return [None] * topic.partitions


class VariableSpeed(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="variable-speed"):
    """The group keeps up until the first change of speed, and then reads at the speeds in `speeds`.

    Attributes:
        speeds: `(time, speed)` of each change, in ascending order of time. The time is in seconds since the start of
            the cluster. The speed is the number of records that the group reads for each record that is written. At 0
            the group reads nothing, at 0.5 it falls behind, at 1 its lag stays the same, and at 3 it catches up. A
            group never reads beyond the log end.
        delay: seconds by which the group is behind the log end while it keeps up.
    """

    speeds: tuple[tuple[float, float], ...] = ()
    delay: float = 1.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return the offsets up to which the group has read at the last commit before `t`."""
        return topic.log_ends(self.read_until(last_commit(t)))

    def read_until(self, t: float) -> float:
        """Return the time of the newest record that the group has read at time `t`.

        Both times are in seconds since the start of the cluster.
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
    """The group committed offsets according to another pattern until the time `since`, and never commits again.

    Attributes:
        pattern: the commit pattern until `since`.
        since: time at which the group stopped, in seconds since the start of the cluster.
    """

    pattern: CommitPattern
    since: float

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int | None]:
        """Return the offsets that were committed at the time `since`. They do not depend on `t`."""
        return self.pattern.committed_offsets(topic, self.since)


STEADY = Steady()

"""How a group commits offsets while it reads a topic: pure functions of time that never go backwards.

A scenario file chooses a pattern by its tag, such as `commits = { pattern = "lagging", backlog = 42_000 }`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kgtui.simulator.membership import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.simulator.topics import Topic

COMMIT_INTERVAL = 5.0
"""Seconds between two commits, the default of `auto.commit.interval.ms`."""

_UNEVEN_DELAY = 10.0
"""A `Steady` group whose delay is at least this many seconds varies its delay a little."""


class CommitPattern(Protocol):
    """One way to read a topic and commit offsets."""

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int | None]:
        """Return the offset that is committed at `t`, per partition; None where there is no commit."""


def last_commit(t: float) -> float:
    """Return the time of the last commit before `t`, in seconds since the start of the cluster."""
    return t // COMMIT_INTERVAL * COMMIT_INTERVAL


class Steady(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="steady"):
    """Keeps up with the topic, `delay` seconds behind the log end; a long delay varies by two seconds."""

    delay: float = 1.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return the log ends of `delay` seconds before the last commit."""
        at = last_commit(t)
        early = (at // COMMIT_INTERVAL % 3 - 1) * 2 if self.delay >= _UNEVEN_DELAY else 0.0
        return topic.log_ends(at - self.delay + early)


class Lagging(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="lagging"):
    """Reads too slowly: starts `backlog` records behind and reads only a `fraction` of the incoming records."""

    backlog: int = 20_000
    fraction: float = 0.8

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return offsets whose distance from the log end grows without limit."""
        ends = topic.ends_at_flow(topic.flow(last_commit(t)) * self.fraction)
        return [max(0, end - self.backlog) for end in ends]


class Draining(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="draining"):
    """Reads a backlog of records per partition within `seconds`, and keeps up after that."""

    backlog: int = 150_000
    seconds: float = 900.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return offsets that approach the log end with every commit."""
        at = last_commit(t)
        left = int(self.backlog * max(0.0, 1 - max(0.0, at) / self.seconds))
        return [max(0, end - left) for end in topic.log_ends(at - 1.0)]


class Batch(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="batch"):
    """A batch job that runs every `every` seconds, during the last third of that time, and reads to the log end."""

    every: float = 120.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return offsets that stand still between two runs and advance to the log end during a run."""
        turn, at = divmod(last_commit(t), self.every)
        begins = topic.log_ends(turn * self.every)
        run = min(1.0, max(0.0, (at / self.every - 0.66) / 0.25))
        if run == 0:
            return begins
        ends = topic.log_ends(turn * self.every + at)
        return [begin + int((end - begin) * run) for begin, end in zip(begins, ends, strict=True)]


class Stuck(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="stuck"):
    """Never commits again after the start, when it was `behind` records behind the log end."""

    behind: int = 5_000

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return the same offsets at any time."""
        return [max(0, end - self.behind) for end in topic.log_ends(0.0)]


class BelowLogStart(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="below-log-start"):
    """Stuck below the log start: retention has deleted `gap` records that the group did not read."""

    gap: int = 7_000

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return the same offsets at any time, all below the log start."""
        return [max(0, start - self.gap) for start in topic.log_starts(0.0)]


class NeverCommitted(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="never"):
    """Subscribed to the topic without ever committing."""

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[None]:
        """Return None for every partition."""
        return [None] * topic.partitions


class VariableSpeed(Struct, frozen=True, forbid_unknown_fields=True, tag_field="pattern", tag="variable-speed"):
    """Keeps up until the first change of speed, and reads at the given speeds from then on.

    Attributes:
        speeds: `(time, speed)` of each change, in ascending order of time. The speed is the number of seconds' worth
            of records that are read per second: 0 is a standstill, 0.5 too slow, 3 catches up. A group never reads
            beyond the log end.
        delay: seconds behind the log end while the group keeps up.
    """

    speeds: tuple[tuple[float, float], ...] = ()
    delay: float = 1.0

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int]:
        """Return the log ends of the time up to which the group has read."""
        return topic.log_ends(self.read_until(last_commit(t)))

    def read_until(self, t: float) -> float:
        """Return the time up to which records are read at `t`, in seconds since the start of the cluster."""
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
    """Follows `pattern` until `since`, and commits nothing after that.

    Attributes:
        pattern: the pattern that the group followed before it stopped.
        since: seconds from the start of the cluster to the last commit.
    """

    pattern: CommitPattern
    since: float

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int | None]:
        """Return the offsets that were committed at `since`."""
        return self.pattern.committed_offsets(topic, self.since)


STEADY = Steady()

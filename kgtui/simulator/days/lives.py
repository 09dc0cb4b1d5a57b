"""How groups live for days: members who come and go at given times, and reading that is now slower, now faster."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.simulator.habits import last_commit
from kgtui.simulator.life import FOREVER, Moment, Slot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.simulator.topics import Topic


@dataclass(frozen=True, slots=True)
class Paced:
    """Keeps up, but for some stretches of time in which it reads at another speed.

    Attributes:
        stretches: when one begins, in order, and how many seconds' worth of records are read in a second: 0 at a
            standstill, 0.5 too slow, 3 while it catches up. Reading never overtakes the end of the log.
        delay: seconds behind the end while it keeps up.
    """

    stretches: tuple[tuple[float, float], ...] = ()
    delay: float = 1.0

    def positions(self, topic: Topic, t: float) -> Sequence[int]:
        """Where the log ended at the time up to which was read."""
        return topic.log_ends(self.read_until(last_commit(t)))

    def read_until(self, t: float) -> float:
        """Records that came in until then are read at `t`."""
        if not self.stretches or t <= self.stretches[0][0]:
            return t - self.delay
        until = self.stretches[0][0] - self.delay
        ends = [begin for begin, _ in self.stretches[1:]] + [FOREVER]
        for (begin, speed), end in zip(self.stretches, ends, strict=True):
            if t <= begin:
                break
            now = min(t, end)
            until = min(until + speed * (now - begin), now - self.delay)
        return until


@dataclass(frozen=True, slots=True)
class Roster:
    """Members that come and go at given times.

    Attributes:
        first: numbers of the slots that are taken at the start.
        changes: when the slots change, in order, and to which.
    """

    first: tuple[int, ...]
    changes: tuple[tuple[float, tuple[int, ...]], ...] = ()

    def moment(self, t: float) -> Moment:
        """Who is in the group."""
        change = bisect_right([at for at, _ in self.changes], t)
        slots = self._slots(change)
        if change == 0:
            return Moment(0, FOREVER, slots, slots)
        return Moment(change, t - self.changes[change - 1][0], slots, self._slots(change - 1))

    def _slots(self, change: int) -> tuple[Slot, ...]:
        return tuple(Slot(number, self._joined(number, change)) for number in self._numbers(change))

    def _numbers(self, change: int) -> tuple[int, ...]:
        return self.first if change == 0 else self.changes[change - 1][1]

    def _joined(self, number: int, change: int) -> int:
        while change > 0 and number in self._numbers(change - 1):
            change -= 1
        return change


def restless(begin: float, end: float, every: float, rosters: tuple[tuple[int, ...], ...]) -> Roster:
    """The second roster, then the first, and so on every so many seconds, between two times; the first otherwise."""
    changes = []
    at, turn = begin, 1
    while at < end:
        changes.append((at, rosters[turn % len(rosters)]))
        at, turn = at + every, turn + 1
    return Roster(rosters[0], (*changes, (end, rosters[0])))

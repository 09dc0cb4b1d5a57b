"""How members come and go: pure functions of time, so nothing has to be stored or ticked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

FOREVER = math.inf


class Slot(NamedTuple):
    """A place in a group that a member holds: another member each time it was given up in between."""

    number: int
    joined: int
    """The change at which the present member came; 0 when it was there from the start."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Who is in a group at one time.

    Attributes:
        change: how many times members came or went since the start.
        since: seconds since the last change; infinite if there was none.
        slots: who is in it now.
        before: who was in it before the last change.
    """

    change: int
    since: float
    slots: tuple[Slot, ...]
    before: tuple[Slot, ...]


class Life(Protocol):
    """The comings and goings of one group."""

    def moment(self, t: float) -> Moment:
        """Who is in the group `t` seconds after the start of the cluster."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The same members for ever; with `members` 0, a group that everyone left long ago."""

    members: int

    def moment(self, t: float) -> Moment:
        """Always the same."""
        slots = tuple(Slot(number, 0) for number in range(self.members))
        return Moment(0, FOREVER, slots, slots)


@dataclass(frozen=True, slots=True)
class Shifts:
    """Members change every `period` seconds, from one roster to the next, and round again.

    Attributes:
        period: seconds between two changes.
        rosters: numbers of the slots that are taken, one tuple for each stretch.
        ahead: seconds by which the first change comes earlier.
    """

    period: float
    rosters: tuple[tuple[int, ...], ...]
    ahead: float = 0.0

    def moment(self, t: float) -> Moment:
        """The roster of this stretch, and of the one before."""
        change, since = divmod(t + self.ahead, self.period)
        now = int(change)
        if now == 0:
            slots = self._slots(0)
            return Moment(0, FOREVER, slots, slots)
        return Moment(now, since, self._slots(now), self._slots(now - 1))

    def _slots(self, change: int) -> tuple[Slot, ...]:
        return tuple(Slot(number, self._joined(number, change)) for number in self._roster(change))

    def _roster(self, change: int) -> tuple[int, ...]:
        return self.rosters[change % len(self.rosters)]

    def _joined(self, number: int, change: int) -> int:
        for back in range(min(change, len(self.rosters))):
            if number not in self._roster(change - back - 1):
                return change - back
        return 0


@dataclass(frozen=True, slots=True)
class Held:
    """Held at one point of a rebalance, or settled: what generated groups are given from outside.

    Attributes:
        members: number of members; 0 is an Empty group.
        since: seconds since the last change, for ever.
        change: how many changes there were.
    """

    members: int
    since: float
    change: int

    def moment(self, t: float) -> Moment:
        """Always the same."""
        slots = tuple(Slot(number, 0) for number in range(self.members))
        return Moment(self.change, self.since, slots, slots)

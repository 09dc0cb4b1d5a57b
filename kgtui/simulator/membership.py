"""Compute the members of a simulated group at a given time."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from msgspec import Struct

FOREVER = math.inf


class Slot(NamedTuple):
    """Identifies a member of a group. A later member can have the same `number`, but its `joined` is different."""

    number: int
    joined: int
    """Number of the membership change in which the member joined (1 for the first one); 0 for an initial member."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The members of a group at one time.

    Attributes:
        change: number of membership changes since the start of the cluster.
        since: seconds since the last membership change; infinite if there was none.
        slots: the members that exist at this time.
        before: the members that existed before the last membership change; equal to `slots` if there was none.
    """

    change: int
    since: float
    slots: tuple[Slot, ...]
    before: tuple[Slot, ...]


class MembershipSchedule(Protocol):
    """Computes the members of one group at any time."""

    def at(self, t: float) -> Membership:
        """Return the members `t` seconds after the start of the cluster."""


class ConstantMembership(Struct, frozen=True, forbid_unknown_fields=True):
    """The same members at all times.

    Attributes:
        members: number of members; 0 for an Empty group.
        since: constant value of `Membership.since` (seconds since the last membership change). If the value is shorter
            than a rebalance, the group rebalances forever.
        change: constant value of `Membership.change` (number of membership changes).
    """

    members: int
    since: float = FOREVER
    change: int = 0

    def at(self, t: float) -> Membership:
        slots = tuple(Slot(number, 0) for number in range(self.members))
        return Membership(self.change, self.since, slots, slots)


class RotatingMembership(Struct, frozen=True, forbid_unknown_fields=True):
    """Members that change every `period` seconds in an endless rotation.

    Attributes:
        period: seconds between two changes.
        turns: each tuple contains the numbers (from 0) of the members that exist at one time. Each change switches to
            the next tuple; after the last tuple, the first one follows again.
            Example: with `((0, 1), (0,))`, member 1 leaves and returns again and again.
        ahead: how long the rotation has been running when the cluster starts, in seconds.
    """

    period: float
    turns: tuple[tuple[int, ...], ...]
    ahead: float = 0.0

    def at(self, t: float) -> Membership:
        change, since = divmod(t + self.ahead, self.period)
        now = int(change)
        if now == 0:
            slots = self._slots(0)
            return Membership(0, FOREVER, slots, slots)
        return Membership(now, since, self._slots(now), self._slots(now - 1))

    def _slots(self, change: int) -> tuple[Slot, ...]:
        return tuple(Slot(number, self._joined(number, change)) for number in self._numbers(change))

    def _numbers(self, change: int) -> tuple[int, ...]:
        return self.turns[change % len(self.turns)]

    def _joined(self, number: int, change: int) -> int:
        for back in range(min(change, len(self.turns))):
            if number not in self._numbers(change - back - 1):
                return change - back
        return 0


class ScheduledMembership(Struct, frozen=True, forbid_unknown_fields=True):
    """Members that join and leave at given times.

    Attributes:
        first: member numbers (from 0) of the members that exist at the start.
        changes: pairs `(time, member numbers of the members that exist from this time on)`, in order of time. Times are
            in seconds since the start of the cluster.
    """

    first: tuple[int, ...]
    changes: tuple[tuple[float, tuple[int, ...]], ...] = ()

    @classmethod
    def rotating_between(
        cls, begin: float, end: float, every: float, turns: tuple[tuple[int, ...], ...]
    ) -> ScheduledMembership:
        """Return a schedule in which the members change every `every` seconds from `begin` to `end`.

        Args:
            begin, end: times of the first and last change, in seconds since the start of the cluster.
            turns: each tuple contains the numbers (from 0) of the members that exist at one time. The first tuple
                applies before `begin` and after `end`. In between, each change switches to the next tuple; after the
                last tuple, the first one follows again.
        """
        changes = []
        at, turn = begin, 1
        while at < end:
            changes.append((at, turns[turn % len(turns)]))
            at, turn = at + every, turn + 1
        return cls(turns[0], (*changes, (end, turns[0])))

    def at(self, t: float) -> Membership:
        change = bisect_right([time for time, _ in self.changes], t)
        slots = self._slots(change)
        if change == 0:
            return Membership(0, FOREVER, slots, slots)
        return Membership(change, t - self.changes[change - 1][0], slots, self._slots(change - 1))

    def _slots(self, change: int) -> tuple[Slot, ...]:
        return tuple(Slot(number, self._joined(number, change)) for number in self._numbers(change))

    def _numbers(self, change: int) -> tuple[int, ...]:
        return self.first if change == 0 else self.changes[change - 1][1]

    def _joined(self, number: int, change: int) -> int:
        while change > 0 and number in self._numbers(change - 1):
            change -= 1
        return change

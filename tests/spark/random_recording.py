"""Create random recordings for tests. Their groups consume, stop, fall behind, rebalance, disappear and come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.recorded_rows import RecordedTables

if TYPE_CHECKING:
    from random import Random

_GROUPS, _PARTITIONS = 4, 2


def random_recording(random: Random, polls: int) -> RecordedTables:
    """Return a recording of a cluster that was polled every 20 seconds on average, with a few gaps without polls.

    Every tenth poll writes all rows. The other polls write only changes.

    Args:
        polls: number of polls of the cluster.
    """
    return _Cluster(random).record(polls)


class _Cluster:
    """A cluster in which all groups read the same topic. The state of the cluster changes at random."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._tables = RecordedTables()
        self._ends = [100] * _PARTITIONS
        self._positions = {(group, index): 50 for group in range(_GROUPS) for index in range(_PARTITIONS)}
        self._present = set(range(_GROUPS))
        self._state = ["Stable"] * _GROUPS
        self._epoch = [1] * _GROUPS
        self._members = [{"a"} for _ in range(_GROUPS)]

    def record(self, polls: int) -> RecordedTables:
        second = 0
        for number in range(polls):
            keyframe = number % 10 == 0
            gap = "recorder stopped" if self._random.random() < 0.02 else None
            second += self._random.choice((10, 20, 30)) + (300 if gap else 0)
            self._tables.poll(second, keyframe=keyframe, gap=gap)
            self._change_logs()
            for group in range(_GROUPS):
                self._change_group(group, keyframe)
        return self._tables

    def _change_logs(self) -> None:
        for index in range(_PARTITIONS):
            recreated = self._random.random() < 0.01
            self._ends[index] = 10 if recreated else self._ends[index] + self._random.choice((0, 0, 5, 40))

    def _change_group(self, group: int, keyframe: bool) -> None:
        name, random = f"g{group}", self._random
        if random.random() < 0.01:
            self._present ^= {group}
            if group not in self._present and not keyframe:
                self._tables.group(name, gone=True)
                for index in range(_PARTITIONS):
                    self._tables.partition_gone(name, "t", index)
                for member in self._members[group]:
                    self._tables.member(name, member, gone=True)
            if group in self._present:
                keyframe = True
        if group not in self._present:
            return
        if random.random() < 0.1:
            self._state[group] = "Stable" if self._state[group] != "Stable" else "Reconciling"
            self._epoch[group] += random.randrange(2)
            keyframe_of_group = True
        else:
            keyframe_of_group = keyframe
        if keyframe_of_group:
            self._tables.group(name, self._state[group], group_epoch=self._epoch[group])
        self._change_members(group, keyframe)
        self._change_partitions(group, keyframe)

    def _change_members(self, group: int, keyframe: bool) -> None:
        members = self._members[group]
        changed = {"b"} if self._random.random() < 0.05 else set()
        for member in sorted(members & changed if not keyframe else set()):
            self._tables.member(f"g{group}", member, gone=True)
        members ^= changed
        for member in sorted(members if keyframe else members & changed):
            self._tables.member(f"g{group}", member)

    def _change_partitions(self, group: int, keyframe: bool) -> None:
        """Change a group's offsets at random.

        Group 2 is slow, and group 3 consumes nothing, so their time lags (ages of the first unread record) grow.
        """
        for index in range(_PARTITIONS):
            most = (1_000, 1_000, 5, 0)[group]
            reads = self._random.random() < 0.5
            if reads:
                unread = max(self._ends[index] - self._positions[group, index], 0)
                self._positions[group, index] += self._random.randint(0, min(unread, most))
            if reads or keyframe:
                owner = self._random.choice((None, *sorted(self._members[group])))
                self._tables.commit(
                    f"g{group}", "t", index, self._positions[group, index], self._ends[index], owner=owner
                )

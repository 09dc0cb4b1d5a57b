"""Summary of a set of groups: all groups of a cluster, or the groups under one node of the tree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.judgment import ONLY_COUNTED, worst_first
from kgtui.model.trail import last_sums
from kgtui.monitor.sorted_ids import index_of
from kgtui.tui.tree.grouping import STATE_UNKNOWN, type_label

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from kgtui.model.judgment import Judgment, Problem
    from kgtui.model.snapshot import Snapshot

GROUPS_PER_SLICE = 250
"""Number of groups that are added up in one slice, which takes about 1 ms. Other tasks run between two slices."""


Problems = tuple[tuple[str, "Judgment"], ...]
"""Pairs (group id, judgment) of groups with a problem. The most harmful problem comes first."""


@dataclass(slots=True)
class GroupSetSummary:
    """The values that the page shows for a set of groups. They are added up group by group.

    Attributes:
        groups: number of groups.
        read: number of groups whose offsets have been read at least once.
        oldest_read: the earliest time of a group's last read of offsets, in seconds since the epoch; None if no group
            has been read.
        problems: pairs (group id, judgment) of the groups with a problem, without those that are only counted.
        counted: problem of `ONLY_COUNTED` → number of groups with this problem.
        states: `(label, state)` → number of groups. The label names type and protocol, as `type_label` returns it.
        lag: sum of the known lags in records; None if no lag is known.
        lag_unknown: number of groups whose lag is not completely known.
        written: records per second that are written to the partitions of the groups; None if unknown for all groups.
        consumed: records per second that the groups consume; None if unknown for all groups.
    """

    groups: int = 0
    read: int = 0
    oldest_read: float | None = None
    problems: list[tuple[str, Judgment]] = field(default_factory=list)
    counted: Counter[Problem] = field(default_factory=Counter)
    states: Counter[tuple[str, str]] = field(default_factory=Counter)
    lag: int | None = None
    lag_unknown: int = 0
    written: float | None = None
    consumed: float | None = None

    def add(self, snapshot: Snapshot, group: str) -> None:
        """Add the values of a group, except its problem. A group that is not in the snapshot is ignored."""
        listing, summary = snapshot.groups.get(group), snapshot.summaries.get(group)
        if listing is None:
            return
        self.groups += 1
        label = type_label(facts.type_of(snapshot, group), listing.protocol)
        self.states[label, snapshot.state_of(group) or STATE_UNKNOWN] += 1
        if summary is None or summary.lag_at is None:
            self.lag_unknown += 1
            return
        self.read += 1
        self.oldest_read = summary.lag_at if self.oldest_read is None else min(self.oldest_read, summary.lag_at)
        if summary.lag_unknown or summary.fault is not None or facts.may_hide_topics(snapshot, group):
            self.lag_unknown += 1
        if summary.lag is not None:
            self.lag = (self.lag or 0) + summary.lag
        before, after = last_sums(summary.trail)
        if before is not None and after is not None and after.at > before.at:
            seconds = after.at - before.at
            self.written = (self.written or 0.0) + max(after.log_ends - before.log_ends, 0) / seconds
            self.consumed = (self.consumed or 0.0) + max(after.positions - before.positions, 0) / seconds

    def add_problem(self, group: str, judgment: Judgment) -> None:
        """Add the problem of a group. The problems are shown in the order in which they were added."""
        if judgment.kind in ONLY_COUNTED:
            self.counted[judgment.kind] += 1
        else:
            self.problems.append((group, judgment))


def problem_steps(snapshot: Snapshot) -> Generator[None, None, Problems]:
    """Find the problems of all groups in a snapshot. This generator yields after each slice of groups."""
    found: list[tuple[str, Judgment]] = []
    for number, row in enumerate(snapshot.problems()):
        if number % GROUPS_PER_SLICE == GROUPS_PER_SLICE - 1:
            yield
        found.append(row)
    yield
    return tuple(worst_first(found))


def summary_steps(
    snapshot: Snapshot, parts: Sequence[Sequence[str]], problems: Problems, *, all_groups: bool
) -> Generator[None, None, GroupSetSummary]:
    """Compute the summary of a set of groups. This generator yields after each slice of groups.

    Args:
        parts: lists of group ids that together contain all groups of the set. Each list is sorted.
        problems: the problems of all groups of the snapshot.
        all_groups: whether the set contains all groups of the snapshot.
    """
    summary = GroupSetSummary()
    for part in parts:
        for start in range(0, len(part), GROUPS_PER_SLICE):
            for group in part[start : start + GROUPS_PER_SLICE]:
                summary.add(snapshot, group)
            yield
    for number, (group, judgment) in enumerate(problems):
        if number % GROUPS_PER_SLICE == GROUPS_PER_SLICE - 1:
            yield
        if all_groups or any(index_of(part, group) is not None for part in parts):
            summary.add_problem(group, judgment)
    return summary

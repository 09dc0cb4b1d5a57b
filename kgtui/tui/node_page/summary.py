"""Summary of a set of groups: all groups of a cluster, or the groups under one node of the tree."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.judgment import Problem
from kgtui.model.trail import last_sums
from kgtui.tui.tree.grouping import STATE_UNKNOWN, type_label

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from kgtui.model.judgment import Judgment
    from kgtui.model.snapshot import Snapshot

GROUPS_PER_SLICE = 250
"""Number of groups that are added up before other tasks may run. This takes about 1 ms."""


Problems = tuple[tuple[str, "Judgment"], ...]
"""`(group id, judgment)` of groups with a problem, the most harmful first."""


@dataclass(frozen=True, slots=True)
class GroupSetSummary:
    """The values that the screen shows about a set of groups.

    Attributes:
        groups: number of groups.
        read: number of groups whose offsets were read at least once.
        oldest_read: time of the oldest of these reads, in seconds since the epoch; None if no group was read.
        problems: the groups with a problem. Abandoned groups are only counted in `abandoned`.
        abandoned: number of abandoned groups.
        states: `(label, state)` → number of groups. The label names type and protocol, as `type_label` returns it.
        lag: sum of the known lags; None if no lag is known.
        lag_unknown: number of groups whose lag is not completely known.
        written, consumed: records per second that are written to the partitions of the groups, and that the groups
            consume; None if it is not known for any group.
    """

    groups: int = 0
    read: int = 0
    oldest_read: float | None = None
    problems: Problems = ()
    abandoned: int = 0
    states: Mapping[tuple[str, str], int] = field(default_factory=dict)
    lag: int | None = None
    lag_unknown: int = 0
    written: float | None = None
    consumed: float | None = None


class _Totals:
    """Adds up the values of one group after the other."""

    def __init__(self) -> None:
        self.groups = self.read = self.lag_unknown = 0
        self.oldest_read: float | None = None
        self.lag: int | None = None
        self.written: float | None = None
        self.consumed: float | None = None
        self.states: Counter[tuple[str, str]] = Counter()

    def add(self, snapshot: Snapshot, group: str) -> None:
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


def problem_steps(snapshot: Snapshot) -> Generator[None, None, Problems]:
    """Return the problems of all groups, computed in a generator that yields after each slice of groups."""
    found: list[tuple[str, Judgment]] = []
    for number, row in enumerate(snapshot.problems()):
        if number % GROUPS_PER_SLICE == GROUPS_PER_SLICE - 1:
            yield
        found.append(row)
    yield
    return tuple(sorted(found, key=lambda row: (-row[1].harm, row[0])))


def summary_steps(
    snapshot: Snapshot, parts: Sequence[Sequence[str]], problems: Problems, *, all_groups: bool
) -> Generator[None, None, GroupSetSummary]:
    """Return the summary of a set of groups, computed in a generator that yields after each slice of groups.

    Args:
        parts: lists of group ids, each sorted, that together contain the groups of the set.
        problems: the problems of all groups of the snapshot.
        all_groups: whether the set contains all groups of the snapshot.
    """
    totals = _Totals()
    for part in parts:
        for start in range(0, len(part), GROUPS_PER_SLICE):
            for group in part[start : start + GROUPS_PER_SLICE]:
                totals.add(snapshot, group)
            yield
    mine: list[tuple[str, Judgment]] = []
    abandoned = 0
    for number, (group, judgment) in enumerate(problems):
        if number % GROUPS_PER_SLICE == GROUPS_PER_SLICE - 1:
            yield
        if not all_groups and not any(contains(part, group) for part in parts):
            continue
        if judgment.kind is Problem.ABANDONED:
            abandoned += 1
        else:
            mine.append((group, judgment))
    return GroupSetSummary(
        totals.groups, totals.read, totals.oldest_read, tuple(mine), abandoned, dict(totals.states), totals.lag,
        totals.lag_unknown, totals.written, totals.consumed,
    )  # fmt: skip


def contains(ids: Sequence[str], group: str) -> bool:
    """Return whether a sorted list of group ids contains a group."""
    at = bisect_left(ids, group)
    return at < len(ids) and ids[at] == group

"""Compute the sums and counts that the node page shows about the groups of the cluster or of a tree node."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.encoded_trail import last_rates
from kgtui.model.problem import ONLY_COUNTED, Problem
from kgtui.tui.tree.grouping import STATE_UNKNOWN, type_label

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from kgtui.model.group import Listing
    from kgtui.model.judgment import Judgment
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.problem_index import Problems

GROUPS_PER_SLICE = 250
"""Number of groups whose values are added to the sums in one step, which takes less than 1 ms.

Other tasks can run between two steps.
"""

MOST_PROBLEMS = 400
"""Maximum number of groups in the table of problems.

The number in the title of the table also includes the groups that are left out because of this limit.
"""


@dataclass(slots=True)
class GroupSetSummary:
    """The sums and counts that the node page shows about a set of groups.

    Attributes:
        read: number of groups whose offsets have been read.
        oldest_read: time at which the group with the oldest data was last read, in epoch seconds; None if no group has
            been read.
        problems: groups that need attention, as (group id, problem with its reason), the most severe problem first; at
            most `MOST_PROBLEMS` groups.
        problem_counts: problem that needs attention → number of groups, the most severe problem first.
        counted: problem that needs no attention (such as `UNUSED`) → number of groups.
        acknowledged: number of groups whose problem the user has acknowledged, so that the page does not list it.
        states: (label of type and protocol, state) → number of groups.
        lag: sum of the known lags in records; None if no lag is known.
        lag_unknown: number of groups whose total lag is not fully known, because the group was not read yet, the last
            read failed, the lag of a partition is unknown, or brokers may hide topics from the user.
        written: records written per second; None if unknown for all groups.
        consumed: records consumed per second; None if unknown for all groups.
    """

    groups: int = 0
    read: int = 0
    oldest_read: float | None = None
    problems: list[tuple[str, Judgment]] = field(default_factory=list)
    problem_counts: dict[Problem, int] = field(default_factory=dict)
    counted: dict[Problem, int] = field(default_factory=dict)
    acknowledged: int = 0
    states: Counter[tuple[str, str]] = field(default_factory=Counter)
    lag: int | None = None
    lag_unknown: int = 0
    written: float | None = None
    consumed: float | None = None

    def add(self, snapshot: Snapshot, ids: Sequence[str]) -> None:
        """Add the number, states, lags and rates of these groups to the summary. Ignore deleted groups.

        The attributes about problems stay unchanged.
        """
        listed = [group for group in ids if group in snapshot.groups]
        self.groups += len(listed)
        self._count_states(snapshot, listed)
        self._add_lags(snapshot, listed)

    def _count_states(self, snapshot: Snapshot, ids: Sequence[str]) -> None:
        last: Listing | None = None
        for group in ids:
            listing = snapshot.groups[group]
            # The key is (label of type and protocol, state). Consecutive groups often share one `Listing` object.
            # Normally, they also have the same key, so reuse it. But if the `Listing` lacks the type or the state,
            # compute the key of each group, because these values then come from other data, and can differ.
            if listing is not last or listing.type is None or listing.state is None:
                last, key = listing, _state_key(snapshot, group, listing)
            self.states[key] += 1

    def _add_lags(self, snapshot: Snapshot, ids: Sequence[str]) -> None:
        for group in ids:
            summary = snapshot.summaries.get(group)
            if summary is None or summary.lag_at is None:
                self.lag_unknown += 1
                continue
            self.read += 1
            if self.oldest_read is None or summary.lag_at < self.oldest_read:
                self.oldest_read = summary.lag_at
            if facts.is_lag_incomplete(snapshot, group, summary):
                self.lag_unknown += 1
            if summary.lag is not None:
                self.lag = (self.lag or 0) + summary.lag
            rates = last_rates(summary.trail)
            if rates is not None:
                self.written, self.consumed = (self.written or 0.0) + rates[0], (self.consumed or 0.0) + rates[1]


def _state_key(snapshot: Snapshot, group: str, listing: Listing) -> tuple[str, str]:
    label = type_label(facts.type_of(snapshot, group), listing.protocol)
    return label, snapshot.state_of(group) or STATE_UNKNOWN


def summary_steps(
    snapshot: Snapshot,
    parts: Sequence[Sequence[str]],
    problems: Problems,
    *,
    all_groups: bool,
    earlier: GroupSetSummary | None = None,
) -> Generator[None, None, GroupSetSummary]:
    """Compute the summary of a set of groups, and yield after every `GROUPS_PER_SLICE` groups.

    Args:
        parts: one or more sorted lists, which together contain the ids of all groups of the set.
        problems: the problems of all groups of the snapshot.
        all_groups: whether the set contains all groups of the snapshot.
        earlier: an earlier summary of the same groups. Its lags, rates and states are reused, and only the problems are
            computed again. If None, everything is computed.
    """
    summary = GroupSetSummary() if earlier is None else replace(earlier)
    found: dict[Problem, list[str]] = defaultdict(list)
    for part in parts if earlier is None or not all_groups else ():
        for start in range(0, len(part), GROUPS_PER_SLICE):
            ids = part[start : start + GROUPS_PER_SLICE]
            if earlier is None:
                summary.add(snapshot, ids)
            if not all_groups:
                for group in ids:
                    judgment = problems.judgments.get(group)
                    if judgment is not None and judgment.kind is not None:
                        found[judgment.kind].append(group)
            yield
    if not all_groups:
        problems = replace(problems, groups={kind: sorted(found[kind]) for kind in Problem if kind in found})
    counts = {kind: count for kind in problems.groups if (count := len(problems.visible(kind)))}
    summary.problem_counts = {kind: count for kind, count in counts.items() if kind not in ONLY_COUNTED}
    summary.counted = {kind: count for kind, count in counts.items() if kind in ONLY_COUNTED}
    summary.acknowledged = sum(map(len, problems.groups.values())) - sum(counts.values())
    summary.problems = list(islice(problems.worst_first(), MOST_PROBLEMS))
    return summary

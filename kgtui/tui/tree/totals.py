"""Compute the total lag of each tree node, and count its groups with the most severe problem."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.slices import SLICE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.problem_index import ProblemIndex
    from kgtui.tui.tree.grouping import Node, Path, TreeNodes

GROUPS_SUMMED_PER_SECOND = 2_500
"""Maximum number of groups whose lags are added up per second, on average.

The sums of the lags are shown in the tree and on the page beside the tree. They are computed less often if there are
more groups: with 100,000 groups, every 40 s. This is often enough, because kgtui reads the lags of most groups even
less often (`kgtui.monitor.sweep`).
"""


@dataclass(frozen=True, slots=True)
class NodeTotal:
    """Total lag of a tree node's groups, highest severity of their problems, and number of groups with this severity.

    Attributes:
        lag: sum of the known lags, in records; None if no lag is known.
        unknown: number of groups whose total lag is not fully known, because the group was not read yet, the last read
            failed, the lag of a partition is unknown, or brokers may hide topics from the user.
        severity: severity of the worst problem of any group (`Judgment.severity`); 0 if no group has a problem.
        problems: number of groups with a problem of this severity; 0 if no group has a problem.
    """

    lag: int | None = None
    unknown: int = 0
    severity: int = 0
    problems: int = 0

    @property
    def lower_bound(self) -> bool:
        """Whether the real lag can be higher than `lag`, because some lags are unknown."""
        return self.unknown > 0

    def __add__(self, other: NodeTotal) -> NodeTotal:
        known = [lag for lag in (self.lag, other.lag) if lag is not None]
        worst = max(self.severity, other.severity)
        problems = sum(total.problems for total in (self, other) if total.severity == worst)
        return NodeTotal(sum(known) if known else None, self.unknown + other.unknown, worst, problems)


def sum_nodes(
    nodes: TreeNodes, snapshot: Snapshot, problems: ProblemIndex
) -> Generator[None, None, dict[Path, NodeTotal]]:
    """Return a dict: path of each tree node → `NodeTotal`. Yield after about every 1,000 groups.

    Args:
        problems: index of the problems of all groups. This function first updates the index with the snapshot.
    """
    yield from problems.steps(snapshot)
    judgments = problems.judgments
    totals: dict[Path, NodeTotal] = {}
    budget = SLICE
    leaves = [node for node in nodes.by_path.values() if not node.children]
    if nodes.root is not None and nodes.grouping == "topic":
        # In a tree grouped by topic, compute the root's total from its groups. The sum over its child nodes (topics)
        # would be too large, because a group can be under several topics.
        leaves.append(nodes.root)
    for node in leaves:
        lag = unknown = 0
        is_known = False
        worst: Counter[int] = Counter()
        for ids in _slices(node.parts):
            worst.update(judgments[group].severity for group in ids if group in judgments)
            more, missing, any_known = _sum_lags(ids, snapshot)
            lag, unknown, is_known = lag + more, unknown + missing, is_known or any_known
            budget -= len(ids)
            if budget <= 0:
                budget = SLICE
                yield
        level = max(worst, default=0)
        totals[node.path] = NodeTotal(lag if is_known else None, unknown, level, worst[level])
    if nodes.root is not None and nodes.root.path not in totals:
        _sum_children(nodes.root, totals)
    return totals


def _slices(parts: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    for part in parts:
        for start in range(0, len(part), SLICE):
            yield part[start : start + SLICE]


def _sum_lags(ids: Sequence[str], snapshot: Snapshot) -> tuple[int, int, bool]:
    """Return (sum of the known lags, number of groups whose lag is not fully known, whether any lag is known)."""
    lag = unknown = 0
    is_known = False
    summaries = snapshot.summaries
    for group in ids:
        summary = summaries.get(group)
        if summary is None:
            unknown += 1
            continue
        if facts.is_lag_incomplete(snapshot, group, summary):
            unknown += 1
        if summary.lag is not None:
            lag += summary.lag
            is_known = True
    return lag, unknown, is_known


def _sum_children(node: Node, totals: dict[Path, NodeTotal]) -> NodeTotal:
    if node.children:
        total = NodeTotal()
        for child in node.children:
            total += _sum_children(child, totals)
        totals[node.path] = total
    return totals[node.path]

"""Summed lag of every node, with how much of it is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.tui.tree.forest import SLICE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from kgtui.model.snapshot import Snapshot, Summary
    from kgtui.tui.tree.forest import Forest, Node, Path


@dataclass(frozen=True, slots=True)
class NodeTotal:
    """What the groups under a node have in sum.

    Attributes:
        lag: in records, over what is known; None when nothing is.
        unknown: groups of which the lag, or a part of it, is not known.
    """

    lag: int | None = None
    unknown: int = 0

    def __add__(self, other: NodeTotal) -> NodeTotal:
        known = [lag for lag in (self.lag, other.lag) if lag is not None]
        return NodeTotal(sum(known) if known else None, self.unknown + other.unknown)


def totals(forest: Forest, snapshot: Snapshot) -> Generator[None, None, dict[Path, NodeTotal]]:
    """The total of every node. Yields at each slice of about a thousand groups."""
    found: dict[Path, NodeTotal] = {}
    budget = SLICE
    for node in forest.nodes.values():
        if node.children:
            continue
        lag = unknown = 0
        some = False
        for ids in _slices(node.parts):
            more, missing, any_known = _add(ids, snapshot.summaries)
            lag, unknown, some = lag + more, unknown + missing, some or any_known
            budget -= len(ids)
            if budget <= 0:
                budget = SLICE
                yield
        found[node.path] = NodeTotal(lag if some else None, unknown)
    for node in forest.top:
        _sum_up(node, found)
    return found


def _slices(parts: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    for part in parts:
        for start in range(0, len(part), SLICE):
            yield part[start : start + SLICE]


def _add(ids: Sequence[str], summaries: Mapping[str, Summary]) -> tuple[int, int, bool]:
    lag = unknown = 0
    some = False
    for group in ids:
        summary = summaries.get(group)
        if summary is None:
            unknown += 1
            continue
        if summary.lag_unknown or summary.fault is not None:
            unknown += 1
        if summary.lag is not None:
            lag += summary.lag
            some = True
    return lag, unknown, some


def _sum_up(node: Node, found: dict[Path, NodeTotal]) -> NodeTotal:
    if node.children:
        total = NodeTotal()
        for child in node.children:
            total += _sum_up(child, found)
        found[node.path] = total
    return found[node.path]

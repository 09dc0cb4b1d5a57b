"""Chooses which groups with a possible problem ("suspects") are read in full."""

from __future__ import annotations

import asyncio
from heapq import nsmallest
from typing import TYPE_CHECKING, Protocol

from kgtui.model.judgment import ONLY_COUNTED, Problem
from kgtui.monitor.policy import SUSPECT_INTERVAL, SUSPECT_PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store

_NOT_OBSERVED = ONLY_COUNTED | {Problem.EMPTY, Problem.UNREADABLE}
"""A group with one of these problems is not read in full, because a full read would find nothing new."""


class FullReader(Protocol):
    """Interface for reading groups in full. It is implemented by `kgtui.monitor.detail_tiers.ViewTier`."""

    @property
    def in_view(self) -> frozenset[str]:
        """Ids of the groups that are read in full because they are selected or visible."""

    def read_soon(self, groups: Iterable[str], tasks: asyncio.TaskGroup) -> None:
        """Start to read groups in full, in new tasks of the task group `tasks`."""


class SuspectTier:
    """Reads groups with a possible problem ("suspects") in full, so that they get an exact verdict.

    Groups with the most severe problem come first. Among groups with the same problem, those that were already chosen
    come first, because a verdict needs several reads.

    Args:
        view: reads the chosen suspects, except selected and visible groups, which it always reads.
        on_chosen: called with the chosen suspects before they are read.
        others: returns groups without a known problem that are chosen if there are not too many suspects.
    """

    def __init__(
        self,
        view: FullReader,
        store: Store,
        options: MonitorOptions,
        timer: PollTimer,
        on_chosen: Callable[[Collection[str]], None] = lambda _: None,
        others: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._view = view
        self._store = store
        self._most = options.suspects
        self._timer = timer
        self._on_chosen = on_chosen
        self._others = others
        self._observed: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Read the suspects at regular intervals until this task is canceled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                chosen = self.choose()
                self._on_chosen(chosen)
                self._view.read_soon([group for group in chosen if group not in self._view.in_view], tasks)
                await self._timer.pause_for(max(self._timer.interval, SUSPECT_INTERVAL))

    def choose(self) -> list[str]:
        """Choose the suspects to read in full, and return their ids. Store the number of suspects that are left out."""
        suspects = self._suspects()
        chosen: list[str] = []
        partitions = 0
        for group in self._worst_first(suspects):
            summary = self._store.summaries.get(group)
            partitions += 0 if summary is None else summary.partitions
            if chosen and partitions > SUSPECT_PARTITIONS:
                break
            chosen.append(group)
        self._observed = frozenset(chosen)
        self._store.set_unobserved(sum(map(len, suspects)) - len(chosen))
        return chosen

    def _suspects(self) -> list[Collection[str]]:
        """Return the ids of all suspects, one collection per problem, the most severe problem first.

        The last collection contains groups that have no known problem, but should be read in full.
        """
        store, by_kind = self._store, self._store.screening.by_kind
        others = {group for group in self._others() if group in store.groups and not _has_problem(store, group)}
        return [*(by_kind[kind] for kind in Problem if kind not in _NOT_OBSERVED), others]

    def _worst_first(self, suspects: Iterable[Collection[str]]) -> Iterator[str]:
        """Yield the ids of at most `MonitorOptions.suspects` suspects, the most severe problem first.

        Among groups with the same problem, those that were chosen last time come first. Both parts are sorted by id.
        """
        left = self._most
        for groups in suspects:
            observed = sorted(group for group in self._observed if group in groups)
            others = (group for group in groups if group not in self._observed)
            first = [*observed, *nsmallest(left - len(observed), others)][:left]
            yield from first
            left -= len(first)
            if not left:
                return


def _has_problem(store: Store, group: str) -> bool:
    judgment = store.screened.get(group)
    return judgment is not None and judgment.kind is not None

"""Chooses groups with a possible problem ("suspects"), which are then read more often than other groups."""

from __future__ import annotations

import asyncio
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from kgtui.model.problem import ONLY_COUNTED, Problem
from kgtui.monitor.policy import SUSPECT_INTERVAL, SUSPECT_PARTITIONS, background_pause

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store

_ONLY_IN_BACKGROUND = ONLY_COUNTED | {Problem.EMPTY, Problem.UNREADABLE}
"""Groups with one of these problems are read only in the background, because more reads would find nothing new."""

_MOST_COMPARED = 5_000
"""Maximum number of groups with the same problem whose lags are compared to find the groups with the largest lag."""


class FullReader(Protocol):
    """Interface for reading members and offsets of groups. `kgtui.monitor.detail_tiers.ViewTier` implements it."""

    @property
    def in_view(self) -> frozenset[str]:
        """Ids of the selected group and the visible groups."""

    def read_soon(self, groups: Iterable[str], tasks: asyncio.TaskGroup) -> None:
        """Start to read members and offsets of groups, in new tasks of the task group `tasks`."""


class SuspectTier:
    """Reads "suspects" (groups with a possible problem) more often than other groups, to get exact verdicts on them.

    The number of groups that are read more often is limited, so groups with the most severe problem are chosen first.
    Among groups with the same problem, the groups that were chosen last time come first, because a verdict needs
    several reads.

    Args:
        view: reads the chosen suspects. Suspects that are selected or visible are not passed to `view`, because it
            reads the selected and visible groups anyway.
        on_chosen: called with the chosen suspects before they are read.
        others: returns groups that should be read more often even if they have no known problem. If they have none,
            they are chosen last.
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
        """Read groups with a possible problem at regular intervals until this task is canceled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._timer.wait_for_quiet(len(self._store.groups))
                chosen = self.choose()
                self._on_chosen(chosen)
                self._view.read_soon([group for group in chosen if group not in self._view.in_view], tasks)
                pause = background_pause(SUSPECT_INTERVAL, len(self._store.groups))
                await self._timer.pause_for(max(self._timer.interval, pause))

    def choose(self) -> list[str]:
        """Choose the suspects (groups with a possible problem) that are read next, and return their ids.

        Also store the number of groups with a possible problem that were not chosen.
        """
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
        *problems, others = suspects
        self._store.set_unobserved(sum(map(len, problems)) - sum(group not in others for group in chosen))
        return chosen

    def _suspects(self) -> list[Collection[str]]:
        """Return the ids of all groups with a possible problem, one collection per problem, the most severe first.

        Problems in `_ONLY_IN_BACKGROUND` are left out. The last collection contains groups that have no known problem,
        but should be read more often, too.
        """
        store, by_kind = self._store, self._store.screening.by_kind
        others = {group for group in self._others() if group in store.groups and not _has_problem(store, group)}
        return [*(by_kind[kind] for kind in Problem if kind not in _ONLY_IN_BACKGROUND), others]

    def _worst_first(self, suspects: Iterable[Collection[str]]) -> Iterator[str]:
        """Yield the ids of at most `MonitorOptions.suspects` groups, those with the most severe problem first.

        Among groups with the same problem, the groups that were chosen last time come first, sorted by id, and then
        the other groups, those with the largest lag first. If there are very many of them, only `_MOST_COMPARED` groups
        are compared, so that the event loop is not blocked.
        """
        left = self._most
        for groups in suspects:
            observed = sorted(group for group in self._observed if group in groups)
            others = islice((group for group in groups if group not in self._observed), _MOST_COMPARED)
            first = [*observed, *nsmallest(left - len(observed), others, key=self._by_lag)][:left]
            yield from first
            left -= len(first)
            if not left:
                return

    def _by_lag(self, group: str) -> tuple[int, str]:
        summary = self._store.summaries.get(group)
        return -((summary.lag if summary is not None else None) or 0), group


def _has_problem(store: Store, group: str) -> bool:
    judgment = store.screened.get(group)
    return judgment is not None and judgment.kind is not None

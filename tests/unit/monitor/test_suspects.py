"""Tests of `SuspectTier`, which chooses groups with a possible problem, and reads them at every poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.admin.base import ListingDelta
from kgtui.model.answer import Answer, Coverage, Fault
from kgtui.model.group import Listing
from kgtui.model.judgment import Basis, Judgment
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.summary import Summary
from kgtui.monitor import MonitorOptions
from kgtui.monitor.poll_timer import PollTimer
from kgtui.monitor.store import Store
from kgtui.monitor.suspects import SuspectTier
from tests.scripted import ScriptedAdmin, member
from tests.unit.monitor.watching import until, watching

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Collection, Iterable, Mapping

    from kgtui.model.offsets import CommittedOffset

LISTING = Listing("consumer", "consumer", "Stable", 1)
BEHIND = Judgment(GroupStatus.WARN, Problem.BEHIND, Basis.SCREENED)
STOPPED = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED)
ABANDONED = Judgment(GroupStatus.ABANDONED, Problem.ABANDONED, Basis.SCREENED)
EMPTY = Judgment(GroupStatus.WARN, Problem.EMPTY, Basis.SCREENED)
NO_PROBLEM = Judgment(GroupStatus.UNKNOWN, basis=Basis.READ_ONCE)
UNUSED = Judgment(GroupStatus.WARN, Problem.UNUSED, Basis.SCREENED)


class NoReads:
    """A fake `FullReader` (interface for reading members and offsets of groups) that reads nothing."""

    in_view: frozenset[str] = frozenset()

    def read_soon(self, groups: Iterable[str], tasks: asyncio.TaskGroup) -> None:
        """Do nothing. The tests only check which groups the tier chooses."""


async def tier_with(
    screened: Mapping[str, Judgment], most: int = 40, others: Collection[str] = ()
) -> tuple[SuspectTier, Store]:
    """Return a `SuspectTier`, and its store, which contains the groups in `screened`.

    Args:
        screened: group id → judgment from the background reads.
        most: maximum number of groups that the tier chooses to be read at every poll.
        others: ids of groups to choose even if they have no problem, but only after all groups with a problem.
    """
    store = Store(10)
    await store.take_list(1, ListingDelta(dict.fromkeys(screened, LISTING), [], len(screened), 1.0), first=True)
    for group, judgment in screened.items():
        store.put_screened(group, judgment)
    return SuspectTier(NoReads(), store, MonitorOptions(suspects=most), PollTimer(2.0), others=lambda: others), store


async def test_only_the_40_worst_groups_are_read_at_every_poll() -> None:
    screened = {f"g-{n:05}": STOPPED if n % 2_000 == 7 else BEHIND for n in range(50_000)}
    tier, store = await tier_with(screened)
    chosen = tier.choose()
    assert len(chosen) == 40
    assert {group for group, judgment in screened.items() if judgment is STOPPED} <= set(chosen)
    assert store.snapshot().unobserved == 49_960


async def test_among_groups_with_the_same_problem_those_with_the_largest_lag_are_read() -> None:
    tier, store = await tier_with(dict.fromkeys("abcd", BEHIND), most=2)
    for group, lag in {"a": 5, "b": None, "c": 70, "d": 8}.items():
        store.store_summary(group, Summary(1, lag, 0, 1, ("t",), "", 1.0, 1.0))
    assert tier.choose() == ["c", "d"]


async def test_a_group_read_at_every_poll_is_replaced_only_by_a_worse_group() -> None:
    tier, store = await tier_with({"m": BEHIND, "n": BEHIND}, most=2)
    assert tier.choose() == ["m", "n"]
    await store.take_list(1, ListingDelta({"a": LISTING, "z": LISTING}, [], 4, 1.0), first=False)
    store.put_screened("a", BEHIND)
    assert tier.choose() == ["m", "n"]
    store.put_screened("z", STOPPED)
    assert tier.choose() == ["z", "m"]


async def test_groups_with_a_problem_have_priority_for_reads_at_every_poll() -> None:
    """The group `m`, which falls behind, comes before the group `a`, which has no problem.

    The unused group `u` and the deleted group `deleted` are not read at every poll.
    """
    tier, _ = await tier_with({"m": BEHIND, "a": NO_PROBLEM, "u": UNUSED}, others=("a", "m", "u", "deleted"))
    assert tier.choose() == ["m", "a"]


async def test_abandoned_unused_and_empty_groups_are_not_read_at_every_poll() -> None:
    tier, store = await tier_with({"a": ABANDONED, "b": EMPTY, "c": UNUSED})
    assert tier.choose() == []
    assert store.snapshot().unobserved == 0


class NoOffsets(ScriptedAdmin):
    """A cluster that lists and describes the group `silent`, but does not respond to requests for its offsets."""

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = 30.0
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        asked = list(groups)
        answer = await super().committed_offsets([group for group in asked if group != "silent"])
        silent = [group for group in asked if group == "silent"]
        faults = tuple(Fault("NO_ANSWER", "no answer to OffsetFetch", group=group) for group in silent)
        return Answer(answer.rows, (*answer.faults, *faults), Coverage())


@pytest.mark.parametrize("selected", [None, "silent"])
async def test_a_group_gets_the_problem_unreadable_if_offset_requests_get_no_response(selected: str | None) -> None:
    admin = NoOffsets()
    admin.add("silent", coordinator=1, members=(member(),), lag=5)
    admin.add("fine", coordinator=2, members=(member(),), lag=0)
    async with watching(admin) as monitor:
        monitor.set_view(selected)
        snapshot = await until(
            monitor, lambda s: "fine" in s.summaries and s.judgment("silent").kind is Problem.UNREADABLE
        )
    found = snapshot.judgment("silent")
    assert (found.status, found.reason) == (GroupStatus.UNKNOWN, "no answer to OffsetFetch")
    assert snapshot.judgment("fine").status is GroupStatus.OK

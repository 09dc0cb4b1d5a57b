"""Tests of the problem index, which contains the groups with problems.

To save time, an update of the index checks only the groups that have changed. The index must then be the same as if all
groups had been checked.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from kgtui.admin.base import ListingDelta
from kgtui.model.answer import Fault
from kgtui.model.group import Listing
from kgtui.model.judgment import Basis, Judgment
from kgtui.model.problem import ONLY_COUNTED, GroupStatus, Problem
from kgtui.model.query import parse
from kgtui.model.slices import run_at_once
from kgtui.model.snapshot import ChangeLog, Snapshot
from kgtui.monitor.store import Store
from kgtui.tui.problem_index import JUDGED_PER_SLICE, ProblemIndex
from tests.pilot.scripted_monitor import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pytest

    from kgtui.tui.problem_index import Problems

STOPPED = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED)
BEHIND = Judgment(GroupStatus.WARN, Problem.BEHIND, Basis.SCREENED)
UNUSED = Judgment(GroupStatus.WARN, Problem.UNUSED, Basis.SCREENED)
LOST = Judgment(GroupStatus.ERR, Problem.DATA_LOST, Basis.SCREENED, others=(Problem.EMPTY,))
FAULT = Fault("NO_ANSWER", "no answer")
GROUPS = [f"g{number}" for number in range(6)]


def listing(node: int = 1, state: str = "Stable") -> Listing:
    return Listing("consumer", "consumer", state, node)


async def store_with(groups: Iterable[str], node: int = 1) -> Store:
    """Return a store with groups that have been read and have no problem. Broker `node` coordinates the groups."""
    store = Store(10, clock=lambda: 1_000.0)
    store.set_broker(node, fault=None)
    await store.take_list(node, ListingDelta({group: listing(node) for group in groups}, [], 1, 1.0), first=True)
    for group in store.groups:
        store.store_summary(group, replace(summary(lag=5), screened=True))
    return store


def updated(index: ProblemIndex, snapshot: Snapshot) -> Problems:
    """Update the index from a snapshot, and return all problems in the index."""
    run_at_once(index.steps(snapshot))
    return index.problems()


def expected(snapshot: Snapshot) -> list[tuple[str, Judgment]]:
    """Judge all groups, and return what the index must contain: the groups with problems and their judgments."""
    found = [(group, snapshot.judgment(group)) for group in snapshot.groups]
    found = [row for row in found if row[1].kind is not None and row[1].kind not in ONLY_COUNTED]

    def order(row: tuple[str, Judgment]) -> tuple[float, float, int, str]:
        group, judgment = row
        summary = snapshot.summaries.get(group)
        lag = 0 if summary is None else summary.lag or 0
        return -judgment.harm, -(judgment.since or 0.0), -lag.bit_length(), group

    return sorted(found, key=order)


def _relist(store: Store, group: str, choice: int) -> None:
    made = listing(1 + choice % 2, ("Stable", "Empty")[choice // 2 % 2])
    asyncio.run(store.take_list(made.coordinator, ListingDelta({group: made}, [], 1, 1.0), first=False))


def _screen(store: Store, group: str, choice: int) -> None:
    if group in store.groups:
        store.put_screened(group, (None, STOPPED, LOST, UNUSED)[choice])


def _fault(store: Store, group: str, choice: int) -> None:
    if choice % 2:
        store.put_fault(group, FAULT)
    else:
        store.clear_fault(group)


def _summarize(store: Store, group: str, choice: int) -> None:
    if group in store.groups:
        fault = FAULT if choice == 0 else None
        store.store_summary(group, replace(summary(lag=choice), screened=choice > 1, fault=fault))


STEPS: list[Callable[[Store, str, int], None]] = [
    _relist, _screen, _fault, _summarize,
    lambda store, group, _: store.forget([group]),
    lambda store, _, choice: store.set_broker(1 + choice % 2, fault=FAULT if choice // 2 else None),
]  # fmt: skip


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(GROUPS), st.integers(0, 3), st.booleans()), max_size=30)
)
def test_problem_index_is_correct_after_random_changes(
    steps: list[tuple[Callable[[Store, str, int], None], str, int, bool]],
) -> None:
    store, index = asyncio.run(store_with(GROUPS[:4])), ProblemIndex()
    for step, group, choice, publish in [*steps, (_screen, "g0", 1, True)]:
        step(store, group, choice)
        if publish:
            snapshot = store.snapshot()
            assert list(updated(index, snapshot).worst_first()) == expected(snapshot)
            kinds = {group: judgment.kind for group, judgment in store.screened.items() if judgment.kind is not None}
            by_kind = store.screening.by_kind.items()
            assert {group: kind for kind, groups in by_kind for group in groups} == kinds
            assert store.screening.empty.keys() == {group for group, one in store.screened.items() if one is LOST}


async def test_problem_index_judges_only_changed_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, index = await store_with(f"g{number:04}" for number in range(3_000)), ProblemIndex()
    for number in range(0, 3_000, 2):
        store.put_screened(f"g{number:04}", STOPPED)
    updated(index, store.snapshot())
    judged: list[str] = []
    judge = Snapshot.judgment

    def counted(snapshot: Snapshot, group: str) -> Judgment:
        judged.append(group)
        return judge(snapshot, group)

    monkeypatch.setattr(Snapshot, "judgment", counted)
    store.put_screened("g0007", BEHIND)
    store.put_screened("g0008", None)
    problems = updated(index, store.snapshot())
    assert sorted(judged) == ["g0007", "g0008"]
    assert problems.counts == {Problem.STOP: 1_499, Problem.BEHIND: 1}


async def test_problem_index_judges_all_groups_if_the_change_log_is_incomplete() -> None:
    """Five groups change, but the change log keeps only the last two changes, so three changes are missing."""
    store, index = await store_with(GROUPS), ProblemIndex()
    store.changes = ChangeLog(most=2)
    updated(index, store.snapshot())
    for group in GROUPS[1:]:
        store.put_screened(group, STOPPED)
    assert updated(index, store.snapshot()).counts == {Problem.STOP: 5}


async def test_unfinished_update_of_problem_index_does_not_overwrite_newer_update() -> None:
    names = [f"g{number:04}" for number in range(3 * JUDGED_PER_SLICE)]
    store, index = await store_with(names), ProblemIndex()
    for group in names:
        store.put_fault(group, FAULT)
    older = index.steps(store.snapshot())
    next(older)
    for group in names:
        store.clear_fault(group)
    assert updated(index, store.snapshot()).counts == {}
    run_at_once(older)
    assert index.problems().counts == {}


async def test_problems_count_as_unchanged_if_only_their_reason_or_start_time_changes() -> None:
    store, index = await store_with(GROUPS), ProblemIndex()
    store.put_screened("g1", replace(STOPPED, message="5 unread"))
    before = updated(index, store.snapshot())
    store.put_screened("g1", replace(STOPPED, message="6 unread", since=5.0))
    assert updated(index, store.snapshot()).same_as(before)
    store.put_screened("g1", replace(STOPPED, status=GroupStatus.WARN))
    after = updated(index, store.snapshot())
    assert not after.same_as(before)
    assert not index.problems(hidden=["g1"]).same_as(after)


async def test_problem_index_does_not_list_acknowledged_problems_and_unused_groups() -> None:
    """The user has acknowledged the problem of `g1`, so it is counted but not listed.

    The unused group `g3` is neither counted nor listed.
    """
    store, index = await store_with(GROUPS), ProblemIndex()
    for group, judgment in zip(GROUPS, (BEHIND, STOPPED, STOPPED, UNUSED), strict=False):
        store.put_screened(group, judgment)
    updated(index, store.snapshot())
    problems = index.problems(hidden=["g1"])
    assert [group for group, _ in problems.worst_first()] == ["g2", "g0"]
    assert problems.counts == {Problem.STOP: 2, Problem.BEHIND: 1}


async def test_problems_are_sorted_by_newest_start_then_largest_lag() -> None:
    store, index = await store_with(GROUPS), ProblemIndex()
    for group, since, lag in (("g0", None, 5), ("g1", 3.0, 5), ("g2", 9.0, 5), ("g3", None, 5_000)):
        store.store_summary(group, summary(lag=lag))
        store.put_screened(group, replace(STOPPED, since=since))
    problems = updated(index, store.snapshot())
    assert [group for group, _ in problems.worst_first()] == ["g2", "g1", "g3", "g0"]


async def test_filter_for_groups_with_problems_does_not_select_unused_groups() -> None:
    store = await store_with(GROUPS)
    store.put_screened("g0", UNUSED)
    store.put_screened("g1", STOPPED)
    assert parse("problem:yes").select(store.snapshot()) == ["g1"]

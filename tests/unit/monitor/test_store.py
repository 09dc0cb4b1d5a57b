"""Tests of `Store`, which keeps the newest data read from the cluster: the groups, their details and their errors."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtui.admin.base import ListingDelta
from kgtui.model.answer import Fault
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.slices import SLICE
from kgtui.monitor.store import Store

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot

STABLE = Listing("consumer", "consumer", "Stable", 1)
EMPTY = Listing("consumer", "consumer", "Empty", 1)
ELSEWHERE = Listing("consumer", "consumer", "Stable", 2)

_ids = st.sampled_from([f"g{number}" for number in range(8)])
_states = st.sampled_from(["Stable", "Empty"])
_lists = st.dictionaries(_ids, _states, max_size=8)


def _delta(node: int, before: dict[str, str], now: dict[str, str]) -> ListingDelta:
    updated = {g: Listing("classic", "consumer", s, node) for g, s in now.items() if before.get(g) != s}
    return ListingDelta(updated, [g for g in before if g not in now], len(now))


@pytest.mark.parametrize("few", [0, 1_000], ids=["by bisection", "sorted again"])
@settings(max_examples=150)
@given(history=st.lists(st.tuples(st.sampled_from([1, 2]), _lists, st.booleans()), max_size=12))
def test_the_store_contains_the_groups_in_the_newest_lists(
    few: int, history: list[tuple[int, dict[str, str], bool]]
) -> None:
    """Two brokers list groups, and their lists change at random."""

    async def run() -> None:
        store = Store(keep=10, clock=lambda: 0.0)
        store.snapshot()
        lists: dict[int, dict[str, str]] = {1: {}, 2: {}}
        for node, now, publish in history:
            await _take(store, node, _delta(node, lists[node], now))
            lists[node] = now
            if publish:
                _check(store)
        _check(store)
        for group, listing in store.groups.items():
            assert listing.state == lists[listing.coordinator][group]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgtui.monitor.sorted_ids._SORT_BELOW", few)
        asyncio.run(run())


async def _take(store: Store, node: int, delta: ListingDelta) -> None:
    await store.take_list(node, delta, first=False)
    store.drop(node, delta.removed)


def _check(store: Store) -> Snapshot:
    """Return a new snapshot. Assert that its mappings `groups` and `by_listing` contain the same groups."""
    snapshot = store.snapshot()
    by_id = {group: listing for listing, ids in snapshot.by_listing.items() for group in ids}
    assert by_id == snapshot.groups
    assert all(list(ids) == sorted(set(ids)) for ids in snapshot.by_listing.values())
    return snapshot


def _changed_ids(old: Snapshot, new: Snapshot) -> set[str]:
    """Return the ids of the groups whose data is not the same Python object in both snapshots."""
    changed: set[str] = set()
    for part in ("groups", "summaries", "details", "offsets", "configs", "group_faults"):
        before, after = getattr(old, part), getattr(new, part)
        changed |= {group for group in before.keys() | after.keys() if before.get(group) is not after.get(group)}
    return changed


async def test_a_moved_group_is_kept_when_its_old_coordinator_no_longer_lists_it() -> None:
    store = Store(keep=10)
    await store.take_list(1, ListingDelta({"g": STABLE}), first=True)
    await store.take_list(2, ListingDelta({"g": ELSEWHERE}), first=True)
    store.drop(1, ["g"])
    assert store.snapshot().groups == {"g": ELSEWHERE}


async def test_a_snapshot_does_not_change_when_the_store_changes() -> None:
    store = Store(keep=10)
    await store.take_list(1, ListingDelta({"a": STABLE, "b": STABLE}), first=True)
    before = store.snapshot()
    await _take(store, 1, ListingDelta({"a": EMPTY, "c": STABLE}, ["b"]))
    store.put_fault("a", Fault("X", "x"))
    after = store.snapshot()
    assert before.groups.keys() == {"a", "b"}
    assert list(before.by_listing[STABLE]) == ["a", "b"]
    assert before.group_faults == {}
    assert list(after.by_listing[STABLE]) == ["c"]
    assert after.group_faults.keys() == {"a"}


async def test_unchanged_data_is_not_copied_for_the_next_snapshot() -> None:
    store = Store(keep=10)
    await store.take_list(1, ListingDelta({"a": STABLE}), first=True)
    before = store.snapshot()
    store.put_detail("a", GroupDescription("a", "consumer", "consumer", "Stable", 1))
    after = store.snapshot()
    assert after.groups is before.groups
    assert _changed_ids(before, after) == {"a"}
    assert not _changed_ids(after, store.snapshot())


async def test_all_snapshots_share_one_read_only_mapping_of_summaries() -> None:
    store = Store(keep=10)
    await store.take_list(1, ListingDelta({"a": STABLE}), first=True)
    before = store.snapshot()
    summary = store.put_summary("a", 100.0)
    assert store.dirty, "the change must be published"
    assert summary is not None
    assert before.summaries["a"] is summary
    assert (before.swept, store.snapshot().swept) == (0, 1)
    with pytest.raises(TypeError):
        before.summaries["b"] = summary  # type: ignore[index]


async def test_the_store_keeps_one_string_object_per_group_id() -> None:
    """Later lists contain each id as a new string. The store keeps the first string, so that no id is stored twice."""
    store = Store(keep=10)
    first = "".join(("team", "-a"))
    await store.take_list(1, ListingDelta({first: STABLE}), first=True)
    for listing in (EMPTY, STABLE, EMPTY):
        await store.take_list(1, ListingDelta({"".join(("team", "-a")): listing}), first=False)
    snapshot = store.snapshot()
    kept = (*snapshot.groups, *snapshot.by_listing[EMPTY], *snapshot.state_since)
    assert all(group is first for group in kept)
    assert len(kept) == 3


async def test_state_has_start_time_only_if_kgtui_saw_it_begin() -> None:
    now = 100.0
    store = Store(keep=10, clock=lambda: now)
    await store.take_list(1, ListingDelta({"a": STABLE, "b": STABLE}), first=True)
    now = 110.0
    await store.take_list(1, ListingDelta({"a": EMPTY, "new": STABLE}), first=False)
    now = 120.0
    await store.take_list(1, ListingDelta({"a": replace(EMPTY, protocol="")}), first=False)
    assert store.snapshot().state_since == {"a": 110.0, "new": 110.0}


async def test_a_failed_read_adds_an_error_and_keeps_the_last_known_value() -> None:
    now = 100.0
    store = Store(keep=10, clock=lambda: now)
    await store.take_list(1, ListingDelta({"a": STABLE}), first=True)
    store.put_detail("a", GroupDescription("a", "consumer", "consumer", "Stable", 1))
    now = 130.0
    fault = Fault("NO_ANSWER", "describe: no answer", group="a")
    store.put_fault("a", fault, ("details", "offsets"))
    reading = store.snapshot().details["a"]
    assert (reading.value.state, reading.at, reading.fault) == ("Stable", 100.0, fault)
    store.put_detail("a", GroupDescription("a", "consumer", "consumer", "Empty", 1))
    store.clear_fault("a")
    snapshot = store.snapshot()
    assert snapshot.details["a"].fault is None
    assert snapshot.group_faults == {}


async def test_the_store_keeps_details_of_the_most_recently_described_groups() -> None:
    store = Store(keep=2)
    await store.take_list(1, ListingDelta(dict.fromkeys("abc", STABLE)), first=True)
    for group in "abc":
        store.put_detail(group, GroupDescription(group, "consumer", "consumer", "Stable", 1))
    assert list(store.snapshot().details) == ["b", "c"]


async def test_the_store_drops_all_data_of_a_removed_group() -> None:
    store = Store(keep=10)
    await store.take_list(1, ListingDelta({"a": STABLE}), first=True)
    store.put_summary("a", 100.0)
    store.put_detail("a", GroupDescription("a", "consumer", "consumer", "Stable", 1))
    store.put_fault("a", Fault("X", "x"))
    store.drop(1, ["a"])
    snapshot = store.snapshot()
    assert not (snapshot.groups)
    assert not (snapshot.summaries)
    assert not (snapshot.details)
    assert not (snapshot.group_faults)
    assert not (snapshot.by_listing)


async def test_a_snapshot_is_consistent_after_a_canceled_list_update() -> None:
    """The store applies a list in slices of 1,000 groups. Here, the task is canceled after the first slice."""
    store = Store(keep=10)
    names = [f"g{number:04}" for number in range(SLICE + 1)]
    await store.take_list(1, ListingDelta(dict.fromkeys(names, STABLE)), first=True)
    taking = asyncio.create_task(store.take_list(1, ListingDelta(dict.fromkeys(names, EMPTY)), first=False))
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    after = _check(store)
    assert len(after.by_listing[EMPTY]) == SLICE


async def test_results_that_arrive_after_their_group_was_removed_are_dropped() -> None:
    store = Store(keep=10)
    assert store.put_summary("gone", 100.0) is None
    store.put_detail("gone", GroupDescription("gone", "consumer", "consumer", "Stable", 1))
    store.put_fault("gone", Fault("GROUP_ID_NOT_FOUND", "gone", 69, group="gone"))
    store.put_config_fault("gone", Fault("NO_ANSWER", "configs: no answer", group="gone"))
    snapshot = store.snapshot()
    assert (snapshot.summaries, snapshot.details, snapshot.group_faults, snapshot.configs) == ({}, {}, {}, {})

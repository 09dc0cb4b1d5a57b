"""Tests of `PendingRemovals`, which removes groups that their broker no longer lists.

A group is removed only after all brokers that could be its new coordinator have sent lists without the group.
"""

from __future__ import annotations

import pytest

from kgtui.admin.base import ListingDelta
from kgtui.model.group import Listing
from kgtui.monitor.list_tier import PendingRemovals
from kgtui.monitor.policy import REMOVAL_GRACE
from kgtui.monitor.store import Store

ROW = Listing("consumer", "consumer", "Stable", 1)


@pytest.fixture
async def store() -> Store:
    store = Store(keep=10)
    await store.take_list(1, ListingDelta({"a": ROW, "b": ROW}), first=True)
    store.set_broker(1)
    return store


def test_unlisted_group_is_removed_after_all_other_brokers_sent_lists(store: Store) -> None:
    removals = PendingRemovals(store.drop, lambda: 0.0)
    asked_before = removals.pending()
    removals.add(1, ["a"], {2, 3})
    removals.broker_listed(2, (), asked_before)
    removals.broker_listed(2, (), removals.pending())
    assert "a" in store.groups, "broker 3 could be the coordinator of the group"
    removals.broker_listed(3, (), removals.pending())
    assert store.groups.keys() == {"b"}


async def test_a_group_that_moves_to_a_different_broker_is_not_removed(store: Store) -> None:
    removals = PendingRemovals(store.drop, lambda: 0.0)
    removals.add(1, ["a"], {2})
    assert "a" in store.groups
    await store.take_list(2, ListingDelta({"a": Listing("consumer", "consumer", "Stable", 2)}), first=False)
    removals.broker_listed(2, ("a",), removals.pending())
    assert store.groups["a"].coordinator == 2


def test_a_group_that_reappears_in_a_list_is_not_removed(store: Store) -> None:
    removals = PendingRemovals(store.drop, lambda: 0.0)
    removals.add(1, ["a"], {2})
    removals.broker_listed(1, ["a"], ())
    removals.broker_listed(2, (), removals.pending())
    assert "a" in store.groups


def test_silent_broker_delays_group_removals_only_for_a_grace_period(store: Store) -> None:
    """Before kgtui removes a group, it waits for the list of a silent broker for at most `REMOVAL_GRACE` seconds.

    There is no such limit if the broker that listed the group before has left the cluster. kgtui then waits until
    the silent broker sends its list or also leaves the cluster.
    """
    now = 0.0
    removals = PendingRemovals(store.drop, lambda: now)
    removals.add(1, ["a"], {1, 2})
    removals.broker_silent(2)
    assert "a" in store.groups
    now = REMOVAL_GRACE
    removals.broker_listed(1, (), removals.pending())
    assert store.groups.keys() == {"b"}
    removals.add(1, ["b"], {2}, broker_left=True)
    now = 100 * REMOVAL_GRACE
    removals.broker_silent(2)
    assert "b" in store.groups
    removals.broker_left(2)
    assert store.groups == {}


def test_groups_of_a_broker_that_left_and_came_back_are_not_removed(store: Store) -> None:
    removals = PendingRemovals(store.drop, lambda: 0.0)
    removals.add(1, ["a", "b"], {2}, broker_left=True)
    removals.broker_joined(1)
    removals.broker_listed(2, (), removals.pending())
    assert store.groups.keys() == {"a", "b"}
    assert 1 in store.brokers


def test_unlisted_group_is_kept_until_new_broker_sent_its_list(store: Store) -> None:
    removals = PendingRemovals(store.drop, lambda: 0.0)
    removals.add(1, ["a"], {2})
    removals.broker_joined(3)
    removals.broker_listed(2, (), removals.pending())
    assert "a" in store.groups
    removals.broker_listed(3, (), removals.pending())
    assert "a" not in store.groups

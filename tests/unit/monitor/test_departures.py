"""A group is forgotten only when no broker can have taken it over."""

from __future__ import annotations

import pytest

from kgtui.admin.base import ListingDelta
from kgtui.model.group import Listing
from kgtui.monitor.departures import GRACE, Departures
from kgtui.monitor.store import Store

ROW = Listing("consumer", "consumer", "Stable", 1)


@pytest.fixture
async def store() -> Store:
    store = Store(keep=10)
    await store.take_list(1, ListingDelta({"a": ROW, "b": ROW}), first=True)
    store.set_broker(1)
    return store


def test_a_deleted_group_goes_when_every_other_broker_was_asked_since(store: Store) -> None:
    departures = Departures(store, lambda: 0.0)
    asked_before = departures.open()
    departures.missed(1, ["a"], {2, 3})
    departures.listed(2, (), asked_before)
    departures.listed(2, (), departures.open())
    assert "a" in store.groups, "broker 3 may have it"
    departures.listed(3, (), departures.open())
    assert store.groups.keys() == {"b"}


async def test_a_group_whose_coordinator_moves_is_there_all_the_time(store: Store) -> None:
    departures = Departures(store, lambda: 0.0)
    departures.missed(1, ["a"], {2})
    assert "a" in store.groups
    await store.take_list(2, ListingDelta({"a": Listing("consumer", "consumer", "Stable", 2)}), first=False)
    departures.listed(2, ("a",), departures.open())
    assert store.groups["a"].coordinator == 2


def test_a_group_that_is_listed_again_stays(store: Store) -> None:
    departures = Departures(store, lambda: 0.0)
    departures.missed(1, ["a"], {2})
    departures.listed(1, ["a"], ())
    departures.listed(2, (), departures.open())
    assert "a" in store.groups


def test_a_silent_broker_is_waited_for_only_a_while_unless_the_old_coordinator_left(store: Store) -> None:
    now = 0.0
    departures = Departures(store, lambda: now)
    departures.missed(1, ["a"], {1, 2})
    departures.silent(2)
    assert "a" in store.groups
    now = GRACE
    departures.listed(1, (), departures.open())
    assert store.groups.keys() == {"b"}
    departures.missed(1, ["b"], {2}, left=True)
    now = 100 * GRACE
    departures.silent(2)
    assert "b" in store.groups
    departures.gone(2)
    assert (store.groups, store.brokers) == ({}, {})


def test_a_broker_that_returns_keeps_its_groups(store: Store) -> None:
    departures = Departures(store, lambda: 0.0)
    departures.missed(1, ["a", "b"], {2}, left=True)
    departures.joined(1)
    departures.listed(2, (), departures.open())
    assert store.groups.keys() == {"a", "b"}
    assert 1 in store.brokers


def test_a_broker_that_joins_may_have_taken_over_what_is_missed(store: Store) -> None:
    departures = Departures(store, lambda: 0.0)
    departures.missed(1, ["a"], {2})
    departures.joined(3)
    departures.listed(2, (), departures.open())
    assert "a" in store.groups
    departures.listed(3, (), departures.open())
    assert "a" not in store.groups

"""Tests of looking up and caching the coordinators of groups and the leaders of partitions."""

from __future__ import annotations

import asyncio
from functools import partial
from uuid import NAMESPACE_URL, uuid5

import pytest

from kgtui.client import lookups as lookups_module
from kgtui.client.backoff import Backoff
from kgtui.client.pool import Pool, PoolOptions
from kgtui.errors import BrokerError, ClientError, UnreachableError
from kgtui.model.group import Listing
from kgtui.protocol.messages.cluster import FIND_COORDINATOR, METADATA
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.event_loop import longer_if_busy
from tests.unit.client.server import FakeCluster, always, cluster

QUICK = PoolOptions(
    connect_timeout=30.0,
    backoff=0.01,
    backoff_max=0.02,
    head_start=0.05,
    retry_pause=0.01,
    retry_pause_max=0.02,
    batch=10,
)

LISTED = Listing("classic", "consumer", "Stable", 1)


def lookups(fake: FakeCluster) -> int:
    """Return how many FindCoordinator requests the brokers have received in total."""
    return sum(len(broker.requests(FIND_COORDINATOR.key)) for broker in fake.brokers.values())


async def test_coordinators_are_looked_up_in_batches_and_cached() -> None:
    async with cluster(3) as fake, Pool(fake.seeds[:1], options=QUICK) as pool:
        coordinators = {f"group-{number}": number % 3 + 1 for number in range(25)}
        fake.group_nodes = dict(coordinators)
        found = await pool.find_coordinators(coordinators, timeout=60)
        assert (found.nodes, found.errors) == (coordinators, {})
        assert lookups(fake) == 3
        found = await pool.find_coordinators(["group-1", "group-24"], timeout=60)
        assert found.nodes == {"group-1": 2, "group-24": 1}
        assert lookups(fake) == 3
        pool.forget_coordinator("group-1")
        await pool.find_coordinators(["group-1", "group-24"], timeout=60)
        assert lookups(fake) == 4
        fake.group_nodes["group-24"] = 3
        assert (await pool.find_coordinators(["group-24"], timeout=60, refresh=True)).nodes == {"group-24": 3}


async def test_broker_that_lists_a_group_is_cached_as_its_coordinator() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        pool.learn_listings({f"g{number}": LISTED for number in range(1000)})
        found = await pool.find_coordinators(["g1", "g999"], timeout=60)
        assert (found.nodes, fake[1].received) == ({"g1": 1, "g999": 1}, [])


async def test_a_lookup_replaces_a_wrong_coordinator_learned_from_listgroups() -> None:
    async with cluster(2) as fake, Pool(fake.seeds[:1], options=QUICK) as pool:
        pool.learn_listings({"group": LISTED})
        fake.group_nodes = {"group": 2}
        pool.forget_coordinator("group")
        for _ in range(2):
            assert (await pool.find_coordinators(["group"], timeout=60)).nodes == {"group": 2}
        assert (lookups(fake), pool.listing("group")) == (1, LISTED)
        pool.learn_listings({"group": LISTED})
        assert (await pool.find_coordinators(["group"], timeout=60)).nodes == {"group": 1}
        pool.unlist("group")
        assert pool.listing("group") is None
        assert (await pool.find_coordinators(["group"], timeout=60)).nodes == {"group": 2}
        assert lookups(fake) == 2


async def test_pool_uses_listings_of_its_caller_instead_of_cached_listings() -> None:
    """A listing is a group's row in a ListGroups response. Normally, the pool caches the newest listing of each group.

    After `share_listings`, the pool uses the listings that the caller stores, and caches none itself, to save memory.
    """
    async with cluster(2) as fake, Pool(fake.seeds[:1], options=QUICK) as pool:
        pool.learn_listings({"learned": LISTED})
        listings = {"group": LISTED}
        pool.share_listings(lambda: listings)
        assert (pool.listing("learned"), pool.listing("group")) == (None, LISTED)
        fake.group_nodes = {"group": 2, "new": 2}
        pool.learn_listings({"new": LISTED})
        assert (await pool.find_coordinators(["group", "new"], timeout=60)).nodes == {"group": 1, "new": 2}
        pool.forget_coordinator("group")
        assert (await pool.find_coordinators(["group"], timeout=60)).nodes == {"group": 2}
        pool.learn_listings({"group": LISTED})
        assert (await pool.find_coordinators(["group"], timeout=60)).nodes == {"group": 1}
        pool.unlist("group")
        assert pool.listing("group") == LISTED, "until the caller removes it"
        listings.clear()
        assert pool.listing("group") is None


async def test_coordinator_lookups_send_old_brokers_one_request_per_group() -> None:
    """Before version 4, a FindCoordinator request can contain only one group (KIP-699)."""
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake[1].ranges[FIND_COORDINATOR.key] = (0, 3)
        found = await pool.find_coordinators(["group-a", "group-b", "group-c"], timeout=60)
        assert found.nodes == {"group-a": 1, "group-b": 1, "group-c": 1}
        assert sorted(request.fields["Key"] for request in fake[1].requests(FIND_COORDINATOR.key)) == [
            "group-a",
            "group-b",
            "group-c",
        ]


async def test_a_coordinator_lookup_is_repeated_only_after_retriable_errors() -> None:
    """kgtui repeats the lookup while the coordinator of a group changes or loads the group.

    kgtui does not repeat the lookup after an authorization error.
    """
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.group_codes = {"moving-group": [16, 15], "loading-group": [14], "forbidden-group": [30, 30, 30]}
        found = await pool.find_coordinators(
            ["moving-group", "loading-group", "forbidden-group", "healthy-group"], timeout=60
        )
        assert found.nodes == {"moving-group": 1, "loading-group": 1, "healthy-group": 1}
        assert list(found.errors) == ["forbidden-group"]
        error = found.errors["forbidden-group"]
        assert isinstance(error, BrokerError)
        assert error.code == 30
        assert "the coordinator of group 'forbidden-group' was not found: Group authorization failed." in str(error)
        asked = [request.fields["CoordinatorKeys"] for request in fake[1].requests(FIND_COORDINATOR.key)]
        assert asked == [
            ["moving-group", "loading-group", "forbidden-group", "healthy-group"],
            ["moving-group", "loading-group"],
            ["moving-group"],
        ]


@longer_if_busy(0.3)
async def test_a_coordinator_lookup_returns_the_last_error_at_the_deadline(timeout: float) -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.group_codes = {"stuck-group": [15] * 10_000}
        found = await pool.find_coordinators(["stuck-group", "healthy-group"], timeout=timeout)
        assert found.nodes == {"healthy-group": 1}
        assert isinstance(found.errors["stuck-group"], BrokerError)
        assert found.errors["stuck-group"].code == 15


async def test_coordinator_lookup_asks_a_second_broker_if_the_first_does_not_respond() -> None:
    async with cluster(2) as fake, Pool(fake.seeds, options=QUICK) as pool:
        for node in (1, 2):
            await pool.call(node, LIST_GROUPS, {}, timeout=60)
        fake[1].on[FIND_COORDINATOR.key] = always(None)
        for number in range(8):
            found = await pool.find_coordinators([f"g{number}"], timeout=60)
            assert found.nodes == {f"g{number}": 1}


async def test_a_coordinator_lookup_without_a_response_returns_an_error_per_group() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.metadata(timeout=60)
        fake[1].on[FIND_COORDINATOR.key] = always(None)
        found = await pool.find_coordinators(["group-a", "group-b"], timeout=0.05)
        assert found.nodes == {}
        assert all(isinstance(error, ClientError) for error in found.errors.values())
        assert set(found.errors) == {"group-a", "group-b"}


async def test_lookups_without_reachable_brokers_raise_unreachable_error() -> None:
    async with cluster(1) as fake:
        seeds = fake.seeds
    async with Pool(seeds, options=QUICK) as pool:
        with pytest.raises(UnreachableError):
            await pool.find_coordinators(["group"], timeout=60)
        with pytest.raises(UnreachableError):
            await pool.find_leaders(["topic"], timeout=60)


async def test_a_rebootstrap_required_error_clears_the_coordinator_cache() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        pool.learn_listings({"other-group": LISTED})
        fake.group_codes = {"group": [129]}
        found = await pool.find_coordinators(["group"], timeout=60)
        assert found.nodes == {"group": 1}
        await pool.find_coordinators(["other-group"], timeout=60)
        assert len(fake[1].requests(FIND_COORDINATOR.key)) == 3, "the caches must be cleared"


async def test_partition_leaders_are_looked_up_in_batches_and_cached() -> None:
    async with cluster(2) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.topics = {f"t{number}": {0: 1, 1: 2} for number in range(25)}
        await pool.metadata(timeout=60)
        before = sum(len(broker.requests(METADATA.key)) for broker in fake.brokers.values())
        leaders = await pool.find_leaders(fake.topics, timeout=60)
        assert leaders.nodes == {(topic, index): index + 1 for topic in fake.topics for index in (0, 1)}
        assert leaders.errors == {}
        requests = [request for broker in fake.brokers.values() for request in broker.requests(METADATA.key)]
        assert len(requests) - before == 3
        assert not any(request.fields["AllowAutoTopicCreation"] for request in requests)
        assert await pool.find_leaders(["t3"], timeout=60) == await pool.find_leaders(["t3"], timeout=60)
        assert sum(len(broker.requests(METADATA.key)) for broker in fake.brokers.values()) == len(requests)
        fake.topics["t3"] = {0: 2}
        assert (await pool.find_leaders(["t3"], timeout=60, refresh=True)).nodes == {("t3", 0): 2}


async def test_topics_of_a_failing_leader_are_removed_from_the_cache_at_growing_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kgtui caches the leaders of the partitions of each topic. Broker 2 fails repeatedly.

    kgtui removes a topic from the cache only if the cache says that broker 2 leads a partition of the topic. The pauses
    between removals grow until broker 2 responds.
    """
    now = 1_000.0
    monkeypatch.setattr(lookups_module, "Backoff", partial(Backoff, clock=lambda: now))
    async with cluster(2) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.topics = {"topic-a": {0: 1, 1: 2}, "topic-b": {0: 1}}
        await pool.find_leaders(["topic-a", "topic-b"], timeout=60)
        fake.topics = {"topic-a": {0: 1, 1: 1}, "topic-b": {0: 2}}
        assert pool.leader_failed(2)
        assert (await pool.find_leaders(["topic-a"], timeout=60)).nodes == {("topic-a", 0): 1, ("topic-a", 1): 1}
        assert (await pool.find_leaders(["topic-b"], timeout=60)).nodes == {("topic-b", 0): 1}, (
            "broker 2 did not lead this topic"
        )
        assert not pool.leader_failed(2)
        now += 0.35
        assert pool.leader_failed(2)
        now += 0.35
        assert not pool.leader_failed(2), "the second pause must be longer than the first"
        pool.leader_answered(2)
        assert pool.leader_failed(2)


async def test_partitions_without_leaders_have_an_error_and_are_not_cached() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.topics = {"half-led-topic": {0: 1, 1: -1}}
        leaders = await pool.find_leaders(["half-led-topic", "deleted-topic"], timeout=60)
        assert leaders.nodes == {("half-led-topic", 0): 1}
        assert leaders.errors == {("half-led-topic", 1): 5, "deleted-topic": 3}
        fake.topics = {"half-led-topic": {0: 1, 1: 1}, "deleted-topic": {0: 1}}
        leaders = await pool.find_leaders(["half-led-topic", "deleted-topic"], timeout=60)
        assert leaders.nodes == {("half-led-topic", 0): 1, ("half-led-topic", 1): 1, ("deleted-topic", 0): 1}
        assert leaders.errors == {}


async def test_a_cached_topic_is_looked_up_again_for_a_new_partition() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.topics = {"topic": {0: 1}}
        await pool.find_leaders(["topic"], timeout=60)
        fake.topics = {"topic": {0: 1, 1: 1}}
        leaders = await pool.find_leaders(["topic"], needed=[("topic", 0)], timeout=60)
        assert leaders.nodes == {("topic", 0): 1}
        leaders = await pool.find_leaders(["topic"], needed=[("topic", 0), ("topic", 1)], timeout=60)
        assert leaders.nodes == {("topic", 0): 1, ("topic", 1): 1}


async def test_a_deleted_topic_is_removed_from_the_cache() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.topics = {"topic": {0: 1}}
        await pool.find_leaders(["topic"], timeout=60)
        fake.topics = {}
        assert (await pool.find_leaders(["topic"], timeout=60, refresh=True)).errors == {"topic": 3}
        assert (await pool.find_leaders(["topic"], timeout=60)).errors == {"topic": 3}


async def test_leader_lookup_returns_the_topic_id_if_the_brokers_report_it() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.topics = {"topic": {0: 1}}
        assert (await pool.find_leaders(["topic"], timeout=60)).ids == {"topic": uuid5(NAMESPACE_URL, "topic")}
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake.topics = {"topic": {0: 1}}
        fake[1].ranges[METADATA.key] = (0, 9)
        assert (await pool.find_leaders(["topic"], timeout=60)).ids == {}


async def test_looking_up_partition_leaders_never_creates_a_topic() -> None:
    """A Metadata request of version 3 or lower can create a missing topic.

    If a broker supports only such versions, kgtui raises an error instead of sending the request.
    """
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake[1].ranges[METADATA.key] = (0, 3)
        with pytest.raises(UnreachableError, match="could create the topic"):
            await pool.find_leaders(["topic"], timeout=60)
        assert all(request.fields["Topics"] == [] for request in fake[1].requests(METADATA.key))


async def test_fifty_concurrent_coordinator_lookups_succeed() -> None:
    async with cluster(3) as fake, Pool(fake.seeds, options=QUICK) as pool:
        answers = await asyncio.gather(*(pool.find_coordinators([f"g{n}"], timeout=60) for n in range(50)))
        assert [list(found.nodes) for found in answers] == [[f"g{n}"] for n in range(50)]

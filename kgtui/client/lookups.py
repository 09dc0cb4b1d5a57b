"""Look up and cache the coordinators of groups and the leaders of partitions."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kgtui.client.backoff import Backoff
from kgtui.client.bootstrap import FIRST_VERSION_WITHOUT_TOPIC_CREATION
from kgtui.client.concurrency import all_of
from kgtui.errors import BrokerError, ClientError, ConnectError, DeadlineError, KgtuiError, UnsupportedError
from kgtui.model.error_numbers import LEADER_NOT_AVAILABLE
from kgtui.protocol.error_codes import Reaction, lookup
from kgtui.protocol.messages.cluster import FIND_COORDINATOR, METADATA

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from kgtui.client.bootstrap import ClusterView
    from kgtui.client.link import Fields, Reply
    from kgtui.client.options import Lane, PoolOptions
    from kgtui.model.group import Listing
    from kgtui.protocol.api import Api

T = TypeVar("T")

GROUP_KEY_TYPE = 0
"""Value of `KeyType` in a FindCoordinator request that asks for the coordinators of groups."""

_FIRST_BATCHED_LOOKUP = 4
"""First version of FindCoordinator that accepts several groups in one request (KIP-699)."""

_MISSING_IN_RESPONSE = (-1, -1)
"""`(node id, error code)` that kgtui uses for a requested group that is missing in a FindCoordinator response.

The node id -1 stands for no broker. The error code -1 is UNKNOWN_SERVER_ERROR.
"""

FIRST_LOOKUP_PAUSE = 0.25
"""First pause between two lookups of the leaders of an unresponsive broker's partitions, in seconds.

During the pause, `LeaderCache.failed` has no effect for this broker. Otherwise, kgtui would look up the same leaders
again and again while the broker does not respond. Each further pause is twice as long, until the broker responds.
"""

LONGEST_LOOKUP_PAUSE = 2.0
"""Longest pause between two lookups of the leaders of an unresponsive broker's partitions, in seconds."""


class Requests(Protocol):
    """The methods of `Pool` that `CoordinatorCache` and `LeaderCache` use."""

    options: PoolOptions

    async def metadata(self, *, timeout: float) -> ClusterView:
        """Return the metadata of the cluster. Raises UnreachableError if no broker responds."""
        ...

    def rebootstrap(self) -> None:
        """Clear the caches, so that the next call of `metadata` asks the bootstrap servers again."""
        ...

    def live_lane(self, node: int) -> Lane:
        """Choose one of the two connections ("lanes") to a broker for a small request."""
        ...

    async def version(self, node: int, api: Api, *, timeout: float, lane: Lane = ...) -> int:
        """Return the API version that was negotiated with a broker."""
        ...

    async def ask_any(self, ask: Callable[[int], Awaitable[T]], *, timeout: float) -> T:
        """Call `ask` with the node id of one broker after the other, until a call succeeds. Return its result."""
        ...

    async def call(
        self, node: int, api: Api, value: Fields, *, timeout: float, lane: Lane = ..., version: int | None = ...
    ) -> Reply[dict[str, Any]]:
        """Send one request to one broker, and return the decoded response."""
        ...


@dataclass(frozen=True, slots=True)
class Coordinators:
    """The coordinators of groups.

    Attributes:
        nodes: group id → node id of the coordinator.
        errors: group id → why no coordinator was found.
    """

    nodes: dict[str, int] = field(default_factory=dict)
    errors: dict[str, ClientError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Leaders:
    """The leaders of partitions.

    Attributes:
        nodes: `(topic, partition)` → node id of the leader.
        errors: topic, or `(topic, partition)`, without a known leader → Kafka's error code.
        ids: topic → topic id, without topics whose leaders come from the cache; empty for brokers before Kafka 2.8.
    """

    nodes: dict[tuple[str, int], int] = field(default_factory=dict)
    errors: dict[str | tuple[str, int], int] = field(default_factory=dict)
    ids: dict[str, UUID] = field(default_factory=dict)


class CoordinatorCache:
    """Caches the coordinators of groups. Coordinators that are not cached are looked up in batches."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        # Group id → its newest row in a ListGroups response. The broker that sent the row is the coordinator.
        self._learned: dict[str, Listing] = {}
        self._shared: Callable[[], Mapping[str, Listing]] | None = None
        # Group id → node id that a lookup returned. None means that the coordinator in `_listings` is outdated.
        self._nodes: dict[str, int | None] = {}

    def share(self, listings: Callable[[], Mapping[str, Listing]]) -> None:
        """Let this cache use the ListGroups rows that the caller stores, so that it need not store a copy.

        Args:
            listings: returns a dict: group id → its newest row in a ListGroups response.
        """
        self._shared, self._learned = listings, {}

    @property
    def _listings(self) -> Mapping[str, Listing]:
        return self._learned if self._shared is None else self._shared()

    def learn(self, listings: Mapping[str, Listing]) -> None:
        """Store rows of ListGroups responses. The coordinator of a group is the broker that listed the group."""
        if self._shared is None:
            self._learned |= listings
        for group in self._nodes.keys() & listings.keys():
            del self._nodes[group]

    def listing(self, group: str) -> Listing | None:
        """Return the newest ListGroups row of a group; None if there is none."""
        return self._listings.get(group)

    def unlist(self, group: str) -> None:
        """Remove a group from the cache, because brokers no longer list it."""
        self._learned.pop(group, None)
        self._nodes.pop(group, None)

    def forget(self, group: str) -> None:
        """Remove the coordinator of a group from the cache, so that the next `find` looks it up again."""
        if group in self._listings:
            self._nodes[group] = None
        else:
            self._nodes.pop(group, None)

    def clear(self) -> None:
        """Remove the coordinators of all groups from the cache."""
        self._nodes = dict.fromkeys(self._listings)

    def _node(self, group: str) -> int | None:
        if group in self._nodes:
            return self._nodes[group]
        listing = self._listings.get(group)
        return None if listing is None else listing.coordinator

    async def find(self, groups: Iterable[str], *, timeout: float, refresh: bool) -> Coordinators:
        """Return the coordinator of each group, from the cache or from a lookup.

        If a broker reports a temporary error, the lookup is repeated for up to `timeout` seconds. Groups without a
        result are in `Coordinators.errors`.

        Args:
            refresh: whether to ignore the cache.

        Raises:
            UnreachableError: the brokers of the cluster are not known, and no bootstrap server responded.
        """
        found = Coordinators()
        pending = []
        for group in dict.fromkeys(groups):
            node = None if refresh else self._node(group)
            if node is None:
                pending.append(group)
            else:
                found.nodes[group] = node
        if pending:
            deadline = time.monotonic() + timeout
            await self._requests.metadata(timeout=timeout)
            await self._look_up(pending, deadline, found)
        return found

    async def _look_up(self, pending: list[str], deadline: float, found: Coordinators) -> None:
        pause = self._requests.options.retry_pause
        while pending:
            remaining = deadline - time.monotonic()
            try:
                codes = await self._look_up_once(pending, remaining, found)
            except KgtuiError as error:
                for group in pending:
                    found.errors.setdefault(group, _as_client_error(error))
                return
            for group, code in codes.items():
                found.errors[group] = _broker_error(group, code)
            pending = [group for group, code in codes.items() if lookup(code).is_retriable_at_coordinator]
            if any(lookup(codes[group]).reaction is Reaction.REBOOTSTRAP for group in pending):
                self._requests.rebootstrap()
            if pause >= deadline - time.monotonic():
                return
            if pending:
                await asyncio.sleep(pause)
                pause = min(pause * 2, self._requests.options.retry_pause_max)

    async def _look_up_once(self, pending: Sequence[str], timeout: float, found: Coordinators) -> dict[str, int]:
        """Look up coordinators once, and add them to `found`.

        Returns:
            Group id → error code, for the groups whose coordinator was not found.
        """
        if timeout <= 0:
            raise DeadlineError("the time limit was over before the coordinator was looked up")
        rows = await self._requests.ask_any(partial(self._ask, pending, timeout), timeout=timeout)
        codes: dict[str, int] = {}
        for group, (node, code) in rows.items():
            if code == 0:
                found.nodes[group] = self._nodes[group] = node
                found.errors.pop(group, None)
            else:
                codes[group] = code
        return codes

    async def _ask(self, groups: Sequence[str], timeout: float, node: int) -> dict[str, tuple[int, int]]:
        """Ask one broker for the coordinators of groups. Return a dict: group id → `(node id, error code)`."""
        requests = self._requests
        lane = requests.live_lane(node)
        version = await requests.version(node, FIND_COORDINATOR, timeout=timeout, lane=lane)
        size = requests.options.batch if version >= _FIRST_BATCHED_LOOKUP else 1
        batches = [groups[start : start + size] for start in range(0, len(groups), size)]
        replies = await all_of(
            requests.call(
                node,
                FIND_COORDINATOR,
                _coordinator_request(version, batch),
                version=version,
                timeout=timeout,
                lane=lane,
            )
            for batch in batches
        )
        rows: dict[str, tuple[int, int]] = {}
        for batch, reply in zip(batches, replies, strict=True):
            rows.update(_coordinator_rows(version, batch, reply.value))
        return rows


def _coordinator_request(version: int, groups: Sequence[str]) -> dict[str, Any]:
    if version >= _FIRST_BATCHED_LOOKUP:
        return {"KeyType": GROUP_KEY_TYPE, "CoordinatorKeys": groups}
    return {"KeyType": GROUP_KEY_TYPE, "Key": groups[0]}


def _coordinator_rows(version: int, groups: Sequence[str], answer: dict[str, Any]) -> dict[str, tuple[int, int]]:
    if version < _FIRST_BATCHED_LOOKUP:
        return {groups[0]: (answer["NodeId"], answer["ErrorCode"])}
    rows = {row["Key"]: (row["NodeId"], row["ErrorCode"]) for row in answer["Coordinators"]}
    return {group: rows.get(group, _MISSING_IN_RESPONSE) for group in groups}


def _broker_error(group: str, code: int) -> BrokerError:
    known = lookup(code)
    return BrokerError(
        f"the coordinator of group {group!r} was not found: {known.message or known.name}",
        code=code,
        name=known.name,
        advice=known.advice,
    )


def _as_client_error(error: KgtuiError) -> ClientError:
    return error if isinstance(error, ClientError) else ConnectError(str(error))


class LeaderCache:
    """Caches the leaders of partitions, per topic. A lookup never creates a missing topic."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._topics: dict[str, dict[int, int]] = {}
        self._silent: dict[int, Backoff] = {}

    def clear(self) -> None:
        """Remove the leaders of all topics from the cache."""
        self._topics.clear()

    def failed(self, node: int) -> bool:
        """Remove from the cache all topics in which the unresponsive broker `node` leads a partition.

        `find` then looks up the leaders of these topics again.

        Returns:
            False if this method did nothing, because it was called for the same broker a moment ago (see
            `FIRST_LOOKUP_PAUSE`).
        """
        backoff = self._silent.setdefault(node, Backoff(FIRST_LOOKUP_PAUSE, LONGEST_LOOKUP_PAUSE))
        if backoff.remaining():
            return False
        backoff.failed()
        for topic in [topic for topic, leaders in self._topics.items() if node in leaders.values()]:
            del self._topics[topic]
        return True

    def answered(self, node: int) -> None:
        """Store that a broker has responded, so that the next call of `failed` for this broker has an effect."""
        self._silent.pop(node, None)

    async def find(
        self, topics: Iterable[str], *, needed: Iterable[tuple[str, int]] = (), timeout: float, refresh: bool
    ) -> Leaders:
        """Return the leaders of all partitions of these topics.

        Args:
            needed: partitions whose leaders the caller needs. If one is missing in the cache, for example because it
                was added to its topic later, the topic is looked up again.
            refresh: whether to ignore the cache.

        Raises:
            UnreachableError: no broker responded.
        """
        found = Leaders()
        missing = []
        outdated = {topic for topic, partition in needed if partition not in self._topics.get(topic, ())}
        for topic in dict.fromkeys(topics):
            known = None if refresh or topic in outdated else self._topics.get(topic)
            if known is None:
                missing.append(topic)
            else:
                found.nodes.update({(topic, partition): node for partition, node in known.items()})
        if missing:
            deadline = time.monotonic() + timeout
            await self._requests.metadata(timeout=timeout)
            remaining = max(0.0, deadline - time.monotonic())
            rows = await self._requests.ask_any(partial(self._ask, missing, remaining), timeout=remaining)
            self._add(rows, found)
        return found

    async def _ask(self, topics: Sequence[str], timeout: float, node: int) -> tuple[Mapping[str, Any], ...]:
        """Request the metadata of topics from one broker, and return one row per topic."""
        requests = self._requests
        lane = requests.live_lane(node)
        if await requests.version(node, METADATA, timeout=timeout, lane=lane) < FIRST_VERSION_WITHOUT_TOPIC_CREATION:
            raise UnsupportedError(
                f"broker {node} is too old: asking it for the leaders of a topic could create the topic", broker=node
            )
        size = requests.options.batch
        replies = await all_of(
            requests.call(node, METADATA, _topics_request(topics[start : start + size]), timeout=timeout, lane=lane)
            for start in range(0, len(topics), size)
        )
        return tuple(row for reply in replies for row in reply.value["Topics"])

    def _add(self, rows: Iterable[Mapping[str, Any]], found: Leaders) -> None:
        """Add the leaders in Metadata responses (`rows`, one per topic) to `found`.

        A topic is cached only if the leaders of all its partitions are known.
        """
        for row in rows:
            topic = row["Name"]
            self._topics.pop(topic, None)
            if row["ErrorCode"]:
                found.errors[topic] = row["ErrorCode"]
                continue
            if (topic_id := row.get("TopicId")) and topic_id.int:
                found.ids[topic] = topic_id
            complete = True
            leaders: dict[int, int] = {}
            for partition in row["Partitions"]:
                index, code, leader = partition["PartitionIndex"], partition["ErrorCode"], partition["LeaderId"]
                if leader >= 0:
                    leaders[index] = leader
                else:
                    found.errors[topic, index] = code or LEADER_NOT_AVAILABLE
                    complete = False
            found.nodes.update({(topic, index): node for index, node in leaders.items()})
            if complete:
                self._topics[topic] = leaders


def _topics_request(topics: Sequence[str]) -> dict[str, Any]:
    return {"Topics": [{"Name": topic} for topic in topics], "AllowAutoTopicCreation": False}

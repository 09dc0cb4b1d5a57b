"""A `Pool` without connections, in which Python functions respond to requests.

Requests and responses are encoded with kgtui's real message definitions. Therefore, a test fails if it defines a
response that no real broker can send.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kgtui.client.bootstrap import BrokerAddress, ClusterView
from kgtui.client.client_settings import PLAINTEXT
from kgtui.client.lookups import Coordinators, Leaders
from kgtui.client.options import Lane
from kgtui.client.pool import Pool, Reply
from kgtui.errors import ClientError, EncodeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from kgtui.model.group import Listing
    from kgtui.protocol.api import Api

T = TypeVar("T")


class Sent(NamedTuple):
    """A request that was sent to a fake broker."""

    node: int
    api: str
    version: int
    fields: dict[str, Any]
    timeout: float
    lane: Lane


@dataclass
class FakePool(Pool):
    """A `Pool` that calls functions of the test instead of brokers.

    Attributes:
        answers: API name → function that takes a request. The function returns the response as a dict of fields or as
            bytes, or an exception that `call` then raises.
        versions: API name or `(API name, broker id)` → highest supported API version; None if the API is not supported.
        coordinators: group id → broker id of the coordinator, or the error that the lookup returns. The coordinator of
            all other groups is broker 1.
        leaders: `(topic, partition)` → broker id of the leader, or a negated error code, such as -29. A key that is
            only a topic name sets the error of all its partitions. The leader of all other partitions is broker 1.
        partitions: number of partitions of each topic.
        nodes: ids of the brokers.
        sent: all requests, in order.
        looked_up: lists of groups, one per lookup of coordinators: the groups whose coordinators were not cached.
        leaders_looked_up: arguments `(topics, refresh)` of each leader lookup.
        unreachable: exceptions that the next lookups of coordinators or leaders raise, one per lookup. The last
            exception in the list is raised first.
        learned: cached coordinators: group id → broker id.
        listings: cached rows of ListGroups responses: group id → `Listing`.
        recently_failed: ids of brokers that lead a partition, and to which the last request failed.
        view: cached metadata; None until it is read for the first time.
    """

    answers: dict[str, Callable[[Sent], Any]] = field(default_factory=dict)
    versions: dict[str | tuple[str, int], int | None] = field(default_factory=dict)
    coordinators: dict[str, int | ClientError] = field(default_factory=dict)
    leaders: dict[tuple[str, int] | str, int] = field(default_factory=dict)
    partitions: int = 4
    nodes: tuple[int, ...] = (1, 2, 3)
    sent: list[Sent] = field(default_factory=list)
    looked_up: list[list[str]] = field(default_factory=list)
    leaders_looked_up: list[tuple[list[str], bool]] = field(default_factory=list)
    unreachable: list[Exception] = field(default_factory=list)
    learned: dict[str, int] = field(default_factory=dict)
    listings: dict[str, Listing] = field(default_factory=dict)
    seeds: tuple[str, ...] = ("127.0.0.1:9092",)
    recently_failed: set[int] = field(default_factory=set)
    view: ClusterView | None = None

    def __post_init__(self) -> None:
        self.settings = PLAINTEXT

    async def close(self) -> None:
        pass

    async def metadata(self, *, timeout: float, refresh: bool = False) -> ClusterView:
        if self.view is None or refresh:
            brokers = {node: BrokerAddress(node, "127.0.0.1", 9091 + node, None) for node in self.nodes}
            self.view = ClusterView("fake", self.nodes[0], brokers, {})
        return self.view

    async def version(self, node: int, api: Api, *, timeout: float, lane: Lane = Lane.BULK) -> int:
        highest = self.versions.get((api.name, node), self.versions.get(api.name, api.high))
        if highest is None:
            raise UnsupportedError(f"broker {node} does not support {api.name}", broker=node)
        return highest

    async def call(  # type: ignore[override]
        self,
        node: int,
        api: Api,
        value: dict[str, Any],
        *,
        timeout: float,
        lane: Lane = Lane.BULK,
        version: int | None = None,
        decode: Callable[[int, bytes], Any] | None = None,
    ) -> Reply[Any]:
        used = await self.version(node, api, timeout=timeout, lane=lane) if version is None else version
        api.request.encode(used, value)
        sent = Sent(node, api.name, used, value, timeout, lane)
        self.sent.append(sent)
        answer = self.answers[api.name](sent)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        try:
            body = answer if isinstance(answer, bytes) else api.response.encode(used, answer)
        except EncodeError as error:
            raise AssertionError(f"a real broker could not send this response: {error}") from error
        return Reply(node, used, (decode or api.response.decode)(used, body), 1.0)

    def live_lane(self, node: int) -> Lane:
        return Lane.UI

    async def ask_any(self, ask: Callable[[int], Awaitable[T]], *, timeout: float) -> T:
        return await ask(self.nodes[0])

    async def find_coordinators(self, groups: Iterable[str], *, timeout: float, refresh: bool = False) -> Coordinators:
        names = list(groups)
        self.looked_up.append([name for name in names if name not in self.learned])
        if self.unreachable:
            raise self.unreachable.pop()
        found = Coordinators()
        for group in names:
            node = self.learned.get(group, self.coordinators.get(group, 1))
            if isinstance(node, ClientError):
                found.errors[group] = node
            else:
                found.nodes[group] = self.learned[group] = node
        return found

    def learn_listings(self, listings: Mapping[str, Listing]) -> None:
        self.listings |= listings
        self.learned |= {group: listing.coordinator for group, listing in listings.items()}

    def listing(self, group: str) -> Listing | None:
        return self.listings.get(group)

    def unlist(self, group: str) -> None:
        self.learned.pop(group, None)
        self.listings.pop(group, None)

    def forget_coordinator(self, group: str) -> None:
        self.learned.pop(group, None)

    async def find_leaders(
        self,
        topics: Iterable[str],
        *,
        needed: Iterable[tuple[str, int]] = (),
        timeout: float,
        refresh: bool = False,
    ) -> Leaders:
        names = sorted(topics)
        self.leaders_looked_up.append((names, refresh))
        if self.unreachable:
            raise self.unreachable.pop()
        found = Leaders()
        for topic in names:
            if topic in self.leaders:
                found.errors[topic] = -self.leaders[topic]
                continue
            for part in range(self.partitions):
                node = self.leaders.get((topic, part), 1)
                if node < 0:
                    found.errors[topic, part] = -node
                else:
                    found.nodes[topic, part] = node
        return found

    def leader_failed(self, node: int) -> bool:
        recently = node in self.recently_failed
        self.recently_failed.add(node)
        return not recently

    def leader_answered(self, node: int) -> None:
        self.recently_failed.discard(node)

    def of(self, api: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.api == api]

    def per_node(self, api: str) -> dict[int, int]:
        """Return a dict: broker id → number of requests of the API `api` that were sent to this broker."""
        counts: dict[int, int] = defaultdict(int)
        for sent in self.of(api):
            counts[sent.node] += 1
        return dict(counts)

"""`Pool`: connects to the brokers of one cluster, and sends requests."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from kgtui.client.address import Address, split_address
from kgtui.client.bootstrap import (
    PENDING,
    Attempts,
    BrokerAddress,
    ClusterView,
    bootstrap,
    brokers_only,
    read_view,
    unreachable,
)
from kgtui.client.client_settings import PLAINTEXT, ClientSettings
from kgtui.client.concurrency import AllFailedError, first_success
from kgtui.client.lazy_import import lazy_package, without_package
from kgtui.client.link import Links, Reply
from kgtui.client.lookups import CoordinatorCache, Coordinators, LeaderCache, Leaders
from kgtui.client.options import Lane, PoolOptions
from kgtui.errors import ClientError, ConfigError, ConnectError, DecodeError, UnreachableError
from kgtui.protocol.messages.cluster import METADATA

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from kgtui.client.link import Fields, Link
    from kgtui.client.login_steps import Step
    from kgtui.client.transport import Transport
    from kgtui.model.group import Listing
    from kgtui.protocol.api import Api

__all__ = ["BrokerAddress", "ClusterView", "Coordinators", "Lane", "Leaders", "Pool", "PoolOptions", "Reply"]

T = TypeVar("T")

_CLOSED = "the connections to this cluster were closed"


class Pool:
    """The connections to one cluster: two ("lanes") to each broker, opened on first use.

    Use the pool as an async context manager, or call `close` at the end. The method `call` does not check the error
    codes in responses; its callers must check them.

    Args:
        seeds: addresses of bootstrap servers, such as `broker-1:9092`.
        settings: login, TLS settings, timeouts and limits. Values in `settings` override `client_id` and `options`.
        client_id: client id in requests, unless `settings` contains one.
        options: timeouts and limits that `settings` does not set.

    Raises:
        ConfigError: `seeds` is empty, or a seed is not `host:port`.
    """

    def __init__(
        self,
        seeds: Sequence[str],
        settings: ClientSettings = PLAINTEXT,
        *,
        client_id: str = "kgtui",
        options: PoolOptions = PoolOptions(),  # noqa: B008 - a frozen value
    ) -> None:
        self.seeds = tuple(dict.fromkeys(seeds))
        self.options = options = replace(options, **settings.pool)
        self.settings = settings
        self._addresses = [split_address(seed) for seed in self.seeds]
        if not self._addresses:
            raise ConfigError("no bootstrap server is given: set at least one, as host:port")
        self._client_id = settings.client_id or client_id
        self._transport: Transport | None = None
        self._view: ClusterView | None = None
        self._viewed_at = 0.0
        self._start_over = False
        self._refreshing: asyncio.Task[ClusterView] | None = None
        self._attempts: Attempts = {}
        self._links = Links(options)
        self._decoders: ThreadPoolExecutor | None = None
        self._coordinators = CoordinatorCache(self)
        self._leaders = LeaderCache(self)
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, and cancel running attempts to connect. Calls in progress fail."""
        self._closed = True
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.wait([self._refreshing])
        await self._links.close()
        if self._transport is not None:
            await self._transport.close()
        if self._decoders is not None:
            self._decoders.shutdown(wait=False, cancel_futures=True)

    async def metadata(self, *, timeout: float, refresh: bool = False) -> ClusterView:
        """Return the metadata of the cluster, from the cache unless `refresh` is True.

        Concurrent callers share one request. If no known broker responds, kgtui asks the bootstrap servers.

        Raises:
            UnreachableError: no broker responded. The error lists each attempt and its error.
        """
        if self._view is not None and not refresh and not self._start_over:
            return self._view
        if self._closed:
            raise UnreachableError(_CLOSED)
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh())
            self._refreshing.add_done_callback(self._refreshed)
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.shield(self._refreshing)
        except TimeoutError:
            tried = self._attempts or dict.fromkeys(self.seeds, PENDING)
            late = {seed: f"{seed} has not answered within {timeout:.3g} s" for seed in tried}
            attempts = [(seed, late[seed] if reason == PENDING else reason) for seed, reason in tried.items()]
            raise unreachable(attempts) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise UnreachableError(_CLOSED) from None
            raise

    def rebootstrap(self) -> None:
        """Clear the caches, so that the next call of `metadata` asks the bootstrap servers (KIP-899 and KIP-1102)."""
        self._start_over = True
        self._coordinators.clear()
        self._leaders.clear()

    async def version(self, node: int, api: Api, *, timeout: float, lane: Lane = Lane.BULK) -> int:
        """Return the negotiated version of an API on one of the two connections (`lane`) to a broker.

        Raises:
            UnsupportedError, ConnectError, DeadlineError
        """
        started = time.monotonic()
        link = await self._link(node, lane, timeout)
        return await link.version(api, timeout=max(0.0, started + timeout - time.monotonic()))

    @overload
    async def call(
        self,
        node: int,
        api: Api,
        value: Fields,
        *,
        timeout: float,
        lane: Lane = ...,
        version: int | None = ...,
        decode: None = ...,
    ) -> Reply[dict[str, Any]]: ...

    @overload
    async def call(
        self,
        node: int,
        api: Api,
        value: Fields,
        *,
        timeout: float,
        lane: Lane = ...,
        version: int | None = ...,
        decode: Callable[[int, bytes], T],
    ) -> Reply[T]: ...

    async def call(
        self,
        node: int,
        api: Api,
        value: Fields,
        *,
        timeout: float,
        lane: Lane = Lane.BULK,
        version: int | None = None,
        decode: Callable[[int, bytes], Any] | None = None,
    ) -> Reply[Any]:
        """Send one request to one broker, and decode the response.

        If the connection breaks, kgtui normally sends the request again on a new connection, because brokers close idle
        connections. But kgtui never repeats a request that changes the cluster, or the first request on a connection.

        Args:
            value: fields of the request, or a function that returns them for an API version.
            timeout: time limit in seconds. If `settings.request_timeout` is shorter, it is used instead. The limit
                includes the time to connect, to wait for earlier requests, and to wait while the broker throttles
                kgtui.
            version: API version; by default the highest version that both kgtui and the broker support.
            decode: function that decodes the response; by default `api.response.decode`.

        Raises:
            ConnectError, DeadlineError, DisconnectedError, UnsupportedError, DecodeError, EncodeError
        """
        started = time.monotonic()
        if self.settings.request_timeout is not None:
            timeout = min(timeout, self.settings.request_timeout)
        link = await self._link(node, lane, timeout)
        remaining = max(0.0, started + timeout - time.monotonic())
        raw = await link.exchange(api, value, timeout=remaining, version=version)
        read = decode or api.response.decode
        compiled = decode is not None or api.response.decoder_compiled(raw.version)
        # Decode large responses in a thread, so that they do not block the event loop. Use the thread also if the
        # decoder of this API version is not compiled yet, because compiling is slow.
        if len(raw.body) > self.options.thread_bytes or not compiled:
            decoded = await self._in_thread(partial(read, raw.version, raw.body))
        else:
            decoded = read(raw.version, raw.body)
        return Reply(node, raw.version, decoded, raw.took_ms)

    async def find_coordinators(self, groups: Iterable[str], *, timeout: float, refresh: bool = False) -> Coordinators:
        """Return the coordinator of each group, from the cache or from lookups in batches (KIP-699).

        If a broker reports a temporary error, the lookup is repeated for up to `timeout` seconds. Groups without a
        result are in `Coordinators.errors`.

        Raises:
            UnreachableError: the brokers of the cluster are not known, and no bootstrap server responded.
        """
        return await self._coordinators.find(groups, timeout=timeout, refresh=refresh)

    def share_listings(self, listings: Callable[[], Mapping[str, Listing]]) -> None:
        """Let the pool use the ListGroups rows that the caller stores, so that the pool need not store a copy.

        Args:
            listings: returns a dict: group id → its newest row in a ListGroups response.
        """
        self._coordinators.share(listings)

    def learn_listings(self, listings: Mapping[str, Listing]) -> None:
        """Cache rows of ListGroups responses. The coordinator of a group is the broker that listed the group."""
        self._coordinators.learn(listings)

    def listing(self, group: str) -> Listing | None:
        """Return the ListGroups row of a group from `learn_listings` or `share_listings`; None if there is none."""
        return self._coordinators.listing(group)

    def unlist(self, group: str) -> None:
        """Remove a group from the cache, because brokers no longer list it."""
        self._coordinators.unlist(group)

    def forget_coordinator(self, group: str) -> None:
        """Remove the coordinator of a group from the cache, so that `find_coordinators` looks it up again."""
        self._coordinators.forget(group)

    async def find_leaders(
        self,
        topics: Iterable[str],
        *,
        needed: Iterable[tuple[str, int]] = (),
        timeout: float,
        refresh: bool = False,
    ) -> Leaders:
        """Return the leader of every partition of these topics. The lookup never creates a missing topic.

        Args:
            needed: partitions whose leaders the caller needs. If one is missing in the cache, its topic is looked up
                again.
            refresh: whether to ignore the cache.

        Raises:
            UnreachableError: no broker responded.
        """
        return await self._leaders.find(topics, needed=needed, timeout=timeout, refresh=refresh)

    def leader_failed(self, node: int) -> bool:
        """Remove from the cache all topics in which the unresponsive broker `node` leads a partition.

        `find_leaders` then looks up the leaders of these topics again.

        Returns:
            False if this method did nothing, because it was called for the same broker a moment ago.
        """
        return self._leaders.failed(node)

    def leader_answered(self, node: int) -> None:
        """Store that a broker has responded, so that the next call of `leader_failed` for this broker has an effect."""
        self._leaders.answered(node)

    def live_lane(self, node: int) -> Lane:
        """Choose the connection to a broker for a small request: `Lane.UI` if it is already open, else `Lane.BULK`."""
        return self._links.live_lane(node)

    async def ask_any(self, ask: Callable[[int], Awaitable[T]], *, timeout: float) -> T:
        """Send a request to one broker after the other, until one of them responds. Return the first response.

        If a broker does not respond within `options.head_start` seconds, the next broker is asked too.

        Args:
            ask: sends the request to the broker with the given node id.

        Raises:
            UnreachableError: no broker responded.
        """
        nodes = self._links.ranked(self._view.brokers if self._view is not None else ())
        names = [self._name(node) for node in nodes]
        try:
            async with asyncio.timeout(timeout):
                return await first_success(
                    [partial(ask, node) for node in nodes],
                    head_start=self.options.head_start,
                    expected=(ClientError, DecodeError),
                )
        except AllFailedError as failed:
            raise unreachable(list(zip(names, map(str, failed.errors), strict=True))) from None
        except TimeoutError:
            raise self._unanswered(nodes, timeout) from None

    def _unanswered(self, nodes: Sequence[int], timeout: float) -> UnreachableError:
        """Return the error to raise if no broker has responded within `timeout` seconds.

        The error says which of the brokers (`nodes`) throttle kgtui because of a quota.
        """
        pauses = {node: self._links.throttled_for(node) for node in nodes}
        attempts = []
        for node, pause in pauses.items():
            name = self._name(node)
            why = f"throttles kgtui for {pause:.0f} s" if pause else f"has not answered within {timeout:.3g} s"
            attempts.append((name, f"{name} {why}"))
        if not all(pauses.values()):
            return unreachable(attempts)
        advice = "raise --timeout, or raise the quota of this user (request_percentage)"
        return unreachable(attempts, "a quota is exceeded", advice)

    async def _refresh(self) -> ClusterView:
        if self._view is not None and not self._start_over:
            try:
                return self._store_view(await self.ask_any(self._ask_metadata, timeout=self.options.connect_timeout))
            except UnreachableError:
                pass
        transport = await self._open_transport()
        entry = await bootstrap(transport, self._addresses, timeout=self.options.connect_timeout, log=self._attempts)
        self._start_over = False
        view = self._store_view(entry.view)
        self._links.adopt(entry, transport)
        return view

    async def _ask_metadata(self, node: int) -> ClusterView:
        reply = await self.call(node, METADATA, brokers_only, timeout=self.options.connect_timeout)
        view = read_view(reply.value, self._links.features(self._view.features if self._view else None))
        if not view.brokers:
            raise ConnectError(f"{self._name(node)} reports no brokers", broker=node)
        return view

    def _refreshed(self, task: asyncio.Task[ClusterView]) -> None:
        self._refreshing = None
        if not task.cancelled():
            task.exception()

    def _store_view(self, view: ClusterView) -> ClusterView:
        """Store new metadata. Close the connections to brokers that have left the cluster or have a new address.

        If the cluster id has changed, also clear the cached coordinators and leaders.
        """
        old = self._view
        if old is not None and old.cluster_id != view.cluster_id:
            self._coordinators.clear()
            self._leaders.clear()
        self._view = view
        self._viewed_at = time.monotonic()
        self._links.keep_only(view.brokers)
        return view

    async def _link(self, node: int, lane: Lane, timeout: float) -> Link:
        link = self._links.get(node, lane)
        if link is not None:
            return link
        view = self._view or await self.metadata(timeout=timeout)
        if node not in view.brokers and time.monotonic() - self._viewed_at > 1:
            view = await self.metadata(timeout=timeout, refresh=True)
        broker = view.brokers.get(node)
        if broker is None:
            raise ConnectError(f"broker {node} is not in the cluster", broker=node)
        transport = await self._open_transport()
        if self._closed:
            raise ConnectError(_CLOSED, broker=node)
        return self._links.at(broker, lane, transport)

    async def login_steps(self, *, timeout: float) -> dict[str, tuple[Step, ...]]:
        """Connect to each bootstrap server in steps (DNS, TCP, ...). Return a dict: address → results of the steps."""
        from kgtui.client.login_steps import try_steps

        transport = await self._open_transport()
        steps = await asyncio.gather(*(try_steps(transport, address, timeout=timeout) for address in self._addresses))
        return dict(zip(self.seeds, steps, strict=True))

    def _name(self, node: int) -> str:
        broker = self._view.brokers.get(node) if self._view is not None else None
        return f"broker {node}" if broker is None else str(Address(broker.host, broker.port))

    async def _open_transport(self) -> Transport:
        if self._transport is None:
            # Importing aiokafka is slow, so a thread imports it when the first connection is needed.
            make = await asyncio.to_thread(_load_transport)
            if self._transport is None:
                self._transport = make(self.settings, self._client_id)
        return self._transport

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run `work` in the pool's own thread, because slow DNS lookups can occupy all of asyncio's default threads."""
        if self._decoders is None:
            self._decoders = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kgtui-decode")
        return await asyncio.get_running_loop().run_in_executor(self._decoders, work)


def _load_transport() -> type[Transport]:
    with lazy_package("aiokafka"), without_package("gssapi"):
        from kgtui.client.transport import Transport

    return Transport

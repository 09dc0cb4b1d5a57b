"""Keep connections to brokers open and send requests over them.

`Link` manages one connection. `Links` manages the two connections to each broker of a cluster.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from kgtui.client.address import Address
from kgtui.client.backoff import Backoff, throttle_ms
from kgtui.client.options import Lane
from kgtui.client.session import open_session
from kgtui.errors import ConfigError, ConnectError, DeadlineError, DisconnectedError, UnsupportedError
from kgtui.protocol.messages.groups import DELETE_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kgtui.client.bootstrap import BrokerAddress, FirstServer
    from kgtui.client.options import PoolOptions
    from kgtui.client.session import Negotiated, Session
    from kgtui.client.transport import Transport
    from kgtui.protocol.api import Api

    Fields = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]

T = TypeVar("T")

WRITES = frozenset({DELETE_GROUPS.key})
"""API keys of requests that change the cluster.

kgtui never sends such a request twice, because the broker might have executed it even if no response arrived.
"""


class _Progress:
    """The progress of a request, for the error message if the request times out.

    The text `step` is the beginning of this message, such as `broker 1 has not answered ListGroups`.
    """

    __slots__ = ("sent_at", "session", "step")

    def __init__(self, step: str) -> None:
        self.step = step
        self.session: Session | None = None
        self.sent_at = 0.0


class Raw(NamedTuple):
    """The undecoded response of one broker. `took_ms` is the time between request and response, in milliseconds."""

    version: int
    body: bytes
    took_ms: float


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """The decoded response of one broker.

    Attributes:
        took_ms: time from sending the request to the last byte of the response, in milliseconds.
    """

    node: int
    version: int
    value: T
    took_ms: float


class Link:
    """Manages one connection to a broker: opens it when needed, and replaces it when it breaks.

    Each broker has its own `Link` objects, so that a broker that hangs does not delay requests to other brokers.

    Attributes:
        in_flight: number of unfinished requests, including requests that wait to be sent.
    """

    def __init__(self, node: int, address: Address, lane: Lane, transport: Transport, options: PoolOptions) -> None:
        self.node = node
        self.address = address
        self._transport = transport
        self._options = options
        self._slots = asyncio.Semaphore(options.in_flight(lane))
        self._backoff = Backoff(options.backoff, options.backoff_max)
        self._session: Session | None = None
        self._connecting: asyncio.Task[Session] | None = None
        self._failure = ""
        self._closed = False
        self._throttled_until = 0.0
        self.in_flight = 0

    @property
    def live(self) -> bool:
        """Whether the connection is open."""
        return self._session is not None and self._session.connection.connected

    @property
    def backing_off(self) -> bool:
        """Whether kgtui must wait before it may connect again, because of a failure a short time ago."""
        return self._backoff.remaining() > 0

    @property
    def negotiated(self) -> Negotiated | None:
        """The API versions that were negotiated on the current connection; None if there is no connection."""
        return self._session.negotiated if self._session else None

    def adopt(self, session: Session) -> None:
        """Use `session`, which is an open connection to the same broker, so that this object need not connect.

        If this object is already connected or connecting, close `session` instead, because it is not needed.
        """
        if self.live or self._connecting:
            session.connection.close()
        else:
            self._session = session

    async def session(self) -> Session:
        """Return the open connection, or connect first. Concurrent callers share one attempt to connect.

        Raises:
            ConnectError: connecting failed, or the pause after the last failure has not ended.
        """
        if self._session is not None and not self._closed:
            if self._session.connection.connected:
                return self._session
            self._drop(self._session)
        if self._connecting is None:
            if self._closed or self.backing_off:
                raise ConnectError(self._failure, broker=self.node, address=str(self.address))
            self._connecting = asyncio.create_task(self._dial())
            self._connecting.add_done_callback(self._connected)
        connecting = self._connecting
        # If the previous attempt to connect failed, the running attempt will probably fail too. Therefore, wait only
        # `PoolOptions.second_wait` seconds for the running attempt. If it has not ended by then, raise the error of the
        # previous attempt.
        if self._backoff.failures and not (await asyncio.wait((connecting,), timeout=self._options.second_wait))[0]:
            raise ConnectError(self._failure, broker=self.node, address=str(self.address))
        return await self._await_session(connecting)

    async def version(self, api: Api, *, timeout: float) -> int:
        """Return the negotiated version of an API; connect first if necessary.

        Raises:
            UnsupportedError, ConnectError, DeadlineError
        """
        try:
            async with asyncio.timeout(timeout):
                return self._pick(await self.session(), api, None)
        except TimeoutError as error:
            raise self._deadline(f"no connection to {self._name}", timeout) from error

    async def exchange(self, api: Api, fields: Fields, *, timeout: float, version: int | None = None) -> Raw:
        """Send one request, and return the undecoded response.

        Args:
            fields: fields of the request, or a function that returns them for an API version.
            timeout: time limit in seconds, including the time to connect.
            version: API version; by default the negotiated one.

        Raises:
            ConnectError, DeadlineError, DisconnectedError, UnsupportedError, EncodeError
        """
        progress = _Progress(f"{self._name} is busy with earlier requests; {api.name} was not sent")
        self.in_flight += 1
        try:
            async with asyncio.timeout(timeout), self._slots:
                return await self._exchange(api, fields, version, progress)
        except TimeoutError as error:
            self._check_stall(progress)
            raise self._deadline(progress.step, timeout) from error
        finally:
            self.in_flight -= 1

    def shut(self) -> None:
        """Close the connection permanently, and cancel a running attempt to connect."""
        self._failure = f"the connection to {self._name} was closed"
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._session is not None:
            self._drop(self._session)

    async def close(self) -> None:
        """Close the connection permanently. Cancel a running attempt to connect, and wait until it has ended."""
        connecting = self._connecting
        self.shut()
        if connecting is not None:
            await asyncio.wait([connecting])

    async def _exchange(self, api: Api, fields: Fields, version: int | None, progress: _Progress) -> Raw:
        while True:
            progress.step = f"{self._name} throttles kgtui; {api.name} was not sent"
            await self._throttle()
            progress.step = f"{api.name} was not sent, because kgtui could not connect to {self._name}"
            session = await self.session()
            picked = self._pick(session, api, version)
            body = api.request.encode(picked, fields(picked) if callable(fields) else fields)
            progress.step = f"{self._name} has not answered {api.name}"
            used_before = session.connection.used
            progress.session, progress.sent_at = session, time.monotonic()
            try:
                return await self._send(session, api, picked, body)
            except DisconnectedError as error:
                self._drop(session)
                # Perhaps the broker closed the connection because it was idle, or because the login had expired
                # (KIP-368). Therefore, send the request again on a new connection, except in two cases:
                # - The connection had not been used yet, so it was too new to be closed for one of these reasons.
                # - The request changes the cluster. The broker might have executed it although no response arrived.
                if not used_before or api.key in WRITES:
                    raise DisconnectedError(str(error), broker=self.node, address=str(self.address)) from error

    async def _send(self, session: Session, api: Api, version: int, body: bytes) -> Raw:
        started = time.monotonic()
        data = await session.connection.send(api, version, body)
        now = time.monotonic()
        session.connection.used = True
        self._backoff.succeeded()
        if (pause := throttle_ms(api, version, data)) > 0:
            self._throttled_until = now + pause / 1000
        return Raw(version, data, (now - started) * 1000)

    async def _throttle(self) -> None:
        """If the broker's last response contained a throttle time (KIP-219), wait until this time is over."""
        if (pause := self.throttled_for) > 0:
            await asyncio.sleep(pause)

    @property
    def throttled_for(self) -> float:
        """Seconds until kgtui may send the next request, if kgtui has exceeded a quota (KIP-219); otherwise 0."""
        return max(self._throttled_until - time.monotonic(), 0.0)

    async def _await_session(self, connecting: asyncio.Task[Session]) -> Session:
        try:
            return await asyncio.shield(connecting)
        except (ConnectError, ConfigError) as error:
            # Connecting raises ConfigError if a file with a key or with certificates is missing or damaged.
            raise ConnectError(str(error), broker=self.node, address=str(self.address)) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if connecting.cancelled() and task is not None and not task.cancelling():
                raise ConnectError(self._failure, broker=self.node, address=str(self.address)) from None
            raise

    async def _dial(self) -> Session:
        return await open_session(self._transport, self.address, timeout=self._options.connect_timeout)

    def _connected(self, task: asyncio.Task[Session]) -> None:
        self._connecting = None
        if task.cancelled():
            return
        error = task.exception()
        if error is None and self._closed:
            task.result().connection.close()
        elif error is None:
            self._session = task.result()
            self._backoff.succeeded()
        else:
            self._fail(str(error))

    def _check_stall(self, progress: _Progress) -> None:
        """After a request has timed out, close its connection if the broker is silent.

        A broker is silent if it has sent nothing for at least `PoolOptions.stall` seconds. In this
        case, kgtui waits before it connects again, as after a failed attempt to connect.
        """
        session = progress.session
        if session is None or session is not self._session:
            return
        silent_for = time.monotonic() - max(progress.sent_at, session.connection.last_answer)
        if silent_for >= self._options.stall:
            self._drop(session)
            self._fail(f"{self._name} has not answered for {silent_for:.0f} s")

    def _drop(self, session: Session) -> None:
        if self._session is session:
            self._session = None
        session.connection.close()

    def _fail(self, reason: str) -> None:
        self._failure = reason
        self._backoff.failed()

    def _pick(self, session: Session, api: Api, asked: int | None) -> int:
        picked = session.negotiated.pick(api)
        if picked is None or (asked is not None and asked > picked):
            requested = f"{api.name} v{asked}" if asked is not None else api.name
            raise UnsupportedError(
                f"{self._name} does not support {requested}", broker=self.node, address=str(self.address)
            )
        return picked if asked is None else asked

    @property
    def _name(self) -> str:
        return f"broker {self.node} ({self.address})"

    def _deadline(self, step: str, timeout: float) -> DeadlineError:
        return DeadlineError(f"{step} within {timeout:.3g} s", broker=self.node, address=str(self.address))


class Links:
    """The connections to all brokers of a cluster.

    Each broker has one `Link` for requests with large responses (`Lane.BULK`), and one for small requests (`Lane.UI`).
    A `Link` is created on first use, and closed when its broker leaves the cluster or gets a new address.
    """

    def __init__(self, options: PoolOptions) -> None:
        self._options = options
        self._links: dict[tuple[int, Lane], Link] = {}
        self._retired: list[Link] = []

    def get(self, node: int, lane: Lane) -> Link | None:
        """Return the `Link` to a broker for large or small responses (`lane`); None if it was not created yet."""
        return self._links.get((node, lane))

    def at(self, broker: BrokerAddress, lane: Lane, transport: Transport) -> Link:
        """Return the `Link` to a broker for large or small responses (`lane`). Create it if it does not exist yet."""
        link = self._links.get((broker.node, lane))
        if link is None:
            address = Address(broker.host, broker.port)
            link = self._links[broker.node, lane] = Link(broker.node, address, lane, transport, self._options)
        return link

    def adopt(self, entry: FirstServer, transport: Transport) -> None:
        """Keep the connection to a bootstrap server if a broker advertises the same address. Otherwise, close it.

        kgtui uses the kept connection for large responses of this broker (`Lane.BULK`).

        Args:
            entry: the connection, and the metadata that the bootstrap server returned.
        """
        for broker in entry.view.brokers.values():
            if Address(broker.host, broker.port) == entry.seed:
                self.at(broker, Lane.BULK, transport).adopt(entry.session)
                return
        entry.session.connection.close()

    def keep_only(self, brokers: Mapping[int, BrokerAddress]) -> None:
        """Close the connections to brokers that are missing in `brokers`, or have a different address there."""
        for key, link in list(self._links.items()):
            broker = brokers.get(key[0])
            if broker is None or link.address != Address(broker.host, broker.port):
                link.shut()
                self._retired.append(self._links.pop(key))

    def live_lane(self, node: int) -> Lane:
        """Choose the connection to a broker for a small request: `Lane.UI` if it is already open, else `Lane.BULK`."""
        link = self.get(node, Lane.UI)
        return Lane.UI if link is not None and link.live else Lane.BULK

    def throttled_for(self, node: int) -> float:
        """Return the seconds until kgtui may send a request to this broker; 0 if the broker does not throttle kgtui."""
        return max((self._links[node, lane].throttled_for for lane in Lane if (node, lane) in self._links), default=0.0)

    def ranked(self, nodes: Iterable[int]) -> list[int]:
        """Sort brokers by how soon they will probably respond.

        Connected brokers come first, in ascending order of their unfinished requests. Brokers to which connecting
        failed a moment ago come last. Brokers of equal rank are in random order.
        """
        shuffled = list(nodes)
        random.shuffle(shuffled)
        return sorted(shuffled, key=self._rank)

    def features(self, otherwise: Mapping[str, int] | None) -> Mapping[str, int] | None:
        """Return the finalized features of the cluster (KIP-584) as a dict, such as `group.version` → 1.

        Each broker reports the features when kgtui connects to it. Features can change between two connections, so the
        features with the highest epoch (version number) are returned. The result is None for brokers before Kafka 2.7.

        Args:
            otherwise: the result if no broker is connected.
        """
        reported = [link.negotiated for link in self._links.values() if link.negotiated is not None]
        return max(reported, key=lambda negotiated: negotiated.epoch).features if reported else otherwise

    async def close(self) -> None:
        """Close all connections, and cancel running attempts to connect."""
        await asyncio.gather(*(link.close() for link in [*self._links.values(), *self._retired]))
        self._links.clear()
        self._retired.clear()

    def _rank(self, node: int) -> tuple[int, int]:
        links = [link for lane in Lane if (link := self.get(node, lane)) is not None]
        if any(link.live for link in links):
            return 0, min(link.in_flight for link in links)
        return (2 if any(link.backing_off for link in links) else 1), 0

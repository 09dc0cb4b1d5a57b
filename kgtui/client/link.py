"""Connections to brokers: `Link` keeps one of them open and sends requests, `Links` holds those of a cluster."""

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
from kgtui.errors import ConnectError, DeadlineError, DisconnectedError, UnsupportedError
from kgtui.protocol.messages.groups import DELETE_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kgtui.client.options import PoolOptions
    from kgtui.client.session import Negotiated, Session
    from kgtui.client.transport import Transport
    from kgtui.protocol.api import Api

    Fields = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]
    from collections.abc import Iterable, Mapping

    from kgtui.client.bootstrap import BrokerAddress, Entry


T = TypeVar("T")

WRITES = frozenset({DELETE_GROUPS.key})
"""APIs that are never sent twice: after a broken connection nobody knows whether they were carried out."""


class _Progress:
    """How far one request has come, for the words of a missed deadline."""

    __slots__ = ("sent_at", "session", "step")

    def __init__(self, step: str) -> None:
        self.step = step
        self.session: Session | None = None
        self.sent_at = 0.0


class Raw(NamedTuple):
    """An answer that is not decoded yet."""

    version: int
    body: bytes
    took_ms: float


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """The decoded answer of one broker.

    Attributes:
        node: id of the broker.
        version: version of the API that the request and the answer have.
        took_ms: milliseconds from sending the request to the last byte of the answer; waiting for a connection or for
            earlier requests is not included.
    """

    node: int
    version: int
    value: T
    took_ms: float


class Link:
    """Requests of one lane to one broker.

    Everything that can wait is here and belongs to this link alone, so that a dead broker holds up nobody else: the
    connection attempt, the breaker, the places for requests under way, the throttle time.
    """

    def __init__(self, node: int, address: Address, lane: Lane, transport: Transport, options: PoolOptions) -> None:
        self.node = node
        self.address = address
        self._transport = transport
        self._options = options
        self._places = asyncio.Semaphore(options.in_flight(lane))
        self._backoff = Backoff(options.backoff, options.backoff_max)
        self._session: Session | None = None
        self._dialling: asyncio.Task[Session] | None = None
        self._failure = ""
        self._closed = False
        self._throttled_until = 0.0
        self.in_flight = 0
        """Requests that wait for a place, the connection or an answer."""

    @property
    def live(self) -> bool:
        """Whether there is an open connection."""
        return self._session is not None and self._session.connection.connected

    @property
    def left_alone(self) -> bool:
        """Whether the broker failed lately, so that nothing is tried for now."""
        return self._backoff.remaining() > 0

    @property
    def negotiated(self) -> Negotiated | None:
        """What the broker speaks, while there is a connection."""
        return self._session.negotiated if self._session else None

    def adopt(self, session: Session) -> None:
        """Take over a connection to the same address; close it if there is one already."""
        if self.live or self._dialling:
            session.connection.close()
        else:
            self._session = session

    async def session(self) -> Session:
        """Return the open connection, or make one; callers share one attempt.

        Raises ConnectError; at once while the breaker is open.
        """
        if self._session is not None and not self._closed:
            if self._session.connection.connected:
                return self._session
            self._drop(self._session)
        if self._dialling is None:
            if self._closed or self.left_alone:
                raise ConnectError(self._failure, broker=self.node, address=str(self.address))
            self._dialling = asyncio.create_task(self._dial())
            self._dialling.add_done_callback(self._dialled)
        dialling = self._dialling
        # After a failure the attempt goes on, but a silent broker must not cost each caller all of it.
        if self._backoff.failures and not (await asyncio.wait((dialling,), timeout=self._options.second_wait))[0]:
            raise ConnectError(self._failure, broker=self.node, address=str(self.address))
        return await self._dialled_session(dialling)

    async def version(self, api: Api, *, timeout: float) -> int:
        """Return the version negotiated with this broker. Raises UnsupportedError, ConnectError, DeadlineError."""
        try:
            async with asyncio.timeout(timeout):
                return self._pick(await self.session(), api, None)
        except TimeoutError as error:
            raise self._deadline(f"no connection to {self._name}", timeout) from error

    async def exchange(self, api: Api, fields: Fields, *, timeout: float, version: int | None = None) -> Raw:
        """Send one request and return its answer; `timeout` is for all of it.

        Raises ConnectError, DeadlineError, DisconnectedError, UnsupportedError, EncodeError.
        """
        progress = _Progress(f"{self._name} is busy with earlier requests and was not asked {api.name}")
        self.in_flight += 1
        try:
            async with asyncio.timeout(timeout), self._places:
                return await self._exchange(api, fields, version, progress)
        except TimeoutError as error:
            self._check_stall(progress)
            raise self._deadline(progress.step, timeout) from error
        finally:
            self.in_flight -= 1

    def shut(self) -> None:
        """Close the connection for good, and give up an attempt to make one."""
        self._failure = f"the connection to {self._name} was closed"
        self._closed = True
        if self._dialling is not None:
            self._dialling.cancel()
        if self._session is not None:
            self._drop(self._session)

    async def close(self) -> None:
        """Shut, and wait until an attempt to connect has ended."""
        dialling = self._dialling
        self.shut()
        if dialling is not None:
            await asyncio.wait([dialling])

    async def _exchange(self, api: Api, fields: Fields, version: int | None, progress: _Progress) -> Raw:
        while True:
            progress.step = f"{self._name} throttles us and was not asked {api.name}"
            await self._throttle()
            progress.step = f"no connection to {self._name} for {api.name}"
            session = await self.session()
            picked = self._pick(session, api, version)
            body = api.request.encode(picked, fields(picked) if callable(fields) else fields)
            progress.step = f"{self._name} gave no answer to {api.name}"
            used_before = session.connection.used
            progress.session, progress.sent_at = session, time.monotonic()
            try:
                return await self._send(session, api, picked, body)
            except DisconnectedError as error:
                self._drop(session)
                # Brokers close idle connections and expired logins (KIP-368) just when they are used again.
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
        """Wait as long as the broker asked for (KIP-219)."""
        if (pause := self._throttled_until - time.monotonic()) > 0:
            await asyncio.sleep(pause)

    async def _dialled_session(self, dialling: asyncio.Task[Session]) -> Session:
        try:
            return await asyncio.shield(dialling)
        except ConnectError as error:
            raise ConnectError(str(error), broker=self.node, address=str(self.address)) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if dialling.cancelled() and task is not None and not task.cancelling():
                raise ConnectError(self._failure, broker=self.node, address=str(self.address)) from None
            raise

    async def _dial(self) -> Session:
        return await open_session(self._transport, self.address, timeout=self._options.connect_timeout)

    def _dialled(self, task: asyncio.Task[Session]) -> None:
        self._dialling = None
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
        """Replace a connection that gave no sign of life while an answer was waited for.

        A short deadline alone says nothing about the connection, and a broker that still answers others is only slow.
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

    def _fail(self, why: str) -> None:
        self._failure = why
        self._backoff.failed()

    def _pick(self, session: Session, api: Api, asked: int | None) -> int:
        picked = session.negotiated.pick(api)
        if picked is None or (asked is not None and asked > picked):
            wanted = f"{api.name} v{asked}" if asked is not None else api.name
            raise UnsupportedError(f"{self._name} does not speak {wanted}", broker=self.node, address=str(self.address))
        return picked if asked is None else asked

    @property
    def _name(self) -> str:
        return f"broker {self.node} ({self.address})"

    def _deadline(self, what: str, timeout: float) -> DeadlineError:
        return DeadlineError(f"{what} within {timeout:.3g} s", broker=self.node, address=str(self.address))


class Links:
    """Links are made when first asked for, and closed when their broker is gone or has moved."""

    def __init__(self, options: PoolOptions) -> None:
        self._options = options
        self._links: dict[tuple[int, Lane], Link] = {}
        self._retired: list[Link] = []

    def get(self, node: int, lane: Lane) -> Link | None:
        """Return the link, if there is one."""
        return self._links.get((node, lane))

    def at(self, broker: BrokerAddress, lane: Lane, transport: Transport) -> Link:
        """Return the link to this broker; makes one if there is none."""
        link = self._links.get((broker.node, lane))
        if link is None:
            address = Address(broker.host, broker.port)
            link = self._links[broker.node, lane] = Link(broker.node, address, lane, transport, self._options)
        return link

    def adopt(self, entry: Entry, transport: Transport) -> None:
        """Keep the connection to a seed as the bulk lane of the broker that advertises that address; else close it."""
        for broker in entry.view.brokers.values():
            if Address(broker.host, broker.port) == entry.seed:
                self.at(broker, Lane.BULK, transport).adopt(entry.session)
                return
        entry.session.connection.close()

    def keep_only(self, brokers: Mapping[int, BrokerAddress]) -> None:
        """Close the links to brokers that are gone or have moved."""
        for key, link in list(self._links.items()):
            broker = brokers.get(key[0])
            if broker is None or link.address != Address(broker.host, broker.port):
                link.shut()
                self._retired.append(self._links.pop(key))

    def live_lane(self, node: int) -> Lane:
        """The lane for a small question: the interactive one if it is open."""
        link = self.get(node, Lane.UI)
        return Lane.UI if link is not None and link.live else Lane.BULK

    def ranked(self, nodes: Iterable[int]) -> list[int]:
        """Open connections first, the least busy before others; those that failed lately last; else by chance."""
        shuffled = list(nodes)
        random.shuffle(shuffled)
        return sorted(shuffled, key=self._rank)

    def features(self, otherwise: Mapping[str, int] | None) -> Mapping[str, int] | None:
        """The newest finalized features that any open connection was told of."""
        told = [link.negotiated for link in self._links.values() if link.negotiated is not None]
        return max(told, key=lambda negotiated: negotiated.epoch).features if told else otherwise

    async def close(self) -> None:
        """Close every connection, and end every attempt to make one."""
        await asyncio.gather(*(link.close() for link in [*self._links.values(), *self._retired]))
        self._links.clear()
        self._retired.clear()

    def _rank(self, node: int) -> tuple[int, int]:
        links = [link for lane in Lane if (link := self.get(node, lane)) is not None]
        if any(link.live for link in links):
            return 0, min(link.in_flight for link in links)
        return (2 if any(link.left_alone for link in links) else 1), 0

"""Sockets: a broker's port, its connections, and frames on them, one request at a time as brokers take them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from random import Random
from struct import pack, unpack_from
from typing import TYPE_CHECKING, cast

from kgtui.errors import ProtocolError
from kgtui.protocol.messages import APIS
from kgtui.protocol.messages.cluster import API_VERSIONS
from kgtui.protocol.messages.groups import LIST_GROUPS

if TYPE_CHECKING:
    from kgtui.simulator.faults import Trouble
    from kgtui.simulator.handlers.dispatch import Dispatch
    from kgtui.simulator.nodes import Node

logger = logging.getLogger(__name__)

LARGEST_REQUEST = 100 * 1024 * 1024
"""The default of `socket.request.max.bytes`: a longer frame is no Kafka client."""


class Server:
    """One broker's port.

    Attributes:
        node: the broker.
        requests: how many requests were taken.
    """

    def __init__(self, node: Node, dispatch: Dispatch, trouble: Trouble) -> None:
        self.node = node
        self.dispatch = dispatch
        self.trouble = trouble
        self.requests = 0
        self.connections: set[Connection] = set()
        self._listener: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen; a port of 0 becomes the one the system gave, and stays so over restarts."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), self.node.host, self.node.port)
        self.node.port = self._listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port and all connections."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        self.cut()
        await asyncio.gather(*tasks, return_exceptions=True)

    def cut(self) -> None:
        """Close all connections."""
        for connection in list(self.connections):
            connection.abort()


class Connection(asyncio.Protocol):
    """A client's connection to a broker."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._buffer = bytearray()
        self._requests: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self.task: asyncio.Task[None] | None = None

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve."""
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)
        self.task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        """Cut what came into frames."""
        self._buffer += data
        while len(self._buffer) >= 4:
            (size,) = unpack_from(">i", self._buffer)
            if not 0 <= size <= LARGEST_REQUEST:
                self.abort()
                return
            if len(self._buffer) < 4 + size:
                return
            self._requests.append(bytes(self._buffer[4 : 4 + size]))
            del self._buffer[: 4 + size]
            self._arrived.set()

    def pause_writing(self) -> None:
        """The client does not read fast enough."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone, or was cut off."""
        self._server.connections.discard(self)
        self._writable.set()
        if self.task is not None:
            self.task.cancel()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    # Requests.

    async def _serve(self) -> None:
        try:
            await self._take_requests()
        except Exception:
            # A broker that fails inside says so in its log and hangs up; the other connections live on.
            logger.exception("broker %d failed to answer", self._server.node.id)
            self.abort()

    async def _take_requests(self) -> None:
        trouble = self._server.trouble
        while True:
            while not self._requests:
                self._arrived.clear()
                await self._arrived.wait()
            request = self._requests.popleft()
            self._server.requests += 1
            await trouble.answered.wait()
            wait = trouble.latency + (trouble.slow.get(_api_key(request), 0.0) if trouble.slow else 0.0)
            if wait:
                await asyncio.sleep(wait)
            if not self._answer(request):
                self.abort()
                return
            await self._writable.wait()
            if trouble.throttle_ms:
                await asyncio.sleep(trouble.throttle_ms / 1000)

    def _answer(self, request: bytes) -> bool:
        """Answer one request; False when the connection is to be closed."""
        try:
            answer = self._server.dispatch.answer(self._server.node, request)
        except ProtocolError as err:
            logger.info("broker %d closes a connection: %s", self._server.node.id, err)
            return False
        if answer is None or self._transport is None:
            return False
        key, version = unpack_from(">hh", request)
        damage = self._server.trouble.damage
        if damage and key != API_VERSIONS.key:
            return self._send_damaged(damage.pop(0), answer, key, version)
        self._transport.write(pack(">i", len(answer)) + answer)
        return True

    def _send_damaged(self, kind: str, answer: bytes, key: int, version: int) -> bool:
        transport = self._transport
        if transport is None:
            return False
        if kind == "cut":
            transport.write(pack(">i", len(answer)) + answer[: len(answer) // 2])
            transport.close()
            return True
        damaged = _damaged(kind, answer, key, version)
        transport.write(pack(">i", len(damaged)) + damaged)
        return True


def _api_key(request: bytes) -> int:
    """The API that a request is for; -1 if it ends before it says so."""
    return int.from_bytes(request[:2], "big", signed=True) if len(request) > 1 else -1


def _damaged(kind: str, answer: bytes, key: int, version: int) -> bytes:
    """An answer that is wrong in one way; the frame around it is right."""
    head = 4 + APIS[key].response_header(version)
    if kind == "truncated":
        return answer[: max(head, len(answer) // 2)]
    if kind == "correlation":
        return pack(">i", unpack_from(">i", answer)[0] ^ 0x5A5A) + answer[4:]
    if kind == "garbage":
        return answer[:head] + Random(len(answer)).randbytes(len(answer) - head)  # noqa: S311 - not for secrets
    # The first array begins behind the throttle time; ListGroups has an error code in between.
    at = head + (6 if key == LIST_GROUPS.key else 4)
    flexible = version >= APIS[key].flexible
    huge = b"\xff\xff\xff\xff\x0f" if flexible else b"\x7f\xff\xff\xff"
    return answer[:at] + huge + answer[at + len(huge) :]

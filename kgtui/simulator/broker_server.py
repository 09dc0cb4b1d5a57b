"""The sockets of a simulated broker. As in a real broker, the requests of a connection are processed one by one."""

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
    from kgtui.simulator.cluster_state import Node
    from kgtui.simulator.faults import BrokerFaults
    from kgtui.simulator.handlers.dispatch import Dispatcher

logger = logging.getLogger(__name__)

MAX_REQUEST_SIZE = 100 * 1024 * 1024
"""Maximum size of a request in bytes (Kafka's default). If a request is larger, the broker closes the connection."""


class Server:
    """The listening port of one broker.

    Attributes:
        requests: number of requests that the broker has begun to process. Requests that are still in the queue of a
            connection are not counted.
    """

    def __init__(self, node: Node, dispatcher: Dispatcher, faults: BrokerFaults) -> None:
        self.node = node
        self.dispatcher = dispatcher
        self.faults = faults
        self.requests = 0
        self.connections: set[Connection] = set()
        self._listener: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on `node.port`.

        If `node.port` is 0, listen on a free port, and store this port in `node.port`, so that the broker has the same
        port after a restart.
        """
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), self.node.host, self.node.port)
        self.node.port = self._listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port and all connections. Requests that have no response yet get none."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        self.cut()
        await asyncio.gather(*tasks, return_exceptions=True)

    def cut(self) -> None:
        """Close all connections, but keep the port open for new ones."""
        for connection in list(self.connections):
            connection.abort()


class Connection(asyncio.Protocol):
    """The connection of a client to a broker."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._buffer = bytearray()
        self._requests: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)
        self.task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        """Split the received data into requests, and add them to the queue of unprocessed requests."""
        self._buffer += data
        while len(self._buffer) >= 4:
            (size,) = unpack_from(">i", self._buffer)
            if not 0 <= size <= MAX_REQUEST_SIZE:
                self.abort()
                return
            if len(self._buffer) < 4 + size:
                return
            self._requests.append(bytes(self._buffer[4 : 4 + size]))
            del self._buffer[: 4 + size]
            self._arrived.set()

    def pause_writing(self) -> None:
        """Stop processing requests, because the client does not read the responses fast enough. Called by asyncio."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Process requests again, because the client has read enough of the earlier responses. Called by asyncio."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the task that serves the connection."""
        self._server.connections.discard(self)
        self._writable.set()
        if self.task is not None:
            self.task.cancel()

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    async def _serve(self) -> None:
        try:
            await self._serve_requests()
        except Exception:
            # After an internal error, close only this connection, as a real broker does.
            logger.exception("broker %d failed to respond", self._server.node.id)
            self.abort()

    async def _serve_requests(self) -> None:
        faults = self._server.faults
        while True:
            while not self._requests:
                self._arrived.clear()
                await self._arrived.wait()
            request = self._requests.popleft()
            self._server.requests += 1
            await faults.responds.wait()
            wait = faults.latency + (faults.slow.get(_api_key(request), 0.0) if faults.slow else 0.0)
            if wait:
                await asyncio.sleep(wait)
            if not self._respond(request):
                self.abort()
                return
            await self._writable.wait()
            if faults.throttle_ms:
                await asyncio.sleep(faults.throttle_ms / 1000)

    def _respond(self, request: bytes) -> bool:
        """Process one request and send the response.

        If there is no response to send, return False. The caller must then close the connection.
        """
        try:
            response = self._server.dispatcher.respond(self._server.node, request)
        except ProtocolError as err:
            logger.info("broker %d closes a connection: %s", self._server.node.id, err)
            return False
        if response is None or self._transport is None:
            return False
        key, version = unpack_from(">hh", request)
        damage = self._server.faults.damage
        if damage and key != API_VERSIONS.key:
            return self._send_damaged(damage.pop(0), response, key, version)
        self._transport.write(pack(">i", len(response)) + response)
        return True

    def _send_damaged(self, kind: str, response: bytes, key: int, version: int) -> bool:
        transport = self._transport
        if transport is None:
            return False
        if kind == "cut":
            transport.write(pack(">i", len(response)) + response[: len(response) // 2])
            transport.close()
            return True
        damaged = _damaged(kind, response, key, version)
        transport.write(pack(">i", len(damaged)) + damaged)
        return True


def _api_key(request: bytes) -> int:
    """Return the API key of a request, or -1 if the request is too short to contain one."""
    return int.from_bytes(request[:2], "big", signed=True) if len(request) > 1 else -1


def _damaged(kind: str, response: bytes, key: int, version: int) -> bytes:
    """Return a damaged copy of a response, to test how clients handle it.

    Args:
        kind: kind of damage, from `DAMAGES`. `cut` is not allowed, because it also needs the connection.
        response: the undamaged response without the size field. Thus, it begins with the correlation id.
    """
    head = 4 + APIS[key].response_header(version)
    if kind == "truncated":
        return response[: max(head, len(response) // 2)]
    if kind == "correlation":
        return pack(">i", unpack_from(">i", response)[0] ^ 0x5A5A) + response[4:]
    if kind == "garbage":
        return response[:head] + Random(len(response)).randbytes(len(response) - head)  # noqa: S311 - not a secret
    # The remaining kind is `length`. Overwrite the length of the first array with a huge number. The fields before this
    # array are the throttle time (4 bytes) and, in ListGroups, the error code (2 bytes).
    at = head + (6 if key == LIST_GROUPS.key else 4)
    flexible = version >= APIS[key].flexible
    huge = b"\xff\xff\xff\xff\x0f" if flexible else b"\x7f\xff\xff\xff"
    return response[:at] + huge + response[at + len(huge) :]

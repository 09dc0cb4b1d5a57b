"""A minimal Kafka client for tests. The client has one connection, and encodes messages with `kgtui.protocol`."""

from __future__ import annotations

import asyncio
import contextlib
from struct import pack, unpack
from typing import TYPE_CHECKING, Any

from kgtui.protocol.header import decode_response_header, encode_request_header

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from kgtui.protocol.api import Api
    from kgtui.simulator import Simulator

DEADLINE = 10.0
"""Maximum time to wait for a response, in seconds."""


class RawClient:
    """One connection to a broker, opened with `async with RawClient(address) as client`."""

    def __init__(self, address: str) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._correlation = 0

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def write(self, data: bytes) -> None:
        """Send one frame: the length of `data`, followed by `data`."""
        self._writer.write(pack(">i", len(data)) + data)

    def write_raw(self, data: bytes) -> None:
        """Send bytes as they are. No length is sent before them."""
        self._writer.write(data)

    async def read(self) -> bytes | None:
        """Return the next frame without its length, or None if the broker closed the connection.

        Raises TimeoutError if no frame arrives within `DEADLINE`.
        """
        try:
            async with asyncio.timeout(DEADLINE):
                (size,) = unpack(">i", await self._reader.readexactly(4))
                return await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def ask(self, api: Api, version: int, fields: dict[str, Any]) -> int:
        """Send a request, and return its correlation id without waiting for the response."""
        self._correlation += 1
        self.write(encode_request_header(api, version, self._correlation, "test") + api.request.encode(version, fields))
        return self._correlation

    async def call(self, api: Api, version: int, fields: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the decoded response."""
        expected = self.ask(api, version, fields)
        data = await self.read()
        assert data is not None, f"the broker closed the connection at {api.name} v{version}"
        correlation, pos = decode_response_header(api.response_header(version), data)
        assert correlation == expected
        return api.response.decode(version, data, pos)


async def ask(
    cluster: Simulator, node: int, api: Api, fields: dict[str, Any], version: int | None = None
) -> dict[str, Any]:
    """Send one request to broker `node` on a new connection, and return the decoded response.

    By default, the request has the newest version that kgtui supports.
    """
    async with RawClient(address(cluster, node)) as client:
        return await client.call(api, api.high if version is None else version, fields)


def address(cluster: Simulator, node: int) -> str:
    """Return the address on which a broker listens, as `host:port`."""
    broker = cluster.state.node(node)
    return f"{broker.host}:{broker.port}"

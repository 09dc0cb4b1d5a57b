"""A bare client for tests: one connection, requests written by the message tables, no library in between."""

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


class Wire:
    """One connection to a broker; `async with Wire(address) as wire`."""

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
        """Send a frame."""
        self._writer.write(pack(">i", len(data)) + data)

    def write_raw(self, data: bytes) -> None:
        """Send bytes that may not be a frame."""
        self._writer.write(data)

    async def read(self) -> bytes | None:
        """The next frame; None when the broker closed the connection."""
        try:
            async with asyncio.timeout(DEADLINE):
                (size,) = unpack(">i", await self._reader.readexactly(4))
                return await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def ask(self, api: Api, version: int, fields: dict[str, Any]) -> int:
        """Send a request and return its correlation id."""
        self._correlation += 1
        self.write(encode_request_header(api, version, self._correlation, "test") + api.request.encode(version, fields))
        return self._correlation

    async def call(self, api: Api, version: int, fields: dict[str, Any]) -> dict[str, Any]:
        """Send a request and decode its answer."""
        wanted = self.ask(api, version, fields)
        data = await self.read()
        assert data is not None, f"the broker closed the connection at {api.name} v{version}"
        correlation, pos = decode_response_header(api.response_header(version), data)
        assert correlation == wanted
        return api.response.decode(version, data, pos)


async def ask(
    cluster: Simulator, node: int, api: Api, fields: dict[str, Any], version: int | None = None
) -> dict[str, Any]:
    """One request on a connection of its own, in the newest version unless another is given."""
    async with Wire(address(cluster, node)) as wire:
        return await wire.call(api, api.high if version is None else version, fields)


def address(cluster: Simulator, node: int) -> str:
    """Where a broker listens."""
    broker = cluster.state.node(node)
    return f"{broker.host}:{broker.port}"

"""`FaultyLink`, a TCP proxy on loopback with which tests simulate network faults.

::

    async with FaultyLink("127.0.0.1", broker_port) as link:
        pool = Pool([link.address])
        link.stall()          # holds back all data; connections stay open
        await link.resume()   # forwards the data that was held back
        link.cut()            # resets all connections, and accepts new ones
        await link.refuse()   # resets all connections, and refuses new ones until `resume`
        link.black_hole()     # same as `stall`
        link.slow(0.05)       # delays all data by 50 ms

The proxy runs on the event loop of the test, so that a fault begins as soon as the test calls a method such as `cut`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_PIECE = 64 * 1024


class FaultyLink:
    """A TCP proxy that listens on its own port of 127.0.0.1 and forwards each connection to `host:port`."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._open = asyncio.Event()
        self._open.set()
        self._delay = 0.0
        self._cut_after: int | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken = asyncio.Event()
        self.connections = 0
        """Number of connections that the proxy has accepted since its start."""
        self.carried = 0
        """Number of bytes that the proxy has forwarded, in both directions together."""

    @property
    def port(self) -> int:
        """Port on which the proxy listens. It does not change after `refuse` and `resume`."""
        return self._port

    @property
    def address(self) -> str:
        """Address on which the proxy listens, as `127.0.0.1:port`."""
        return f"127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop_listening()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def connected(self, count: int = 1) -> None:
        """Wait until the proxy has accepted at least `count` connections since its start."""
        while self.connections < count:
            self._taken.clear()
            await self._taken.wait()

    def stall(self) -> None:
        """Hold back the data of existing and new connections in both directions until `resume` is called."""
        self._open.clear()

    def black_hole(self) -> None:
        """Accept connections, but forward no data until `resume` is called. The method does the same as `stall`."""
        self.stall()

    async def resume(self) -> None:
        """End all faults: accept new connections, and forward all data without delay.

        Data that was held back is forwarded before newer data.
        """
        self._delay = 0.0
        self._cut_after = None
        self._open.set()
        await self._listen()

    def slow(self, seconds: float) -> None:
        """Delay all data by `seconds`, until `resume` is called."""
        self._delay = seconds

    def cut(self) -> None:
        """Reset all open connections. New connections work normally."""
        for writer in list(self._writers):
            writer.transport.abort()

    def cut_after(self, size: int) -> None:
        """Reset all connections when the proxy has forwarded `size` more bytes from the server to clients."""
        self._cut_after = size

    async def refuse(self) -> None:
        """Reset all connections, and refuse new connections until `resume` is called."""
        await self._stop_listening()
        self.cut()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
            self._port = self._server.sockets[0].getsockname()[1]

    async def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._taken.set()
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._join(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._writers.add(far_writer)
        try:
            directions = [
                asyncio.ensure_future(self._carry(reader, far_writer, counted=False)),
                asyncio.ensure_future(self._carry(far_reader, writer, counted=True)),
            ]
            try:
                await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for direction in directions:
                    direction.cancel()
                await asyncio.gather(*directions, return_exceptions=True)
        finally:
            far_writer.transport.abort()
            self._writers.discard(far_writer)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool) -> None:
        while data := await reader.read(_PIECE):
            if self._delay:
                await asyncio.sleep(self._delay)
            await self._open.wait()
            if counted and self._cut_after is not None:
                data, self._cut_after = data[: self._cut_after], max(0, self._cut_after - len(data))
            writer.write(data)
            await writer.drain()
            self.carried += len(data)
            if counted and self._cut_after == 0:
                self._cut_after = None
                self.cut()

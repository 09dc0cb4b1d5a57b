"""Limit the total time of an HTTP request that is sent with `urllib.request`.

`urllib.request` limits connecting and each read only, so a server that sends one byte at a time could take forever.
"""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.request import HTTPHandler, HTTPSHandler, Request

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from http.client import HTTPResponse


class HttpDeadline:
    """Shuts down the connections of a request when the time limit of the request is over, so that a blocked read ends.

    Attributes:
        is_over: whether the connections were shut down. If they were, an error or incomplete data is a result of this,
            and does not mean that the server failed.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._connections: list[HTTPConnection] = []
        self._sockets: list[socket.socket] = []

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit the total time of all requests in a `with` block to `seconds`."""
        timer = threading.Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def handlers(self, context: ssl.SSLContext | None) -> tuple[HTTPHandler, HTTPSHandler]:
        """Return handlers for `urllib.request.build_opener`, whose connections this object shuts down.

        Args:
            context: TLS settings; None for the defaults of the system.
        """
        plain = self._watched(HTTPConnection)
        encrypted = self._watched(HTTPSConnection)

        class Http(HTTPHandler):
            def http_open(self, req: Request) -> HTTPResponse:
                return self.do_open(plain, req)

        class Https(HTTPSHandler):
            def https_open(self, req: Request) -> HTTPResponse:
                return self.do_open(encrypted, req, context=context)

        return Http(), Https()

    def _watched(self, base: type[HTTPConnection]) -> type[HTTPConnection]:
        """Return a subclass of `base` whose connections this object shuts down when the time limit is over."""
        deadline = self

        class Watched(base):  # type: ignore[valid-type,misc]  # mypy does not accept a variable as a base class
            def connect(self) -> None:
                deadline._connections.append(self)
                super().connect()
                # `urllib.request` removes the socket from the connection before it reads the body of the response.
                deadline._sockets.append(self.sock)
                if deadline.is_over:
                    raise TimeoutError

        return Watched

    def _cut(self) -> None:
        self.is_over = True
        for found in [*self._sockets, *(connection.sock for connection in self._connections)]:
            if found is not None:
                with suppress(OSError):
                    # The method `shutdown` of TLS sockets would change an object that another thread is using.
                    socket.socket.shutdown(found, socket.SHUT_RDWR)

"""An S3 server in memory, which listens on the loopback interface: `python -m tests.stores.s3_server`.

The server prints its port, and exits when its standard input is closed. `PUT /-/NAME` switches on the fault NAME, and
`DELETE /-/` switches off all faults. A conditional write is a PUT request with the header If-Match or If-None-Match.

| fault | effect |
|---|---|
| `refuse-writes` | PUT, POST and DELETE requests are answered with 403 AccessDenied |
| `stop-answering` | the server answers requests only after the fault has been switched off |
| `ignore-conditions` | conditional writes are executed even if their condition is not met |
| `reject-conditions` | conditional writes are answered with 501 NotImplemented |
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING

from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import make_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_ERROR = "<Error><Code>{0}</Code><Message>{0}</Message></Error>"
_CONDITIONS = ("HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH")
_WRITES = ("PUT", "POST", "DELETE")


class FaultyServer:
    """moto's S3 server (a WSGI application) with faults that a test can switch on."""

    def __init__(self) -> None:
        self._moto = create_backend_app("s3")
        self._faults: set[str] = set()
        self._changed = threading.Condition()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if path.startswith("/-/"):
            with self._changed:
                if method == "PUT":
                    self._faults.add(path.removeprefix("/-/"))
                else:
                    self._faults.clear()
                self._changed.notify_all()
            start_response("200 OK", [])
            return []
        with self._changed:
            self._changed.wait_for(lambda: "stop-answering" not in self._faults)
        if "refuse-writes" in self._faults and method in _WRITES:
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            return [_ERROR.format("AccessDenied").encode()]
        if method == "PUT" and any(name in environ for name in _CONDITIONS):
            if "reject-conditions" in self._faults:
                start_response("501 Not Implemented", [("Content-Type", "application/xml")])
                return [_ERROR.format("NotImplemented").encode()]
            if "ignore-conditions" in self._faults:
                for name in _CONDITIONS:
                    environ.pop(name, None)
        response: Iterable[bytes] = self._moto(environ, start_response)
        return response


def main() -> None:
    """Run the server until standard input is closed."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, FaultyServer(), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()

"""Test that the terminal UI explains why no Kafka cluster responds at the given address, and says what to do."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from kgtui.simulator import Options, spawn
from tests.brokers.certificates import make_certificates
from tests.e2e.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from kgtui.simulator import SimulatorProcess

CLUSTER_START_TIMEOUT = 45.0
"""Maximum seconds from the start of a cluster until its groups are on the screen.

The maximum is long, because kgtui waits up to 30 s between two attempts to connect.
"""


def free_port() -> int:
    """Return the number of a port on this machine on which no server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_the_start_screen_accepts_a_corrected_address_after_a_failure(
    terminal: Terminal, cluster: SimulatorProcess
) -> None:
    """The user types a wrong address. After the connection has failed, the user types the right address instead.

    The start screen also names the file in which clusters can be configured (`config.toml`).
    """
    terminal.start()
    screen = terminal.wait_for("choose a Kafka cluster")
    assert "localhost:9092" in screen
    assert "demo" in screen
    assert "config.toml" in re.sub(r"[^\w./-]", "", screen)
    wrong = f"127.0.0.1:{free_port()}"
    terminal.type(wrong)
    terminal.keys("Enter")
    terminal.wait_for("does not answer")
    terminal.keys("C-u")
    terminal.wait_for("host:port, or several")
    terminal.type(cluster.bootstrap)
    terminal.wait_for(cluster.bootstrap.rpartition(",")[2])
    terminal.keys("Enter")
    terminal.wait_for("classic")
    terminal.keys("q")
    assert terminal.status() == 0


def test_the_reason_for_an_unreachable_cluster_is_shown_until_a_broker_responds(terminal: Terminal) -> None:
    """While no broker responds, the screen shows the address, the reason and advice.

    As soon as a broker responds, the screen shows the groups.
    """
    port = free_port()
    terminal.start("--interval", "0.5", "--bootstrap-server", f"127.0.0.1:{port}")
    screen = terminal.wait_for("What to do:")
    assert f"127.0.0.1:{port}" in screen
    assert "refused" in screen
    assert "kgtui tries again" in screen
    with spawn(Options(listen=f"127.0.0.1:{port}", brokers=1)):
        terminal.wait_for("classic", CLUSTER_START_TIMEOUT)
        terminal.wait_for("LIVE")
    terminal.keys("q")
    assert terminal.status() == 0


@asynccontextmanager
async def port_of_other_server(reply: bytes, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run a server that is not a Kafka broker, and that responds to every client with `reply`; yield the server's port.

    If `context` is given, the server expects TLS.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1):
            writer.write(reply)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("side", ["http", "tls"])
async def test_the_screen_explains_that_a_web_or_tls_server_responds_instead_of_kafka(
    tmp_path: Path, side: str
) -> None:
    """kgtui connects without TLS to a web server or to a TLS server.

    The screen says what kind of server responds, and advises to check `security.protocol`.
    """
    context = None
    if side == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(make_certificates(tmp_path / "tls").server)
    async with port_of_other_server(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", context) as port:
        screen, code = await asyncio.to_thread(_shown_for, tmp_path / "home", port, side)
    assert "What to do:" in screen
    assert "security.protocol" in screen
    assert code == 0


def _shown_for(folder: Path, port: int, side: str) -> tuple[str, int]:
    with Terminal(folder, size=(80, 24)) as terminal:
        terminal.start("--bootstrap-server", f"127.0.0.1:{port}")
        screen = terminal.wait_for("HTTP" if side == "http" else "TLS")
        terminal.keys("q")
        code = terminal.status()
        terminal.check_clean()
    return screen, code

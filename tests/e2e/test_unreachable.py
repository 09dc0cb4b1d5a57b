"""No cluster, none that answers, or something else on its port: said at once, with what to try, and tried again."""

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

PATIENCE = 45.0
"""Seconds: who does not answer is asked less and less often, every 30 s at last."""


def free_port() -> int:
    """A port of loopback where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_the_start_screen_without_a_cluster(terminal: Terminal, cluster: SimulatorProcess) -> None:
    """Says what was tried, names the file to write, and takes an address; a wrong one can be corrected."""
    terminal.start()
    screen = terminal.wait_for("which Kafka cluster?")
    assert "localhost:9092" in screen
    assert "demo" in screen
    assert "config.toml" in re.sub(r"[^\w./-]", "", screen)
    wrong = f"127.0.0.1:{free_port()}"
    terminal.type(wrong)
    terminal.keys("Enter")
    terminal.wait_for("does not answer")
    terminal.keys(*["BSpace"] * len(wrong))
    terminal.type(cluster.bootstrap)
    terminal.keys("Enter")
    terminal.wait_for("customers.sync")
    terminal.keys("q")
    assert terminal.status() == 0


def test_nothing_reachable_until_the_cluster_comes_up(terminal: Terminal) -> None:
    """The address and the reason, what to look at, and a screen that fills by itself."""
    port = free_port()
    terminal.start("--interval", "0.5", "--bootstrap-server", f"127.0.0.1:{port}")
    screen = terminal.wait_for("Check:")
    assert f"127.0.0.1:{port}" in screen
    assert "refused" in screen
    assert "kgtui tries again" in screen
    with spawn(Options(listen=f"127.0.0.1:{port}", brokers=1)):
        terminal.wait_for("customers.sync", PATIENCE)
        terminal.wait_for("LIVE")
    terminal.keys("q")
    assert terminal.status() == 0


@asynccontextmanager
async def answering(reply: bytes, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server that is no broker: it sends `reply` to whatever comes, and closes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1):
            writer.write(reply)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("side", ["http", "tls"])
async def test_a_wrong_port(tmp_path: Path, side: str) -> None:
    """A web server, and a listener that wants TLS: the screen says that this is no plain Kafka listener."""
    context = None
    if side == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(make_certificates(tmp_path / "tls").server)
    async with answering(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", context) as port:
        screen, code = await asyncio.to_thread(_shown_for, tmp_path / "home", port, side)
    assert "Check:" in screen
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

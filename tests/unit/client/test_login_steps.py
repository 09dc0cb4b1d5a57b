"""Tests of `Pool.login_steps` and `kgtui doctor`, which report the step at which connecting to a server fails."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from typing import TYPE_CHECKING

from kgtui.client.client_settings import from_properties
from kgtui.client.pool import Pool
from kgtui.simulator import Simulator
from tests.brokers.certificates import make_certificates
from tests.unit.commands.runs import kgtui

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SASL = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="ada" password="s3cret-of-ada";',
}


async def steps_of(address: str, **properties: str) -> dict[str, tuple[bool | None, str]]:
    """Check the connection to `address` with the client properties in `properties`.

    Return a dict. Each key is the name of a step, such as "TCP". Each value is `(success, detail)`, in which `success`
    is None if the step was not executed.
    """
    async with Pool([address], from_properties(properties)) as pool:
        (steps,) = (await pool.login_steps(timeout=60)).values()
    return {step.name: (step.ok, step.detail) for step in steps}


async def test_connection_check_of_a_healthy_broker_has_no_failed_step() -> None:
    async with Simulator(brokers=1, scenario="empty") as cluster:
        steps = await steps_of(cluster.bootstrap)
    assert {name: ok for name, (ok, _) in steps.items()} == {
        "name": True, "TCP": True, "API versions": True, "authorization": None,
    }  # fmt: skip


async def test_connection_check_of_an_unknown_host_name_fails_at_name_resolution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    steps = await steps_of("broker.example:9092")
    assert steps["name"][0] is False
    assert "does not resolve" in steps["name"][1]
    assert steps["TCP"] == (None, "")


async def test_connection_check_of_a_closed_port_fails_at_the_tcp_step(unused_tcp_port: int) -> None:
    steps = await steps_of(f"127.0.0.1:{unused_tcp_port}")
    assert (steps["name"][0], steps["TCP"][0], steps["API versions"][0]) == (True, False, None)
    assert "nothing listens there" in steps["TCP"][1]


async def test_tls_step_of_the_connection_check_fails_on_a_port_without_tls() -> None:
    async with Simulator(brokers=1, scenario="empty") as cluster:
        steps = await steps_of(cluster.bootstrap, **{"security.protocol": "SSL"})
    assert (steps["TCP"][0], steps["TLS"][0], steps["API versions"][0]) == (True, False, None)
    assert "security.protocol=PLAINTEXT" in steps["TLS"][1]


async def test_connection_check_says_that_a_certificate_is_not_trusted(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(make_certificates(tmp_path).server)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        steps = await steps_of(address, **{"security.protocol": "SSL"})
    assert (steps["TCP"][0], steps["TLS"][0], steps["API versions"][0]) == (True, False, None)
    assert steps["TLS"][1].startswith(f"the certificate of {address} is not trusted (")


async def test_sasl_step_of_the_connection_check_fails_on_a_port_without_sasl() -> None:
    async with Simulator(brokers=1, scenario="empty") as cluster:
        steps = await steps_of(cluster.bootstrap, **SASL)
    assert (steps["TCP"][0], steps["SASL"][0], steps["API versions"][0]) == (True, False, None)
    assert "s3cret" not in str(steps), "the password must not be shown"


async def test_connection_check_of_an_http_server_fails_at_the_api_versions_step() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        steps = await steps_of(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert (steps["TCP"][0], steps["API versions"][0]) == (True, False)
    assert "HTTP" in steps["API versions"][1]


def test_kgtui_doctor_prints_the_failed_connection_step_and_exits_with_3(tmp_path: Path, unused_tcp_port: int) -> None:
    words = ("doctor", "--bootstrap-server", f"127.0.0.1:{unused_tcp_port}")
    done = kgtui(*words)
    assert done.returncode == 3
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:]] == [
        ["name", "ok"], ["TCP", "FAILED"], ["API", "versions"], ["authorization", "not"],
    ]  # fmt: skip
    document = json.loads(kgtui(*words, "--format", "json").stdout)
    (server,) = document["bootstrap"]
    assert [(step["name"], step["ok"]) for step in server["steps"]][:2] == [("name", True), ("TCP", False)]

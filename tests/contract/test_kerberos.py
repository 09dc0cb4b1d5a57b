"""Tests that kgtui gets Kerberos tickets from a real KDC (Kerberos server), or explains why it gets no ticket."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import gssapi
import pytest

from kgtui.client import tickets as tickets_module
from kgtui.client.client_settings import from_properties
from kgtui.client.tickets import Tickets
from kgtui.errors import ConnectError
from tests.brokers.config import HOST
from tests.brokers.kdc import REALM, Kdc, with_cache, with_keytab
from tests.event_loop import counting_waits, longer_if_busy

if TYPE_CHECKING:
    from collections.abc import Iterator

CLOCK_SKEW = 37
"""Kerberos error code KRB_AP_ERR_SKEW (RFC 4120): the clocks of the client and of the KDC differ too much."""


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    """Run a KDC (Kerberos server) with a principal `ada`, and with two principals whose keytabs are useless.

    The keytab of `old` contains an outdated key. The principal `gone` has a keytab, but was deleted from the KDC.
    """
    kdc = Kdc(tmp_path_factory.mktemp("kdc"))
    kdc.start()
    try:
        for principal in ("ada", "old", "gone"):
            kdc.add(principal)
        kdc.change_key("old")
        kdc.delete("gone")
        yield kdc
    finally:
        kdc.stop()


@pytest.fixture(autouse=True)
def _environment(kdc: Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in kdc.variables.items():
        monkeypatch.setenv(name, value)


def tickets(properties: dict[str, str], **more: str) -> Tickets:
    kerberos = from_properties({**properties, **more}).kerberos
    assert kerberos is not None
    return Tickets(kerberos)


async def failure(properties: dict[str, str], host: str = HOST) -> str:
    """Try to get a ticket for the broker on `host`. Assert that this fails; return the error message."""
    with pytest.raises(ConnectError) as caught:
        await tickets(properties).get(host)
    return str(caught.value)


def keytab_of(kdc: Kdc, principal: str) -> dict[str, str]:
    return with_keytab(principal, kdc.broker_keytab.with_name(f"{principal}.keytab"))


async def test_a_kerberos_login_with_a_keytab_is_accepted(kdc: Kdc) -> None:
    """The test acts as the broker, with the library gssapi. The login messages follow RFC 4752 (SASL GSSAPI)."""
    before = dict(os.environ)
    mine = tickets(keytab_of(kdc, "ada"))
    await mine.get(HOST)
    assert dict(os.environ) == before, "the login changed environment variables"
    assert (mine.principal, mine.server(HOST)) == (f"ada@{REALM}", kdc.broker)
    key = gssapi.Credentials(usage="accept", store={"keytab": str(kdc.broker_keytab)})
    broker = gssapi.SecurityContext(creds=key, usage="accept")
    login = mine.messages(HOST)
    assert await login.asend(broker.step(await anext(login))) == b""
    assert str(broker.initiator_name) == f"ada@{REALM}"
    last = await login.asend(broker.wrap(b"\x07\x00\x40\x00", False).message)
    assert broker.unwrap(last).message == b"\x01\x00\x00\x00" + f"ada@{REALM}".encode()
    with pytest.raises(StopAsyncIteration):
        await login.asend(b"")


async def test_a_damaged_kerberos_response_from_the_broker_is_reported(kdc: Kdc) -> None:
    mine = tickets(keytab_of(kdc, "ada"))
    await mine.get(HOST)
    login = mine.messages(HOST)
    await anext(login)
    with pytest.raises(
        ConnectError, match=r"the broker's response to the Kerberos login is wrong: .* the current key of kafka/"
    ):
        await login.asend(b"nonsense")


async def test_the_error_says_that_the_broker_requires_a_sasl_security_layer(kdc: Kdc) -> None:
    mine = tickets(keytab_of(kdc, "ada"))
    await mine.get(HOST)
    broker = gssapi.SecurityContext(
        creds=gssapi.Credentials(usage="accept", store={"keytab": str(kdc.broker_keytab)}), usage="accept"
    )
    login = mine.messages(HOST)
    await login.asend(broker.step(await anext(login)))
    with pytest.raises(ConnectError, match="requires a SASL security layer"):
        await login.asend(broker.wrap(b"\x04\x00\x40\x00", False).message)


async def test_a_ticket_cache_can_be_used_without_configuring_a_principal(kdc: Kdc) -> None:
    mine = tickets(with_cache(kdc.ticket_cache("ada")))
    await mine.get(HOST)
    assert mine.principal == f"ada@{REALM}"


async def test_the_default_ticket_cache_is_used_if_none_is_configured(
    kdc: Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{kdc.ticket_cache('ada')}")
    mine = tickets(with_cache())
    await mine.get(HOST)
    assert mine.principal == f"ada@{REALM}"


async def test_the_keytab_is_used_if_the_ticket_cache_is_empty(kdc: Kdc, tmp_path: Path) -> None:
    options = keytab_of(kdc, "ada")
    jaas = options["sasl.jaas.config"].replace(";", f' useTicketCache=true ticketCache="{tmp_path / "none"}";')
    mine = tickets(options | {"sasl.jaas.config": jaas})
    await mine.get(HOST)
    assert mine.principal == f"ada@{REALM}"
    assert not (tmp_path / "none").exists(), "the ticket of the keytab was written to the user's ticket cache"


async def test_the_error_for_a_missing_ticket_mentions_the_kinit_command(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    expected = f"from the ticket cache {missing}: the cache has no ticket; run kinit -c {missing} ada (GSSAPI: No cred"
    assert expected in await failure(with_cache(missing, principal="ada"))
    default = await failure(with_cache())
    assert "from the default ticket cache: the cache has no ticket; run kinit PRINCIPAL (GSSAPI: " in default
    assert "No Kerberos credentials available" in default


@longer_if_busy(3)
async def test_the_error_for_an_expired_ticket_mentions_the_kinit_command(kdc: Kdc, timeout: float) -> None:
    """The ticket expires after `timeout` seconds. If the test fails, the test is repeated with a larger `timeout`."""
    cache = kdc.ticket_cache("ada", "-l", f"{timeout:.0f}s")
    mine = tickets(with_cache(cache))
    await mine.get(HOST)
    await asyncio.sleep(timeout + 0.5)
    with pytest.raises(ConnectError, match=f"the ticket has expired; run kinit -c {cache} ada@{REALM} .GSSAPI: "):
        await mine.get(HOST)
    kdc.ticket_cache("ada").replace(cache)
    await mine.get(HOST)  # The ticket cache now contains a new ticket, so this call must not fail.


@longer_if_busy(3)
async def test_a_renewable_ticket_in_a_cache_is_renewed_before_it_expires(kdc: Kdc, timeout: float) -> None:
    """Unless kgtui renews the ticket, it expires after `timeout` seconds.

    If the test fails, the test is repeated with a larger `timeout`.
    """
    cache = kdc.ticket_cache("ada", "-l", f"{timeout:.0f}s", "-r", "1h")
    mine = tickets(with_cache(cache))
    try:
        await mine.get(HOST)
        await asyncio.sleep(timeout + 0.5)
        await mine.get(HOST)
    finally:
        mine.close()


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("kinit", "the Kerberos ticket cannot be renewed: kinit: KDC can't fulfill requested option"),
        ("/no/such/kinit", "the Kerberos ticket cannot be renewed: /no/such/kinit: No such file or directory"),
    ],
)
@longer_if_busy(2)
async def test_a_failed_ticket_renewal_is_logged_and_a_new_ticket_is_used(
    kdc: Kdc, program: str, says: str, caplog: pytest.LogCaptureFixture, timeout: float
) -> None:
    """The renewal fails, because the ticket is not renewable, or because `program` does not exist.

    The ticket expires after `timeout` seconds. If the test fails, the test is repeated with a larger `timeout`.
    """
    caplog.set_level(logging.INFO, "kgtui")
    cache = kdc.ticket_cache("ada", "-l", f"{timeout:.0f}s")
    mine = tickets(with_cache(cache), **{"sasl.kerberos.kinit.cmd": program})
    try:
        await mine.get(HOST)
        async with asyncio.timeout(30 + timeout):
            while says not in caplog.text:  # noqa: ASYNC110 - polling keeps the test simple
                await asyncio.sleep(0.05)
        kdc.ticket_cache("ada").replace(cache)
        await mine.get(HOST)
    finally:
        mine.close()


async def test_a_cached_ticket_of_a_different_principal_is_reported(kdc: Kdc) -> None:
    reason = await failure(with_cache(kdc.ticket_cache("ada"), principal="bob"))
    assert "the ticket belongs to another principal; run kinit -c " in reason
    assert "Principal in credential cache does not match desired name" in reason


async def test_an_unusable_keytab_is_reported(kdc: Kdc, tmp_path: Path) -> None:
    missing = tmp_path / "none.keytab"
    expected = (
        f"sasl.jaas.config: keyTab={missing}: No such file or directory; expected a keytab that this user may read"
    )
    assert await failure(with_keytab("ada", missing)) == expected
    assert f"keyTab={tmp_path}: Is a directory; expected a keytab" in await failure(with_keytab("ada", tmp_path))
    text = tmp_path / "text.keytab"
    text.write_text("no keytab")
    reason = await failure(with_keytab("ada", text))
    assert f"keyTab={text} cannot be read as a keytab: export the keytab again (GSSAPI: " in reason
    reason = await failure(with_keytab("bob", kdc.broker_keytab))
    assert f"keyTab={kdc.broker_keytab} has no key of bob: correct the option principal; klist -k" in reason
    assert f"No key table entry found for bob@{REALM}" in reason


async def test_a_keytab_without_read_permission_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Replace `Path.open` instead of removing the read permission from a real file, because root can read every file.
    # The test would otherwise fail when root runs it.
    monkeypatch.setattr(Path, "open", refuse)
    assert "keyTab=/k: Permission denied; expected a keytab" in await failure(with_keytab("ada", Path("/k")))


async def test_a_principal_unknown_to_the_kdc_is_reported(kdc: Kdc) -> None:
    reason = await failure(keytab_of(kdc, "gone"))
    assert reason.startswith(f"kgtui could not get a Kerberos ticket for {kdc.broker} as gone from the keytab ")
    assert "the KDC does not know this principal; correct its name and its realm" in reason
    assert f"Client 'gone@{REALM}' not found in Kerberos database" in reason


async def test_an_outdated_key_in_the_keytab_is_reported(kdc: Kdc) -> None:
    reason = await failure(keytab_of(kdc, "old"))
    assert "the key in the keytab is not the current key of the principal; export the keytab again" in reason


async def test_a_broker_unknown_to_the_kdc_is_reported(kdc: Kdc) -> None:
    reason = await failure(keytab_of(kdc, "ada"), "broker-1")
    assert "the KDC does not know the principal kafka/broker-1; the first part of the principal is " in reason
    assert f"Server kafka/broker-1@{REALM} not found in Kerberos database" in reason
    options = keytab_of(kdc, "ada") | {"sasl.kerberos.service.name": "kaffka"}
    assert f"does not know the principal kaffka/{kdc.broker.partition('/')[2]};" in await failure(options)
    reason = await failure(keytab_of(kdc, "ada"), "broker-1.example.com")
    unknown = "does not know the principal kafka/broker-1.example.com"
    assert f"{unknown}, and has no trust relationship with the realm EXAMPLE.COM;" in reason
    assert "correct the property that is wrong, or [domain_realm] in krb5.conf" in reason


async def test_a_realm_without_a_kdc_is_reported(kdc: Kdc) -> None:
    reason = await failure(with_keytab("ada@OTHER.REALM", kdc.other_realm_keytab()))
    assert "check the realm of the principal, and that [realms] in krb5.conf" in reason
    assert 'Cannot find KDC for realm "OTHER.REALM"' in reason


async def test_a_stopped_kdc_is_reported(kdc: Kdc, unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5_CONFIG", str(kdc.write_config("closed.conf", unused_tcp_port)))
    reason = await failure(keytab_of(kdc, "ada"))
    assert "no KDC answers; check the kdc entries in krb5.conf" in reason
    assert f"Cannot contact any KDC for realm '{REALM}'" in reason


async def test_a_kdc_that_does_not_respond_is_reported_without_blocking_other_tasks(
    kdc: Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tickets_module, "TIMEOUT", 0.5)
    with socket.create_server((HOST, 0)) as silent:
        monkeypatch.setenv("KRB5_CONFIG", str(kdc.write_config("silent.conf", silent.getsockname()[1])))
        mine = tickets(keytab_of(kdc, "ada"))
        ticks = 0
        for _ in range(2):
            async with counting_waits() as waited:
                attempt = asyncio.create_task(mine.get(HOST))
                while not attempt.done():
                    await asyncio.sleep(0.01)
                    ticks += 1
                assert waited() < 20, "kgtui waited for MIT Kerberos, which gives up after 30 s"
            with pytest.raises(
                ConnectError, match=r"after 0\.5 s, because no KDC of the realm answers: check the kdc entries"
            ):
                attempt.result()
    assert ticks > 5, "the event loop was blocked"


async def test_a_clock_difference_between_client_and_kdc_is_reported(kdc: Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as refusing:
        Thread(target=answer_with_error, args=(refusing, CLOCK_SKEW), daemon=True).start()
        monkeypatch.setenv("KRB5_CONFIG", str(kdc.write_config("skew.conf", refusing.getsockname()[1])))
        reason = await failure(keytab_of(kdc, "ada"))
    assert "the clocks of this machine and of the KDC differ; set the clock of this machine" in reason
    assert "Clock skew too great" in reason


def answer_with_error(server: socket.socket, code: int) -> None:
    """Act as a KDC that answers each request on the socket `server` with the Kerberos error `code` (RFC 4120).

    Return when the socket is closed.
    """

    def der(tag: int, *content: bytes) -> bytes:
        body = b"".join(content)
        assert len(body) < 128
        return bytes([tag, len(body)]) + body

    def number(value: int) -> bytes:
        return der(0x02, bytes([value]))

    text = der(0x1B, REALM.encode())
    name = der(0x30, der(0xA0, number(2)), der(0xA1, der(0x30, der(0x1B, b"krbtgt"), text)))
    fields = {0: number(5), 1: number(30), 4: der(0x18, b"20000101000000Z"), 5: number(0), 6: number(code), 9: text}
    sequence = der(0x30, *(der(0xA0 + tag, value) for tag, value in {**fields, 10: name}.items()))
    error = der(0x7E, sequence)
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.recv(4096)
            connection.sendall(len(error).to_bytes(4, "big") + error)


def test_kgtui_exits_without_waiting_for_a_silent_kdc(kdc: Kdc) -> None:
    """MIT Kerberos waits about 30 s for the KDC. kgtui reports an error sooner, and must then exit within 20 s."""
    program = """
import asyncio, sys
from kgtui.client import tickets
from kgtui.client.kerberos import Kerberos
tickets.TIMEOUT = 0.2
try:
    asyncio.run(tickets.Tickets(Kerberos("kafka", "ada", sys.argv[1])).get("localhost"))
except tickets.ConnectError as error:
    print(error)
"""
    with socket.create_server((HOST, 0)) as silent:
        config = kdc.write_config("silent.conf", silent.getsockname()[1])
        keytab = str(kdc.broker_keytab.with_name("ada.keytab"))
        environment = kdc.environment | {"KRB5_CONFIG": str(config)}
        command = [sys.executable, "-u", "-c", program, keytab]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            assert "no KDC of the realm answers" in running.stdout.readline()
            failed = time.monotonic()
            assert running.wait(60) == 0
            assert time.monotonic() - failed < 20

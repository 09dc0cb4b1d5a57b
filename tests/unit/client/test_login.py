"""Tests of the SASL login of a connection. The login is repeated before the broker ends the SASL session (KIP-368)."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.client import login as login_module
from kgtui.client.address import Address
from kgtui.client.client_settings import ClientSettings, Secret
from kgtui.client.login import Login, LoginSession
from kgtui.client.oauth import OAuth
from kgtui.errors import ConnectError, DisconnectedError
from kgtui.protocol.messages.security import SASL_AUTHENTICATE, SASL_HANDSHAKE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.client.exchange import LoginExchange

BROKER = Address("broker", 9092)
OFFER = {"ErrorCode": 0, "Mechanisms": ["PLAIN", "OAUTHBEARER"]}
TOKEN_LOGIN = ClientSettings("SASL_SSL", "OAUTHBEARER", oauth=OAuth(claims={"sub": "hunter2"}))


class FakeConnection:
    """A fake aiokafka connection, which responds to an OAUTHBEARER login as a broker does.

    Attributes:
        answers: fields of each response to SaslAuthenticate. The last response is repeated.
        sent: `(API name with version, encoded body)` of each request.
        gate: event. The broker does not respond to SaslAuthenticate until the event is set.
    """

    def __init__(self, *answers: Mapping[str, Any]) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, bytes]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.closed = False

    async def send(self, exchange: LoginExchange) -> bytes:
        if self.closed:
            raise ConnectionError("closed")
        exchange.prepare({api.key: (api.low, api.high) for api in (SASL_HANDSHAKE, SASL_AUTHENTICATE)})
        self.sent.append((repr(exchange), exchange.encode()))
        if "Handshake" in repr(exchange):
            return SASL_HANDSHAKE.response.encode(1, OFFER)
        await self.gate.wait()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return SASL_AUTHENTICATE.response.encode(2, {"ErrorCode": 0, "AuthBytes": b"", **answer})

    def close(self) -> None:
        self.closed = True


def set_clock(monkeypatch: pytest.MonkeyPatch, now: float) -> None:
    """Make `time.monotonic` return `now` in `kgtui.client.login`. The clock of the event loop does not change."""
    monkeypatch.setattr(login_module, "time", SimpleNamespace(monotonic=lambda: now))


async def start(raw: FakeConnection, settings: ClientSettings = TOKEN_LOGIN) -> LoginSession:
    login = Login(settings)
    await login.prepare(BROKER)
    return await LoginSession.start(login, raw, BROKER)


async def until_sent(raw: FakeConnection, count: int) -> None:
    """Wait until `count` requests were sent on the connection."""
    async with asyncio.timeout(60):
        while len(raw.sent) < count:  # noqa: ASYNC110 - the connection has no event
            await asyncio.sleep(0.01)


async def test_a_token_login_succeeds_if_the_broker_sends_an_empty_response() -> None:
    raw = FakeConnection({})
    await (await start(raw)).ready()
    assert [name for name, _ in raw.sent] == ["SaslHandshake v1", "SaslAuthenticate v2"]
    assert b"n,,\x01auth=Bearer " in raw.sent[1][1]


async def test_a_token_login_fails_after_a_challenge_from_the_broker() -> None:
    """The broker first sends the reason for the refusal in a challenge (RFC 7628), and then an error code."""
    status = '{"status":"insufficient_scope"}'
    raw = FakeConnection({"AuthBytes": status.encode()}, {"ErrorCode": 58, "ErrorMessage": status})
    with pytest.raises(ConnectError) as caught:
        await start(raw)
    assert str(caught.value).startswith(
        "broker:9092 refused the token (insufficient_scope): the broker requires signed"
    )
    assert raw.sent[2][1].endswith(b"\x02\x01\x00")


@pytest.mark.parametrize("message", [None, "no json", "[" * 30_000, '["status"]', '{"status": "x y\\u001b"}'])
async def test_error_for_a_refused_token_omits_a_missing_or_malformed_status(message: str | None) -> None:
    """A broker that refuses a token should send JSON such as `{"status": "insufficient_scope"}`.

    If `message` is missing or is not such JSON, the error does not mention a status.
    """
    with pytest.raises(ConnectError, match="broker:9092 refused the token: the broker requires"):
        await start(FakeConnection({"ErrorCode": 58, "ErrorMessage": message}))


async def test_login_is_not_repeated_if_the_sasl_session_has_no_time_limit() -> None:
    raw = FakeConnection({"SessionLifetimeMs": 0})
    session = await start(raw)
    for _ in range(3):
        await session.ready()
    assert len(raw.sent) == 2


async def test_the_login_is_repeated_before_the_sasl_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = FakeConnection({"SessionLifetimeMs": 1000})
    session = await start(raw)
    begin = time.monotonic()
    set_clock(monkeypatch, begin + 0.8)
    await session.ready()
    await asyncio.sleep(0.01)
    assert len(raw.sent) == 2, "the login was repeated too early"
    set_clock(monkeypatch, begin + 0.97)
    await session.ready()
    await until_sent(raw, 4)
    await session.ready()
    assert len(raw.sent) == 4, "the login was repeated twice"
    assert not raw.closed


async def test_requests_wait_while_the_login_of_their_connection_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A login is two requests. Between these requests, a broker accepts no other request on the same connection."""
    raw = FakeConnection({"SessionLifetimeMs": 1000})
    session = await start(raw)
    later = time.monotonic() + 2
    set_clock(monkeypatch, later)
    raw.gate.clear()
    waiting = [asyncio.create_task(session.ready()) for _ in range(3)]
    await until_sent(raw, 4)
    assert not any(task.done() for task in waiting)
    waiting[0].cancel()
    raw.gate.set()
    await asyncio.gather(*waiting[1:])
    assert len(raw.sent) == 4


async def test_connection_is_closed_if_the_broker_refuses_a_repeated_login(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = FakeConnection({"SessionLifetimeMs": 1000}, {"ErrorCode": 58})
    session = await start(raw)
    later = time.monotonic() + 2
    set_clock(monkeypatch, later)
    with pytest.raises(DisconnectedError, match="re-authentication failed: broker:9092 refused the token"):
        await session.ready()
    assert raw.closed


async def test_a_connection_without_a_new_token_stays_open_until_its_session_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = FakeConnection({"SessionLifetimeMs": 100_000})
    session = await start(raw)

    async def prepare(self: Login, address: Address) -> dict[str, Any]:
        raise ConnectError("the token endpoint failed")

    monkeypatch.setattr(Login, "prepare", prepare)
    begin = time.monotonic()
    for after in (96, 98):
        set_clock(monkeypatch, begin + after)
        await session.ready()
        await asyncio.sleep(0.01)
        assert not raw.closed
    set_clock(monkeypatch, begin + 101)
    with pytest.raises(DisconnectedError, match="the token endpoint failed"):
        await session.ready()
    assert raw.closed


async def test_closing_a_connection_cancels_a_repeated_login_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = FakeConnection({"SessionLifetimeMs": 1000})
    session = await start(raw)
    later = time.monotonic() + 2
    set_clock(monkeypatch, later)
    raw.gate.clear()
    waiting = asyncio.create_task(session.ready())
    await until_sent(raw, 4)
    session.close()
    with pytest.raises(DisconnectedError, match="the connection to broker:9092 was closed"):
        await waiting


async def test_repr_of_client_settings_contains_no_secret_of_a_token_login() -> None:
    secret = "hunter2"
    oauth = OAuth("https://idp/token", "kgtui", Secret(secret), claims={"k": secret}, extensions=(("k", secret),))
    assert "hunter2" not in repr(ClientSettings("SASL_SSL", "OAUTHBEARER", oauth=oauth))

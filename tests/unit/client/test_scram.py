"""Tests of SCRAM logins with the example of RFC 7677, and with servers that forge or damage their messages."""

from __future__ import annotations

import secrets

import pytest

from kgtui.client import mechanisms
from kgtui.client.address import Address
from kgtui.client.client_settings import ClientSettings, Secret
from kgtui.errors import ConnectError

BROKER = Address("broker", 9092)
USER = ClientSettings("SASL_PLAINTEXT", "SCRAM-SHA-256", "user", Secret("pencil"))
CHALLENGE = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.fixture(autouse=True)
def _fixed_nonce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_urlsafe", lambda _: "rOprNGfwEbeRWgbNEkqO")


async def log_in(*answers: bytes, settings: ClientSettings = USER) -> list[bytes]:
    """Run a login in which the server sends `answers`, and return the messages that the client sent."""
    steps = mechanisms.scram_steps(settings, BROKER)
    sent = [await anext(steps)]
    for answer in answers:
        try:
            sent.append(await steps.asend(answer))
        except StopAsyncIteration:
            return sent
    raise AssertionError("the login did not end")


async def test_scram_login_sends_the_messages_of_the_example_in_rfc_7677() -> None:
    assert await log_in(CHALLENGE, SIGNATURE) == [b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", PROOF]


async def test_scram_login_with_delegation_token_sends_tokenauth_and_escaped_user_name() -> None:
    settings = ClientSettings("SASL_SSL", "SCRAM-SHA-512", "a=b,c", Secret("hmac"), delegation_token=True)
    steps = mechanisms.scram_steps(settings, BROKER)
    assert await anext(steps) == b"n,,n=a=3Db=2Cc,r=rOprNGfwEbeRWgbNEkqO,tokenauth=true"
    await steps.aclose()


@pytest.mark.parametrize("answer", [b"v=" + b"A" * 43 + b"=", b"v=damaged", b"", b"\xff", b"e=other-error"])
async def test_scram_login_fails_if_the_server_signature_is_wrong_or_missing(answer: bytes) -> None:
    with pytest.raises(ConnectError) as caught:
        await log_in(CHALLENGE, answer)
    assert str(caught.value) == (
        "broker:9092 accepted the login as 'user', but did not prove that it knows the password: it may be another "
        "server in place of the broker; check host and port, and use SASL_SSL, which checks the broker's certificate"
    )


@pytest.mark.parametrize(
    ("challenge", "says"),
    [
        (CHALLENGE.replace(b"r=rOpr", b"r=xOpr"), "the nonce of the server does not belong to this login"),
        (
            b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "the nonce of the server does not belong to this login",
        ),
        (CHALLENGE.replace(b"4096", b"1"), "the server asks for 1 iterations; kgtui accepts 4,096 to 10,000,000"),
        (CHALLENGE.replace(b"4096", b"999999999"), "the server asks for 999,999,999 iterations"),
        (CHALLENGE.replace(b"4096", b"many"), "the first message of the server is not valid"),
        (CHALLENGE.replace(b"s=W", b"s=*"), "the first message of the server is not valid"),
        (b"i=4096", "the first message of the server is not valid"),
        (b"", "the first message of the server is not valid"),
        (b"\xff", "the first message of the server is not valid"),
    ],
)
async def test_scram_login_fails_if_the_first_server_message_is_invalid(challenge: bytes, says: str) -> None:
    with pytest.raises(ConnectError) as caught:
        await log_in(challenge, SIGNATURE)
    assert f"broker:9092 sent a damaged response in the SCRAM login ({says}" in str(caught.value)

"""Test kgtui's error messages for failed logins to a real Kafka 4.3.1 broker."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from kgtui.client import tokens as tokens_module
from kgtui.client.client_settings import from_properties
from kgtui.client.oauth import OAuth
from kgtui.client.pool import Pool
from kgtui.client.tokens import Tokens
from kgtui.config import read_properties
from kgtui.errors import ConnectError, KgtuiError
from kgtui.model.rfc3339 import rfc3339
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.brokers.kdc import REALM, with_cache, with_keytab
from tests.brokers.secure import AUDIENCE, ISSUER, KEY_ID, MECHANISMS, PASSWORDS
from tests.contract.logins import OPTIONS, log_in, refusal, use_kdc
from tests.event_loop import longer_if_busy
from tests.token_server import SECRET, token_server

if TYPE_CHECKING:
    from tests.brokers.secure import Secure


@pytest.mark.broker
async def test_the_login_error_for_a_missing_ticket_mentions_the_kinit_command(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kdc(secure_broker, monkeypatch)
    reason = await refusal(secure_broker.sasl, with_cache(secure_broker.kdc.config.with_name("none")))
    assert reason.startswith(
        f"kgtui could not get a Kerberos ticket for {secure_broker.kdc.broker} from the ticket cache "
    )
    assert "the cache has no ticket; run kinit -c " in reason


@pytest.mark.broker
async def test_a_ticket_that_the_broker_cannot_decrypt_is_reported(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ticket is for a different service on the broker's host. An outdated broker keytab has the same effect."""
    use_kdc(secure_broker, monkeypatch)
    other = f"other/{secure_broker.kdc.broker.partition('/')[2]}"
    secure_broker.kdc.add(other)
    properties = with_keytab("team", secure_broker.keytabs["team"]) | {"sasl.kerberos.service.name": "other"}
    reason = await refusal(secure_broker.sasl, properties)
    assert reason.startswith(f"{secure_broker.sasl} refused the Kerberos login as team@{REALM}: check that the keytab")
    assert f"has the current key of {other}, that the clocks of this machine and of the broker agree" in reason


@pytest.mark.broker
async def test_a_refused_token_is_reported_with_the_claims_of_the_token(
    secure_broker: Secure, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker's error says only that the token is invalid, so kgtui adds the claims of the token to its message."""
    caplog.set_level(logging.DEBUG)
    start = (
        f"{secure_broker.sasl} refused the token (invalid_token): check that sasl.oauthbearer.expected.* of the broker "
        "match this token"
    )
    with token_server() as endpoint:
        for claim, name in (("iss", "issuer"), ("aud", "audience")):
            secure_broker.use_signed_tokens(endpoint, **{claim: "https://other"})
            reason = await refusal(secure_broker.sasl, endpoint.properties())
            assert reason.startswith(start)
            assert f"{name} 'https://other'" in reason
        secure_broker.use_signed_tokens(endpoint)
        endpoint.signed_with = (rsa.generate_private_key(65537, 2048), KEY_ID)
        reason = await refusal(secure_broker.sasl, endpoint.properties())
        token = await Tokens(from_properties(endpoint.properties()).oauth or OAuth()).get()
    assert reason.startswith(f"{start} (issuer '{ISSUER}', audience '{AUDIENCE}', scope 'kafka', valid until 20")
    assert "), that the broker knows the key that signed it, and that the clocks of the broker, the identity" in reason
    assert SECRET not in caplog.text
    assert token.text.reveal().split(".")[2] not in caplog.text


@pytest.mark.broker
@pytest.mark.parametrize(("clock", "claim", "word"), [(-600, "exp", "until"), (600, "nbf", "from")])
async def test_an_expired_or_not_yet_valid_token_is_reported_with_its_time_limit(
    secure_broker: Secure, clock: int, claim: str, word: str
) -> None:
    """A client whose clock is wrong by `clock` seconds considers the token valid, but the broker refuses the token.

    A client with a correct clock detects without the broker that the token is not valid.
    """
    now = int(time.time())
    limit = now + clock // 2
    with token_server() as endpoint:
        secure_broker.use_signed_tokens(endpoint, **{claim: limit})
        with pytest.MonkeyPatch.context() as wrong:
            wrong.setattr(tokens_module, "time", SimpleNamespace(time=lambda: time.time() + clock))
            reason = await refusal(secure_broker.sasl, endpoint.properties())
            assert f"valid {word} {rfc3339(limit, 'seconds')}" in reason
            assert "the clocks of the broker, the identity provider and this machine agree" in reason
            endpoint.headers["Date"] = email.utils.formatdate(now, usegmt=True)
            reason = await refusal(secure_broker.sasl, endpoint.properties())
            assert "the clock of this machine differs from that of the token endpoint by " in reason
        del endpoint.headers["Date"]
        reason = await refusal(secure_broker.sasl, endpoint.properties())
    problem = "expired at" if claim == "exp" else "is not valid before"
    assert f"{problem} {rfc3339(limit, 'seconds')}: " in reason


@pytest.mark.broker
@longer_if_busy(3)
async def test_an_expired_kerberos_ticket_is_reported_until_there_is_a_new_ticket(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch, timeout: float
) -> None:
    """The client logs in every two seconds. The first ticket expires after `timeout` seconds.

    Logins fail until `kinit` has put a second ticket into the cache.
    """
    use_kdc(secure_broker, monkeypatch)
    cache = secure_broker.kdc.ticket_cache("team", "-l", f"{timeout:.0f}s")

    async def call_until_failure() -> None:
        async with asyncio.timeout(30 + timeout):
            while True:
                await pool.call(node, LIST_GROUPS, {}, timeout=30)
                await asyncio.sleep(0.2)

    async with Pool([secure_broker.sasl], from_properties(with_cache(cache)), options=OPTIONS) as pool:
        node = min((await pool.metadata(timeout=20)).brokers)
        await pool.call(node, LIST_GROUPS, {}, timeout=30)
        with pytest.raises(KgtuiError, match=f"the ticket has expired; run kinit -c {cache} team@{REALM} "):
            await call_until_failure()
        secure_broker.kdc.ticket_cache("team").replace(cache)
        async with asyncio.timeout(60):
            while True:
                # After an error, the pool waits before it connects again. Calls fail during this time, although the
                # cache has a new ticket.
                with suppress(ConnectError):
                    await pool.call(node, LIST_GROUPS, {}, timeout=30)
                    break
                await asyncio.sleep(0.1)


@pytest.mark.broker
@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_the_error_for_a_wrong_password_does_not_contain_the_password(
    secure_broker: Secure, mechanism: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    config = secure_broker.command_config("team", mechanism=mechanism, password="n0t-This")
    reason = await refusal(secure_broker.sasl, config)
    assert reason.startswith(f"{secure_broker.sasl} refused the login as 'team': check user name and password")
    shown = caplog.text + "".join(capfd.readouterr())
    assert "n0t-This" not in shown


@pytest.mark.broker
async def test_a_login_writes_no_secret_to_the_debug_log(
    secure_broker: Secure, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("aiokafka", "aiokafka.conn", "asyncio"):
        caplog.set_level(logging.DEBUG, name)
    await log_in(secure_broker.sasl, secure_broker.command_config("team", mechanism="PLAIN"))
    out, error = capfd.readouterr()
    assert PASSWORDS["team"] not in caplog.text + out + error
    assert (out, error) == ("", "")


@pytest.mark.broker
async def test_a_login_on_a_listener_without_sasl_is_reported(secure_broker: Secure) -> None:
    config = secure_broker.command_config("team", mechanism="PLAIN")
    reason = await refusal(secure_broker.cluster.bootstrap, config)
    assert "does not use SASL, but a login is configured" in reason


@pytest.mark.broker
async def test_connecting_to_a_sasl_listener_without_a_login_is_reported(secure_broker: Secure) -> None:
    reason = await refusal(secure_broker.sasl, {})
    assert "it probably requires a login; use --command-config with security.protocol=SASL_PLAINTEXT" in reason


@pytest.mark.broker
async def test_a_plaintext_connection_to_a_tls_port_is_reported(secure_broker: Secure) -> None:
    for address in (secure_broker.tls, secure_broker.sasl_tls):
        assert (
            "uses TLS, but kgtui is configured for plain text; set security.protocol=SSL (or SASL_SSL)"
            in await refusal(address, {})
        )


@pytest.mark.broker
async def test_a_tls_connection_to_a_plaintext_port_is_reported(secure_broker: Secure) -> None:
    for address in (secure_broker.sasl, secure_broker.cluster.bootstrap):
        reason = await refusal(address, secure_broker.tls_config())
        assert "uses plain text, not TLS; set security.protocol=PLAINTEXT (or SASL_PLAINTEXT)" in reason


@pytest.mark.broker
async def test_a_missing_client_certificate_is_reported(secure_broker: Secure) -> None:
    reason = await refusal(secure_broker.tls, secure_broker.tls_config(with_certificate=False))
    assert "it may require a client certificate; set ssl.keystore.type=PEM and ssl.keystore.location" in reason


@pytest.mark.broker
async def test_an_untrusted_certificate_is_reported(secure_broker: Secure) -> None:
    properties = read_properties(secure_broker.tls_config())
    del properties["ssl.truststore.location"]
    reason = await refusal(secure_broker.tls, properties)
    assert reason.startswith(f"the certificate of {secure_broker.tls} is not trusted (")
    assert "set ssl.truststore.type=PEM and ssl.truststore.location to a file with the certificate of its CA" in reason


@pytest.mark.broker
async def test_the_error_for_a_missing_key_store_names_its_property(secure_broker: Secure) -> None:
    properties = {**read_properties(secure_broker.tls_config()), "ssl.keystore.location": "/no/such.pem"}
    with pytest.raises(KgtuiError, match=r"ssl\.keystore\.location=/no/such\.pem: No such file"):
        await log_in(secure_broker.tls, properties)

"""Test logins to a real 4.3.1 broker with properties files that Kafka's own tools can read."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import time
import traceback
from contextlib import suppress
from statistics import median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from kgtui.client import login as login_module
from kgtui.client import tokens as tokens_module
from kgtui.client.client_settings import from_properties
from kgtui.client.login import Login
from kgtui.client.oauth import OAuth
from kgtui.client.pool import Lane, Pool, PoolOptions
from kgtui.client.tokens import Tokens
from kgtui.config import read_properties
from kgtui.errors import ConnectError, KgtuiError, UnreachableError
from kgtui.model.rfc3339 import rfc3339
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.brokers.certificates import make_stores
from tests.brokers.config import write_properties
from tests.brokers.kdc import REALM, with_cache, with_keytab
from tests.brokers.secure import AUDIENCE, ISSUER, KEY_ID, LIVE_GROUP, MECHANISMS, PASSWORDS, SESSION, TOKEN_SCOPE
from tests.event_loop import longer_if_busy
from tests.signed_tokens import new_key, verified, write_key
from tests.token_server import SECRET, token_server
from tests.unit.commands.runs import kgtui

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.client.address import Address
    from tests.brokers.secure import Secure

OPTIONS = PoolOptions(connect_timeout=10.0)


async def log_in(address: str, config: Path | dict[str, str]) -> list[str]:
    """Log in with `config` on both connections that kgtui opens to a broker; return the ids of the listed groups."""
    properties = config if isinstance(config, dict) else read_properties(config)
    async with Pool([address], from_properties(properties), options=OPTIONS) as pool:
        node = min((await pool.metadata(timeout=20)).brokers)
        await pool.call(node, LIST_GROUPS, {}, timeout=20, lane=Lane.UI)
        reply = await pool.call(node, LIST_GROUPS, {}, timeout=20)
        return sorted(row["GroupId"] for row in reply.value["Groups"])


async def log_in_soon(address: str, config: dict[str, str]) -> list[str]:
    """Repeat `log_in` for up to 10 s; return the ids of the listed groups.

    A broker does not always accept credentials right after it has created them.
    """
    deadline = time.monotonic() + 10
    while True:
        try:
            return await log_in(address, config)
        except UnreachableError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)


async def refusal(address: str, config: Path | dict[str, str]) -> str:
    """Try to log in with `config`; return the error message.

    Assert that neither the message nor the traceback contains a password.
    """
    with pytest.raises(UnreachableError) as caught:
        await log_in(address, config)
    text = "".join(traceback.format_exception(caught.value))
    assert not any(password in text for password in PASSWORDS.values())
    ((_, reason),) = caught.value.attempts
    return reason


@pytest.mark.broker
@pytest.mark.parametrize("tls", [False, True], ids=["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_user_can_log_in_with_each_sasl_mechanism(secure_broker: Secure, mechanism: str, tls: bool) -> None:
    address = secure_broker.sasl_tls if tls else secure_broker.sasl
    groups = await log_in(address, secure_broker.command_config("team", mechanism=mechanism, tls=tls))
    assert "team-a-app" in groups
    assert "team-b-app" not in groups, "the principal is not `team`, because it sees other groups"


def use_kdc(secure_broker: Secure, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in secure_broker.kdc.variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.broker
@pytest.mark.parametrize("source", ["keytab", "ticket cache"])
async def test_a_user_can_log_in_with_kerberos(
    secure_broker: Secure, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kdc(secure_broker, monkeypatch)
    if source == "keytab":
        groups = await log_in(secure_broker.sasl, with_keytab("team", secure_broker.keytabs["team"]))
    else:
        tls = read_properties(secure_broker.command_config("team", tls=True))
        properties = tls | with_cache(secure_broker.kdc.ticket_cache("team")) | {"security.protocol": "SASL_SSL"}
        groups = await log_in(secure_broker.sasl_tls, properties)
    assert "team-a-app" in groups
    assert "team-b-app" not in groups, "the principal is not `team`, because it sees other groups"


@pytest.mark.broker
async def test_the_login_error_for_a_missing_ticket_mentions_the_kinit_command(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_kdc(secure_broker, monkeypatch)
    reason = await refusal(secure_broker.sasl, with_cache(secure_broker.kdc.config.with_name("none")))
    assert reason.startswith(f"there is no Kerberos ticket for {secure_broker.kdc.broker}, from the ticket cache ")
    assert "the cache has no ticket; run kinit -c " in reason


@pytest.mark.broker
async def test_a_ticket_that_the_broker_cannot_decrypt_is_reported(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ticket is for a different service on the broker's host.

    An outdated keytab of the broker causes the same error.
    """
    use_kdc(secure_broker, monkeypatch)
    other = f"other/{secure_broker.kdc.broker.partition('/')[2]}"
    secure_broker.kdc.add(other)
    properties = with_keytab("team", secure_broker.keytabs["team"]) | {"sasl.kerberos.service.name": "other"}
    reason = await refusal(secure_broker.sasl, properties)
    assert reason.startswith(f"{secure_broker.sasl} refused the Kerberos login as team@{REALM}: check that the keytab")
    assert f"has the current key of {other}, that the clocks of this machine and of the broker agree" in reason


@pytest.mark.broker
async def test_the_login_steps_contain_the_result_of_a_kerberos_login(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kgtui doctor` prints the steps that `Pool.login_steps` returns."""
    use_kdc(secure_broker, monkeypatch)
    good = with_keytab("team", secure_broker.keytabs["team"])
    for properties, expected in (
        (good, (True, "logged in with GSSAPI")),
        (good | {"sasl.kerberos.service.name": "none"}, (False, "there is no Kerberos ticket for none/")),
    ):
        async with Pool([secure_broker.sasl], from_properties(properties), options=OPTIONS) as pool:
            (steps,) = (await pool.login_steps(timeout=20)).values()
        ((ok, detail),) = [(step.ok, step.detail) for step in steps if step.name == "SASL"]
        assert (ok, detail[: len(expected[1])]) == expected


@pytest.mark.broker
@pytest.mark.full
def test_kgtui_commands_can_log_in_with_kerberos(secure_broker: Secure, monkeypatch: pytest.MonkeyPatch) -> None:
    use_kdc(secure_broker, monkeypatch)
    keytab = with_keytab("team", secure_broker.keytabs["team"])
    cache = with_cache(secure_broker.kdc.ticket_cache("team"))
    for number, properties in enumerate((keytab, cache)):
        config = write_properties(secure_broker.kdc.config.with_name(f"{number}.properties"), properties)
        options = ["--bootstrap-server", secure_broker.sasl, "--command-config", str(config)]
        for command, expected in (
            (["ls"], "team-a-app"),
            (["show", LIVE_GROUP], "team-a-events"),
            (["doctor"], "DELETE: on 3 groups"),
        ):
            done = kgtui(*command, *options)
            assert expected in done.stdout, (command, done)


@pytest.mark.broker
@pytest.mark.parametrize("grant", ["secret", "assertion"])
async def test_a_user_can_log_in_with_a_signed_token_from_a_token_endpoint(
    secure_broker: Secure, grant: str, tmp_path: Path
) -> None:
    """The broker checks the signature, the issuer and the audience.

    The endpoint checks the client's secret or assertion.
    """
    key = new_key()
    with token_server() as endpoint:
        secure_broker.use_signed_tokens(endpoint)
        properties = endpoint.properties()
        if grant == "assertion":
            endpoint.accepts = lambda form: verified(form["assertion"][0], key)[1]["iss"] == "kgtui"
            properties |= {
                "sasl.oauthbearer.jwt.retriever.class": "JwtBearerJwtRetriever",
                "sasl.oauthbearer.assertion.private.key.file": str(write_key(tmp_path / "key.pem", key)),
                "sasl.oauthbearer.assertion.claim.iss": "kgtui",
            }
        groups = await log_in(secure_broker.sasl, properties)
        assert len(endpoint.received) == 1
    assert "team-a-app" in groups
    assert "team-b-app" not in groups, "the principal is not `team`, because it sees other groups"


@pytest.mark.broker
async def test_a_user_can_log_in_with_a_delegation_token(secure_broker: Secure) -> None:
    token_id, hmac = await asyncio.to_thread(secure_broker.create_token, "team")
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{token_id}" password="{hmac}" tokenauth="true";',
    }
    groups = await log_in_soon(secure_broker.sasl, properties)
    assert "team-a-app" in groups
    assert "team-b-app" not in groups, "the principal is not `team`, because it sees other groups"
    wrong = {**properties, "sasl.jaas.config": properties["sasl.jaas.config"].replace(hmac, f"{hmac}x")}
    reason = await refusal(secure_broker.sasl, wrong)
    assert hmac not in reason
    assert reason.startswith(f"{secure_broker.sasl} refused the delegation token '{token_id}': check token id and HMAC")


@pytest.mark.broker
async def test_a_user_can_log_in_with_an_unsigned_token(secure_broker: Secure) -> None:
    properties = {
        **read_properties(secure_broker.command_config("team", tls=True)),
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        f'unsecuredLoginStringClaim_sub="team" unsecuredLoginStringClaim_scope="{TOKEN_SCOPE}";',
    }
    groups = await log_in(secure_broker.sasl_tls, properties)
    assert "team-a-app" in groups
    assert "team-b-app" not in groups
    properties["sasl.jaas.config"] = properties["sasl.jaas.config"].replace(TOKEN_SCOPE, "other")
    reason = await refusal(secure_broker.sasl_tls, properties)
    assert "refused the token (insufficient_scope): the broker requires signed tokens; set sasl.oauthb" in reason


@pytest.mark.broker
async def test_a_refused_token_is_reported_with_the_claims_of_the_token(
    secure_broker: Secure, caplog: pytest.LogCaptureFixture
) -> None:
    """The error from the broker says only that the token is invalid, so kgtui adds the claims."""
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
    """The client's clock is wrong by ten minutes, so the client accepts a token that the broker refuses."""
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
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "OAUTHBEARER", pytest.param("GSSAPI", marks=pytest.mark.full)])
async def test_a_connection_logs_in_again_before_its_sasl_session_expires(
    secure_broker: Secure, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker closes a connection when its SASL session expires (KIP-368).

    Requests are sent on one connection while several sessions expire.
    """
    # Log in after half of the session. With the default, a busy machine could delay the login for too long.
    monkeypatch.setattr(login_module, "RENEW_AFTER", (0.5, 0.5))
    use_kdc(secure_broker, monkeypatch)
    with token_server() as endpoint:
        secure_broker.use_signed_tokens(endpoint)
        config = secure_broker.command_config("team", mechanism="SCRAM-SHA-256")
        properties = {
            "SCRAM-SHA-256": read_properties(config),
            "OAUTHBEARER": endpoint.properties(),
            "GSSAPI": with_keytab("brief", secure_broker.keytabs["brief"]),
        }[mechanism]
        async with Pool([secure_broker.sasl], from_properties(properties), options=OPTIONS) as pool:
            node = min((await pool.metadata(timeout=20)).brokers)
            link = await pool._link(node, Lane.BULK, 20)
            connection = (await link.session()).connection
            end = time.monotonic() + 3 * SESSION
            took_ms = []
            while time.monotonic() < end:
                took_ms.append((await pool.call(node, LIST_GROUPS, {}, timeout=60)).took_ms)
                await asyncio.sleep(0.1)
            assert max(took_ms) < max(1000, 50 * median(took_ms)), "a call waited until the broker accepted a login"
            await asyncio.sleep(1.5 * SESSION)
            await pool.call(node, LIST_GROUPS, {}, timeout=60)
            assert (await link.session()).connection is connection


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
                # After `kinit`, calls can still fail for some time, because the connection pool waits after a failure
                # before it connects again.
                with suppress(ConnectError):
                    await pool.call(node, LIST_GROUPS, {}, timeout=30)
                    break
                await asyncio.sleep(0.1)


@pytest.mark.full
@pytest.mark.broker
async def test_requests_succeed_while_a_renewable_kerberos_ticket_is_renewed(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without renewal, the ticket would expire after three seconds. The test sends requests for twelve seconds."""
    use_kdc(secure_broker, monkeypatch)
    cache = secure_broker.kdc.ticket_cache("team", "-l", "3s", "-r", "1h")
    async with Pool([secure_broker.sasl], from_properties(with_cache(cache)), options=OPTIONS) as pool:
        node = min((await pool.metadata(timeout=20)).brokers)
        end = time.monotonic() + 12
        while time.monotonic() < end:
            await pool.call(node, LIST_GROUPS, {}, timeout=5)
            await asyncio.sleep(0.1)


@pytest.mark.full
@pytest.mark.broker
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "OAUTHBEARER"])
async def test_the_monitor_polls_without_gaps_while_kgtui_logs_in_again(
    secure_broker: Secure, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test polls for one minute.

    Meanwhile, the broker ends SASL sessions after ten seconds (`connections.max.reauth.ms`), and tokens expire after 15
    seconds.
    """
    logins: list[float] = []
    run = Login.run

    async def counted(login: Login, raw: Any, address: Address) -> float:
        logins.append(time.monotonic())
        return await run(login, raw, address)

    monkeypatch.setattr(Login, "run", counted)
    with token_server() as endpoint:
        endpoint.claims, endpoint.lifetime = {"sub": "team", "scope": TOKEN_SCOPE}, 15
        config = read_properties(secure_broker.command_config("team", mechanism="SCRAM-SHA-256", tls=True))
        properties = config if mechanism == "SCRAM-SHA-256" else {**config, **endpoint.properties()}
        properties["security.protocol"] = "SASL_SSL"
        async with Pool([secure_broker.sasl_tls], from_properties(properties), options=OPTIONS) as pool:
            node = min((await pool.metadata(timeout=20)).brokers)
            links = [await pool._link(node, lane, 20) for lane in (Lane.UI, Lane.BULK)]
            connections = [(await link.session()).connection for link in links]
            logins.clear()
            longest, end = 0.0, time.monotonic() + 60
            while (started := time.monotonic()) < end:
                await asyncio.gather(*(pool.call(node, LIST_GROUPS, {}, timeout=5, lane=lane) for lane in Lane))
                longest = max(longest, time.monotonic() - started)
                await asyncio.sleep(0.1)
            assert [(await link.session()).connection for link in links] == connections
    assert longest < 1.0
    assert len(logins) >= 5 * len(links)
    assert mechanism != "OAUTHBEARER" or len(endpoint.received) >= 4


@pytest.mark.broker
async def test_a_client_can_log_in_with_a_certificate_in_a_key_store(secure_broker: Secure) -> None:
    assert "team-b-app" in await log_in(secure_broker.tls, secure_broker.tls_config())


@pytest.mark.broker
async def test_a_client_can_log_in_with_pkcs12_stores(secure_broker: Secure, tmp_path: Path) -> None:
    make_stores(secure_broker.certificates, "st0re-S3cret", tmp_path)
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(tmp_path / "trust.p12"),
        "ssl.truststore.password": "st0re-S3cret",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(tmp_path / "client.p12"),
        "ssl.keystore.password": "st0re-S3cret",
    }
    assert "team-b-app" in await log_in(secure_broker.tls, properties)


@pytest.mark.broker
async def test_a_client_can_log_in_with_a_certificate_in_a_property(secure_broker: Secure) -> None:
    """The value of a property can be a certificate in PEM format (KIP-651)."""
    pem = secure_broker.certificates.client.read_text()
    key_end = pem.index("-----END PRIVATE KEY-----") + len("-----END PRIVATE KEY-----")
    key_start = pem.index("-----BEGIN PRIVATE KEY-----")
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": secure_broker.certificates.authority.read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": pem[key_start:key_end],
        "ssl.keystore.certificate.chain": pem[:key_start] + pem[key_end:],
    }
    assert "team-b-app" in await log_in(secure_broker.tls, properties)


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
async def test_the_error_for_a_missing_key_store_mentions_the_property(secure_broker: Secure) -> None:
    properties = {**read_properties(secure_broker.tls_config()), "ssl.keystore.location": "/no/such.pem"}
    with pytest.raises(KgtuiError, match=r"ssl\.keystore\.location=/no/such\.pem: No such file"):
        await log_in(secure_broker.tls, properties)

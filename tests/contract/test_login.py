"""Test logins to a real Kafka 4.3.1 broker, with client properties in the format of Kafka's own tools."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.client import login as login_module
from kgtui.client.client_settings import from_properties
from kgtui.client.login import Login
from kgtui.client.pool import Lane, Pool
from kgtui.config import read_properties
from kgtui.errors import UnreachableError
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.brokers.certificates import make_stores
from tests.brokers.config import write_properties
from tests.brokers.kdc import with_cache, with_keytab
from tests.brokers.secure import LIVE_GROUP, MECHANISMS, SESSION, TOKEN_SCOPE
from tests.contract.logins import OPTIONS, log_in, refusal, use_kdc
from tests.signed_tokens import new_key, verified, write_key
from tests.token_server import token_server
from tests.unit.commands.runs import kgtui

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.client.address import Address
    from tests.brokers.secure import Secure


async def log_in_soon(address: str, config: dict[str, str]) -> list[str]:
    """Repeat `log_in` until it succeeds, for at most 10 s; return the ids of the groups that the user can list.

    A broker refuses a new delegation token until it has read the token from the metadata log.
    """
    deadline = time.monotonic() + 10
    while True:
        try:
            return await log_in(address, config)
        except UnreachableError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)


@pytest.mark.broker
@pytest.mark.parametrize("tls", [False, True], ids=["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_user_can_log_in_with_each_sasl_mechanism(secure_broker: Secure, mechanism: str, tls: bool) -> None:
    address = secure_broker.sasl_tls if tls else secure_broker.sasl
    groups = await log_in(address, secure_broker.command_config("team", mechanism=mechanism, tls=tls))
    assert "team-a-app" in groups
    assert "team-b-app" not in groups, "the principal is not `team`, because it sees other groups"


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
async def test_the_login_steps_say_whether_the_kerberos_login_succeeded(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Pool.login_steps` returns a result for each login step, such as SASL. `kgtui doctor` prints these results."""
    use_kdc(secure_broker, monkeypatch)
    good = with_keytab("team", secure_broker.keytabs["team"])
    for properties, expected in (
        (good, (True, "logged in with GSSAPI")),
        (good | {"sasl.kerberos.service.name": "none"}, (False, "kgtui could not get a Kerberos ticket for none/")),
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
    """The broker checks the signature, the issuer and the audience of the token.

    To get the token, the client sends a client secret or an assertion that it has signed. The token endpoint of the
    test checks only the assertion.
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
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "OAUTHBEARER", pytest.param("GSSAPI", marks=pytest.mark.full)])
async def test_a_connection_logs_in_again_before_its_sasl_session_expires(
    secure_broker: Secure, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the SASL session of a connection expires, the broker closes the connection (KIP-368).

    All requests must succeed on the same connection, although the test runs longer than several sessions last.
    """
    # Log in again after half of the session's lifetime. The default, at least 85 %, leaves too little time on a busy
    # machine.
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


@pytest.mark.full
@pytest.mark.broker
async def test_requests_succeed_while_a_renewable_kerberos_ticket_is_renewed(
    secure_broker: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless kgtui renews the ticket, the ticket expires after three seconds. The test runs for twelve seconds."""
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
async def test_requests_are_not_delayed_while_kgtui_logs_in_again(
    secure_broker: Secure, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test sends requests for one minute. In this time, kgtui must log in at least five times per connection.

    SASL sessions end after ten seconds (`connections.max.reauth.ms`), and tokens expire after 15 seconds.
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
async def test_a_client_can_log_in_with_a_pem_certificate_in_its_properties(secure_broker: Secure) -> None:
    """The properties contain the certificate itself, in PEM format, instead of the path of a file (KIP-651)."""
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

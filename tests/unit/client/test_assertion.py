"""Tests of signed JWT assertions, which authenticate a client to a token endpoint (KIP-1139, KIP-1258)."""

from __future__ import annotations

import email.utils
import json
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.client.assertion import Assertion, create
from kgtui.client.claims import claims_of
from kgtui.client.client_settings import from_properties
from kgtui.client.tokens import Tokens
from kgtui.errors import ConfigError, ConnectError
from tests.signed_tokens import PrivateKey, new_key, verified, write_key
from tests.token_server import TokenServer, unsigned_token

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.client.oauth import OAuth

PASSPHRASE = "k3y-S3cret"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
PREFIX = "sasl.oauthbearer.assertion."
RETRIEVER = "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"


@pytest.fixture(scope="module")
def keys() -> dict[str, PrivateKey]:
    """Return a private key for each of the signing algorithms RS256 and ES256."""
    return {algorithm: new_key(algorithm) for algorithm in ("RS256", "ES256")}


def properties_of(endpoint: TokenServer, **assertion: str) -> dict[str, str]:
    """Return client properties for the JWT bearer grant.

    Each argument NAME sets the property `sasl.oauthbearer.assertion.NAME`, with dots instead of underscores.
    """
    more = {f"{PREFIX}{name.replace('_', '.')}": value for name, value in assertion.items()}
    found = endpoint.properties(**{"sasl.oauthbearer.jwt.retriever.class": RETRIEVER}, **more)
    return {name: value for name, value in found.items() if ".client.credentials." not in name}


def source(properties: dict[str, str]) -> OAuth:
    oauth = from_properties(properties).oauth
    assert oauth is not None
    assert PASSPHRASE not in repr(oauth)
    return oauth


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
async def test_the_token_endpoint_accepts_a_signed_assertion(
    endpoint: TokenServer, keys: dict[str, PrivateKey], tmp_path: Path, algorithm: str
) -> None:
    """The token endpoint checks the signature and the claims with code that is independent of kgtui."""
    key = keys[algorithm]
    seen: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def accepts(form: dict[str, list[str]]) -> bool:
        seen.append(verified(form["assertion"][0], key))
        claims = seen[-1][1]
        lifetime = claims["exp"] - claims["iat"]
        return (claims["iss"], claims["aud"], lifetime) == ("client-1", endpoint.url, 120)

    endpoint.accepts = accepts
    properties = properties_of(
        endpoint,
        algorithm=algorithm.lower(),
        private_key_file=str(write_key(tmp_path / "key.pem", key, PASSPHRASE)),
        private_key_passphrase=PASSPHRASE,
        claim_aud=endpoint.url,
        claim_iss="client-1",
        claim_sub="team",
        claim_exp_seconds="120",
        claim_jti_include="true",
    )
    oauth = source({**properties, "sasl.oauthbearer.scope": " kafka "})
    for _ in range(2):
        await Tokens(oauth).get()
    (headers, form), _ = endpoint.received
    assert "Authorization" not in headers
    assert {name: value for name, value in form.items() if name != "assertion"} == {
        "grant_type": [GRANT],
        "scope": ["kafka"],
    }
    (header, claims), (_, later) = seen
    assert header == {"alg": algorithm, "typ": "JWT"}
    assert set(claims) == {"aud", "iss", "sub", "iat", "exp", "nbf", "jti"}
    assert claims["iat"] == pytest.approx(time.time(), abs=60)
    assert claims["nbf"] == claims["iat"] - 60
    assert claims["jti"] != later["jti"]
    with pytest.raises(AssertionError, match="the signature is wrong"):
        verified(form["assertion"][0], new_key(algorithm))


async def test_assertion_template_adds_header_fields_and_overrides_claims(
    endpoint: TokenServer, keys: dict[str, PrivateKey], tmp_path: Path
) -> None:
    """The template file overrides all claims except times such as `exp`, as in Kafka's LayeredAssertionJwtTemplate."""
    template = tmp_path / "template.json"
    template.write_text('{"header": {"kid": "k1", "alg": "none"}, "payload": {"sub": "b", "roles": ["r"], "exp": 1}}')
    properties = properties_of(
        endpoint,
        private_key_file=str(write_key(tmp_path / "key.pem", keys["RS256"])),
        template_file=str(template),
        claim_sub="a",
        claim_iss="i",
    )
    await Tokens(source(properties)).get()
    header, claims = verified(endpoint.received[0][1]["assertion"][0], keys["RS256"])
    assert header == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    assert (claims["sub"], claims["iss"], claims["roles"]) == ("b", "i", ["r"])
    assert claims["exp"] - claims["iat"] == 300
    assert "jti" not in claims


async def test_client_credentials_grant_sends_an_assertion_instead_of_the_secret(
    endpoint: TokenServer, keys: dict[str, PrivateKey], tmp_path: Path
) -> None:
    """As in Kafka 4.3 (KIP-1258), the client sends an assertion if `sasl.oauthbearer.assertion.claim.iss` is set.

    Otherwise, the client sends its client secret.
    """
    properties = properties_of(
        endpoint, private_key_file=str(write_key(tmp_path / "key.pem", keys["RS256"])), claim_iss="i"
    )
    del properties["sasl.oauthbearer.jwt.retriever.class"]
    await Tokens(source({**properties, "sasl.oauthbearer.client.credentials.client.id": "c"})).get()
    ((headers, form),) = endpoint.received
    verified(form.pop("client_assertion")[0], keys["RS256"])
    assert form == {
        "client_assertion_type": ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
        "grant_type": ["client_credentials"],
        "client_id": ["c"],
    }
    assert "Authorization" not in headers


async def test_an_assertion_file_is_read_again_for_each_token(endpoint: TokenServer, tmp_path: Path) -> None:
    file = tmp_path / "assertion"
    file.write_text(unsigned_token(iss="first") + "\n")
    oauth = source(properties_of(endpoint, file=str(file), algorithm="ignored"))
    await Tokens(oauth).get()
    file.write_text(unsigned_token(iss="second"))
    await Tokens(oauth).get()
    assert [claims_of(form["assertion"][0])["iss"] for _, form in endpoint.received] == ["first", "second"]
    file.unlink()
    with pytest.raises(ConnectError, match=r"assertion\.file=.*: No such file or directory; expected a signed JSON"):
        await Tokens(oauth).get()


def failure(**assertion: str) -> str:
    """Return the error message for invalid properties. The traceback must not contain the passphrase of the key.

    Each argument NAME sets the property `sasl.oauthbearer.assertion.NAME`.
    """
    with pytest.raises(ConfigError) as caught:
        from_properties(properties_of(TokenServer("http://localhost:1/token"), **assertion))
    assert PASSPHRASE not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_error_says_why_the_private_key_of_a_jwt_assertion_is_unusable(
    keys: dict[str, PrivateKey], tmp_path: Path
) -> None:
    plain = str(write_key(tmp_path / "plain.pem", keys["RS256"]))
    encrypted = str(write_key(tmp_path / "encrypted.pem", keys["ES256"], PASSPHRASE))
    (tmp_path / "text").write_text("hello")
    assert "private.key.file is missing: set it to a PEM file with a private key, or set sasl.o" in failure()
    assert "file=/no/such: No such file or directory; expected a private key" in failure(private_key_file="/no/such")
    assert f"{PREFIX}private.key.file={encrypted}: this key is encrypted: set " in failure(private_key_file=encrypted)
    both = {"private_key_file": plain, "private_key_passphrase": PASSPHRASE}
    assert "this key is not encrypted: remove sasl.oauthbearer.assertion.private.key.passphrase" in failure(**both)
    wrong = failure(private_key_file=encrypted, private_key_passphrase="other")
    assert "the file has a private key in PEM (PKCS#8), and that sasl.oauthbearer.assertion.private.key.p" in wrong
    assert "the key cannot be read: check that the file has" in failure(private_key_file=str(tmp_path / "text"))
    assert "=ES256 needs an EC key on the curve P-256, but" in failure(private_key_file=plain, algorithm="ES256")
    assert "algorithm=RS256 needs an RSA key, but" in failure(**{**both, "private_key_file": encrypted})
    assert "=none is not supported: set it to RS256 or ES256" in failure(private_key_file=plain, algorithm="none")


def test_error_for_a_jwt_assertion_mentions_the_invalid_property_or_file(
    keys: dict[str, PrivateKey], tmp_path: Path
) -> None:
    files = {
        "text": "hello",
        "deep": "[" * 100_000,
        "expired": unsigned_token(exp=1),
        "list": "[]",
        "part": '{"header": 1}',
    }
    paths = {name: str(tmp_path / name) for name in files}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    key = str(write_key(tmp_path / "key.pem", keys["RS256"]))
    for name, value, says in (
        ("claim_exp_seconds", "86401", "exp.seconds=86401 is not a number of seconds from 0 to 86400"),
        ("claim_nbf_seconds", "-1", "nbf.seconds=-1 is not a number of seconds from 0 to 3600"),
        ("claim_jti_include", "yes", "claim.jti.include=yes is not valid: write true or false"),
        ("claim_nbf_seconds", "0" * 9 + "9" * 9, "999999999 is not a number of seconds from 0 to 3600"),
        ("template_file", "/no/such", "template.file=/no/such: No such file or directory; expected a JSON object"),
        ("template_file", paths["text"], "this is not JSON; expected a JSON object such as"),
        ("template_file", paths["deep"], "this is not JSON; expected a JSON object such as"),
        ("template_file", paths["list"], "this JSON does not have the expected structure; expected a JSON"),
        ("template_file", paths["part"], "this JSON does not have the expected structure; expected a JSON"),
        ("file", paths["text"], "this is not a JSON Web Token; expected a signed assertion"),
        ("file", paths["expired"], "the assertion expired at 1970-01-01T00:00:01"),
    ):
        assert says in failure(**{"private_key_file": key, name: value})


@pytest.mark.parametrize(
    ("url", "says"),
    [("", "url= is not a URL of a token endpoint"), ("file:///x", "JwtBearerJwtRetriever needs the URL of a token")],
)
def test_jwt_bearer_grant_without_a_valid_endpoint_url_raises_config_error(url: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        from_properties(properties_of(TokenServer(url)))


def test_missing_cryptography_package_is_reported_with_the_install_command(
    keys: dict[str, PrivateKey], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    file = write_key(tmp_path / "key.pem", keys["RS256"])
    with pytest.raises(ConfigError, match=r"is not installed\. Run: pip install 'kgtui\[security\]'"):
        from_properties(properties_of(TokenServer("http://localhost:1/"), private_key_file=str(file)))


async def test_error_for_a_refused_assertion_mentions_the_clock_difference(
    endpoint: TokenServer, keys: dict[str, PrivateKey], tmp_path: Path
) -> None:
    endpoint.accepts = lambda _: False
    file = write_key(tmp_path / "key.pem", keys["RS256"])
    oauth = source(properties_of(endpoint, private_key_file=str(file), claim_iss="i"))
    advice = "check that the endpoint knows the public key, and check the scope and the claims iss, sub and aud; "
    with pytest.raises(ConnectError) as caught:
        await Tokens(oauth).get()
    assert f"refused the assertion (HTTP 400, invalid_grant): {advice}check the clock of" in str(caught.value)
    endpoint.headers["Date"] = email.utils.formatdate(time.time() - 500, usegmt=True)
    with pytest.raises(ConnectError) as caught:
        await Tokens(oauth).get()
    assert "the clock of this machine differs from that of the token endpoint by 5" in str(caught.value)
    assertion = endpoint.received[-1][1]["assertion"][0]
    assert assertion.rpartition(".")[2] not in "".join(traceback.format_exception(caught.value))


def test_values_in_an_assertion_template_keep_their_json_types(keys: dict[str, PrivateKey], tmp_path: Path) -> None:
    payload = {"number": 1.5, "flag": True, "text": "ä", "none": None, "list": [1, {"a": "b"}]}
    (tmp_path / "t").write_text(json.dumps({"payload": payload}), encoding="utf-8")
    key_file = str(write_key(tmp_path / "key.pem", keys["RS256"]))
    _, claims = verified(create(Assertion(key_file=key_file, template_file=str(tmp_path / "t"))), keys["RS256"])
    assert claims | payload == claims

"""Tests of the error message and exit code of kgtui if the client properties for TLS or for the login are wrong."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.brokers.certificates import make_certificates, make_stores
from tests.token_server import SECRET, token_server

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "st0re-S3cret"
SASL = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism="
JAAS = "\nsasl.jaas.config=org.apache.kafka.common.security"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with PEM certificates and Java key stores and trust stores."""
    folder = tmp_path_factory.mktemp("stores")
    make_stores(make_certificates(folder), PASSWORD)
    return folder


def run(folder: Path, properties: str) -> tuple[int, str]:
    """Write the client properties to a file in `folder`, and run `kgtui doctor` with this file.

    Return the exit code and the text on stderr.
    """
    file = folder / "client.properties"
    file.write_text(properties)
    command = [
        sys.executable,
        "-m",
        "kgtui",
        "doctor",
        "--bootstrap-server",
        "127.0.0.1:1",
        "--command-config",
        str(file),
    ]
    environment = {"KGTUI_CONFIG_DIR": str(folder), "KGTUI_STATE_DIR": str(folder), "no_proxy": "*", "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert PASSWORD not in done.stderr
    assert SECRET not in done.stderr
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ("security.protocol=SSL\nssl.truststore.location=/no/such.jks\n", "/no/such.jks: No such file or directory"),
        (
            "security.protocol=SSL\nssl.keystore.password=n0t\nssl.keystore.location={stores}/client.p12\n",
            "ssl.keystore.password is wrong",
        ),
        (
            f"security.protocol=SSL\nssl.keystore.password={PASSWORD}\nssl.keystore.location={{stores}}/trust.p12\n",
            "the store contains no private key",
        ),
        (
            f"security.protocol=SSL\nssl.keystore.password={PASSWORD}\nssl.keystore.location={{stores}}/client.jks\n",
            "keytool -importkeystore",
        ),
        (f"{SASL}SCRAM-SHA-1", "sasl.mechanism=SCRAM-SHA-1 is not a mechanism of Kafka"),
        (f'{SASL}PLAIN{JAAS}.plain.PlainLoginModule required password="{PASSWORD}";', "username is missing"),
        (f'{SASL}PLAIN{JAAS}.plain.PlainLoginModule required password="{PASSWORD}', "a quote is not closed"),
        ("client.id=\\u12\n", "is not a valid escape"),
        (f"{SASL}OAUTHBEARER{JAAS}.oauthbearer.OAuthBearerLoginModule required;", "token.endpoint.url is missing"),
        ("config.providers=vault\nconfig.providers.vault.class=com.example.Vault\n", "cannot run Java classes"),
    ],
)
def test_kgtui_reports_wrong_login_properties_and_exits_with_2(
    tmp_path: Path, stores: Path, properties: str, says: str
) -> None:
    code, error = run(tmp_path, properties.replace("{stores}", str(stores)))
    assert code == 2
    assert says in error
    assert error.count("\n") == 1


def test_kgtui_reports_a_refused_or_expired_token_and_exits_with_3(tmp_path: Path) -> None:
    with token_server() as endpoint:
        properties = "".join(f"{key}={value}\n" for key, value in endpoint.properties().items())
        endpoint.status, endpoint.body = 401, '{"error": "invalid_client"}'
        code, error = run(tmp_path, properties)
        assert (code, "refused the client 'team' (HTTP 401, invalid_client)" in error) == (3, True)
        endpoint.status, endpoint.body = 200, None
        endpoint.claims["exp"] = int(time.time()) - 60
        code, error = run(tmp_path, properties)
        assert (code, "check for how long the tokens are valid, and check the clock of this machine" in error) == (
            3,
            True,
        )

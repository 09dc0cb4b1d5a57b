"""Tests that messages, logs and crash reports about invalid client properties contain no part of a secret."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from kgtui import cli
from kgtui.client import client_settings
from tests.secret_markers import Markers
from tests.token_server import unsigned_token

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "S3cret+value"
DOTTED = "hunter2.topsecret"
TOKEN = unsigned_token(sub="S3cret")
BODY = "MC4CAQAwBQYDK2VwBCIEIGh/Nabcdefghijklmnopqrstuvwx+value/ABCDEFGH"
MARKERS = Markers({
    "secret": SECRET, "first half": "S3cret", "second half": "+value", "dotted secret": DOTTED, "token": TOKEN,
    "payload of the token": TOKEN.split(".")[1], "line of a key": BODY,
})  # fmt: skip
PLAIN = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
TOKENS = (
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config="
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;\n"
)
URL = f"{TOKENS}sasl.oauthbearer.token.endpoint.url="
PROVIDER = (
    "config.providers=file\nconfig.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
)

WRONG = {
    "quote-not-closed": f'{PLAIN}{MODULE} username="u" password="{SECRET}',
    "no-semicolon": f'{PLAIN}{MODULE} username="u" password="{SECRET}"',
    "quote-in-password": f'{PLAIN}{MODULE} username="u" password="S3cret"+value";',
    "password-as-option": f'{PLAIN}{MODULE} username="u" S3cret="x" password=;',
    "password-without-quotes": f"{PLAIN}{MODULE} username=u password={SECRET};",
    "password-after-semicolon": f'{PLAIN}{MODULE} username="u"; {SECRET}',
    "no-backslash": f'{PLAIN}{MODULE} \n  username="u"\n  password="{SECRET}";',
    "line-of-a-secret": f"client.id=x\n{SECRET}\nMC4C{SECRET}\n",
    "pem-file": f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n",
    "pem-in-several-lines": f"security.protocol=SSL\nssl.keystore.key=-----BEGIN PRIVATE KEY-----\n{SECRET}\n",
    "pem-body-without-header": f"client.id=x\n{BODY}\nx\n",
    "token-as-a-line": f"client.id=x\n{TOKEN}\n",
    "two-tokens": f"{TOKEN}=1\n{TOKEN}=2\n{DOTTED}=1\n{DOTTED}=2\n",
    "secret-with-dots": f"client.id=x\n{DOTTED}\n{DOTTED}=${{NOT_SET}}\n",
    "damaged-key": f"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.key={SECRET}\n"
    f"ssl.keystore.certificate.chain={SECRET}\nssl.key.password={SECRET}\n",
    "damaged-certificates": f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates={SECRET}\n",
    "user-in-the-url": f"{URL}https://user:{SECRET}@127.0.0.1:1/token\n",
    "url-without-scheme": f"{URL}user:{SECRET}@127.0.0.1:1/token\n",
    "reference-without-provider": f"client.id=${{S3cret:+value}}\nssl.key.password={SECRET}",
    "address": f"bootstrap.servers=https://user:{SECRET}@127.0.0.1:1\n",
    "two-values": f"ssl.key.password={SECRET}\nssl.key.password={SECRET}2\n",
    "wrong-provider": f"{PROVIDER}ssl.key.password=${{file:{{folder}}/vault:nope}}\n",
    "wrong-token-file": f"{URL}file:{{folder}}/vault\n",
    "expired-token-file": f"{URL}file:{{folder}}/expired\n",
}
"""Maps each test id to the text of a client properties file with a mistake.

The text contains a secret, or refers to a file that contains a secret. `{folder}` stands for the folder of this file.
"""


@pytest.fixture
def run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], tuple[int, str]]:
    """Return a function that runs `kgtui ls` with a properties file, and returns the exit code and stderr.

    The argument of the returned function is the text of the properties file. The function asserts that neither the
    output nor any file that kgtui writes contains a part of the secret.
    """
    inputs, home = tmp_path / "inputs", tmp_path / "home"
    inputs.mkdir()
    (inputs / "vault").write_text(f"key={SECRET}\n\x00{SECRET}\n")
    (inputs / "expired").write_text(unsigned_token(sub=SECRET, exp=1_000_000_000))
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(home / "state"))
    monkeypatch.setenv("no_proxy", "*")

    def run(properties: str) -> tuple[int, str]:
        file = inputs / "client.properties"
        file.write_text(properties.replace("{folder}", str(inputs)))
        where = [] if "bootstrap.servers" in properties else ["--bootstrap-server", "127.0.0.1:1"]
        code = cli.main(["ls", "--command-config", str(file), *where])
        out, err = capfd.readouterr()
        MARKERS.check("the output", out + err)
        MARKERS.check_files(home)
        return code, err

    return run


@pytest.mark.parametrize("properties", WRONG.values(), ids=WRONG)
def test_message_about_a_mistake_in_the_properties_contains_no_secret(
    properties: str, run: Callable[[str], tuple[int, str]]
) -> None:
    code, message = run(properties)
    assert code in (2, 3)
    assert message.startswith("kgtui: ")


def test_report_of_a_crash_while_reading_properties_contains_no_secret(
    run: Callable[[str], tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(properties: dict[str, str]) -> None:
        password = properties["ssl.key.password"]
        raise RuntimeError(f"injected: {len(password)} {properties}, password='{password}' {sys.version_info}")

    monkeypatch.setattr(client_settings, "_tls", crash)
    code, message = run(f"security.protocol=SSL\nssl.key.password={SECRET}\n")
    assert code == 70
    assert "injected: 12 Properties(" in message

"""Tests of reading Java key stores and trust stores. The fixtures create the stores with `openssl` and `keytool`."""

from __future__ import annotations

import subprocess
import sys
import traceback
from typing import TYPE_CHECKING

import pytest

from kgtui.client.client_settings import from_properties
from kgtui.errors import ConfigError
from tests.brokers.certificates import Certificates, make_certificates, make_stores

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "st0re-S3cret"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Create a folder with PEM certificates, and with Java key stores and trust stores for these certificates."""
    certificates = make_certificates(tmp_path_factory.mktemp("stores"))
    make_stores(certificates, PASSWORD)
    return certificates


@pytest.fixture
def stores(certificates: Certificates) -> Path:
    """Return the folder with the Java key stores and trust stores."""
    return certificates.authority.parent


def load(properties: dict[str, str]) -> tuple[int, str]:
    """Build a TLS context from client properties. Return `(number of trusted CA certificates, error message)`.

    The message is empty if the context was built. After a ConfigError, the number is 0.
    """
    tls = from_properties({"security.protocol": "SSL", **properties}).tls
    assert tls is not None
    assert PASSWORD not in repr(tls)
    try:
        return len(tls.context("x").get_ca_certs()), ""
    except ConfigError as error:
        text, trace = str(error), "".join(traceback.format_exception(error))
    assert PASSWORD not in trace
    return 0, text


def key_store(path: Path, password: str = PASSWORD, kind: str = "PKCS12") -> dict[str, str]:
    return {"ssl.keystore.location": str(path), "ssl.keystore.password": password, "ssl.keystore.type": kind}


def trust_store(path: Path, password: str = PASSWORD, kind: str = "PKCS12") -> dict[str, str]:
    return {"ssl.truststore.location": str(path), "ssl.truststore.password": password, "ssl.truststore.type": kind}


@pytest.mark.parametrize("kind", ["PKCS12", "pkcs12", "JKS", ""])
def test_pkcs12_files_are_read_even_if_a_different_store_type_is_configured(stores: Path, kind: str) -> None:
    """As in Java, a PKCS#12 file is read even if the configured store type is JKS, which is the default."""
    properties = key_store(stores / "client.p12", kind=kind) | trust_store(stores / "trust.p12", kind=kind)
    assert load(properties) == (1, "")


@pytest.mark.parametrize("properties_of", [key_store, trust_store], ids=["keystore", "truststore"])
@pytest.mark.parametrize(
    ("file", "password", "says"),
    [
        ("client.p12", "n0t-This", "cannot be decrypted. ssl.{kind}.password is wrong: correct it"),
        ("client.jks", PASSWORD, "JKS stores are not supported. Convert the store: keytool -importkeystore -srckeys"),
        ("client.pem", PASSWORD, "this is a PEM file: set ssl.{kind}.type=PEM"),
        ("no-such.p12", PASSWORD, "No such file or directory; expected a PKCS#12 store"),
        ("empty.p12", PASSWORD, "the file is empty"),
        ("half.p12", PASSWORD, "the file contains only the first part of a PKCS#12 store: replace it with a complete"),
        ("text.p12", PASSWORD, "this is not a PKCS#12 store"),
    ],
)
def test_the_error_says_why_a_key_or_trust_store_cannot_be_read(
    stores: Path, properties_of: type, file: str, password: str, says: str
) -> None:
    kind = "keystore" if properties_of is key_store else "truststore"
    (stores / "empty.p12").write_bytes(b"")
    (stores / "half.p12").write_bytes((stores / "client.p12").read_bytes()[:1000])
    (stores / "text.p12").write_text("password\n")
    _, error = load(properties_of(stores / file, password))
    assert error.startswith(f"ssl.{kind}.location={stores / file}: ")
    assert says.format(kind=kind) in error
    assert "n0t-This" not in error


def test_error_says_that_the_password_of_an_encrypted_trust_store_is_missing(stores: Path) -> None:
    _, error = load(trust_store(stores / "trust.p12", ""))
    assert "ssl.truststore.password is missing: set it to the password of the store" in error


def test_a_key_store_without_a_key_is_rejected(stores: Path) -> None:
    _, error = load(key_store(stores / "trust.p12"))
    assert error.endswith("the store contains no private key: export key and certificate into the store")


def test_a_trust_store_without_certificates_is_rejected(stores: Path) -> None:
    _, error = load(trust_store(stores / "only-key.p12"))
    assert error.endswith("the store contains no trusted certificate: import the CA's certificate")


def test_the_keytool_command_in_the_error_message_converts_a_jks_store(stores: Path) -> None:
    _, error = load(key_store(stores / "client.jks", kind="JKS"))
    command = error.partition("Convert the store: ")[2].partition(", then")[0].replace("client.p12", "converted.p12")
    passwords = ["-srcstorepass", PASSWORD, "-deststorepass", PASSWORD]
    subprocess.run([*command.split(), *passwords], check=True, capture_output=True, cwd=stores)
    assert load(key_store(stores / "converted.p12"))[1] == ""


def test_key_store_error_says_what_to_install_if_cryptography_is_missing(
    stores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    _, error = load(key_store(stores / "client.p12"))
    assert "pip install 'kgtui[security]', or convert the store (openssl pkcs12 -in" in error

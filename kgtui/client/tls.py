"""Read TLS settings from the `ssl.*` properties of Java clients.

Certificates and keys are in PEM (KIP-651) or PKCS#12. kgtui cannot read JKS and JCEKS stores, because no maintained
Python library can read them. The error message for such a store contains the `keytool` command that converts it.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConfigError
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_JAVA_FORMATS = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
"""Formats of Java key stores that kgtui cannot read: first four bytes of the file → name of the format."""

_SEQUENCE = 0x30
_LONG_LENGTH = 0x80


@dataclass(frozen=True, slots=True)
class KeyStore:
    """The contents of a PKCS#12 store, converted to PEM.

    Attributes:
        key: unencrypted private key, or empty.
        chain: all certificates in the store, beginning with the certificate of the key; empty if there is no key.
        trusted: all certificates except the certificate of the key.
    """

    key: Secret = NO_SECRET
    chain: str = ""
    trusted: str = ""


def read_store(file: str, password: Secret, kind: str) -> KeyStore:
    """Read a PKCS#12 store.

    Args:
        password: password of the store, or empty.
        kind: `keystore` or `truststore`, for error messages.

    Raises:
        ConfigError: the file cannot be read or is not a PKCS#12 store, or the password is wrong.
    """
    setting = f"ssl.{kind}.location={file}"
    try:
        content = read_input(Path(file))
    except OSError as error:
        raise ConfigError(f"{setting}: {error.strerror}; expected a PKCS#12 store") from None
    if problem := _problem(content, file, kind):
        raise ConfigError(f"{setting}: {problem}")
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise ConfigError(
            f"{setting}: PKCS#12 stores need the package cryptography, which is not installed. Run: pip install "
            f"'kgtui[security]', or convert the store (openssl pkcs12 -in {file} -out store.pem) and set "
            f"ssl.{kind}.type=PEM"
        ) from None
    try:
        loaded = load_pkcs12(content, password.reveal().encode() if password else None)
    except (ValueError, TypeError):
        problem = f"ssl.{kind}.password is wrong: correct it"
        if not password:
            problem = f"ssl.{kind}.password is missing: set it to the password of the store"
        raise ConfigError(f"{setting}: the store cannot be decrypted. {problem}") from None
    return _converted(loaded)


def _problem(content: bytes, file: str, kind: str) -> str:
    """Return an error message if `content` is not a complete PKCS#12 store; otherwise an empty string."""
    java = _JAVA_FORMATS.get(content[:4])
    if java is not None:
        return (
            f"{java} stores are not supported. Convert the store: keytool -importkeystore -srckeystore {file} "
            f"-srcstoretype {java} -destkeystore {Path(file).stem}.p12 -deststoretype PKCS12, then set "
            f"ssl.{kind}.location to the new file and ssl.{kind}.type=PKCS12"
        )
    if b"-----BEGIN " in content:
        return f"this is a PEM file: set ssl.{kind}.type=PEM"
    if not content:
        return "the file is empty; expected a PKCS#12 store"
    if content[0] != _SEQUENCE:
        return "this is not a PKCS#12 store; expected a store that was created with keytool or openssl pkcs12"
    if _encoded_size(content) > len(content):
        return "the file contains only the first part of a PKCS#12 store: replace it with a complete copy of the store"
    return ""


def _encoded_size(content: bytes) -> int:
    """Return the size of the first DER element in `content`, in bytes. The header of the element is included.

    The result is 0 if the header does not contain the size (indefinite length).
    """
    length = content[1] if len(content) > 1 else _LONG_LENGTH
    if length < _LONG_LENGTH:
        return 2 + length
    digits = length - _LONG_LENGTH
    return 2 + digits + int.from_bytes(content[2 : 2 + digits], "big") if digits else 0


def _converted(loaded: PKCS12KeyAndCertificates) -> KeyStore:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    others = "".join(one.certificate.public_bytes(Encoding.PEM).decode() for one in loaded.additional_certs)
    if loaded.key is None:
        return KeyStore(trusted=others)
    key = loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    own = loaded.cert.certificate.public_bytes(Encoding.PEM).decode() if loaded.cert is not None else ""
    return KeyStore(Secret(key), own + others, others)


_VERSIONS = {
    "TLSV1": ssl.TLSVersion.TLSv1,
    "TLSV1.1": ssl.TLSVersion.TLSv1_1,
    "TLSV1.2": ssl.TLSVersion.TLSv1_2,
    "TLSV1.3": ssl.TLSVersion.TLSv1_3,
}
_DEFAULT_VERSIONS = "TLSv1.2,TLSv1.3"

_PEM = "PEM"
_STORE_TYPES = (_PEM, "PKCS12", "JKS")

_EXPECTED_KEY = "expected a private key and its certificates"


class _NamedContext(ssl.SSLContext):
    """TLS context that checks whether a broker's certificate contains the host name of the broker.

    kgtui connects to an IP address. Without this class, `ssl` would look for this IP address in the certificate.
    """

    name = ""

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return super().wrap_bio(incoming, outgoing, server_side, self.name, session)


@dataclass(frozen=True, slots=True)
class Tls:
    """Settings for TLS: trusted certificates, and the key and certificate of this client.

    Attributes:
        trust_file, trust_pem: file with the trusted certificates, or the certificates as text in PEM. If both are
            empty, kgtui trusts the certificates of the operating system.
        trust_type, key_type: `PEM`, `PKCS12` or `JKS`. kgtui treats `JKS`, Kafka's default, as `PKCS12`.
        trust_password: password of the store with trusted certificates.
        store_password: password of the store with the private key.
        key_file: file with private key and certificate chain.
        key_pem, chain_pem: private key and certificate chain as text.
        key_password: password of a private key in PEM, or empty.
        verify_hostname: whether a broker's certificate must contain the host name of the broker.
        lowest, highest: oldest and newest TLS version.
    """

    trust_file: str = ""
    trust_pem: str = field(default="", repr=False)
    trust_type: str = _PEM
    trust_password: Secret = NO_SECRET
    key_file: str = ""
    key_type: str = _PEM
    store_password: Secret = NO_SECRET
    key_pem: Secret = NO_SECRET
    chain_pem: str = field(default="", repr=False)
    key_password: Secret = NO_SECRET
    verify_hostname: bool = True
    lowest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    highest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3

    def context(self, name: str) -> ssl.SSLContext:
        """Return the TLS context for the broker with the host name `name`. Every call reads the files again.

        Raises:
            ConfigError: a certificate or key cannot be used. The message names the property and the file.
        """
        context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
        context.name = name
        context.minimum_version = self.lowest
        context.maximum_version = self.highest
        context.check_hostname = self.verify_hostname
        # As in Java, trust all certificates in the trust store, even if they are not root certificates.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        self._load_trust(context)
        self._load_key(context)
        return context

    def _load_trust(self, context: ssl.SSLContext) -> None:
        if self.trust_pem:
            with _errors_as_config_errors("ssl.truststore.certificates", "expected certificates in PEM"):
                context.load_verify_locations(cadata=self.trust_pem)
        elif self.trust_file:
            setting = f"ssl.truststore.location={self.trust_file}"
            if self.trust_type != _PEM:
                trusted = read_store(self.trust_file, self.trust_password, "truststore").trusted
                if not trusted:
                    raise ConfigError(
                        f"{setting}: the store contains no trusted certificate: import the CA's certificate"
                    )
                context.load_verify_locations(cadata=trusted)
                return
            with _errors_as_config_errors(setting, "expected a file with certificates in PEM"):
                context.load_verify_locations(cafile=self.trust_file)
        else:
            context.load_default_certs()

    def _load_key(self, context: ssl.SSLContext) -> None:
        if self.key_pem:
            setting = "ssl.keystore.key and ssl.keystore.certificate.chain"
            text = f"{self.key_pem.reveal()}\n{self.chain_pem}\n"
            with self._key_errors_as_config_errors(setting, _EXPECTED_KEY, text), _as_file(text) as path:
                context.load_cert_chain(path, password=self._password)
        elif self.key_file and self.key_type != _PEM:
            setting = f"ssl.keystore.location={self.key_file}"
            store = read_store(self.key_file, self.store_password, "keystore")
            if not (store.key and store.chain):
                problem = f"{setting}: the store contains no private key"
                if store.key:
                    problem = f"{setting}: the store contains no certificate for its private key"
                raise ConfigError(f"{problem}: export key and certificate into the store")
            text = f"{store.key.reveal()}\n{store.chain}"
            with _errors_as_config_errors(setting, _EXPECTED_KEY), _as_file(text) as path:
                context.load_cert_chain(path)
        elif self.key_file:
            setting = f"ssl.keystore.location={self.key_file}"
            expected = (
                "expected a PEM file with a private key and its certificates, and ssl.key.password for an encrypted key"
            )
            with _errors_as_config_errors(setting, expected):
                text = read_input(Path(self.key_file)).decode("latin-1")
            with self._key_errors_as_config_errors(setting, expected, text):
                context.load_cert_chain(self.key_file, password=self._password)

    @contextmanager
    def _key_errors_as_config_errors(self, setting: str, expected: str, text: str) -> Iterator[None]:
        """Turn an error of the `with` block, which loads a private key, into a ConfigError with a clear message.

        Args:
            setting: beginning of the error message, such as `ssl.keystore.location=FILE`.
            expected: what the user should provide, such as `expected a private key and its certificates`.
            text: private key and certificates in PEM.
        """
        with _errors_as_config_errors(setting, expected):
            try:
                yield
            except ssl.SSLError as error:
                if "PRIVATE KEY-----" not in text:
                    raise ValueError("there is no private key in PEM") from None
                if "-----BEGIN CERTIFICATE-----" not in text:
                    raise ValueError("there is no certificate in PEM") from None
                if "ENCRYPTED" in text and not self.key_password:
                    raise ValueError("the private key is encrypted, and ssl.key.password is missing") from None
                if "ENCRYPTED" in text and error.reason != "KEY_VALUES_MISMATCH":
                    raise ValueError("ssl.key.password is wrong, or the private key is damaged") from None
                raise

    def _password(self) -> str:
        """Return the private key's password. Without this callback, OpenSSL would ask for it on the terminal."""
        return str.__str__(self.key_password.reveal())


def tls_from_properties(properties: Mapping[str, str]) -> Tls:
    """Read the `ssl.*` properties. Raises ConfigError if a value is missing, invalid or not supported."""
    trust_type = _store_type(properties, "truststore", ("location", "certificates"))
    key_type = _store_type(properties, "keystore", ("location", "key", "certificate.chain"))
    store_password = Secret(properties.get("ssl.keystore.password", ""))
    if properties.get("ssl.keystore.location") and key_type != _PEM and not store_password:
        raise ConfigError("ssl.keystore.password is missing: set it to the password of the key store")
    key, chain = properties.get("ssl.keystore.key", ""), properties.get("ssl.keystore.certificate.chain", "")
    if bool(key) != bool(chain):
        raise ConfigError("ssl.keystore.key and ssl.keystore.certificate.chain belong together: set both or neither")
    lowest, highest = _versions(properties)
    return Tls(
        trust_file=properties.get("ssl.truststore.location", ""),
        trust_pem=properties.get("ssl.truststore.certificates", ""),
        trust_type=trust_type,
        trust_password=Secret(properties.get("ssl.truststore.password", "")),
        key_file=properties.get("ssl.keystore.location", ""),
        key_type=key_type,
        store_password=store_password,
        key_pem=Secret(key),
        chain_pem=chain,
        key_password=Secret(properties.get("ssl.key.password", "")),
        verify_hostname=_verify_hostname(properties.get("ssl.endpoint.identification.algorithm", "https")),
        lowest=lowest,
        highest=highest,
    )


def _store_type(properties: Mapping[str, str], store: str, sources: tuple[str, ...]) -> str:
    """Return the type of a store: `PEM`, `PKCS12` or `JKS`. If there is no store, return `PEM`.

    Args:
        store: `truststore` or `keystore`.
        sources: names of the properties that can define the store, without the prefix `ssl.<store>.`. For example,
            `location` means `ssl.keystore.location` if `store` is `keystore`.
    """
    given = [f"ssl.{store}.{source}" for source in sources if properties.get(f"ssl.{store}.{source}")]
    if not given:
        return _PEM
    type_key = f"ssl.{store}.type"
    kind = properties.get(type_key, "").strip() or "JKS"
    if kind.upper() not in _STORE_TYPES:
        raise ConfigError(
            f"{type_key}={kind} is not supported; convert the store: keytool -importkeystore -srckeystore FILE "
            f"-srcstoretype {kind} -destkeystore new.p12 -deststoretype PKCS12, then set {type_key}=PKCS12 and "
            f"ssl.{store}.location to the new file"
        )
    if not given[0].endswith("location"):
        if kind.upper() != _PEM:
            if properties.get(type_key):
                raise ConfigError(f"{given[0]} contains PEM: set {type_key}=PEM")
            raise ConfigError(f"{given[0]} contains PEM: set {type_key}=PEM, because Kafka's default is JKS")
    elif len(given) > 1:
        raise ConfigError(f"{given[0]} and {given[1]} cannot be set together: remove one of them")
    return kind.upper()


def _verify_hostname(algorithm: str) -> bool:
    if algorithm.strip().lower() not in {"", "https"}:
        raise ConfigError(
            f"ssl.endpoint.identification.algorithm={algorithm} is not supported: write https, or leave the value "
            "empty to switch off the check of the host name"
        )
    return bool(algorithm.strip())


def _versions(properties: Mapping[str, str]) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    text = properties.get("ssl.enabled.protocols", "").strip() or _DEFAULT_VERSIONS
    enabled = []
    for name in text.split(","):
        version = _VERSIONS.get(name.strip().upper())
        if version is None:
            raise ConfigError(f"ssl.enabled.protocols: {name.strip()} is not one of TLSv1.3, TLSv1.2, TLSv1.1, TLSv1")
        enabled.append(version)
    return min(enabled), max(enabled)


@contextmanager
def _errors_as_config_errors(key: str, expected: str) -> Iterator[None]:
    """Turn an OSError or ValueError of the `with` block, which reads a key or certificates, into a ConfigError.

    Args:
        key: beginning of the error message, such as `ssl.keystore.location=FILE`.
        expected: what the user should provide, such as `expected certificates in PEM`.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{key}: {reason}; {expected}") from None


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Write the text to a temporary file (in memory if possible), and yield its path. Delete the file afterwards."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("kgtui"), "w") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(text)
        file.flush()
        yield file.name

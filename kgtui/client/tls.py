"""Read TLS settings from the `ssl.*` properties of Java clients. Certificates and keys must be in PEM (KIP-651)."""

from __future__ import annotations

import os
import ssl
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_VERSIONS = {
    "TLSV1": ssl.TLSVersion.TLSv1,
    "TLSV1.1": ssl.TLSVersion.TLSv1_1,
    "TLSV1.2": ssl.TLSVersion.TLSv1_2,
    "TLSV1.3": ssl.TLSVersion.TLSv1_3,
}
_DEFAULT_VERSIONS = "TLSv1.2,TLSv1.3"

_CONVERT_TRUST = "keytool -list -rfc -keystore FILE > ca.pem"
_CONVERT_KEY = (
    "keytool -importkeystore -srckeystore FILE -destkeystore c.p12 -deststoretype PKCS12, then "
    "openssl pkcs12 -in c.p12 -out client.pem"
)


class _NamedContext(ssl.SSLContext):
    """A TLS context that checks the certificate for the broker's host name, because kgtui connects to an IP address."""

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
    """Settings for the verification of the brokers' certificates, and the certificate of this client.

    Attributes:
        trust_file, trust_pem: trusted certificates, as a file or as text. If both are empty, the trust store of the
            operating system is used.
        key_file: file with the client's private key and certificate chain.
        key_pem, chain_pem: the client's private key and certificate chain as text.
        key_password: password of an encrypted private key.
        verify_hostname: whether the certificate must contain the host name that the client connects to.
        lowest, highest: the oldest and newest TLS version that may be used.
    """

    trust_file: str = ""
    trust_pem: str = field(default="", repr=False)
    key_file: str = ""
    key_pem: Secret = NO_SECRET
    chain_pem: str = field(default="", repr=False)
    key_password: Secret = NO_SECRET
    verify_hostname: bool = True
    lowest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    highest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3

    def context(self, name: str) -> ssl.SSLContext:
        """Return the TLS context for a broker with this host name. The files are read on every call.

        Raises:
            ConfigError: a certificate or key cannot be used. The message names the property and the file.
        """
        context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
        context.name = name
        context.minimum_version = self.lowest
        context.maximum_version = self.highest
        context.check_hostname = self.verify_hostname
        # As in Java, every certificate in the trust store is trusted directly, even if it is not a root certificate.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        self._load_trust(context)
        self._load_key(context)
        return context

    def _load_trust(self, context: ssl.SSLContext) -> None:
        if self.trust_pem:
            with _naming("ssl.truststore.certificates", "certificates in PEM"):
                context.load_verify_locations(cadata=self.trust_pem)
        elif self.trust_file:
            with _naming(f"ssl.truststore.location={self.trust_file}", "a file with certificates in PEM"):
                context.load_verify_locations(cafile=self.trust_file)
        else:
            context.load_default_certs()

    def _load_key(self, context: ssl.SSLContext) -> None:
        if self.key_pem:
            with _naming("ssl.keystore.key and ssl.keystore.certificate.chain", "a private key and its certificates"):
                text = f"{self.key_pem.reveal()}\n{self.chain_pem}\n"
                with _as_file(text) as path:
                    context.load_cert_chain(path, password=self._password)
        elif self.key_file:
            expected = "a PEM file with the private key and its certificates, and ssl.key.password if it is encrypted"
            with _naming(f"ssl.keystore.location={self.key_file}", expected):
                context.load_cert_chain(self.key_file, password=self._password)

    def _password(self) -> str:
        """Return the password of the key.

        OpenSSL calls this function. Without it, OpenSSL would ask for the password on the terminal.
        """
        return str.__str__(self.key_password.reveal())


def tls_from_properties(properties: Mapping[str, str]) -> Tls:
    """Read the `ssl.*` properties. Raises ConfigError if something is not supported or inconsistent."""
    _check_type(properties, "truststore", ("location", "certificates"), _CONVERT_TRUST)
    _check_type(properties, "keystore", ("location", "key", "certificate.chain"), _CONVERT_KEY)
    key, chain = properties.get("ssl.keystore.key", ""), properties.get("ssl.keystore.certificate.chain", "")
    if bool(key) != bool(chain):
        raise ConfigError("ssl.keystore.key and ssl.keystore.certificate.chain belong together: set both or neither")
    lowest, highest = _versions(properties)
    return Tls(
        trust_file=properties.get("ssl.truststore.location", ""),
        trust_pem=properties.get("ssl.truststore.certificates", ""),
        key_file=properties.get("ssl.keystore.location", ""),
        key_pem=Secret(key),
        chain_pem=chain,
        key_password=Secret(properties.get("ssl.key.password", "")),
        verify_hostname=_verify_hostname(properties.get("ssl.endpoint.identification.algorithm", "https")),
        lowest=lowest,
        highest=highest,
    )


def _check_type(properties: Mapping[str, str], store: str, sources: tuple[str, ...], convert: str) -> None:
    given = [f"ssl.{store}.{source}" for source in sources if properties.get(f"ssl.{store}.{source}")]
    if not given:
        return
    type_key = f"ssl.{store}.type"
    kind = properties.get(type_key, "").strip() or "JKS"
    if kind.upper() != "PEM":
        default = "" if properties.get(type_key) else " (Kafka's default)"
        raise ConfigError(
            f"{type_key}={kind}{default} is not supported yet; use PEM: convert the store ({convert}), then set "
            f"{type_key}=PEM and ssl.{store}.location to the new file"
        )
    if len(given) > 1 and given[0].endswith("location"):
        raise ConfigError(f"{given[0]} and {given[1]} cannot be set together: remove one of them")


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
def _naming(key: str, expected: str) -> Iterator[None]:
    """Convert errors of OpenSSL and of the file system inside the block into a ConfigError.

    The message contains the property `key`, the error, and `expected`, a phrase for what the property should contain.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{key}: {reason}; expected {expected}") from None


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Write the text to a temporary file, in memory if the system supports it, and return its path.

    The file is deleted after the block.
    """
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

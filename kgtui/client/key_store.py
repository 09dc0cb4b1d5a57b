"""Read Java key stores and trust stores. PKCS#12 stores are read with the package `cryptography` (extra `security`).

JKS and JCEKS stores are not read, because no maintained Python library reads them. The error for such a store contains
the `keytool` command that converts it to PKCS#12.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_JAVA_FORMATS = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
"""Maps the first four bytes of each Java store that kgtui cannot read to the name of the store's format."""

_SEQUENCE = 0x30
_LONG_LENGTH = 0x80


@dataclass(frozen=True, slots=True)
class Store:
    """The contents of a PKCS#12 store in PEM.

    Attributes:
        key: the private key, which is not encrypted. Empty if the store contains no key.
        chain: the certificate of the key, and the certificates that sign it.
        trusted: the certificates that do not belong to the key.
    """

    key: Secret = NO_SECRET
    chain: str = ""
    trusted: str = ""


def read_store(file: str, password: Secret, kind: str) -> Store:
    """Read a PKCS#12 store.

    Args:
        file: path of the store.
        password: password of the store; empty if none is set.
        kind: `keystore` or `truststore`, for the names of properties in error messages.

    Raises:
        ConfigError: the file cannot be read, is not a PKCS#12 store, or the password is wrong. The message names the
            property.
    """
    place = f"ssl.{kind}.location={file}"
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"{place}: {error.strerror}; expected a PKCS#12 store") from None
    if problem := _problem(content, file, kind):
        raise ConfigError(f"{place}: {problem}")
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise ConfigError(
            f"{place}: PKCS#12 stores need the package cryptography, which is not installed. Run: pip install "
            f"'kgtui[security]', or convert the store (openssl pkcs12 -in {file} -out store.pem) and set "
            f"ssl.{kind}.type=PEM"
        ) from None
    try:
        loaded = load_pkcs12(content, password.reveal().encode() if password else None)
    except (ValueError, TypeError):
        problem = f"ssl.{kind}.password is wrong: correct it"
        if not password:
            problem = f"ssl.{kind}.password is missing: set it to the password of the store"
        raise ConfigError(f"{place}: the store cannot be decrypted. {problem}") from None
    return _converted(loaded)


def _problem(content: bytes, file: str, kind: str) -> str:
    """Return why `content` is not a complete PKCS#12 store, and what to do; `""` if it looks like a complete store."""
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
        return "the file is truncated: copy the store again"
    return ""


def _encoded_size(content: bytes) -> int:
    """Return the size in bytes of the first element of a DER file with its header, or 0 if its length is indefinite."""
    length = content[1] if len(content) > 1 else _LONG_LENGTH
    if length < _LONG_LENGTH:
        return 2 + length
    digits = length - _LONG_LENGTH
    return 2 + digits + int.from_bytes(content[2 : 2 + digits], "big") if digits else 0


def _converted(loaded: PKCS12KeyAndCertificates) -> Store:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    others = "".join(one.certificate.public_bytes(Encoding.PEM).decode() for one in loaded.additional_certs)
    if loaded.key is None:
        return Store(trusted=others)
    key = loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    own = loaded.cert.certificate.public_bytes(Encoding.PEM).decode() if loaded.cert is not None else ""
    return Store(Secret(key), own + others, others)

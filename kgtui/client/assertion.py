"""Create signed assertions, which prove the identity of a client to a token endpoint (RFC 7523).

An assertion is a JSON Web Token that is signed with the client's private key. It is used as the OAuth grant
(`jwt-bearer`, KIP-1139) or instead of the client secret (KIP-1258). The properties and their defaults are the same as
in Kafka 4.3.
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtui.client.claims import claims_of, time_of
from kgtui.client.properties import whole_number
from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConfigError
from kgtui.model.rfc3339 import rfc3339
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_PREFIX = "sasl.oauthbearer.assertion."
FILE_KEY = f"{_PREFIX}file"
ISSUER_KEY = f"{_PREFIX}claim.iss"
_KEY_FILE_KEY = f"{_PREFIX}private.key.file"
_PASSPHRASE_KEY = f"{_PREFIX}private.key.passphrase"
_TEMPLATE_KEY = f"{_PREFIX}template.file"
_ALGORITHM_KEY = f"{_PREFIX}algorithm"
_ALGORITHMS = ("RS256", "ES256")


@dataclass(frozen=True, slots=True)
class Assertion:
    """Settings for client assertions: a file with a signed assertion, or a key that signs assertions.

    Attributes:
        file: file with a signed assertion. If set, all other attributes are unused.
        key_file: PEM file with the private key.
        passphrase: passphrase of the private key; empty if it is not encrypted.
        algorithm: `RS256` or `ES256`.
        template_file: JSON file with further fields of the assertion, in the objects `header` and `payload`; empty if
            there is no such file.
        claims: name → value of the claims `aud`, `iss` and `sub` that are set in the properties. Claims in the template
            file override them.
        lifetime: lifetime of an assertion, in seconds.
        leeway: how long before its creation an assertion is already valid, in seconds (claim `nbf`). Therefore, a token
            endpoint whose clock is behind this machine's clock accepts the assertion, too.
        with_id: whether each assertion has a random identifier (claim `jti`).
    """

    file: str = ""
    key_file: str = ""
    passphrase: Secret = NO_SECRET
    algorithm: str = "RS256"
    template_file: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)
    lifetime: int = 300
    leeway: int = 60
    with_id: bool = False


def assertion_from_properties(properties: Mapping[str, str]) -> Assertion:
    """Read the settings `sasl.oauthbearer.assertion.*`, and test them by creating an assertion.

    Raises:
        ConfigError: a value is missing or invalid, or a file cannot be used. The message names the property.
    """
    file = properties.get(FILE_KEY, "").strip()
    if file:
        assertion = Assertion(file=file)
    else:
        key_file = properties.get(_KEY_FILE_KEY, "").strip()
        if not key_file:
            raise ConfigError(f"{_KEY_FILE_KEY} is missing: set it to a PEM file with a private key, or set {FILE_KEY}")
        given = {name: properties.get(f"{_PREFIX}claim.{name}", "").strip() for name in ("aud", "iss", "sub")}
        assertion = Assertion(
            key_file=key_file,
            passphrase=Secret(properties.get(_PASSPHRASE_KEY, "")),
            algorithm=_algorithm(properties),
            template_file=properties.get(_TEMPLATE_KEY, "").strip(),
            claims={name: value for name, value in given.items() if value},
            lifetime=_seconds(properties, "exp", 300, 86_400),
            leeway=_seconds(properties, "nbf", 60, 3600),
            with_id=_boolean(properties, f"{_PREFIX}claim.jti.include"),
        )
    create(assertion)
    return assertion


def create(assertion: Assertion) -> str:
    """Return a signed assertion: the one in the file `assertion.file`, or a new one if no file is set.

    Each call reads the files again, so that users can replace them while kgtui runs.

    Raises:
        ConfigError: a file cannot be used. The message names the property and contains no secret.
    """
    if assertion.file:
        return _from_file(assertion.file)
    now = int(time.time())
    header, payload = _template(assertion.template_file) if assertion.template_file else ({}, {})
    header = {**header, "alg": assertion.algorithm, "typ": "JWT"}
    times = {"iat": now, "exp": now + assertion.lifetime, "nbf": now - assertion.leeway}
    payload = {**assertion.claims, **payload, **times, **({"jti": str(uuid.uuid4())} if assertion.with_id else {})}
    signed = f"{_encoded(json.dumps(header).encode())}.{_encoded(json.dumps(payload).encode())}"
    return f"{signed}.{_encoded(_signer(assertion)(signed.encode()))}"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _signer(assertion: Assertion) -> Callable[[bytes], bytes]:
    """Return a function that signs bytes with the private key. The signature has the format of RFC 7518 (JWA)."""
    setting = f"{_KEY_FILE_KEY}={assertion.key_file}"
    pem = _content(_KEY_FILE_KEY, assertion.key_file, "expected a private key in PEM")
    try:
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA256
    except ImportError:
        raise ConfigError(
            f"{setting}: signing needs the package cryptography, which is not installed. Run: pip install "
            f"'kgtui[security]', or set {FILE_KEY} to a file with a signed assertion"
        ) from None
    key = _private_key(setting, pem, assertion.passphrase)
    if assertion.algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
        return lambda content: key.sign(content, padding.PKCS1v15(), SHA256())
    if assertion.algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name == "secp256r1":

        def sign(content: bytes) -> bytes:
            r, s = decode_dss_signature(key.sign(content, ec.ECDSA(SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")

        return sign
    if assertion.algorithm == "RS256":
        raise ConfigError(
            f"{setting}: {_ALGORITHM_KEY}=RS256 needs an RSA key, but the file contains a key of another type"
        )
    raise ConfigError(
        f"{setting}: {_ALGORITHM_KEY}={assertion.algorithm} needs an EC key on the curve P-256, but the file contains "
        "a key of another type"
    )


def _private_key(setting: str, pem: bytes, passphrase: Secret) -> PrivateKeyTypes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(pem, passphrase.reveal().encode() if passphrase else None)
    except TypeError:
        if passphrase:
            raise ConfigError(f"{setting}: this key is not encrypted: remove {_PASSPHRASE_KEY}") from None
        raise ConfigError(f"{setting}: this key is encrypted: set {_PASSPHRASE_KEY}") from None
    except (ValueError, UnsupportedAlgorithm):
        check = "check that the file has a private key in PEM (PKCS#8)"
        if passphrase:
            check = f"check that the file has a private key in PEM (PKCS#8), and that {_PASSPHRASE_KEY} is right"
        raise ConfigError(f"{setting}: the key cannot be read: {check}") from None


def _template(file: str) -> tuple[dict[str, Any], dict[str, Any]]:
    expected = 'expected a JSON object such as {"header": {"kid": "1"}, "payload": {"sub": "client"}}'
    try:
        found = json.loads(_content(_TEMPLATE_KEY, file, expected))
    except (ValueError, RecursionError):
        raise ConfigError(f"{_TEMPLATE_KEY}={file}: this is not JSON; {expected}") from None
    header, payload = (found.get(part, {}) if isinstance(found, dict) else None for part in ("header", "payload"))
    if not (isinstance(header, dict) and isinstance(payload, dict)):
        raise ConfigError(f"{_TEMPLATE_KEY}={file}: this JSON does not have the expected structure; {expected}")
    return header, payload


def _from_file(file: str) -> str:
    text = _content(FILE_KEY, file, "expected a signed JSON Web Token").decode(errors="replace").strip()
    claims = claims_of(text)
    if not (claims and text.isascii()):
        raise ConfigError(f"{FILE_KEY}={file}: this is not a JSON Web Token; expected a signed assertion")
    expires = time_of(claims, "exp")
    if expires is not None and expires <= time.time():
        raise ConfigError(
            f"{FILE_KEY}={file}: the assertion expired at {rfc3339(expires, 'seconds')}: replace it, or check the "
            "clock of this machine"
        )
    return text


def _content(key: str, file: str, expected: str) -> bytes:
    try:
        return read_input(Path(file))
    except OSError as error:
        raise ConfigError(f"{key}={file}: {error.strerror}; {expected}") from None


def _algorithm(properties: Mapping[str, str]) -> str:
    algorithm = properties.get(_ALGORITHM_KEY, "").strip() or _ALGORITHMS[0]
    if algorithm.upper() not in _ALGORITHMS:
        raise ConfigError(f"{_ALGORITHM_KEY}={algorithm} is not supported: set it to {' or '.join(_ALGORITHMS)}")
    return algorithm.upper()


def _seconds(properties: Mapping[str, str], claim: str, default: int, highest: int) -> int:
    key = f"{_PREFIX}claim.{claim}.seconds"
    return whole_number(key, properties.get(key, "").strip() or str(default), "seconds", 0, highest)


def _boolean(properties: Mapping[str, str], key: str) -> bool:
    text = properties.get(key, "").strip().lower() or "false"
    if text not in {"true", "false"}:
        raise ConfigError(f"{key}={text} is not valid: write true or false")
    return text == "true"

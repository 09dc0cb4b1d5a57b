"""Sign JSON Web Tokens as an identity provider does, and verify signatures with the formulas in the standards.

The verification shares no code with kgtui.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

if TYPE_CHECKING:
    from pathlib import Path

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")
"""The bytes before the digest in an RSA signature with SHA-256 (RFC 8017, section 9.2).

These bytes state the hash algorithm and the length of the digest.
"""

# The curve P-256 (FIPS 186-4, section D.1.2.3): y² = x³ - 3x + B modulo P, with the base point G of order N.
_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

_Point = tuple[int, int] | None


def new_key(algorithm: str = "RS256") -> PrivateKey:
    """Create a private key for the algorithm `RS256` or `ES256`."""
    return rsa.generate_private_key(65537, 2048) if algorithm == "RS256" else ec.generate_private_key(ec.SECP256R1())


def write_key(path: Path, key: PrivateKey, passphrase: str = "") -> Path:
    """Write a private key to a PEM file in PKCS #8; return the path. With a passphrase, the key is encrypted."""
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    return path


def sign(claims: dict[str, Any], key: rsa.RSAPrivateKey, kid: str) -> str:
    """Return a JSON Web Token with the claims `claims`, signed with RS256. Its header has the key id `kid`."""
    header = {"alg": "RS256", "typ": "JWT", "kid": kid}
    signed = ".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))
    return f"{signed}.{_encoded(key.sign(signed.encode(), padding.PKCS1v15(), SHA256()))}"


def key_set(key: rsa.RSAPrivateKey, kid: str) -> str:
    """Return a JSON Web Key Set (RFC 7517) that contains the public key of `key` with the key id `kid`."""
    public = key.public_key().public_numbers()
    n, e = (_encoded(number.to_bytes((number.bit_length() + 7) // 8, "big")) for number in (public.n, public.e))
    return json.dumps({"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": n, "e": e}]})


def verified(token: str, key: PrivateKey) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims of a JSON Web Token. Raise AssertionError if `key` did not sign the token."""
    signed, _, signature = token.rpartition(".")
    header, claims = (json.loads(_decoded(part)) for part in signed.split("."))
    digest = hashlib.sha256(signed.encode()).digest()
    if isinstance(key, rsa.RSAPrivateKey):
        assert header["alg"] == "RS256"
        assert _is_rsa(digest, _decoded(signature), key.public_key().public_numbers()), "the signature is wrong"
    else:
        assert header["alg"] == "ES256"
        point = key.public_key().public_numbers()
        assert _is_ecdsa(digest, _decoded(signature), (point.x, point.y)), "the signature is wrong"
    return header, claims


def _is_rsa(digest: bytes, signature: bytes, public: rsa.RSAPublicNumbers) -> bool:
    """Return whether a signature is valid according to RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2)."""
    size = (public.n.bit_length() + 7) // 8
    content = pow(int.from_bytes(signature, "big"), public.e, public.n).to_bytes(size, "big")
    end = _SHA256_PREFIX + digest
    return content == b"\x00\x01" + b"\xff" * (size - len(end) - 3) + b"\x00" + end


def _is_ecdsa(digest: bytes, signature: bytes, public: tuple[int, int]) -> bool:
    """Return whether an ECDSA signature for the curve P-256 is valid (RFC 7518).

    The signature consists of two integers of 32 bytes each.
    """
    assert len(signature) == 64
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    inverse = pow(s, -1, _N)
    point = _sum(
        _product(int.from_bytes(digest, "big") * inverse % _N, _G),
        _product(r * inverse % _N, public),
    )
    return point is not None and point[0] % _N == r


def _product(factor: int, point: _Point) -> _Point:
    total: _Point = None
    while factor:
        if factor & 1:
            total = _sum(total, point)
        point = _sum(point, point)
        factor >>= 1
    return total


def _sum(one: _Point, other: _Point) -> _Point:
    """Return the sum of two points on the curve. None stands for the point at infinity."""
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % _P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, _P) if one == other else (y2 - y1) * pow(x2 - x1, -1, _P)
    x = (slope * slope - x1 - x2) % _P
    return x, (slope * (x1 - x) - y1) % _P


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

"""Create a certificate authority, and certificates of a server and a client, for TLS listeners."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificates:
    """The certificates as PEM files; a key store is a private key followed by its certificate, as Kafka expects it.

    Attributes:
        authority: certificate of the authority that signed the other two certificates.
        server: key store of the brokers, for `localhost` and 127.0.0.1.
        client: key store of a client whose name is `CN=tls-client`.
        client_key: the private key of the client.
        client_certificate: the certificate of the client.
    """

    authority: Path
    server: Path
    client: Path
    client_key: Path
    client_certificate: Path


def make_certificates(folder: Path) -> Certificates:
    """Create all certificates with openssl, valid for two days."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = folder / "ca.pem"
    authority_key = folder / "ca.key"
    new_key = ("-newkey", "rsa:2048", "-nodes")
    _openssl(
        "req", "-x509", *new_key, "-days", "2", "-subj", "/CN=kgtui-tests", "-keyout", authority_key, "-out", authority
    )
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    for name, subject in (("server", "/CN=localhost"), ("client", "/CN=tls-client")):
        key, request, certificate = (folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        extensions = folder / f"{name}.ext"
        extensions.write_text(names if name == "server" else "extendedKeyUsage=clientAuth", encoding="utf-8")
        _openssl("req", *new_key, "-subj", subject, "-keyout", key, "-out", request)
        _openssl(
            "x509",
            "-req",
            "-days",
            "2",
            "-in",
            request,
            "-CA",
            authority,
            "-CAkey",
            authority_key,
            "-CAcreateserial",
            "-extfile",
            extensions,
            "-out",
            certificate,
        )
        store = folder / f"{name}.pem"
        store.write_text(key.read_text("utf-8") + certificate.read_text("utf-8"), encoding="utf-8")
    return Certificates(
        authority, folder / "server.pem", folder / "client.pem", folder / "client.key", folder / "client.crt"
    )


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)

"""Create a certificate authority, TLS certificates for brokers and for a client, and Java key stores."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files for TLS between a client and a broker.

    A key store is a file with a private key and the certificate for this key.

    Attributes:
        authority: certificate of the authority that has signed the other certificates.
        server: key store of the brokers, for `localhost` and 127.0.0.1.
        client: key store of a client named `CN=tls-client`.
    """

    authority: Path
    server: Path
    client: Path
    client_key: Path
    client_certificate: Path


def make_certificates(folder: Path) -> Certificates:
    """Create the authority and all certificates in `folder` with openssl. The certificates are valid for two days."""
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


def make_stores(certificates: Certificates, password: str, folder: Path | None = None) -> None:
    """Create Java key stores and a trust store with the password `password`.

    The stores are in `folder`. If it is None, they are in the folder of the certificates.

    ================  =======================================================================================
    `client.p12`      PKCS #12: the client's key, its certificate, and the authority's certificate (by openssl)
    `only-key.p12`    like `client.p12`, but without the authority's certificate
    `trust.p12`       PKCS #12: trust store with the authority's certificate (by keytool)
    `client.jks`      JKS with the contents of `client.p12` (by keytool)
    ================  =======================================================================================
    """
    folder = folder or certificates.authority.parent
    export = ("pkcs12", "-export", "-in", certificates.client, "-passout", f"pass:{password}")
    _openssl(*export, "-certfile", certificates.authority, "-out", folder / "client.p12")
    _openssl(*export, "-out", folder / "only-key.p12")
    passwords = ("-deststorepass", password, "-noprompt")
    make_trust_store(certificates.authority, folder / "trust.p12", password)
    _keytool(
        "-importkeystore",
        "-srckeystore",
        folder / "client.p12",
        "-srcstorepass",
        password,
        "-destkeystore",
        folder / "client.jks",
        "-deststoretype",
        "JKS",
        *passwords,
    )


def make_trust_store(authority: Path, store: Path, password: str) -> None:
    """Create a PKCS #12 trust store at `store`, which contains the certificate of `authority`."""
    where = ("-storetype", "PKCS12", "-keystore", store, "-storepass", password)
    _keytool("-importcert", *where, "-file", authority, "-alias", "ca", "-noprompt")


def _keytool(*arguments: str | Path) -> None:
    subprocess.run(["keytool", *arguments], check=True, capture_output=True)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)

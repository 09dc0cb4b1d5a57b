"""Find secrets in outputs and files, even if a program has encoded them, for example in base64."""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


UNUSED = {
    "basic.auth.user.info": ("basic auth", "registry:{}"),
    "schema.registry.url": ("password in a URL", "https://registry:{}@127.0.0.1:1/"),
    "sasl.oauthbearer.token.endpoint.url": ("password in the token endpoint", "http://kgtui:{}@127.0.0.1:1/token"),
    "sasl.oauthbearer.client.credentials.client.secret": ("client secret", "{}"),
    "sasl.oauthbearer.assertion.private.key.passphrase": ("passphrase", "{}"),
    "ssl.keystore.password": ("key store password", "{}"),
    "ssl.truststore.password": ("trust store password", "{}"),
    "ssl.key.password": ("key password", "{}"),
    "ssl.keystore.key": ("key in PEM", "-----BEGIN PRIVATE KEY----- {} -----END PRIVATE KEY-----"),
    "ssl.keystore.certificate.chain": ("chain", "{}"),
    "producer.sasl.jaas.config": ("password of a producer", 'a.B required password="{}";'),
    "our.own.password": ("unknown property", "{}"),
}
"""Client properties that contain secrets, but have no effect on most logins.

Name of the property → (kind of secret, value with `{}` in place of the secret).
"""


def add_unused(properties: dict[str, str], secrets: dict[str, str]) -> None:
    """Add to a login those properties in `UNUSED` that have no effect on this login.

    Args:
        properties: client properties of the login. This function adds properties to this dict.
        secrets: kind of secret → secret. This function adds the secrets in the added properties to this dict.
    """
    protocol, mechanism = properties["security.protocol"], properties.get("sasl.mechanism")
    for name, (kind, value) in UNUSED.items():
        of_tls = name.startswith("ssl.") and protocol.endswith("SSL")
        of_tokens = name.startswith("sasl.oauthbearer.") and mechanism == "OAUTHBEARER"
        if name not in properties and not of_tls and not of_tokens:
            secrets[kind] = f"S3cret+{kind.replace(' ', '-')}"
            properties[name] = value.format(secrets[kind])


def encodings(secret: str | bytes) -> Iterator[bytes]:
    """Yield a secret in every form in which programs write it: plain, escaped, in UTF-16, hexadecimal or base64.

    Base64 encodes three bytes at a time. The base64 text of a secret therefore depends on how many bytes are before the
    secret. Yield all three variants.
    """
    plain = secret if isinstance(secret, bytes) else secret.encode()
    yield plain
    yield repr(plain)[2:-1].encode()
    yield plain.hex().encode()
    if isinstance(secret, str):
        yield repr(secret)[1:-1].encode()
        yield json.dumps(secret)[1:-1].encode()
        yield json.dumps(secret, ensure_ascii=False)[1:-1].encode()
        yield quote(secret).encode()
        yield quote(secret, safe="").encode()
        yield quote_plus(secret).encode()
        yield secret.encode("utf-16-le")
    # Leave out base64 characters that also depend on the bytes before or after the secret.
    for before in range(3):
        end = (before + len(plain)) // 3 * 4
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"\0" * before + plain)[(0, 2, 3)[before] : end]


class Markers:
    """The secrets of a test, which must not occur in outputs and files.

    Args:
        secrets: kind of secret, such as `key password` → secret.
    """

    def __init__(self, secrets: Mapping[str, str | bytes]) -> None:
        self._encoded = {kind: set(encodings(secret)) for kind, secret in secrets.items()}

    def add(self, kind: str, secret: str | bytes) -> None:
        """Add a secret that was created during the test."""
        self._encoded.setdefault(kind, set()).update(encodings(secret))

    def kinds_in(self, data: bytes | str) -> set[str]:
        """Return the kinds of the secrets that occur in `data` in any encoding."""
        content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        return {kind for kind, forms in self._encoded.items() if any(form in content for form in forms)}

    def check(self, where: str, data: bytes | str) -> None:
        """Assert that `data` contains no secret. The error message says that `data` comes from `where`."""
        kinds = self.kinds_in(data)
        shown = data if isinstance(data, str) else data[:2_000].decode("utf-8", "replace")
        assert not kinds, f"{where} contains the secret of: {', '.join(sorted(kinds))}\n{shown}"

    def check_files(self, folder: Path) -> int:
        """Assert that no file in `folder` has a secret in its content or path; return the number of files.

        In Parquet files, the decoded rows are searched as well, because these files are compressed.
        """
        files = [path for path in folder.rglob("*") if path.is_file()]
        for path in files:
            self.check(str(path), os.fsencode(path) + b"\n" + path.read_bytes())
            if path.suffix == ".parquet":
                self.check(f"the rows of {path}", _rows(path))
        return len(files)


def _rows(file: Path) -> str:
    import pyarrow.parquet

    with file.open("rb") as stream:
        return str(pyarrow.parquet.ParquetFile(stream).read().to_pylist())

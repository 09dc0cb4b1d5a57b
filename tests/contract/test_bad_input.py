"""Tests of wrong logins, certificates and client properties with a real broker.

`kgtui ls` and `kgtui doctor` must explain what is wrong, and return the right exit code.
"""

from __future__ import annotations

import email.utils
import json
import socket
import ssl
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kgtui.cli import main
from tests.brokers.certificates import make_stores
from tests.brokers.config import write_properties
from tests.brokers.kdc import with_cache
from tests.brokers.secure import PASSWORDS
from tests.token_server import token_server
from tests.unit.client.connecting import write_self_signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.brokers.secure import Secure

PASSWORD = "st0re-S3cret"
MODULES = "org.apache.kafka.common.security"


@dataclass
class Site:
    """The real broker, and temporary files and servers, for one test with wrong input.

    Attributes:
        broker: the real broker.
        folder: an empty folder.
        stack: exit stack of the test, which stops the test's servers at the end.
    """

    broker: Secure
    folder: Path
    stack: ExitStack

    def tokens(self, **changes: Any) -> tuple[str, dict[str, str]]:
        """Start an OAuth token endpoint, and change its attributes, for example with `status=401` or wrong `claims`.

        If an attribute is a dict, the new entries are added to it, or replace entries with the same keys.
        Return the broker's address, and client properties for a login with a token of this endpoint.
        """
        endpoint = self.stack.enter_context(token_server())
        self.broker.use_signed_tokens(endpoint)
        for name, value in changes.items():
            if isinstance(value, dict):
                getattr(endpoint, name).update(value)
            else:
                setattr(endpoint, name, value)
        return self.broker.sasl, endpoint.properties()

    def tls(self, first: int, last: int, **more: str) -> tuple[str, dict[str, str]]:
        """Start a TLS server whose certificate is valid for no host name: it has no subject alternative name.

        Return the server's address, and client properties that trust the certificate.

        Args:
            first, last: first and last day on which the certificate is valid, in days from now.
            more: additional client properties.
        """
        file = self.folder / "server.pem"
        write_self_signed(file, first, last)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        address = self.stack.enter_context(tls_server(context))
        return address, {"security.protocol": "SSL", **pem_trust(file), **more}

    def store(self, name: str, password: str = PASSWORD) -> tuple[str, dict[str, str]]:
        """Return the broker's address, and client properties with the file `name` as the key store.

        If `name` is not one of the files that `make_stores` creates, such as `client.p12`, the key store is missing.
        """
        authority = self.broker.certificates.authority
        if not authority.with_name("trust.p12").exists():
            make_stores(self.broker.certificates, PASSWORD)
        store = {"ssl.keystore.location": str(authority.with_name(name)), "ssl.keystore.password": password}
        return self.broker.tls, {"security.protocol": "SSL", **pem_trust(authority), **store}


@contextmanager
def tls_server(context: ssl.SSLContext) -> Iterator[str]:
    """Run a server that closes each connection after the TLS handshake; yield the server's address."""

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with suppress(OSError), context.wrap_socket(connection, server_side=True) as encrypted:
                encrypted.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def pem_trust(file: Path) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(file)}


def sasl(mechanism: str = "PLAIN", password: str = PASSWORDS["admin"], **more: str) -> dict[str, str]:
    """Return client properties for a login as user `admin` with PLAIN or SCRAM; `more` are additional properties."""
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    options = f'username="admin" password="{password}"'
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{MODULES}.{module} required {options};",
        **more,
    }


class Wrong(NamedTuple):
    """One kind of wrong input, and the expected messages and exit code of kgtui.

    Attributes:
        make: function that returns a server address and client properties with which kgtui must fail.
        code: expected exit code.
        says: text in the error message.
        step: the step that `kgtui doctor` reports as failed; empty if kgtui does not try to connect.
    """

    make: Callable[[Site], tuple[str, dict[str, str]]]
    code: int
    says: str
    step: str = ""


def unused(site: Site) -> str:
    """Return an address of this machine on which no server listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def token_endpoint_down(site: Site) -> tuple[str, dict[str, str]]:
    address, properties = site.tokens()
    properties["sasl.oauthbearer.token.endpoint.url"] = f"http://{unused(site)}/token"
    return address, properties


def ahead(seconds: int) -> dict[str, Any]:
    """Return attributes for a token endpoint whose clock is `seconds` seconds ahead of this machine's clock."""
    now = time.time() + seconds
    return {
        "claims": {"nbf": int(now), "exp": int(now) + 900},
        "headers": {"Date": email.utils.formatdate(now, usegmt=True)},
    }


UNCHECKED = {"ssl.endpoint.identification.algorithm": ""}
WRONG = {
    "wrong password": Wrong(
        lambda site: (site.broker.sasl, sasl(password="n0pe")), 3, "check user name and password in sasl.jaas", "SASL"
    ),
    "wrong password of SCRAM": Wrong(
        lambda site: (site.broker.sasl, sasl("SCRAM-SHA-512", "n0pe")), 3, "check user name and password in", "SASL"
    ),
    "unknown mechanism": Wrong(
        lambda site: (site.broker.sasl, sasl("SCRAM-SHA-1")), 2, "sasl.mechanism=SCRAM-SHA-1 is not a mechanism of"
    ),
    "mechanism not offered": Wrong(
        lambda site: (site.broker.msk, sasl()),
        3,
        "set sasl.mechanism to a mechanism that the broker offers: OAUTHBEARER",
        "SASL",
    ),
    "expired token": Wrong(
        lambda site: site.tokens(claims={"exp": int(time.time()) - 60}), 3, "check for how long the tokens are", "SASL"
    ),
    "token endpoint down": Wrong(
        token_endpoint_down, 3, "refused the connection: check the URL, and check that", "SASL"
    ),
    "token endpoint returns nonsense": Wrong(
        lambda site: site.tokens(body="<html>"), 3, "not valid JSON: check sasl.oauthbearer.token.endpoint.", "SASL"
    ),
    "token endpoint refuses the client": Wrong(
        lambda site: site.tokens(status=401), 3, "check client id, client secret and scope", "SASL"
    ),
    "missing Kerberos ticket": Wrong(
        lambda site: (site.broker.sasl, with_cache(site.folder / "none")), 3, "run kinit -c ", "SASL"
    ),
    "certificate untrusted": Wrong(
        lambda site: (site.broker.tls, {"security.protocol": "SSL"}), 3, "set ssl.truststore.type=PEM and ssl.tr", "TLS"
    ),
    "certificate expired": Wrong(lambda site: site.tls(-9, -2, **UNCHECKED), 3, "has expired: renew the cert", "TLS"),
    "certificate not yet valid": Wrong(
        lambda site: site.tls(2, 9, **UNCHECKED), 3, "is not valid yet: check the clocks of this machine", "TLS"
    ),
    "wrong host name": Wrong(lambda site: site.tls(-1, 9), 3, "is for another host name (", "TLS"),
    "plaintext client on a TLS port": Wrong(
        lambda site: (site.broker.tls, {}), 3, "set security.protocol=SSL (or SASL_SSL)", "API versions"
    ),
    "TLS client on a plaintext port": Wrong(
        lambda site: (site.broker.sasl, {"security.protocol": "SSL"}),
        3,
        "set security.protocol=PLAINTEXT (or SA",
        "TLS",
    ),
    "login on a port without SASL": Wrong(
        lambda site: (site.broker.cluster.bootstrap, sasl()), 3, "use the SASL port, or set security.protocol", "SASL"
    ),
    "no login on a SASL port": Wrong(
        lambda site: (site.broker.sasl, {}), 3, "it probably requires a login; use --command-con", "API versions"
    ),
    "missing file": Wrong(lambda site: site.store("none.p12"), 2, "none.p12: No such file or directory; expected a"),
    "wrong store password": Wrong(lambda site: site.store("client.p12", "n0pe"), 2, "ssl.keystore.password is wrong"),
    "store without a key": Wrong(lambda site: site.store("trust.p12"), 2, "the store contains no private key: export"),
    "clock skew": Wrong(
        lambda site: site.tokens(**ahead(600)), 3, "the clock of this machine differs from that of the tok", "SASL"
    ),
}


@pytest.mark.broker
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_wrong_input_is_reported_by_kgtui_ls_and_kgtui_doctor(
    wrong: Wrong,
    secure_broker: Secure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"KGTUI_{name}_DIR", str(tmp_path))
    for name, value in secure_broker.kdc.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("no_proxy", "*")
    with ExitStack() as stack:
        address, properties = wrong.make(Site(secure_broker, tmp_path, stack))
        file = write_properties(tmp_path / "client.properties", properties)
        for command in ("ls", "doctor"):
            code = main(["--bootstrap-server", address, "--command-config", str(file), command, "--format", "json"])
            out, err = capfd.readouterr()
            assert (code, err.count("\n"), err[:7]) == (wrong.code, 1, "kgtui: "), err
            assert wrong.says in err
            if command == "doctor" and wrong.step:
                (server,) = json.loads(out)["bootstrap"]
                (failed,) = [step for step in server["steps"] if step["ok"] is False]
                assert failed["name"] == wrong.step
                assert wrong.says in failed["detail"]


@pytest.mark.broker
@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("client.id=\\u12\n", 2, "line 4 of {file}: "),
        ("no assignment\n", 0, "line 4 of {file} is not a property of Kafka's clients: it has no effect; if this line"),
        (
            "sasl.mechanisms=PLAIN\n",
            0,
            "line 4 of {file}: sasl.mechanisms is not a property of Kafka's clients: it has",
        ),
        ("bootstrap.servers=127.0.0.1:1\n", 0, "line 4 of {file}: bootstrap.servers is not used, because --bootstrap"),
        ("sasl.mechanism=PLAIN\n", 0, "line 2 of {file}: sasl.mechanism is not used, because line 4 sets it, too"),
    ],
    ids=["wrong escape", "no assignment", "unknown key", "two sources", "two values"],
)
def test_a_bad_line_in_a_properties_file_is_reported_with_its_number(
    secure_broker: Secure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    text: str,
    code: int,
    says: str,
) -> None:
    """A syntax error makes the command fail. A line with valid syntax but without effect causes only a warning."""
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"KGTUI_{name}_DIR", str(tmp_path))
    file = write_properties(tmp_path / "client.properties", sasl())
    file.write_text(file.read_text() + text)
    for command in ("ls", "doctor"):
        assert main(["--bootstrap-server", secure_broker.sasl, "--command-config", str(file), command]) == code
        assert says.format(file=file) in capfd.readouterr().err


def test_the_error_for_an_unknown_cluster_lists_the_configured_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text('version = 2\n[clusters.prod]\nbootstrap = "127.0.0.1:1"\n')
    for command in ("ls", "doctor"):
        assert main(["--cluster", "pord", command]) == 2
        assert capfd.readouterr().err.endswith(f"no cluster 'pord'; the clusters in {tmp_path}/config.toml are: prod\n")

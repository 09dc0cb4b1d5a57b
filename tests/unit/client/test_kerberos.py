"""Tests of the settings and the error messages of GSSAPI (Kerberos). Tests with a real KDC are in `tests/contract`."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.client import tickets as client_tickets
from kgtui.client.address import Address
from kgtui.client.client_settings import from_properties
from kgtui.client.kerberos import Kerberos
from kgtui.client.kerberos_errors import Failure, explain_failure, explain_keytab, failure_of
from kgtui.client.login import Login
from kgtui.client.tickets import Tickets
from kgtui.errors import ConfigError, ConnectError
from kgtui.protocol.messages.security import SASL_AUTHENTICATE, SASL_HANDSHAKE
from tests.brokers.kdc import jaas

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

KEYTAB = {"useKeyTab": "true", "keyTab": "/k", "principal": "ada@R"}
IBM = "com.ibm.security.auth.module.Krb5LoginModule"
FIRST_CODE = -1765328384


@pytest.fixture(autouse=True)
def _gssapi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import gssapi` return an empty object, so that kgtui does not report the package as missing."""
    monkeypatch.setitem(sys.modules, "gssapi", SimpleNamespace())


def properties(module: str, **more: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": module,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (jaas(**KEYTAB), Kerberos("kafka", "ada@R", "/k")),
        (jaas(**KEYTAB | {"keyTab": "FILE:/k", "useKeyTab": "TRUE"}), Kerberos("kafka", "ada@R", "/k")),
        (jaas(useTicketCache="true"), Kerberos("kafka", use_cache=True)),
        (jaas(useTicketCache="true", principal="ada"), Kerberos("kafka", "ada", use_cache=True)),
        (jaas(useTicketCache="true", ticketCache="KCM:7"), Kerberos("kafka", use_cache=True, cache="KCM:7")),
        (jaas(useTicketCache="true", ticketCache="/c", **KEYTAB), Kerberos("kafka", "ada@R", "/k", True, "/c")),
        (f'{IBM} required useKeytab="file:///k" principal="ada@R" credsType=both;', Kerberos("kafka", "ada@R", "/k")),
        (f"{IBM} required useDefaultCcache=true;", Kerberos("kafka", use_cache=True)),
        (f'{IBM} required useCcache="file:/c";', Kerberos("kafka", use_cache=True, cache="/c")),
    ],
)
def test_kerberos_settings_are_read_from_the_options_of_the_login_module(module: str, expected: Kerberos) -> None:
    settings = from_properties(properties(module))
    assert (settings.mechanism, settings.kerberos, settings.warnings) == ("GSSAPI", expected, ())


def test_only_unknown_options_of_krb5loginmodule_cause_a_warning() -> None:
    ignored = {
        "doNotPrompt": "true",
        "refreshKrb5Config": "true",
        "storeKey": "true",
        "debug": "true",
        "renewTGT": "true",
    }
    assert from_properties(properties(jaas(**KEYTAB | ignored))).warnings == ()
    assert from_properties(properties(jaas(useTicketCache="true", keytab="/k", Principal="ada"))).warnings == (
        "sasl.jaas.config: Principal is not an option of Krb5LoginModule: it has no effect",
        "sasl.jaas.config: keytab is not an option of Krb5LoginModule: it has no effect",
    )
    assert from_properties(properties(f"{IBM} required useDefaultCcache=true useKeyTab=true;")).warnings == (
        "sasl.jaas.config: useKeyTab is not an option of Krb5LoginModule: it has no effect",
    )


def test_only_unknown_kerberos_properties_cause_a_warning() -> None:
    known = (
        "kinit.cmd",
        "min.time.before.relogin",
        "service.name",
        "ticket.renew.jitter",
        "ticket.renew.window.factor",
    )
    assert from_properties({f"sasl.kerberos.{key}": "1" for key in known}).warnings == ()
    (warning,) = from_properties({"sasl.kerberos.service.nam": "kafka"}).warnings
    assert warning.startswith("sasl.kerberos.service.nam is not a property of Kafka's clients: it has no effect")


def test_kerberos_service_name_can_be_an_option_of_the_login_module() -> None:
    module = jaas(useTicketCache="true", serviceName="broker")
    settings = from_properties(properties(module) | {"sasl.kerberos.service.name": ""})
    assert settings.kerberos == Kerberos("broker", use_cache=True)
    same = from_properties(properties(module) | {"sasl.kerberos.service.name": "broker"})
    assert same.kerberos == settings.kerberos


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (jaas(useTicketCache="true", serviceName="other"), "service.name=kafka differs from serviceName=other in"),
        (jaas(doNotPrompt="true"), "Krb5LoginModule has no source of tickets: set useKeyTab=true with keyTab and"),
        (jaas(useKeyTab="true", principal="a"), 'keyTab is missing: write keyTab="/path/to/file.keytab"'),
        (jaas(useKeyTab="true", keyTab="/k"), "principal is missing: write principal=\"NAME@REALM\" with a"),
        (jaas(keyTab="/k", useTicketCache="true"), "keyTab has no effect without useKeyTab=true: add useKeyTab=true"),
        (jaas(ticketCache="/c", **KEYTAB), "without useTicketCache=true: add useTicketCache=true, or remove"),
        (jaas(useTicketCache="true", useFirstPass="true"), "useFirstPass=true is not supported"),
        (jaas(useTicketCache="true", tryFirstPass="true"), "tryFirstPass=true is not supported"),
        (jaas(useTicketCache="true", storePass="true"), "storePass=true is not supported"),
        (jaas(isInitiator="false", **KEYTAB), "isInitiator=false is for brokers"),
        (f"{IBM} required credsType=acceptor;", "credsType=acceptor is for brokers"),
        (f"{IBM} required useDefaultKeytab=true;", "useDefaultKeytab=true is not supported: set useKeytab"),
        (
            'a.PlainLoginModule required username="a" password="b";',
            "GSSAPI (Kafka's default mechanism) needs the login module com.sun.security.auth.module.Krb5LoginModule,",
        ),
    ],
)  # fmt: skip
def test_config_error_says_what_is_wrong_in_the_kerberos_settings(module: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_properties(properties(module))
    assert says in str(caught.value)


def test_a_missing_kerberos_service_name_raises_config_error() -> None:
    with pytest.raises(ConfigError, match=r"sasl\.kerberos\.service\.name is missing: set it to the first part of the"):
        from_properties(properties(jaas(**KEYTAB)) | {"sasl.kerberos.service.name": " "})


def test_error_for_a_missing_gssapi_package_lists_the_packages_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(ConfigError) as caught:
        from_properties(properties(jaas(**KEYTAB)))
    text = str(caught.value)
    assert "needs the package gssapi, which is not installed. Run: pip install 'kgtui[security]'" in text
    assert "libkrb5-dev, python3-dev and gcc (Debian, Ubuntu), krb5-devel, python3-devel and gcc (RHEL, Fedora)" in text


def test_error_for_a_missing_kerberos_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "gssapi":
                raise ImportError("libgssapi_krb5.so.2: cannot open shared object file")

    monkeypatch.delitem(sys.modules, "gssapi")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(ConfigError, match=r"cannot be loaded \(libgssapi_krb5.*\)\. Install the Kerberos library: "):
        from_properties(properties(jaas(**KEYTAB)))


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (14, "KDC and keytab have no encryption type in common; export the keytab again with AES keys"),
        (18, "the account is locked or has expired; ask the Kerberos administrator"),
        (21, "the clocks of this machine and of the KDC differ"),
        (24, "the key in the keytab is not the current key of the principal"),
        (32, "the ticket has expired; run kinit ada@R"),
        (68, "check the realm of the principal"),
        (136, "correct krb5.conf (/etc/krb5.conf, or the file in KRB5_CONFIG)"),
        (224, "the realm is missing: write NAME@REALM, or set default_realm in krb5.conf"),
        (60, "check the option principal and krb5.conf"),
    ],
)
def test_missing_ticket_error_gives_advice_that_fits_the_kerberos_error_code(code: int, advice: str) -> None:
    """`tests/contract/test_kerberos.py` tests more error codes, with a real KDC."""
    failure = Failure(0xD0000, FIRST_CODE + code, "major; minor")
    text = explain_failure(failure, Kerberos("kafka", "ada@R", use_cache=True), "kafka/b")
    assert text.startswith("kgtui could not get a Kerberos ticket for kafka/b as ada@R from the default ticket cache: ")
    assert advice in text
    assert text.endswith(" (GSSAPI: major; minor)")


def test_keytab_error_says_that_the_realm_of_the_principal_is_missing() -> None:
    failure = Failure(0x20000, FIRST_CODE + 224, "no default realm")
    assert "principal=ada: the realm is missing: write NAME@REALM" in explain_keytab(
        failure, Kerberos("kafka", "ada", "/k")
    )


def test_failure_of_a_gssapi_error_contains_major_and_minor_status_messages() -> None:
    texts = {True: ["Unspecified GSS failure.  Minor code may help"], False: ["Clock skew too great"]}
    error = SimpleNamespace(
        maj_code=0xD0000, min_code=2**32 + FIRST_CODE + 37, get_all_statuses=lambda _, major: texts[major]
    )
    expected = Failure(0xD0000, FIRST_CODE + 37, "Unspecified GSS failure. Minor code may help; Clock skew too great")
    assert failure_of(error) == expected


async def test_error_says_that_the_gssapi_library_cannot_read_keytabs_and_ticket_caches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The GSSAPI library of macOS can read neither keytab files nor ticket cache files."""

    def refuse(*_: object, **__: object) -> None:
        raise NotImplementedError

    fake = SimpleNamespace(
        Credentials=refuse, MechType=SimpleNamespace(kerberos=None), exceptions=SimpleNamespace(GSSError=KeyError)
    )
    monkeypatch.setitem(sys.modules, "gssapi", fake)
    monkeypatch.setitem(sys.modules, "gssapi.exceptions", fake.exceptions)
    with pytest.raises(ConnectError, match="cannot read the files in keyTab and ticketCache: get a ticket with"):
        await Tickets(Kerberos("kafka", use_cache=True, cache="/c")).get("b")


async def test_error_for_a_refused_kerberos_login_mentions_principal_and_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def get(self: Tickets, host: str) -> None:
        self.principal = f"ada@{host.upper()}"

    async def messages(self: Tickets, host: str) -> AsyncGenerator[bytes, bytes]:
        yield host.encode()

    async def send(exchange: Any) -> bytes:
        exchange.prepare({api.key: (api.low, api.high) for api in (SASL_HANDSHAKE, SASL_AUTHENTICATE)})
        if "Handshake" in repr(exchange):
            return SASL_HANDSHAKE.response.encode(1, {"ErrorCode": 0, "Mechanisms": ["GSSAPI"]})
        return SASL_AUTHENTICATE.response.encode(2, {"ErrorCode": 58, "AuthBytes": b""})

    monkeypatch.setattr(Tickets, "get", get)
    monkeypatch.setattr(Tickets, "messages", messages)
    login, broker = Login(from_properties(properties(jaas(**KEYTAB)))), Address("b", 9092)
    await login.prepare(broker)
    with pytest.raises(ConnectError) as caught:
        await login.run(SimpleNamespace(send=send), broker)
    assert str(caught.value).startswith(
        "b:9092 refused the Kerberos login as ada@B: check that the keytab of the broker has the current key of kafka/b"
    )


async def test_concurrent_ticket_requests_to_a_silent_kdc_share_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, asked = threading.Event(), []

    def wait(host: str) -> tuple[str, bool]:
        asked.append(host)
        answered.wait(10)
        return host, False

    tickets = Tickets(Kerberos("kafka", use_cache=True))
    monkeypatch.setattr(tickets, "_get", wait)
    monkeypatch.setattr(client_tickets, "TIMEOUT", 0.05)
    before = threading.active_count()
    failures = await asyncio.gather(*(tickets.get(f"broker-{n}") for n in range(20)), return_exceptions=True)
    assert all(isinstance(one, ConnectError) for one in failures)
    assert threading.active_count() <= before + 1
    answered.set()
    monkeypatch.setattr(client_tickets, "TIMEOUT", 5.0)
    await tickets.get("last")
    assert asked == ["broker-0", "last"]

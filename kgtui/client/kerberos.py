"""Read the settings of GSSAPI (Kerberos) from Java client properties.

kgtui supports the Krb5LoginModule of OpenJDK, and IBM's Krb5LoginModule, whose options have different names. The
supported options have the same meaning as in Java.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.client.properties import JAAS_KEY
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.client.properties import LoginModule

SERVICE_KEY = "sasl.kerberos.service.name"
_KINIT_KEY = "sasl.kerberos.kinit.cmd"
_MODULE = "Krb5LoginModule"
_IBM = "com.ibm."

_IGNORED_OPTIONS = frozenset({"clearPass", "debug", "doNotPrompt", "refreshKrb5Config", "renewTGT", "storeKey"})
"""Options of Krb5LoginModule that kgtui ignores, because their values make no difference.

kgtui never asks for a password and never stores a key. It always reads the current Kerberos configuration, and always
tries to renew the ticket in a ticket cache.
"""

_MUST_BE_FALSE = {
    "storePass": "kgtui never asks for a password: remove the option",
    "tryFirstPass": "kgtui cannot use the password of another login module: set useKeyTab or useTicketCache",
    "useFirstPass": "kgtui cannot use the password of another login module: set useKeyTab or useTicketCache",
}
"""Option of Krb5LoginModule that must not be true, because kgtui does not support it → advice to the user."""

_OPTIONS = frozenset(
    {"isInitiator", "keyTab", "principal", "serviceName", "ticketCache", "useKeyTab", "useTicketCache"}
)
_IBM_OPTIONS = frozenset(
    {"credsType", "principal", "serviceName", "useCcache", "useDefaultCcache", "useDefaultKeytab", "useKeytab"}
)
_IBM_IGNORED_OPTIONS = frozenset({"debug", "forwardable", "noAddress", "proxiable", "renewable"})


@dataclass(frozen=True, slots=True)
class Kerberos:
    """The source of the Kerberos tickets, and the service name of the brokers.

    Attributes:
        service: first part of the broker principals, such as `kafka` in `kafka/broker-1@EXAMPLE.COM`.
        principal: principal that kgtui logs in as; empty for the principal in the ticket cache.
        keytab: file with the key of `principal`; empty if only the ticket cache is used.
        use_cache: whether to use a ticket cache. If there is also a keytab, the cache is tried first.
        cache: path or name of the ticket cache; empty for the default cache.
        kinit: program that renews the ticket in the cache.
    """

    service: str
    principal: str = ""
    keytab: str = ""
    use_cache: bool = False
    cache: str = ""
    kinit: str = "kinit"


def kerberos_from_properties(properties: Mapping[str, str], module: LoginModule) -> Kerberos:
    """Read the settings of GSSAPI (Kerberos) from client properties.

    Args:
        module: the parsed value of `sasl.jaas.config`.

    Raises:
        ConfigError: a value is missing, invalid or not supported, or the package gssapi is not installed.
    """
    if module.short_name != _MODULE:
        default = "" if properties.get("sasl.mechanism", "").strip() else " (Kafka's default mechanism)"
        raise ConfigError(
            f"{JAAS_KEY}: GSSAPI{default} needs the login module com.sun.security.auth.module.{_MODULE}, not "
            f"{module.short_name}: set sasl.mechanism to the mechanism of {module.short_name}"
        )
    options = {name: value.strip() for name, value in module.plain_options().items()}
    service = _service(properties, options)
    kerberos = _ibm(service, options) if module.name.startswith(_IBM) else _openjdk(service, options)
    if kinit := properties.get(_KINIT_KEY, "").strip():
        kerberos = replace(kerberos, kinit=kinit)
    if not kerberos.keytab and not kerberos.use_cache:
        raise ConfigError(
            f"{JAAS_KEY}: {_MODULE} has no source of tickets: set useKeyTab=true with keyTab and principal, or "
            "useTicketCache=true"
        )
    if kerberos.keytab and not kerberos.principal:
        raise ConfigError(
            f'{JAAS_KEY}: principal is missing: write principal="NAME@REALM" with a principal of the keytab; klist -k '
            f"{kerberos.keytab} lists its principals"
        )
    check_installed()
    return kerberos


def unknown_options(module: LoginModule) -> tuple[str, ...]:
    """Return one warning for each option in `module` that is not an option of Krb5LoginModule."""
    known = _OPTIONS | _IGNORED_OPTIONS | _MUST_BE_FALSE.keys()
    if module.name.startswith(_IBM):
        known = _IBM_OPTIONS | _IBM_IGNORED_OPTIONS
    return tuple(
        f"{JAAS_KEY}: {option} is not an option of {_MODULE}: it has no effect"
        for option in sorted(module.options.keys() - known)
    )


def check_installed() -> None:
    """Raise ConfigError if the package gssapi cannot be imported."""
    try:
        import gssapi  # noqa: F401
    except (ImportError, OSError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "gssapi":
            problem = (
                "sasl.mechanism=GSSAPI needs the package gssapi, which is not installed. Run: pip install "
                "'kgtui[security]'. On Linux, this compiles gssapi. First install the headers of Kerberos and Python, "
                "and a C compiler: libkrb5-dev, python3-dev and gcc (Debian, Ubuntu), krb5-devel, python3-devel and "
                "gcc (RHEL, Fedora), or krb5-dev, python3-dev and build-base (Alpine)"
            )
        else:
            problem = (
                f"sasl.mechanism=GSSAPI cannot be used, because the package gssapi cannot be loaded ({error}). Install "
                "the Kerberos library: libgssapi-krb5-2 (Debian, Ubuntu), krb5-libs (RHEL, Fedora, Alpine), or krb5 "
                "(Homebrew)"
            )
        raise ConfigError(problem) from None


def _service(properties: Mapping[str, str], options: Mapping[str, str]) -> str:
    in_properties, in_options = properties.get(SERVICE_KEY, "").strip(), options.get("serviceName", "")
    if in_properties and in_options and in_properties != in_options:
        raise ConfigError(
            f"{SERVICE_KEY}={in_properties} differs from serviceName={in_options} in {JAAS_KEY}: remove one of them"
        )
    if service := in_properties or in_options:
        return service
    raise ConfigError(
        f"{SERVICE_KEY} is missing: set it to the first part of the brokers' principal, which is kafka in "
        "kafka/broker-1@EXAMPLE.COM"
    )


def _openjdk(service: str, options: Mapping[str, str]) -> Kerberos:
    for option, advice in _MUST_BE_FALSE.items():
        if _true(options, option):
            raise ConfigError(f"{JAAS_KEY}: {option}=true is not supported: {advice}")
    if options.get("isInitiator", "true").lower() != "true":
        raise ConfigError(f"{JAAS_KEY}: isInitiator=false is for brokers: remove the option, because kgtui is a client")
    for file, switch in (("keyTab", "useKeyTab"), ("ticketCache", "useTicketCache")):
        if options.get(file) and not _true(options, switch):
            raise ConfigError(
                f"{JAAS_KEY}: the option {file} has no effect without {switch}=true: "
                f"add {switch}=true, or remove {file}"
            )
    if _true(options, "useKeyTab") and not options.get("keyTab"):
        raise ConfigError(f'{JAAS_KEY}: keyTab is missing: write keyTab="/path/to/file.keytab"')
    return Kerberos(
        service,
        options.get("principal", ""),
        _path(options.get("keyTab", "")),
        _true(options, "useTicketCache"),
        options.get("ticketCache", ""),
    )


def _ibm(service: str, options: Mapping[str, str]) -> Kerberos:
    """Read the options of IBM's login module, in which paths are URLs such as `file:///etc/kafka.keytab`."""
    if options.get("credsType", "initiator").lower() == "acceptor":
        raise ConfigError(
            f"{JAAS_KEY}: credsType=acceptor is for brokers: remove the option, because kgtui is a client"
        )
    if _true(options, "useDefaultKeytab"):
        raise ConfigError(
            f"{JAAS_KEY}: useDefaultKeytab=true is not supported: set useKeytab to the path of the keytab"
        )
    cache = _path(options.get("useCcache", ""))
    return Kerberos(
        service,
        options.get("principal", ""),
        _path(options.get("useKeytab", "")),
        bool(cache) or _true(options, "useDefaultCcache"),
        cache,
    )


def _path(text: str) -> str:
    """Return a path without a prefix such as `FILE:` or `file://`."""
    for prefix in ("file://", "file:"):
        if text.lower().startswith(prefix):
            return text[len(prefix) :]
    return text


def _true(options: Mapping[str, str], option: str) -> bool:
    return options.get(option, "").lower() == "true"

"""Explain why a login with Kerberos failed, and what the user can do about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kgtui.client.address import Address
    from kgtui.client.kerberos import Kerberos

_CONFIG = "krb5.conf (/etc/krb5.conf, or the file in KRB5_CONFIG)"

_KRB5 = -1765328384
"""First error code of the Kerberos library. Error `n` of RFC 4120 has the code `_KRB5 + n`."""

CLIENT_UNKNOWN = _KRB5 + 6
SERVER_UNKNOWN = _KRB5 + 7
CLOCK_SKEW = _KRB5 + 37
REALM_UNKNOWN = _KRB5 + 154
KDC_UNREACHABLE = _KRB5 + 156
_EXPIRED_ACCOUNT = frozenset({_KRB5 + 1, _KRB5 + 18, _KRB5 + 23})
_NO_COMMON_CIPHER = _KRB5 + 14
_WRONG_KEY = frozenset({_KRB5 + 24, _KRB5 + 31})
_TICKET_EXPIRED = _KRB5 + 32
_NOT_YET_VALID = frozenset({_KRB5 + 21, _KRB5 + 33})
_WRONG_REALM = frozenset({_KRB5 + 68, REALM_UNKNOWN, _KRB5 + 220})
_NO_DEFAULT_REALM = _KRB5 + 224
_BAD_CONFIG = frozenset({_KRB5 + 135, _KRB5 + 136})
_NO_TICKET = frozenset({_KRB5 + 141, _KRB5 + 195})
_WRONG_CACHE_PRINCIPAL = 39756032
_NOT_IN_KEYTAB = frozenset({39756033, _KRB5 + 181})

_OTHER_REALM = re.compile(r"krbtgt/([^@\s]+)@")
"""Matches a principal such as `krbtgt/B.EXAMPLE@A.EXAMPLE` in an error message of the Kerberos library.

Group 1 is the realm in which the library looked for the broker (B.EXAMPLE).
"""

_EXPIRED_CREDENTIALS = 11
"""Number of GSSAPI's error GSS_S_CREDENTIALS_EXPIRED. Bits 16 to 23 of a major status contain the number (RFC 2744)."""


class Failure(NamedTuple):
    """An error of GSSAPI.

    Attributes:
        major: status code of GSSAPI.
        minor: error code of the Kerberos library, or 0.
        text: messages of GSSAPI and the Kerberos library for `major` and `minor`.
    """

    major: int
    minor: int
    text: str


def failure_of(error: object) -> Failure:
    """Read the status codes and the messages from an exception of the package gssapi."""
    major, minor = int(getattr(error, "maj_code", 0)), int(getattr(error, "min_code", 0))
    texts = []
    statuses = getattr(error, "get_all_statuses", None)
    for code, is_major in ((major, True), (minor, False)):
        if statuses is not None and code:
            texts += [" ".join(text.split()).rstrip(".") for text in statuses(code, is_major)]
    signed = minor - 2**32 if minor >= 2**31 else minor
    return Failure(major, signed, "; ".join(dict.fromkeys(texts)) or str(error))


def explain_keytab(failure: Failure, kerberos: Kerberos) -> str:
    """Return a message saying why a keytab cannot be used."""
    setting = f"sasl.jaas.config: keyTab={kerberos.keytab}"
    if failure.minor in _NOT_IN_KEYTAB:
        return (
            f"{setting} has no key of {kerberos.principal}: correct the option principal; klist -k {kerberos.keytab} "
            f"lists the principals of the keytab (GSSAPI: {failure.text})"
        )
    if failure.minor == _NO_DEFAULT_REALM:
        return f"sasl.jaas.config: principal={kerberos.principal}: {_no_realm()} (GSSAPI: {failure.text})"
    return f"{setting} cannot be read as a keytab: export the keytab again (GSSAPI: {failure.text})"


def explain_failure(failure: Failure, kerberos: Kerberos, server: str) -> str:
    """Return a message saying why kgtui got no ticket for a broker, and what to do.

    Args:
        server: service and host of the broker, such as `kafka/broker-1`.
    """
    source = f"the keytab {kerberos.keytab}" if kerberos.keytab else _cache(kerberos)
    who = f" as {kerberos.principal}" if kerberos.principal else ""
    return (
        f"kgtui could not get a Kerberos ticket for {server}{who} from {source}: {_advice(failure, kerberos, server)} "
        f"(GSSAPI: {failure.text})"
    )


def explain_silence(kerberos: Kerberos, server: str, seconds: float) -> str:
    """Return the error message to show if no KDC has sent a ticket within the time limit (`seconds`)."""
    realm = kerberos.principal.rpartition("@")[2] if "@" in kerberos.principal else "the realm"
    return (
        f"there is no Kerberos ticket for {server} after {seconds:g} s, because no KDC of {realm} answers: check the "
        f"kdc entries in {_CONFIG} and the DNS, and check that no firewall blocks port 88"
    )


def explain_refusal(address: Address, principal: str, server: str) -> str:
    """Return the error message for a broker that refused a valid ticket.

    The message lists the usual reasons, because brokers do not tell clients the reason.
    """
    return (
        f"{address} refused the Kerberos login as {principal}: check that the keytab of the broker has the current key "
        f"of {server}, that the clocks of this machine and of the broker agree, and that "
        "sasl.kerberos.principal.to.local.rules of the broker match the principal; the log of the broker says which of "
        "these is wrong"
    )


def _cache(kerberos: Kerberos) -> str:
    return f"the ticket cache {kerberos.cache}" if kerberos.cache else "the default ticket cache"


def _no_realm() -> str:
    return f"the realm is missing: write NAME@REALM, or set default_realm in {_CONFIG}"


def _kinit(kerberos: Kerberos) -> str:
    cache = f" -c {kerberos.cache}" if kerberos.cache else ""
    return f"kinit{cache} {kerberos.principal or 'PRINCIPAL'}"


def _advice(failure: Failure, kerberos: Kerberos, server: str) -> str:
    minor = failure.minor
    if failure.major >> 16 & 0xFF == _EXPIRED_CREDENTIALS or minor == _TICKET_EXPIRED:
        return f"the ticket has expired; run {_kinit(kerberos)}"
    if minor in _NO_TICKET:
        return f"the cache has no ticket; run {_kinit(kerberos)}"
    if minor == _WRONG_CACHE_PRINCIPAL:
        return f"the ticket belongs to another principal; run {_kinit(kerberos)}, or correct the option principal"
    if minor == SERVER_UNKNOWN:
        return _unknown_server(failure, server)
    if minor in _WRONG_REALM:
        return f"check the realm of the principal, and that [realms] in {_CONFIG} has the KDCs of this realm"
    if minor in _WRONG_KEY:
        return "the key in the keytab is not the current key of the principal; export the keytab again"
    if minor in _EXPIRED_ACCOUNT:
        return "the account is locked or has expired; ask the Kerberos administrator"
    if minor in _NOT_YET_VALID or minor == CLOCK_SKEW:
        return "the clocks of this machine and of the KDC differ; set the clock of this machine, for example with NTP"
    return {
        CLIENT_UNKNOWN: "the KDC does not know this principal; correct its name and its realm in the option principal",
        KDC_UNREACHABLE: f"no KDC answers; check the kdc entries in {_CONFIG}, and that no firewall blocks port 88",
        _NO_COMMON_CIPHER: "KDC and keytab have no encryption type in common; export the keytab again with AES keys",
        _NO_DEFAULT_REALM: _no_realm(),
    }.get(minor, f"correct {_CONFIG}" if minor in _BAD_CONFIG else f"check the option principal and {_CONFIG}")


def _unknown_server(failure: Failure, server: str) -> str:
    # If the KDC does not know the broker's principal, the Kerberos library guesses the broker's realm from its domain
    # name. The library's error message contains this realm. Show it, so that the user can correct a wrong guess.
    parts = (
        "the first part of the principal is sasl.kerberos.service.name, and the second part is the host name in "
        "bootstrap.servers or in the advertised.listeners of the broker"
    )
    realm = _OTHER_REALM.search(failure.text)
    if realm is None:
        return f"the KDC does not know the principal {server}; {parts}; correct the property that is wrong"
    return (
        f"the KDC does not know the principal {server}, and has no trust relationship with the realm {realm[1]}; "
        f"{parts}; correct the property that is wrong, or [domain_realm] in {_CONFIG}"
    )

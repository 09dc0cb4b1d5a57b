"""The SASL mechanisms: what each of them needs before a login, its messages, and why a broker refuses a login."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kgtui.client.kerberos_errors import explain_refusal
from kgtui.client.msk_iam import explain_offer, reason_of
from kgtui.client.scram import scram_steps
from kgtui.errors import ConnectError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kgtui.client.address import Address
    from kgtui.client.client_settings import ClientSettings
    from kgtui.client.kerberos import Kerberos
    from kgtui.client.oauth import OAuth

_ABORT = b"\x01"
"""The client ends an OAUTHBEARER login with this message after the broker has rejected the token (RFC 7628, 3.2.3)."""


class Mechanism(ABC):
    """One SASL mechanism with the credentials in `ClientSettings`."""

    def __init__(self, settings: ClientSettings) -> None:
        self.name = str(settings.mechanism)
        self._settings = settings

    async def prepare(self, address: Address) -> None:  # noqa: B027 - not every mechanism needs this
        """Get what a login to this broker needs, such as a valid token; does nothing if the mechanism needs nothing.

        Raises:
            ConnectError: no token or ticket can be obtained.
        """

    def close(self) -> None:  # noqa: B027 - not every mechanism needs this
        """Stop background work, such as the renewal of tickets."""

    @abstractmethod
    def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        """Return a generator of the client's messages in a login.

        The caller sends the broker's response to each message to the generator.
        """

    @abstractmethod
    def refused(self, message: str, address: Address) -> str:
        """Return why the broker refused the credentials, and what to do. A token that was refused is not used again.

        Args:
            message: the error message of the broker; empty if there is none.
        """

    def not_offered(self, offered: str, address: Address) -> str:
        """Return a message saying that the broker only offers other mechanisms, and what to do.

        Args:
            offered: names of the mechanisms that the broker offers, separated by commas; empty if there are none.
        """
        advice = (
            f"set sasl.mechanism to a mechanism that the broker offers: {offered}"
            if offered
            else "set another sasl.mechanism"
        )
        return f"{address} does not offer the SASL mechanism {self.name}: {advice}"


class Plain(Mechanism):
    """The mechanism PLAIN (RFC 4616), which sends user name and password to the broker."""

    async def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        yield "\0".join(("", self._settings.username, self._settings.password.reveal())).encode()

    def refused(self, message: str, address: Address) -> str:
        """Return a message that the broker refused the login, with the advice to check user name and password."""
        user = self._settings.username
        return f"{address} refused the login as {user!r}: check user name and password in sasl.jaas.config"


class Scram(Plain):
    """The mechanism SCRAM with SHA-256 or SHA-512, for a user name and password or for a delegation token."""

    def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        """Return a generator of the messages of a SCRAM login."""
        return scram_steps(self._settings, address)

    def refused(self, message: str, address: Address) -> str:
        """Return a message that the broker refused the delegation token, or the user name and password, and advice."""
        if not self._settings.delegation_token:
            return super().refused(message, address)
        return (
            f"{address} refused the delegation token {self._settings.username!r}: check token id and HMAC in "
            "sasl.jaas.config, and whether the token has expired (kafka-delegation-tokens.sh --describe)"
        )


class OAuthBearer(Mechanism):
    """The mechanism OAUTHBEARER (RFC 7628), which sends a token to the broker."""

    def __init__(self, settings: ClientSettings, oauth: OAuth) -> None:
        from kgtui.client.tokens import Tokens

        super().__init__(settings)
        self._oauth = oauth
        self._tokens = Tokens(oauth)

    async def prepare(self, address: Address) -> None:
        """Get a valid token. Raises ConnectError."""
        await self._tokens.get(address.host)

    async def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        """Yield the message with the token, and another one if the broker rejects the token."""
        token = await self._tokens.get(address.host)
        extensions = "".join(f"\x01{name}={value}" for name, value in self._oauth.extensions)
        challenge = yield f"n,,\x01auth=Bearer {token.text.reveal()}{extensions}\x01\x01".encode()
        if challenge:
            # The broker has rejected the token. It first responds with the reason, and reports the error code only
            # after the client has acknowledged the reason with this message.
            yield _ABORT
            raise ConnectError("the broker rejected the token, but did not end the login with an error")

    def refused(self, message: str, address: Address) -> str:
        """Return a message that the broker refused the token, with advice. The token is not used again."""
        advice = self._tokens.advice()
        self._tokens.refuse()
        return f"{address} refused {self._credentials(message)}: {advice}"

    def _credentials(self, message: str) -> str:
        return f"the token{_status(message)}"


class MskIam(OAuthBearer):
    """The mechanism OAUTHBEARER with a token for Amazon MSK. The token is signed with AWS credentials."""

    def not_offered(self, offered: str, address: Address) -> str:
        """Return a message that the broker does not offer OAUTHBEARER, and which port and Kafka version of MSK do."""
        return explain_offer(str(address), offered)

    def _credentials(self, message: str) -> str:
        return f"the AWS credentials{reason_of(message)}"


class Gssapi(Mechanism):
    """The mechanism GSSAPI (RFC 4752), which logs in with a Kerberos ticket."""

    def __init__(self, settings: ClientSettings, kerberos: Kerberos) -> None:
        from kgtui.client.tickets import Tickets

        super().__init__(settings)
        self._tickets = Tickets(kerberos)

    async def prepare(self, address: Address) -> None:
        """Get a ticket for this broker. Raises ConnectError."""
        await self._tickets.get(address.host)

    def close(self) -> None:
        """Stop renewing tickets."""
        self._tickets.close()

    def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        """Return a generator of the messages of a GSSAPI login."""
        return self._tickets.messages(address.host)

    def refused(self, message: str, address: Address) -> str:
        """Return a message that the broker refused the ticket, with the advice to check keytab, clocks and rules."""
        return explain_refusal(address, self._tickets.principal, self._tickets.server(address.host))


def mechanism_of(settings: ClientSettings) -> Mechanism:
    """Return the mechanism that the settings ask for. `settings.mechanism` must not be None."""
    if settings.oauth is not None:
        return (OAuthBearer if settings.oauth.msk_iam is None else MskIam)(settings, settings.oauth)
    if settings.kerberos is not None:
        return Gssapi(settings, settings.kerberos)
    return Plain(settings) if settings.mechanism == "PLAIN" else Scram(settings)


def _status(message: str) -> str:
    """Return the status in a refusal of a token, as in ` (invalid_token)`; `""` if the broker sent none."""
    try:
        status = json.loads(message).get("status", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return f" ({status})" if isinstance(status, str) and status.isidentifier() else ""

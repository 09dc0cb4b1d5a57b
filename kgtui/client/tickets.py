"""Use the package `gssapi` to get Kerberos tickets for brokers, and to log in to brokers with GSSAPI (RFC 4752).

- A ticket from a keytab is stored in memory. The Kerberos library gets a new one after half of the ticket's lifetime.
- A ticket cache is read for each login, so that a new ticket from `kinit` is used at once.
- A renewable ticket in a cache (from `kinit -r`) is renewed with `kinit -R`, as in Java clients.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtui.client.concurrency import DaemonThread
from kgtui.client.kerberos_errors import explain_failure, explain_keytab, explain_silence, failure_of
from kgtui.errors import ConnectError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from kgtui.client.kerberos import Kerberos

TIMEOUT = 5.0
"""Time limit for getting a ticket, in seconds. If the ticket arrives later, only the next login uses it.

The Kerberos library itself would wait about 30 s for a KDC.
"""

RENEW_AFTER = 0.8
"""Fraction of a ticket's remaining lifetime after which kgtui tries to renew it, as in Kafka's clients.

If a ticket expires in 10 h, kgtui tries to renew it after 8 h. If this fails, 2 h remain, so kgtui tries again after
1.6 h.
"""

SHORTEST_PAUSE = 0.5
"""Shortest time between two attempts to renew a ticket, in seconds."""

KINIT_TIMEOUT = 30.0
"""Time limit for `kinit`, in seconds."""

_NO_LAYER = b"\x01\x00\x00\x00"
"""First bytes of the client's last message in a login. They mean "no security layer" (RFC 4752, section 3.1)."""

_numbers = itertools.count(1)
_log = logging.getLogger(__name__)


class TicketRenewal:
    """Renews the ticket in a ticket cache repeatedly, until the ticket has expired or `close` is called.

    Args:
        lifetime: async function that returns the ticket's remaining lifetime, in seconds; 0 if no ticket is valid.
    """

    def __init__(self, kerberos: Kerberos, lifetime: Callable[[], Awaitable[float]]) -> None:
        cache = ("-c", kerberos.cache) if kerberos.cache else ()
        self._command = (kerberos.kinit, "-R", *cache)
        self._lifetime = lifetime
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task that renews the ticket in the cache, unless it is already running."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """Cancel the task that renews the ticket."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        left = await self._lifetime()
        while 0 < left < inf:
            # The Kerberos library rounds lifetimes up to whole seconds, so subtract 1 s.
            pause = max(RENEW_AFTER * (left - 1), SHORTEST_PAUSE)
            await asyncio.sleep(pause)
            renew_below = left - pause / 2
            left = await self._lifetime()
            # If `left` is at least `renew_below`, the cache now contains a newer ticket, for example from `kinit`. A
            # newer ticket need not be renewed yet.
            if left < renew_below:
                await self._renew()
                left = await self._lifetime()

    async def _renew(self) -> None:
        try:
            process = await asyncio.create_subprocess_exec(*self._command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
        except OSError as error:
            _log.info("the Kerberos ticket cannot be renewed: %s: %s", self._command[0], error.strerror)
            return
        try:
            async with asyncio.timeout(KINIT_TIMEOUT):
                _, errors = await process.communicate()
        except BaseException as error:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()  # Close stderr's pipe, which must not outlive the event loop.
            if isinstance(error, TimeoutError):
                _log.info("the Kerberos ticket cannot be renewed: kinit did not end within %g s", KINIT_TIMEOUT)
                return
            raise
        if process.returncode:
            _log.info("the Kerberos ticket cannot be renewed: %s", errors.decode(errors="replace").strip())


class Tickets:
    """Gets Kerberos tickets, and logs in with them. Waiting for a KDC blocks neither other tasks nor the exit of kgtui.

    Attributes:
        principal: the principal that kgtui logs in as. It can be empty before the first successful `get`.
    """

    def __init__(self, kerberos: Kerberos) -> None:
        self._kerberos = kerberos
        self._memory = f"MEMORY:kgtui-{next(_numbers)}"
        self._thread = DaemonThread("kgtui-kerberos")
        self._names: dict[str, str] = {}
        self._credentials: Any = None
        self._renewal = TicketRenewal(kerberos, self._lifetime)
        self.principal = kerberos.principal

    def server(self, host: str) -> str:
        """Return the principal of a broker without its realm, such as `kafka/broker-1`."""
        return f"{self._kerberos.service}/{self._names.get(host, host)}"

    async def get(self, host: str) -> None:
        """Get a ticket for the broker on a host, unless there is already a valid ticket.

        Raises:
            ConnectError: there is no ticket. The message says why, and what to do.
        """
        try:
            async with asyncio.timeout(TIMEOUT):
                self._credentials, is_from_cache = await self._thread.run(partial(self._get, host))
        except TimeoutError:
            raise ConnectError(explain_silence(self._kerberos, self.server(host), TIMEOUT)) from None
        if is_from_cache:
            self._renewal.start()

    def close(self) -> None:
        """Stop renewing the ticket in the ticket cache."""
        self._renewal.close()

    async def messages(self, host: str) -> AsyncGenerator[bytes, bytes]:
        """Yield the client's messages in a login. Call `get` first, and pass each response of the broker to `asend`.

        Raises:
            ConnectError: a response does not match the ticket, or the server requires a SASL security layer.
        """
        from gssapi.exceptions import GSSError

        try:
            context = self._context(host, self._credentials)
            response: bytes | None = None
            while not context.complete:
                # Run each step in a thread, because the first step can block while it reads the ticket cache.
                message = await asyncio.to_thread(context.step, response)
                response = yield message or b""
            layers = context.unwrap(response).message
            if not layers or not layers[0] & _NO_LAYER[0]:
                raise ConnectError(
                    "the server requires a SASL security layer, which Kafka does not support, so it is probably not a "
                    "Kafka broker: check host and port"
                )
            yield context.wrap(_NO_LAYER + self.principal.encode(), False).message
        except GSSError as error:
            raise ConnectError(
                "the broker's response to the Kerberos login is wrong: check that the broker has the current key of "
                f"{self.server(host)} (GSSAPI: {failure_of(error).text})"
            ) from error

    async def _lifetime(self) -> float:
        """Return the remaining lifetime of the ticket in the ticket cache, in seconds.

        The result is 0 if no ticket is valid, and infinite if the Kerberos library reports no lifetime.
        """
        return await self._thread.run(self._read_lifetime)

    def _read_lifetime(self) -> float:
        from gssapi.exceptions import GSSError

        try:
            lifetime = self._from_cache().lifetime
        except GSSError:
            return 0.0
        return inf if lifetime is None else float(lifetime)

    def _get(self, host: str) -> tuple[Any, bool]:
        """Get a ticket for a broker. Return the credentials, and whether they come from the ticket cache."""
        from gssapi.exceptions import GSSError

        self._names[host] = _host_name(host)
        # As in Java, try the ticket cache before the keytab.
        sources = [self._from_cache] if self._kerberos.use_cache else []
        if self._kerberos.keytab:
            sources.append(self._from_keytab)
        for number, source in enumerate(sources, 1):
            try:
                credentials = source()
                self._context(host, credentials).step()
                self.principal = str(credentials.name)
            except GSSError as error:
                if number == len(sources):
                    known = replace(self._kerberos, principal=self.principal)
                    message = explain_failure(failure_of(error), known, self.server(host))
                    raise ConnectError(message) from error
            else:
                return credentials, source == self._from_cache
        raise AssertionError("the settings name neither a keytab nor a ticket cache")

    def _from_cache(self) -> Any:
        import gssapi

        if not self._kerberos.cache:
            return gssapi.Credentials(name=self._name(), mechs=[gssapi.MechType.kerberos], usage="initiate")
        return self._acquire({"ccache": self._kerberos.cache}, "initiate")

    def _from_keytab(self) -> Any:
        from gssapi.exceptions import GSSError

        keytab = self._kerberos.keytab
        try:
            with Path(keytab).open("rb"):
                pass
        except OSError as error:
            raise ConnectError(
                f"sasl.jaas.config: keyTab={keytab}: {error.strerror}; expected a keytab that this user may read"
            ) from None
        try:
            # Check the keytab before kgtui contacts the KDC, because this check gives more precise errors than the KDC.
            self._acquire({"keytab": keytab}, "accept")
        except GSSError as error:
            raise ConnectError(explain_keytab(failure_of(error), self._kerberos)) from error
        return self._acquire({"client_keytab": keytab, "ccache": self._memory}, "initiate")

    def _acquire(self, store: dict[str, str], usage: str) -> Any:
        import gssapi

        try:
            return gssapi.Credentials(name=self._name(), mechs=[gssapi.MechType.kerberos], usage=usage, store=store)
        except NotImplementedError:
            raise ConnectError(
                "the Kerberos library of this system cannot read the files in keyTab and ticketCache: get a ticket "
                "with kinit, and set only useTicketCache=true in sasl.jaas.config"
            ) from None

    def _name(self) -> Any:
        import gssapi

        principal = self._kerberos.principal
        return gssapi.Name(principal, gssapi.NameType.kerberos_principal) if principal else None

    def _context(self, host: str, credentials: Any) -> Any:
        import gssapi

        server = gssapi.Name(self.server(host).replace("/", "@", 1), gssapi.NameType.hostbased_service)
        return gssapi.SecurityContext(name=server, creds=credentials, mech=gssapi.MechType.kerberos, usage="initiate")


def _host_name(host: str) -> str:
    """Look up the host name of an IP address, because the principals of brokers contain host names.

    Return `host` itself if it is already a host name, or if no host name is found.
    """
    try:
        ip_address(host)
    except ValueError:
        return host
    try:
        return socket.getnameinfo((host, 0), socket.NI_NAMEREQD)[0]
    except OSError:
        return host

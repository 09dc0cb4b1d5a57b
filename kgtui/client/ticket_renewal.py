"""Renew the Kerberos ticket in a ticket cache before it expires, with the program `kinit`.

Kafka's clients for Java do the same. Only tickets that the KDC has issued as renewable (`kinit -r`) can be renewed.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kgtui.client.kerberos import Kerberos

RENEW_AFTER = 0.8
"""Fraction of the remaining lifetime of a ticket after which kgtui tries to renew the ticket, as in Kafka's clients.

After a failed attempt, the next one is made when this fraction of the rest is over.
"""

SHORTEST_PAUSE = 0.5
"""Shortest time between two attempts to renew a ticket, in seconds."""

TIMEOUT = 30.0
"""Time limit for `kinit`, in seconds."""

_log = logging.getLogger(__name__)


class TicketRenewal:
    """Renews the ticket in a ticket cache, from `start` until the ticket has expired or `close` is called.

    Args:
        kerberos: names the ticket cache and the program.
        lifetime: returns the remaining lifetime of the ticket in the cache, in seconds; 0 if there is no valid ticket.
    """

    def __init__(self, kerberos: Kerberos, lifetime: Callable[[], Awaitable[float]]) -> None:
        cache = ("-c", kerberos.cache) if kerberos.cache else ()
        self._command = (kerberos.kinit, "-R", *cache)
        self._lifetime = lifetime
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to watch the ticket in the cache. This has no effect if the ticket is being watched already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """Stop watching the ticket."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        left = await self._lifetime()
        while 0 < left < inf:
            # The library rounds lifetimes up to whole seconds.
            pause = max(RENEW_AFTER * (left - 1), SHORTEST_PAUSE)
            await asyncio.sleep(pause)
            renew_below = left - pause / 2
            left = await self._lifetime()
            # Otherwise, the user or another program has put a new ticket into the cache.
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
            async with asyncio.timeout(TIMEOUT):
                _, errors = await process.communicate()
        except BaseException as error:
            with suppress(ProcessLookupError):
                process.kill()
            if isinstance(error, TimeoutError):
                _log.info("the Kerberos ticket cannot be renewed: kinit did not end within %g s", TIMEOUT)
                return
            raise
        if process.returncode:
            _log.info("the Kerberos ticket cannot be renewed: %s", errors.decode(errors="replace").strip())

"""From a host name to IP addresses."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.client.address import Address


async def ip_addresses(address: Address) -> list[str]:
    """The IP addresses of a name, in the order in which the system prefers them. Raises `socket.gaierror`."""
    if _is_ip(address.host):
        return [address.host]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _is_ip(host: str) -> bool:
    """Whether a host is an IP address already: there is nothing to look up, and no thread to start for it."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return True
    return False

"""Broker addresses: parse `host:port`, and resolve host names to IP addresses."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import NamedTuple

from kgtui.errors import ConfigError


class Address(NamedTuple):
    """Host and port of a broker."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`, with brackets around an IPv6 address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def split_address(text: str) -> Address:
    """Parse `host:port` or `[IPv6]:port`. Raises ConfigError if the text has neither form, or the port is invalid."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    valid = colon and host and port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536
    if not valid or (":" in host and not bracketed):
        raise ConfigError(f"{text!r} is not an address: write host:port, or [IPv6 address]:port")
    return Address(host[1:-1] if bracketed else host, int(port))


async def ip_addresses(address: Address) -> list[str]:
    """Return the IP addresses of a host, in the order in which the operating system returns them.

    Raises:
        socket.gaierror: the host name cannot be resolved.
        ValueError: the host or the port is invalid, for example because a broker advertises a wrong address.
    """
    if not address.host or not 0 < address.port < 65536:
        raise ValueError("the host is empty" if not address.host else "the port is not between 1 and 65535")
    if _is_ip(address.host):
        return [address.host]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _is_ip(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return True
    return False

"""Host and port of a broker."""

from __future__ import annotations

from typing import NamedTuple

from kgtui.errors import ConfigError


class Address(NamedTuple):
    """Where to connect to."""

    host: str
    port: int

    def __str__(self) -> str:
        """`host:port`, with brackets around an IPv6 address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def split_address(text: str) -> Address:
    """Read `host:port` or `[IPv6]:port`. Raises ConfigError."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    valid = colon and host and port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536
    if not valid or (":" in host and not bracketed):
        raise ConfigError(f"{text!r} is not an address: write host:port, or [IPv6 address]:port")
    return Address(host[1:-1] if bracketed else host, int(port))

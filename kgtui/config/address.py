"""Bootstrap addresses as a user writes them."""

from __future__ import annotations

from kgtui.errors import ConfigError


def parse_bootstrap(text: str, where: str) -> tuple[str, ...]:
    """Split and check `host:port,[IPv6]:port,…`. Raises ConfigError, which begins with `where`."""
    found = tuple(_check_address(part.strip(), where) for part in text.split(",") if part.strip())
    if not found:
        raise ConfigError(f"{where}: no address is given; expected host:port, several separated by commas")
    return found


def _check_address(text: str, where: str) -> str:
    if "://" in text:
        raise ConfigError(
            f"{where}: {text!r}: write only host:port; security.protocol in the command config chooses TLS"
        )
    if text.startswith("[") and text.endswith("]"):
        raise ConfigError(f"{where}: {text!r} has no port: write {text}:9092, or the port that your brokers use")
    host, colon, port = text.rpartition(":")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ConfigError(f"{where}: {text!r}: put an IPv6 address in brackets and the port behind them: [::1]:9092")
    if not colon:
        raise ConfigError(f"{where}: {text!r} has no port: write {text}:9092, or the port that your brokers use")
    if not host.strip("[]"):
        raise ConfigError(f"{where}: {text!r} has no host: write host:{port or 9092}")
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise ConfigError(f"{where}: {port!r} in {text!r} is not a port: expected a number from 1 to 65535")
    return text

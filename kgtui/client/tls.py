"""TLS as Java client properties describe it, with PEM files."""

from __future__ import annotations

import ssl
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tls:
    """How to check a broker's certificate, and what to show of ourselves."""

    verify_hostname: bool = True

    def context(self) -> ssl.SSLContext:
        """Build the context; reads files, so call it off the loop. Raises ConfigError."""
        context = ssl.create_default_context()
        context.check_hostname = self.verify_hostname
        return context

"""How to log in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.client.tls import Tls


class Revealed(str):
    """The text of a secret where a library needs it; still masked where values are printed by `repr`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'****'"


class Secret:
    """A text that is never shown: masked in `repr`, `str` and formats."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = Revealed(text)

    def reveal(self) -> Revealed:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        return "Secret('****')"

    def __str__(self) -> str:
        return "****"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


NO_SECRET = Secret("")


@dataclass(frozen=True, slots=True)
class Security:
    """A way of logging in, from Java client properties.

    Attributes:
        protocol: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`.
        mechanism: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`; None without SASL.
        tls: None without TLS.
        client_id: `client.id`, None where not given.
        request_timeout: seconds for one answer, `request.timeout.ms`.
        api_timeout: seconds for a whole call, `default.api.timeout.ms`.
        warnings: sentences about properties that are not known.
    """

    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str = ""
    password: Secret = NO_SECRET
    tls: Tls | None = None
    client_id: str | None = None
    request_timeout: float | None = None
    api_timeout: float | None = None
    warnings: tuple[str, ...] = field(default=())


PLAINTEXT = Security()

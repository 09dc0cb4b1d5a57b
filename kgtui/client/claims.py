"""Read the claims of a JSON Web Token, and create the advice for users about a wrong clock."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from kgtui.model.rfc3339 import rfc3339

if TYPE_CHECKING:
    from collections.abc import Mapping

SKEW = 30.0
"""Largest clock difference between a broker and the identity provider that brokers accept by default, in seconds.

kgtui applies the same limit to the difference between this machine's clock and the token endpoint's clock. If the
difference is larger, error messages advise users to correct the clock of this machine.
"""

_CHECKED_CLAIMS = {"iss": "issuer", "aud": "audience", "scope": "scope"}
"""Name of a claim (field of a JSON Web Token) that brokers check → word for this claim in kgtui's messages."""


def claims_of(token: str) -> Mapping[str, Any]:
    """Return the claims of a JSON Web Token; empty if the token is malformed. The signature is not checked."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):  # RecursionError: the JSON is nested too deeply
        return {}
    return claims if isinstance(claims, dict) else {}


def time_of(claims: Mapping[str, Any], name: str) -> float | None:
    """Return the time in the claim `name`, in seconds since the epoch; None if the claim is missing or not valid."""
    value: Any = claims.get(name)
    # Reject times from the year 9892 on (250 billion seconds), because Python cannot format dates after the year 9999.
    valid = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 250_000_000_000
    return float(value) if valid else None


def describe(claims: Mapping[str, Any]) -> str:
    """Format the claims that brokers check, for an error message about a token, such as ` (issuer 'a', scope 'b')`.

    The text also contains the validity period (claims `nbf` and `exp`). If the token has none of these claims, the text
    is empty.
    """
    shown = [f"{name} {_shortened(claims[key])}" for key, name in _CHECKED_CLAIMS.items() if key in claims]
    if (start := time_of(claims, "nbf")) is not None:
        shown.append(f"valid from {rfc3339(start, 'seconds')}")
    if (end := time_of(claims, "exp")) is not None:
        shown.append(f"valid until {rfc3339(end, 'seconds')}")
    return f" ({', '.join(shown)})" if shown else ""


def _shortened(value: object) -> str:
    """Return a value as printable ASCII text of at most 100 characters."""
    text = ascii(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def clock_advice(ahead: float) -> str:
    """Return the advice that the user should check the clock of this machine.

    If the clock differs from the token endpoint's clock by more than `SKEW` seconds, the advice is to correct it.

    Args:
        ahead: time of the token endpoint's clock minus time of this machine's clock, in seconds; 0 if unknown.
    """
    if abs(ahead) <= SKEW:
        return "check the clock of this machine"
    return (
        f"the clock of this machine differs from that of the token endpoint by {abs(ahead):.0f} s; correct the clock "
        "of this machine"
    )

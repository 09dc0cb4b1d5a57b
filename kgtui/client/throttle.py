"""How long a broker asks to be left alone."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.protocol.api import Api

_SIZE = 4
_MOST_MS = 600_000
"""No quota's windows reach that far: a longer time stands in a damaged answer, and nobody waits for it."""


def throttle_ms(api: Api, version: int, body: bytes) -> int:
    """Return the throttle time of an answer without decoding it; 0 where this version has none.

    In every answer that matters to us, it is the first field (ApiVersions has it later, and is sent once a
    connection).
    """
    if len(body) < _SIZE or not _comes_first(api, version):
        return 0
    asked = int.from_bytes(body[:_SIZE], "big", signed=True)
    return asked if 0 <= asked <= _MOST_MS else 0


@cache
def _comes_first(api: Api, version: int) -> bool:
    return api.response.struct.untagged(version)[0].name == "ThrottleTimeMs"

"""How long a cluster keeps what groups depend on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Retention:
    """Times in seconds; what is not known is not named.

    Attributes:
        topics: topic → how long it keeps a record (`retention.ms`). Not named are topics that keep records for ever or
            by their keys (`cleanup.policy=compact`), and those that delete by size too (`retention.bytes`): these may
            be faster.
        offsets: how long the offsets of a group without members are kept (`offsets.retention.minutes`).
    """

    topics: Mapping[str, float] = field(default_factory=dict)
    offsets: float | None = None

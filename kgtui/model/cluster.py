"""A cluster as its metadata shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker. `rack` is None if it has none."""

    node: int
    host: str
    port: int
    rack: str | None = None

    @property
    def address(self) -> str:
        """`host:port`, with brackets around an IPv6 address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """Brokers and features of a cluster.

    Attributes:
        cluster_id: None if the broker did not say.
        brokers: by node id.
        controller: node id, or None.
        features: finalized features, such as `share.version` → 1; None where brokers do not tell (before 2.7).
        seeds: the bootstrap addresses in use, `host:port`.
    """

    cluster_id: str | None
    brokers: Mapping[int, Broker] = field(default_factory=dict)
    controller: int | None = None
    features: Mapping[str, int] | None = None
    seeds: tuple[str, ...] = ()

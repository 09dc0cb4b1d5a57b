"""A cluster as its metadata shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


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

    def learned(self, told: Retention, asked: Container[str]) -> Retention:
        """What is known after an answer: where it tells nothing, as much as before.

        Args:
            asked: topics of which it told all there is; empty if part of the answer failed.
        """
        if not told.topics and told.offsets is None:
            return self
        others = {topic: seconds for topic, seconds in self.topics.items() if topic not in asked}
        return Retention(others | dict(told.topics), self.offsets if told.offsets is None else told.offsets)

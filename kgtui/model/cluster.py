"""A cluster as its metadata describes it, and how long it retains records and offsets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker. `rack` is None if the broker has no rack."""

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
        cluster_id: None if the broker did not report it.
        brokers: node id → broker.
        controller: node id of the controller; None if there is none or it is not known.
        features: finalized features, such as `share.version` → 1; None if brokers do not report them (before 2.7).
        seeds: the bootstrap addresses in use, `host:port`.
    """

    cluster_id: str | None
    brokers: Mapping[int, Broker] = field(default_factory=dict)
    controller: int | None = None
    features: Mapping[str, int] | None = None
    seeds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retention:
    """How long the cluster keeps records and committed offsets, in seconds.

    Attributes:
        topics: topic → how long it keeps a record (`retention.ms`). A topic is missing if its retention is not known,
            if it keeps records forever or by key (`cleanup.policy=compact`), or if it also deletes by size
            (`retention.bytes`), because it may then delete sooner.
        offsets: how long the offsets of a group without members are kept (`offsets.retention.minutes`); None if that
            is not known.
    """

    topics: Mapping[str, float] = field(default_factory=dict)
    offsets: float | None = None

    def learned(self, answer: Retention, asked: Container[str]) -> Retention:
        """Return this retention updated with an answer; values that the answer does not contain stay as they were.

        Args:
            asked: topics that the answer covers completely; empty if part of the answer failed. Such a topic is removed
                if the answer does not contain it.
        """
        if not answer.topics and answer.offsets is None:
            return self
        others = {topic: seconds for topic, seconds in self.topics.items() if topic not in asked}
        return Retention(others | dict(answer.topics), self.offsets if answer.offsets is None else answer.offsets)

"""Data classes for a cluster: brokers, features, and how long records and offsets are kept."""

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
        cluster_id: id of the cluster; None if not reported.
        brokers: node id → broker.
        controller: node id of the controller; None if not known.
        features: name of each finalized feature → its level, such as `share.version` → 1; None if the brokers are older
            than Kafka 2.7.
        seeds: bootstrap addresses in use, `host:port`.
    """

    cluster_id: str | None
    brokers: Mapping[int, Broker] = field(default_factory=dict)
    controller: int | None = None
    features: Mapping[str, int] | None = None
    seeds: tuple[str, ...] = ()

    def address(self, node: int | None) -> str | None:
        """Return `host:port` of a broker; None if the cluster has no broker with this node id."""
        broker = None if node is None else self.brokers.get(node)
        return None if broker is None else broker.address


@dataclass(frozen=True, slots=True)
class TopicRules:
    """The configs of a topic that decide when records are deleted.

    Attributes:
        seconds: `retention.ms` in seconds; None if unlimited or not known.
        by_size: whether `retention.bytes` limits the size of the topic's partitions.
        compacted: whether `cleanup.policy` contains `compact`.
        deletes: whether `cleanup.policy` contains `delete`.
        tiered: whether the topic uses tiered storage (KIP-405), in which searches by timestamp can be slow.
        fault: why the configs could not be read, or empty.
    """

    seconds: float | None = None
    by_size: bool = False
    compacted: bool = False
    deletes: bool = True
    tiered: bool = False
    fault: str = ""

    @property
    def retention_if_only_by_age(self) -> float | None:
        """The retention time in seconds, if retention deletes records because of their age, and for no other reason.

        None if `cleanup.policy` does not contain `delete`, if `retention.bytes` is set, or if the retention time is
        unlimited or not known.
        """
        return self.seconds if self.deletes and not self.by_size else None


@dataclass(frozen=True, slots=True)
class Retention:
    """How long the cluster keeps records and committed offsets, in seconds.

    Attributes:
        topics: topic → `retention.ms` in seconds. It contains only topics whose records are deleted because of their
            age, and for no other reason (`TopicRules.retention_if_only_by_age`).
        offsets: `offsets.retention.minutes` in seconds; None if not known.
        rules: topic → all configs that decide when records are deleted; empty if the data comes from a recording.
    """

    topics: Mapping[str, float] = field(default_factory=dict)
    offsets: float | None = None
    rules: Mapping[str, TopicRules] = field(default_factory=dict)

    def updated(self, answer: Retention, asked: Container[str]) -> Retention:
        """Return a copy with the newer values in `answer`.

        Args:
            answer: the newer values. If `answer.topics` is empty and `answer.offsets` is None, only `rules` is updated.
            asked: topics whose configs were read for `answer`. When `topics` is updated, the old values of these topics
                are dropped, even if `answer` has no new values for them.
        """
        rules = {**self.rules, **answer.rules}
        if not answer.topics and answer.offsets is None:
            return Retention(self.topics, self.offsets, rules)
        others = {topic: seconds for topic, seconds in self.topics.items() if topic not in asked}
        offsets = self.offsets if answer.offsets is None else answer.offsets
        return Retention(others | dict(answer.topics), offsets, rules)

"""`__consumer_offsets` of a cluster, by Spark's Kafka source.

That source sees internal topics only with the session option `useDeprecatedOffsetFetching` and partitions assigned by
name; otherwise it returns nothing and says nothing. In that mode it must never subscribe: it would join a group and
commit to the very topic that it reads. So partitions are counted by an admin client, and what came is checked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.errors import SourceError
from kgtui.pipeline.sources import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

TOPIC = "__consumer_offsets"

NOT_PERMITTED = f"not permitted to read {TOPIC}: the user needs Read and Describe on this topic"
"""Whoever finds it out, our admin client or Spark's source."""

GROUP_PREFIX = "kgtui"
"""Spark's consumers name groups that begin so, for quotas and ACLs; they join none and commit nothing."""

_SECURITY = ("security.", "sasl.", "ssl.")
_CLIENT = ("client.dns.lookup", "request.timeout.ms", "default.api.timeout.ms")
_NOT_FOR_CONSUMERS = ("security.providers",)


@dataclass(frozen=True, slots=True)
class OffsetsTopic:
    """The topic as an admin client found it.

    Attributes:
        seeds: bootstrap addresses, `host:port`.
        bounds: partition → first offset and next offset.
        properties: Java client properties, with secrets.
        cluster_id: the cluster's, if it tells one.
        offsets_retention: seconds for which the brokers keep offsets of groups without members, if they tell.
    """

    seeds: tuple[str, ...]
    bounds: Mapping[int, tuple[int, int]]
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    cluster_id: str | None = None
    offsets_retention: float | None = None

    @property
    def size(self) -> int:
        """Offsets between the ends of its logs; an upper bound of its records."""
        return sum(end - start for start, end in self.bounds.values())


def read(spark: SparkSession, topic: OffsetsTopic) -> DataFrame:
    """All records that there are now: partition, offset, timestamp, key, value."""
    ends = json.dumps({TOPIC: {str(partition): end for partition, (_, end) in topic.bounds.items()}})
    reader = spark.read.format("kafka").options(**_options(topic))
    return reader.option("startingOffsets", "earliest").option("endingOffsets", ends).load().select(*COLUMNS)


def stream(
    spark: SparkSession, topic: OffsetsTopic, *, since: float | None = None, at_once: int = 4_000_000
) -> DataFrame:
    """The records as they come, from the first one on: columns as `read`.

    Args:
        since: begin at this time, in seconds since the epoch; only counts when the stream starts for the first time.
        at_once: records of one batch, at most.
    """
    reader = spark.readStream.format("kafka").options(**_options(topic)).option("maxOffsetsPerTrigger", at_once)
    if since is None:
        reader = reader.option("startingOffsets", "earliest")
    else:
        reader = reader.option("startingTimestamp", round(since * 1000))
        reader = reader.option("startingOffsetsByTimestampStrategy", "latest")
    return reader.load().select(*COLUMNS)


def security_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Java client properties that say how to log in, as options of the Kafka source.

    They reach Spark through its own channel, never a command line; `session.SECRETS` hides them in plans.
    """
    return {
        f"kafka.{name}": value
        for name, value in properties.items()
        if (name.startswith(_SECURITY) and name not in _NOT_FOR_CONSUMERS) or name in _CLIENT
    }


def check_seen(topic: OffsetsTopic, seen: Mapping[int, int], rows: int | None) -> None:
    """Make sure that a read that ended saw what the admin client saw before it.

    Args:
        seen: partition → offset up to which the source has read.
        rows: records that it gave; None when that is not known, or may be none.

    Raises:
        SourceError: it did not.
    """
    unseen = sorted(partition for partition, (_, end) in topic.bounds.items() if end > 0 and partition not in seen)
    if unseen or (topic.size and rows == 0):
        what = f"its partitions {_few(unseen)}" if unseen else "any record"
        raise SourceError(
            f"{TOPIC} holds up to {topic.size} records, and Spark's Kafka source did not see {what}: internal topics "
            "are visible to it only with spark.sql.streaming.kafka.useDeprecatedOffsetFetching=true, which a cluster "
            "may have forbidden"
        )


def explained(message: str) -> str | None:
    """What Kafka's own error in a message of Spark's means and what to do; None when there is none."""
    for name, meaning in _ERRORS.items():
        if name in message:
            return meaning
    return None


_ERRORS = {
    "TopicAuthorizationException": NOT_PERMITTED,
    "GroupAuthorizationException": "not permitted to use a consumer group for reading: the user needs Read on groups "
    f"whose names begin with {GROUP_PREFIX}",
    "SaslAuthenticationException": "the brokers refused the login",
    "SslAuthenticationException": "no TLS connection to the brokers: its certificate or ours was refused",
    "No resolvable bootstrap urls": "none of the bootstrap addresses can be resolved from where Spark runs",
    "Failed to construct kafka consumer": "Spark's Kafka consumer could not be made with these client properties",
    "org.apache.kafka.common.errors.TimeoutException": f"the brokers did not answer Spark in time when it read {TOPIC}",
}


def _options(topic: OffsetsTopic) -> dict[str, str]:
    return security_options(topic.properties) | {
        "kafka.bootstrap.servers": ",".join(topic.seeds),
        "kafka.isolation.level": "read_committed",
        "assign": json.dumps({TOPIC: sorted(topic.bounds)}),
        "groupIdPrefix": GROUP_PREFIX,
        "failOnDataLoss": "true",
    }


def _few(numbers: list[int], most: int = 10) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown} and {len(numbers) - most} more"

"""Gold `cleanup`: groups without members that commit no more, and families of such, at the end of each day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import BOTH, CLEANUP, RECORDED, SILVER
from kgtui.model.group_types import CONSUMER, SHARE, STREAMS
from kgtui.pipeline.spark_schema import conform
from kgtui.pipeline.transforms.recorded import instant

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import Column, DataFrame

OFFSETS_RETENTION = 604_800
"""Kafka's default of `offsets.retention.minutes`, in seconds."""
IDLE = 86_400
"""Seconds for which a group without members is not called unused yet."""

_TOLD = ("type", "state", "members", "last_commit", "quiet_since", "empty_since", "partitions", "topics", "lag")


def cleanup(
    recorded: DataFrame,
    read: DataFrame,
    *,
    since: date | None = None,
    offsets_retention: int = OFFSETS_RETENTION,
    idle: int = IDLE,
) -> DataFrame:
    """The table `cleanup`.

    Args:
        recorded: what `recorded_activity` gave.
        read: what `read_activity` gave, of records of `__consumer_offsets`.
        since: the first day that is wanted.
        offsets_retention: seconds for which brokers keep the offsets of a group without members.
        idle: seconds from which a group counts as unused.
    """
    groups = _of_both(recorded, read).withColumn("family", family_of(F.col("group")))
    groups = groups.withColumn("unused", _unused(idle)).withColumn("expires_at", _expiry(offsets_retention))
    families = groups.filter(F.col("family").isNotNull()).transform(_families)
    known = families.select("day", F.col("name").alias("family"), "groups")
    one = (
        groups.filter("unused")
        .join(known.withColumnRenamed("groups", "together"), ["day", "family"], "left")
        .withColumns({
            "kind": F.lit("group"),
            "name": F.col("group"),
            "family": F.when(F.col("together") > 1, F.col("family")),
            "groups": F.lit(1),
        })
    )  # fmt: skip
    whole = families.filter((F.col("groups") > 1) & (F.col("groups") == F.col("idle")))
    found = one.transform(_contract).unionByName(whole.transform(_contract))
    return found if since is None else found.filter(F.col("day") >= F.lit(since))


def family_of(group: Column) -> Column:
    """The family of a name by its first separator, as the tree has it: `team-007.settle` → `team-007.*`."""
    found = F.lit(None).cast("string")
    for separators in ("-", ":/_", "."):
        ends = F.array(*(F.instr(group, sign) for sign in separators))
        end = F.array_min(F.filter(ends, lambda at: at > 1))
        family = F.concat(F.substring(group, F.lit(1), end), F.lit("*"))
        found = F.when(end < F.length(group), family).otherwise(found)
    return found


def _of_both(recorded: DataFrame, read: DataFrame) -> DataFrame:
    """Each group once. On a day that was recorded the groups are those that were listed then."""
    ours = recorded.select("day", "group", *(F.col(name).alias(f"seen_{name}") for name in (*_TOLD, "at", "first")))
    theirs = read.select("day", "group", *(F.col(name).alias(f"read_{name}") for name in (*_TOLD, "at", "first")))
    days = recorded.select("day").distinct().withColumn("recorded_day", F.lit(True))
    both = ours.join(theirs, ["day", "group"], "full").join(F.broadcast(days), "day", "left")
    both = both.filter(F.col("seen_at").isNotNull() | F.col("recorded_day").isNull())
    newest = {name: F.greatest(f"seen_{name}", f"read_{name}") for name in ("last_commit", "at")}
    earliest = {"first": F.least("seen_first", "read_first")}
    rest = {
        name: F.coalesce(f"seen_{name}", f"read_{name}")
        for name in ("type", "state", "members", "partitions", "topics", "lag")
    }
    # Both say at the latest: the commits themselves are nearer to the truth than when somebody began to look.
    since = {name: F.coalesce(f"read_{name}", f"seen_{name}") for name in ("quiet_since", "empty_since")}
    seen, known = F.col("seen_at").isNotNull(), F.col("read_at").isNotNull()
    source = F.when(seen & known, BOTH).when(seen, RECORDED).otherwise(SILVER)
    return both.withColumns({**newest, **earliest, **rest, **since, "source": source}).withColumn(
        "quiet_since", F.greatest("quiet_since", "last_commit", "empty_since")
    )


def _unused(idle: int) -> Column:
    nobody = F.col("state").isin("Empty", "Dead") | (F.coalesce("members", F.lit(0)) == 0) & F.col("state").isNull()
    return nobody & (F.col("at") - F.col("quiet_since") >= idle * 1000)


def _expiry(retention: int) -> Column:
    """At the latest; those of new types expire by their commits, of classic groups since they are Empty (KIP-211)."""
    by_commit = F.coalesce("last_commit", "quiet_since")
    base = (
        F.when(F.col("type") == SHARE, F.lit(None).cast("long"))
        .when(F.col("type").isin(CONSUMER, STREAMS), by_commit)
        .otherwise(F.coalesce("empty_since", by_commit))
    )
    return F.when(F.coalesce("partitions", F.lit(1)) > 0, base + retention * 1000)


def _families(groups: DataFrame) -> DataFrame:
    return groups.groupBy("day", "family").agg(
        F.lit("family").alias("kind"),
        F.col("family").alias("name"),
        F.count(F.lit(1)).cast("int").alias("groups"),
        F.count_if(F.coalesce("unused", F.lit(False))).alias("idle"),
        *(F.sum(name).alias(name) for name in ("partitions", "lag")),
        *(F.max(name).alias(name) for name in ("topics", "last_commit", "quiet_since", "empty_since", "expires_at")),
        F.max("source").alias("source"),
        F.min("first").alias("first"),
        F.max("at").alias("at"),
    ).withColumns({"family": F.lit(None).cast("string"), "topics": F.lit(None).cast("int")})  # fmt: skip


def _contract(rows: DataFrame) -> DataFrame:
    times = ("last_commit", "quiet_since", "empty_since", "expires_at")
    for name in ("type", "state"):
        if name not in rows.columns:
            rows = rows.withColumn(name, F.lit(None).cast("string"))
    return rows.withColumns({
        **{name: instant(F.col(name)) for name in times},
        "covered_from": instant(F.col("first")),
        "covered_to": instant(F.col("at")),
    }).transform(conform, CLEANUP)  # fmt: skip

"""The gold table `cleanup`: groups, and families of groups, that are unused at the end of each day.

A family consists of all groups whose ids have the same prefix, such as `team-007.`. When each group
was last active is found from the polls of a recording (`recorded_activity`), and from the decoded
records of `__consumer_offsets` (`decoded_activity`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import BOTH, CLEANUP, RECORDED, SILVER
from kgtui.model.group import PREFIX_SEPARATORS
from kgtui.model.group_types import TYPES_BY_OFFSET_EXPIRY, OffsetExpiry
from kgtui.model.problem import ABANDONED_AFTER
from kgtui.pipeline.spark_schema import conform
from kgtui.pipeline.transforms.lag import with_offset_summary
from kgtui.pipeline.transforms.recorded_state import (
    GROUP_KEY,
    PARTITION_KEY,
    day_start,
    state_at,
    time_slots,
    to_day,
    to_timestamp,
    with_timeline,
)

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import Column, DataFrame

OFFSETS_RETENTION = 604_800
"""Default value of the broker option `offsets.retention.minutes`, converted to seconds."""
IDLE = round(ABANDONED_AFTER)
"""A group is unused if it had no members and made no commits for this many seconds."""

_DAY = 86_400
_EMPTY = "Empty"
_UNUSED = (_EMPTY, "Dead")
"""Group states in which a group has no members."""
_ACTIVITY = ("type", "state", "members", "last_commit", "quiet_since", "empty_since", "partitions", "topics", "lag")


def cleanup(
    recorded: DataFrame,
    decoded: DataFrame,
    *,
    since: date | None = None,
    offsets_retention: int = OFFSETS_RETENTION,
    idle: int = IDLE,
) -> DataFrame:
    """Compute the gold table `cleanup`: groups and families that are unused at the end of a day.

    Args:
        recorded: last activity of each group according to polls, from `recorded_activity`.
        decoded: last activity of each group according to decoded records, from `decoded_activity`.
        since: first day to return; None for all days.
        offsets_retention: time for which brokers keep offsets of groups without members, in
            seconds.
        idle: time without members and commits after which a group is unused, in seconds.
    """
    groups = _combined(recorded, decoded).withColumn("family", family_of(F.col("group")))
    groups = groups.withColumn("unused", _is_unused(idle)).withColumn("expires_at", _expires_at(offsets_retention))
    families = groups.filter(F.col("family").isNotNull()).transform(_families)
    sizes = families.select("day", F.col("name").alias("family"), F.col("groups").alias("family_size"))
    single = (
        groups.filter("unused")
        .join(sizes, ["day", "family"], "left")
        .withColumns({
            "kind": F.lit("group"),
            "name": F.col("group"),
            "family": F.when(F.col("family_size") > 1, F.col("family")),
            "groups": F.lit(1),
        })
    )  # fmt: skip
    unused_families = families.filter((F.col("groups") > 1) & (F.col("groups") == F.col("unused_groups")))
    rows = single.transform(_to_table).unionByName(unused_families.transform(_to_table))
    return rows if since is None else rows.filter(F.col("day") >= F.lit(since))


def family_of(group: Column) -> Column:
    """Return the family of a group id, such as `team-007.*` for `team-007.settle`, or null.

    A family consists of all groups whose ids begin with the same prefix. The prefix of a group id
    ends with its first `.`. If the id has no usable `.`, the prefix ends with the first `:`, `/` or
    `_`. If it has none of these, the prefix ends with the first `-` (see `PREFIX_SEPARATORS`). A
    separator is not usable if its first occurrence is the first or the last character of the id.
    The result is null if there is no usable separator.
    """
    family = F.lit(None).cast("string")
    # Search the group id for hyphens first, and for dots last. Each match replaces the previous
    # one, so that dots take precedence over all other separators.
    for separators in reversed(PREFIX_SEPARATORS):
        positions = F.array(*(F.instr(group, separator) for separator in separators))
        end = F.array_min(F.filter(positions, lambda position: position > 1))
        prefix = F.concat(F.substring(group, F.lit(1), end), F.lit("*"))
        family = F.when(end < F.length(group), prefix).otherwise(family)
    return family


def _combined(recorded: DataFrame, decoded: DataFrame) -> DataFrame:
    """Join what polls and decoded records show about each group into one row per group and day.

    If a day has polls, groups that are missing from the polls are left out, because these groups no
    longer exist.

    Args:
        recorded: last activity of each group according to polls, from `recorded_activity`.
        decoded: last activity of each group according to decoded records, from `decoded_activity`.
    """
    columns = (*_ACTIVITY, "at", "first")
    recorded_days = recorded.select("day").distinct().withColumn("recorded_day", F.lit(True))
    only_recorded = ("protocol", "offsets_may_be_hidden")
    recorded = recorded.select(
        "day", "group", *only_recorded, *(F.col(name).alias(f"recorded_{name}") for name in columns)
    )
    decoded = decoded.select("day", "group", *(F.col(name).alias(f"decoded_{name}") for name in columns))
    both = recorded.join(decoded, ["day", "group"], "full").join(F.broadcast(recorded_days), "day", "left")
    both = both.filter(F.col("recorded_at").isNotNull() | F.col("recorded_day").isNull())
    latest = {name: F.greatest(f"recorded_{name}", f"decoded_{name}") for name in ("last_commit", "at")}
    earliest = {"first": F.least("recorded_first", "decoded_first")}
    rest = {
        name: F.coalesce(f"recorded_{name}", f"decoded_{name}")
        for name in ("type", "state", "members", "partitions", "topics", "lag")
    }
    # Prefer the times from decoded records. Unlike polls, decoded records also show commits
    # (`quiet_since`) and departures of members (`empty_since`) from before the first poll.
    since = {name: F.coalesce(f"decoded_{name}", f"recorded_{name}") for name in ("quiet_since", "empty_since")}
    in_recorded, in_decoded = F.col("recorded_at").isNotNull(), F.col("decoded_at").isNotNull()
    source = F.when(in_recorded & in_decoded, BOTH).when(in_recorded, RECORDED).otherwise(SILVER)
    # If a group has decoded records, all its offsets are known, because ACLs can hide offsets only
    # from polls.
    hidden = {"offsets_may_be_hidden": F.col("offsets_may_be_hidden") & ~in_decoded}
    return both.withColumns({**latest, **earliest, **rest, **since, **hidden, "source": source}).withColumn(
        "quiet_since", F.greatest("quiet_since", "last_commit", "empty_since")
    )


def _is_unused(idle: int) -> Column:
    no_members = (F.coalesce("members", F.lit(0)) == 0) & F.col("state").isNull()
    no_members = F.col("state").isin(*_UNUSED) | no_members
    return no_members & (F.col("at") - F.col("quiet_since") >= idle * 1000)


def _expires_at(retention: int) -> Column:
    """Return a Spark expression: when brokers will have deleted all offsets of a group (KIP-211).

    The result is in milliseconds since the epoch. For classic groups with a protocol type, the
    retention time begins when the group becomes Empty. For other groups, the retention time begins
    with the last commit. The result is null if the group has no offsets, or if brokers never delete
    its offsets (share groups).

    Args:
        retention: time for which brokers keep the offsets, in seconds.
    """
    # Without a decoded commit, the last commit is known only from polls. Polls do not show commits
    # that repeat the previous offset, so the last commit may have been later. Therefore, use
    # `quiet_since`, which is never before the last commit that polls show, and can be later.
    group_type, is_simple = F.col("type"), F.coalesce(F.col("protocol") == "", F.lit(False))
    by_commit = F.when(F.col("decoded_last_commit").isNotNull(), F.col("last_commit")).otherwise(F.col("quiet_since"))
    after_commit = group_type.isin(*TYPES_BY_OFFSET_EXPIRY[OffsetExpiry.AFTER_COMMIT]) | is_simple
    base = (
        F.when(group_type.isin(*TYPES_BY_OFFSET_EXPIRY[OffsetExpiry.NEVER]), F.lit(None).cast("long"))
        .when(after_commit, by_commit)
        .otherwise(F.coalesce("empty_since", by_commit))
    )
    return F.when(F.coalesce("partitions", F.lit(1)) > 0, base + retention * 1000)


def _families(groups: DataFrame) -> DataFrame:
    return groups.groupBy("day", "family").agg(
        F.lit("family").alias("kind"),
        F.col("family").alias("name"),
        F.count(F.lit(1)).cast("int").alias("groups"),
        F.count_if(F.coalesce("unused", F.lit(False))).alias("unused_groups"),
        *(F.sum(name).alias(name) for name in ("partitions", "lag")),
        *(F.max(name).alias(name) for name in ("topics", "last_commit", "quiet_since", "empty_since", "expires_at")),
        F.bool_or("offsets_may_be_hidden").alias("offsets_may_be_hidden"),
        F.max("source").alias("source"),
        F.min("first").alias("first"),
        F.max("at").alias("at"),
    ).withColumns({"family": F.lit(None).cast("string"), "topics": F.lit(None).cast("int")})  # fmt: skip


def _to_table(rows: DataFrame) -> DataFrame:
    times = ("last_commit", "quiet_since", "empty_since", "expires_at")
    for name in ("type", "state"):
        if name not in rows.columns:
            rows = rows.withColumn(name, F.lit(None).cast("string"))
    return rows.withColumns({
        **{name: to_timestamp(F.col(name)) for name in times},
        "covered_from": to_timestamp(F.col("first")),
        "covered_to": to_timestamp(F.col("at")),
    }).transform(conform, CLEANUP)  # fmt: skip


def groups_without_members(timeline: DataFrame, groups: DataFrame, *, since: date | None = None) -> DataFrame:
    """Return the ids of all groups that can be unused at the end of at least one day.

    These are groups without members, and groups whose state is unknown. All other groups are in
    use.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        groups: recorded table `groups`.
        since: first day to search; None for all days. The last day with polls before `since` is
            searched, too.

    Returns:
        DataFrame with the column `group`
    """
    times = time_slots(timeline, _DAY, None if since is None else day_start(since)).select("at", "keyframe")
    at_end = state_at(with_timeline(groups, timeline), times, GROUP_KEY)
    return at_end.filter(F.col("state").isNull() | F.col("state").isin(*_UNUSED)).select("group").distinct()


def recorded_activity(
    timeline: DataFrame, groups: DataFrame, partitions: DataFrame, *, since: date | None = None
) -> DataFrame:
    """Return the state and last activity of each group at the end of each day, as polls show them.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        groups, partitions: the recorded tables with these names.
        since: first day to return; None for all days. The last day with polls before `since` is
            returned, too.

    Returns:
        DataFrame with one row per group and day. It has columns such as `state` and `members`, and
            these times of polls, in milliseconds since the epoch:

        - `last_commit`: last poll that found a changed offset; null if no offset has changed
        - `quiet_since`: start of the time without observed commits. This is `last_commit` or, if
          that is null, the first poll with an offset of the group. If the group has no offsets, it
          is `first`.
        - `empty_since`: first poll of the current Empty state; null in other states
        - `first`: first poll with the group
        - `at`: last poll of the day
    """
    times = time_slots(timeline, _DAY, None if since is None else day_start(since)).select("at", "keyframe")
    group_rows = with_timeline(groups, timeline).transform(_with_empty_since)
    partition_rows = (
        with_timeline(partitions, timeline).transform(with_offset_summary).transform(_with_last_offset_change)
    )
    sums = state_at(partition_rows, times, PARTITION_KEY).groupBy("at", "group").agg(
        F.max("moved_at").alias("last_commit"),
        F.min("seen_at").alias("seen_at"),
        F.count(F.lit(1)).cast("int").alias("partitions"),
        F.count_distinct("topic").cast("int").alias("topics"),
        F.sum("lag").alias("lag"),
    )  # fmt: skip
    return state_at(group_rows, times, GROUP_KEY).join(sums, ["at", "group"], "left").select(
        to_day(F.col("at")).alias("day"),
        "group",
        "type",
        "protocol",
        "state",
        "members",
        "last_commit",
        F.coalesce("last_commit", "seen_at", "first").alias("quiet_since"),
        "empty_since",
        F.coalesce("partitions", F.lit(0)).alias("partitions"),
        F.coalesce("topics", F.lit(0)).alias("topics"),
        "lag",
        "offsets_may_be_hidden",
        "first",
        "at",
    )  # fmt: skip


def _with_empty_since(groups: DataFrame) -> DataFrame:
    """Add the times of two polls to each row about a group.

    - `first`: first poll with the group
    - `empty_since`: first poll of the current Empty state; null in other states
    """
    order = Window.partitionBy("group").orderBy("poll")
    empty = F.coalesce(F.col("state") == _EMPTY, F.lit(False))
    begins = empty & ~F.coalesce(F.lag("state").over(order) == _EMPTY, F.lit(False))
    rows = groups.withColumn("begins", F.when(begins, F.col("poll")))
    return rows.withColumns({
        "empty_since": F.when(empty, F.last("begins", ignorenulls=True).over(order)),
        "first": F.min("poll").over(order),
    }).drop("begins")  # fmt: skip


def _with_last_offset_change(partitions: DataFrame) -> DataFrame:
    """Add the times of two polls to each row about a partition.

    - `moved_at`: last poll, up to the poll of the row, that found a changed committed offset or
      share-partition start offset; null if none did
    - `seen_at`: first poll with a row about the partition
    """
    order = Window.partitionBy(*PARTITION_KEY).orderBy("poll")
    before = F.last("position", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    moved = before.isNotNull() & (F.col("position") != before)
    rows = partitions.withColumn("moves", F.when(moved, F.col("poll")))
    return rows.withColumns({
        "moved_at": F.last("moves", ignorenulls=True).over(order),
        "seen_at": F.min("poll").over(order),
    }).drop("moves")  # fmt: skip


def decoded_activity(commits: DataFrame, events: DataFrame, days: DataFrame) -> DataFrame:
    """Return the state and last activity of each group at the end of each day, from silver tables.

    The columns are those of `recorded_activity`, without `protocol` and `offsets_may_be_hidden`.
    However, the times are those of commits and records, not of polls. `empty_since` is the time of
    the newest change to the group or a member, and is also set in states other than Empty.

    Args:
        commits, events: silver tables `commits` and `group_events`.
        days: one row per day, with the columns `day` and `at`: time of the day's last poll or
            record, in milliseconds since the epoch. Records after `at` are not used for this day.
    """
    by_group = _committed(commits, days).join(_group_events(events, days), ["day", "at", "group"], "full")
    exists = (F.col("partitions") > 0) | F.coalesce(F.col("exists"), F.lit(False))
    return by_group.filter(exists).select(
        "day",
        "group",
        "type",
        F.when(F.col("members") > 0, F.lit(None)).otherwise(F.lit(_EMPTY)).alias("state"),
        F.coalesce("members", F.lit(0)).alias("members"),
        "last_commit",
        F.coalesce(F.greatest("last_commit", "changed_at"), "at").alias("quiet_since"),
        F.col("changed_at").alias("empty_since"),
        F.coalesce("partitions", F.lit(0)).cast("int").alias("partitions"),
        F.coalesce("topics", F.lit(0)).cast("int").alias("topics"),
        F.lit(None).cast("long").alias("lag"),
        F.least("first_commit", "first_event").alias("first"),
        "at",
    )


def _committed(commits: DataFrame, days: DataFrame) -> DataFrame:
    """Return what decoded offset commits show about each group at the end of each day.

    The result has one row per day and group, with the columns day, `at`, group, `last_commit`,
    `first_commit` (times in milliseconds since the epoch), and the numbers of partitions and topics
    with offsets.

    Args:
        commits: silver table `commits`.
        days: see `decoded_activity`.
    """
    # Join `days` only with the last commit of each partition and day, because a join with all
    # commits would be slow.
    daily = commits.groupBy("day", *PARTITION_KEY).agg(
        F.max_by("offset", "record_offset").alias("offset"),
        F.max_by(F.unix_millis("commit_time"), "record_offset").alias("commit_time"),
        F.min(F.unix_millis("record_time")).alias("time"),
        F.max(F.unix_millis("record_time")).alias("upto"),
        F.max("record_offset").alias("newest"),
    )
    order = Window.partitionBy(*PARTITION_KEY).orderBy("newest")
    until = F.min("upto").over(order.rowsBetween(1, Window.unboundedFollowing))
    spans = daily.drop("day").withColumns({"time": F.min("time").over(order), "until": until})
    valid = (F.col("upto") <= F.col("at")) & (F.col("until").isNull() | (F.col("until") > F.col("at")))
    last = spans.join(F.broadcast(days), valid)
    has_offset = F.col("offset").isNotNull()
    return last.groupBy("day", "at", "group").agg(
        F.max(F.when(has_offset, F.col("commit_time"))).alias("last_commit"),
        F.count_if(has_offset).alias("partitions"),
        F.count_distinct(F.when(has_offset, F.col("topic"))).alias("topics"),
        F.min("time").alias("first_commit"),
    )


def _group_events(events: DataFrame, days: DataFrame) -> DataFrame:
    """Return what decoded records about groups and members show about each group at each day's end.

    The result has one row per day and group. Times are in milliseconds since the epoch. The columns
    are day, `at` (see `decoded_activity`), group, type, members, and

    - `changed_at`: time of the newest change to the group or a member
    - `exists`: false if the group and all its members were deleted
    - `first_event`: time of the oldest record about the group or a member

    Args:
        events: silver table `group_events`.
        days: see `decoded_activity`.
    """
    rows = events.filter(F.col("about").isin("group", "member")).withColumn("time", F.unix_millis("record_time"))
    known = rows.drop("day").join(F.broadcast(days), F.col("time") <= F.col("at"))
    newest = F.struct("tombstone", "type", "members", "time", F.unix_millis("state_time").alias("state_time"))
    last = known.groupBy("day", "at", "group", "about", "member_id").agg(
        F.max_by(newest, "record_offset").alias("last"), F.min("time").alias("first")
    )
    about_group, exists = F.col("about") == "group", ~F.col("last.tombstone")
    classic = about_group & exists & (F.col("last.type") == "classic")
    member_records = F.count_if((F.col("about") == "member") & exists)
    classic_members = F.coalesce(F.max(F.when(classic, F.col("last.members"))), F.lit(0))
    changed_at = F.when(classic, F.coalesce("last.state_time", "last.time")).otherwise(F.col("last.time"))
    return last.groupBy("day", "at", "group").agg(
        F.max(F.when(exists, F.col("last.type"))).alias("type"),
        F.greatest(classic_members, member_records).cast("int").alias("members"),
        F.max(changed_at).alias("changed_at"),
        F.bool_or(exists).alias("exists"),
        F.min("first").alias("first_event"),
    )

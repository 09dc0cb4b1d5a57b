"""Build commit windows. A commit window holds the newest commits of a group in one partition.

The gold table `health` has a row per time slot (by default five minutes). The health of a group is
computed from its commit windows at the last poll of the time slot. The commits have two sources:

- polls of a recording (see `observed_windows`). Polls do not show commits that repeat an offset.
- the silver table `commits`, with the decoded records of `__consumer_offsets`. Compaction of this
  topic may have removed some commits.

The commits from the silver table are used if they are complete. They are complete if all these
conditions hold:

- The commit window is full: it has `Options.intervals` commits.
- The commit window begins after the latest gap (missing polls of the recording).
- The last offset in the commit window is the committed offset that the last poll of the time slot
  has read.
- The silver table contains records up to the time of this poll, or later ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.model.burrow import DEFAULTS
from kgtui.pipeline.transforms.health_state import COMMIT, DECODED
from kgtui.pipeline.transforms.observed_windows import lag_of_commit, newest_commits, observed_windows
from kgtui.pipeline.transforms.recorded_state import PARTITION_KEY, with_timeline

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kgtui.model.burrow import Options
    from kgtui.pipeline.transforms.health_state import Carried

_LOG = ("topic", "partition")


def commit_windows(
    timeline: DataFrame,
    partitions: DataFrame,
    times: DataFrame,
    *,
    commits: DataFrame | None = None,
    options: Options = DEFAULTS,
    carried: Carried | None = None,
) -> DataFrame:
    """Return the newest commits of each group in each partition at the last poll of each time slot.

    The commits come from polls or from the silver table `commits`. The module docstring says which
    source is used.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        partitions: recorded table `partitions`.
        times: result of `time_slots`, with one row per time slot. If it has the column `ends_hour`,
            the result has the column `saved` with the state for the next run.
        commits: silver table `commits`; None to use polls only.
        carried: state that an earlier run saved at a poll. The state replaces all rows up to this
            poll. None to use all rows.

    Returns:
        DataFrame with the columns of `observed_windows`. If `commits` is not None, the result also
            has the column `exact`: whether the commits of a row come from the silver table.
    """
    windows = observed_windows(timeline, partitions, times, options, carried)
    if commits is not None:
        if "saved" in windows.columns or carried is not None:
            windows = windows.localCheckpoint()
        windows = windows.transform(with_silver_commits, commits, partitions, timeline, options, carried)
    elif "saved" in windows.columns:
        saved = F.struct("saved.*", F.lit(None).cast(DECODED).alias("decoded"))
        windows = windows.withColumn("saved", F.when(F.col("saved").isNotNull(), saved))
    # Checkpoint the result, because it is used twice to compute the gold table `health`. There is a
    # second reason: without the checkpoint, the query plan would have more than the 100 nested
    # messages that Spark Connect allows.
    return windows.localCheckpoint()


def with_silver_commits(
    observed: DataFrame,
    commits: DataFrame,
    partitions: DataFrame,
    timeline: DataFrame,
    options: Options,
    carried: Carried | None = None,
) -> DataFrame:
    """Replace observed commits with commits from the silver table, where the latter are complete.

    Observed commits are changes of the committed offset between two polls. The silver table
    `commits` has decoded records of `__consumer_offsets`. Its commits in a partition are complete
    if they fill the commit window (the newest `Options.intervals` commits), and agree with the last
    poll of the time slot. The module docstring lists the exact conditions.

    Args:
        observed: result of `observed_windows`, with one row per time slot, group and partition.
        commits: silver table `commits`.
        partitions: recorded table `partitions`, from which log end offsets are taken.
        timeline: result of `poll_timeline`, with one row per poll.
        carried: state of an earlier run from which `observed` was computed; None if there was none.

    Returns:
        The rows of `observed`, with the new column `exact`: whether the commits of the row were
            replaced. If `observed` has the struct column `saved`, the struct gets the new field
            `decoded` (see `health_state.DECODED`).
    """
    # `read_until` is the time of the newest decoded record. Search only records that are newer than
    # the carried state.
    recent = commits if carried is None else commits.filter(_is_after(carried.at))
    read_until = recent.agg(F.max(F.unix_millis("record_time")).alias("read_until"))
    if carried is not None:
        commits, partitions = _after_state(observed, commits, partitions, carried)
    saves = "saved" in observed.columns
    asked = observed.filter(F.col("saved").isNotNull()).select("at", *PARTITION_KEY) if saves else None
    rings = with_timeline(partitions, timeline).transform(_commit_rings, commits, options, carried, asked)
    order = Window.partitionBy(*PARTITION_KEY).orderBy("at", F.col("is_query").isNotNull(), "record_offset")
    both = observed.withColumn("is_query", F.lit(True)).unionByName(rings, allowMissingColumns=True)
    newest = F.when(F.col("ring").isNotNull(), F.struct("ring", "at", "record_offset"))
    both = both.withColumn("newest", F.last(newest, ignorenulls=True).over(order))
    if saves:
        both = both.withColumn("known_log", F.last("known_log", ignorenulls=True).over(order))
    both = both.filter("is_query").withColumn("ring", F.col("newest.ring"))
    exact = (
        (F.size("ring") == options.intervals)
        & (F.element_at("ring", 1)["at"] >= F.col("steady_since"))
        & (F.element_at("ring", -1)["offset"] == F.col("position"))
        & (F.col("read_until") >= F.col("at"))
    )
    both = both.join(F.broadcast(read_until)).withColumn("exact", F.coalesce(exact, F.lit(False)))
    if saves:
        decoded = F.struct("newest.*", F.col("known_log.end").alias("log_end")).cast(DECODED)
        saved = F.when(F.col("saved").isNotNull(), F.struct("saved.*", decoded.alias("decoded")))
        both = both.withColumn("saved", saved)
    window = F.when(F.col("exact"), F.col("ring")).otherwise(F.col("commits"))
    both = both.withColumn("commits", window)
    return both.drop("is_query", "ring", "read_until", "record_offset", "newest", "known_log")


def _after_state(
    observed: DataFrame, commits: DataFrame, partitions: DataFrame, carried: Carried
) -> tuple[DataFrame, DataFrame]:
    """Return a pair: the rows of `commits` and `partitions` that the saved state does not replace.

    These are all rows after the poll `carried.at`, at which the state was saved. If the state
    contains no decoded commits of a partition, earlier rows about the partition are needed, too.
    """
    known = carried.rows.filter(F.col("carried.decoded").isNotNull())
    unknown = observed.select(*PARTITION_KEY).distinct().join(known, [*PARTITION_KEY], "left_anti")
    later, log_ends = commits.filter(_is_after(carried.at)), partitions.filter(F.col("poll") > carried.at)
    unknown = unknown.localCheckpoint()
    if unknown.isEmpty():
        return later, log_ends
    older = commits.filter(~_is_after(carried.at)).join(F.broadcast(unknown), [*PARTITION_KEY], "left_semi")
    logs = F.broadcast(unknown.select(*_LOG).distinct())
    older_ends = partitions.filter(F.col("poll") <= carried.at).join(logs, [*_LOG], "left_semi")
    return later.unionByName(older.select(*later.columns)), log_ends.unionByName(older_ends.select(*log_ends.columns))


def _is_after(at: int) -> Column:
    """Return a Spark expression: whether a record was written after `at` (ms since the epoch)."""
    return F.col("record_time") > F.timestamp_millis(F.lit(at))


def _commit_rings(
    rows: DataFrame, commits: DataFrame, options: Options, carried: Carried | None, asked: DataFrame | None
) -> DataFrame:
    """Return for each decoded commit the newest commits of the same group in the same partition.

    The result has one row per row of `commits`. Its column `ring` is an array of at most
    `Options.intervals` commits, oldest first, up to the commit of the row. A tombstone empties the
    array. As in `kgtui.model.burrow.CommitRing`, a commit that is older than a commit before it is
    left out.

    Args:
        rows: recorded table `partitions`, as returned by `with_timeline`. The lag of each commit is
            computed from the log end offsets in these rows.
        commits: silver table `commits`.
        carried: saved state with earlier commits, which the arrays continue; None if there is none.
        asked: rows with a poll (`at`) and a partition, or None. For each of these rows, the result
            has a further row with `known_log`: the newest log end offset at this poll.
    """
    written_at, committed_at = F.unix_millis("record_time"), F.unix_millis(F.coalesce("commit_time", "record_time"))
    records = commits.select(
        *PARTITION_KEY,
        written_at.alias("at"),
        F.when(F.col("offset").isNotNull(), committed_at).alias("committed_at"),
        "offset",
        "record_offset",
    ).withColumns({"is_asked": F.lit(None).cast("boolean"), "carried_ring": F.lit(None).cast(f"array<{COMMIT}>")})
    if carried is not None:
        decoded = carried.rows.select(*PARTITION_KEY, "carried.decoded.*").filter(F.col("ring").isNotNull())
        newest = F.array_max("ring.at").alias("committed_at")
        windows = decoded.select(*PARTITION_KEY, "at", newest, "record_offset", F.col("ring").alias("carried_ring"))
        records = records.unionByName(windows, allowMissingColumns=True)
    if asked is not None:
        asked = asked.withColumn("is_asked", F.lit(True))
        records = records.unionByName(asked, allowMissingColumns=True)
    order = Window.partitionBy(*PARTITION_KEY).orderBy("record_offset")
    lifetime = Window.partitionBy(*PARTITION_KEY, "lifetime").orderBy("record_offset")
    newest = F.max("committed_at").over(lifetime.rowsBetween(Window.unboundedPreceding, -1))
    # `starts` is true for a tombstone, which deletes the committed offset of a partition. Commits
    # after the tombstone get a new number `lifetime`, so that they are kept apart from the commits
    # before it. `starts` is also true for a row from the saved state, because `offset` is null in
    # this row, too. This row begins the first lifetime.
    starts = F.col("offset").isNull() & F.col("is_asked").isNull()
    in_order = (
        records.transform(_with_log_end, rows, carried)
        .withColumn("lifetime", F.sum(starts.cast("int")).over(order))
        .withColumn("newest", F.when(F.col("offset").isNotNull(), newest))
        .filter(F.col("newest").isNull() | (F.col("committed_at") >= F.col("newest")))
    )
    lag = lag_of_commit(F.col("end"), F.col("offset"))
    commit = F.struct("offset", F.col("committed_at").alias("at"), lag.alias("lag")).cast(COMMIT)
    commit = F.when(F.col("offset").isNotNull(), commit)
    # In rows of tombstones and of the saved state, `commit` is null. `collect_list` skips nulls.
    ring = F.collect_list("commit").over(lifetime.rowsBetween(1 - options.intervals, 0))
    if carried is not None:
        first = F.first("carried_ring").over(lifetime.rowsBetween(Window.unboundedPreceding, 0))
        ring = newest_commits(first, ring, options)
    rings = in_order.withColumn("commit", commit).withColumn("ring", F.when(F.col("is_asked").isNull(), ring))
    known_log = F.when(F.col("is_asked"), F.struct("end")).alias("known_log")
    return rings.select(*PARTITION_KEY, "at", "record_offset", "ring", *([] if asked is None else [known_log]))


def _with_log_end(commits: DataFrame, rows: DataFrame, carried: Carried | None) -> DataFrame:
    """Add the column `end` to commits: the last log end offset that a poll read before the commit.

    Args:
        commits: rows with topic, partition, and the time `at` of a commit, in ms since the epoch.
        rows: recorded table `partitions`.
        carried: saved state with earlier log end offsets; None if there is none.
    """
    ends = rows.groupBy(*_LOG, F.col("poll").alias("at")).agg(F.max("log_end").alias("end"))
    if carried is not None:
        known = carried.rows.select(*_LOG, F.lit(carried.at).alias("at"), F.col("carried.decoded.log_end").alias("end"))
        ends = ends.unionByName(known)
    both = commits.withColumn("is_query", F.lit(True)).unionByName(ends, allowMissingColumns=True)
    order = Window.partitionBy(*_LOG).orderBy("at", F.col("is_query").isNotNull())
    newest = F.last("end", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, 0))
    return both.withColumn("end", newest).filter("is_query").drop("is_query")

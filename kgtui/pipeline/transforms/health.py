"""The gold table `health`: status of each group and partition by the rules of LinkedIn's Burrow.

The table has a row per group for each time window (by default five minutes), and a row for each
partition in which the status is not OK. The rules are the same as in `kgtui.model.burrow` (for
commits) and `kgtui.model.health.judging` (for polls).

Terms:

- time window, time slot: time that one row covers. The status is that at the last poll of this
  time.
- commit window: newest commits of a group in one partition, from which the status is computed
- position: committed offset or, in a share group, the share-partition start offset
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from kgtui.lake.schemas.gold import BOTH, HEALTH, RECORDED
from kgtui.model.burrow import DEFAULTS, Status
from kgtui.model.health.values import OBSERVED, Watching
from kgtui.pipeline.spark_schema import TYPES, conform
from kgtui.pipeline.transforms.commit_windows import commit_windows
from kgtui.pipeline.transforms.problem_times import with_problem_times
from kgtui.pipeline.transforms.recorded_state import (
    groups_at,
    is_since,
    time_slots,
    to_day,
    to_timestamp,
    with_timeline,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kgtui.model.burrow import Options

WINDOW_SECONDS = 300
"""Default length of a time window, in seconds.

The gold table `health` has one status per group and time window.
"""

COMMITS = "commits"
"""Value of the column `basis` if a status was computed from the silver table `commits`."""

_DEFAULT = Watching()
_SLOT = ("at", "slot", "at_before", "steady_since", "group")
_ROW = (
    "topic", "partition", "status", "worst", "affected", "lag", "unknown", "position", "complete", "commits",
    "first_commit", "last_commit", "undecided", "offsets_may_be_hidden", "max_lag_topic", "max_lag_partition", "basis",
    "members", "started",
)  # fmt: skip
"""Columns of the rows that `_with_group_rows` returns, after the columns `_SLOT` (times and group).

All columns except `started` are columns of the gold table `health`. From `started`, the column
`bad_since` of this table is computed.
"""


def health(
    timeline: DataFrame,
    groups: DataFrame,
    partitions: DataFrame,
    faults: DataFrame,
    *,
    commits: DataFrame | None = None,
    lag: DataFrame | None = None,
    before: DataFrame | None = None,
    since: int | None = None,
    seconds: int = WINDOW_SECONDS,
    watching: Watching = _DEFAULT,
    times: DataFrame | None = None,
    windows: DataFrame | None = None,
) -> DataFrame:
    """Compute the gold table `health` from the tables of a recording.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        groups, partitions, faults: the recorded tables with these names.
        commits: silver table `commits`; None to use polls only. See `commit_windows`.
        lag: the gold table `lag`, which shows when a group began to fall behind. If it is None, the
            time at which a problem began is computed only from commits.
        before: stored rows of `health` before `since`, which show problems that began earlier; None
            if there are none.
        since: start of the first time window to return, in milliseconds since the epoch; None for
            all time windows.
        seconds: length of a time window.
        watching: settings of the health rules.
        times: one row per time window with polls, from `time_slots`; None to compute them.
        windows: the newest commits of each group at the end of each time window, from
            `commit_windows`; None to compute them.
    """
    times = time_slots(timeline, seconds, since) if times is None else times
    all_groups = groups_at(with_timeline(groups, timeline), with_timeline(faults, timeline), times)
    if windows is None:
        windows = commit_windows(timeline, partitions, times, commits=commits, options=watching.rules)
    rows = (
        all_groups.select(*_SLOT, "members", "read", "offsets_may_be_hidden")
        .join(windows.drop("steady_since", "saved"), ["at", "group"], "left")
        .transform(with_verdicts, watching)
        .transform(_with_group_rows)
        .transform(with_problem_times, before, lag)
        .transform(_to_table)
    )
    return rows if since is None else rows.filter(is_since("window_start", since))


def with_verdicts(rows: DataFrame, watching: Watching = _DEFAULT) -> DataFrame:
    """Add four columns with the status of each group in each partition.

    - `status`: integer value of a `Status`
    - `undecided`: integer value of a worse `Status` that the polls can neither prove nor exclude;
      null if there is none
    - `complete`: number of known commits divided by `Options.intervals`, the number that Burrow's
      rules need; at most 1
    - `basis`: `commits` if the status was computed from the silver table `commits`; `observed` if
      it was computed from polls

    Args:
        rows: one row per time window, group and partition, from `commit_windows`. If the column
            `exact` is true, the commits come from the silver table.
        watching: settings of the health rules.
    """
    verdict = F.when(F.col("kind") == "share", _observed_share_verdict(watching)).otherwise(_observed_verdict(watching))
    rows = rows.withColumn("basis", F.lit(OBSERVED))
    if "exact" in rows.columns:
        exact = F.struct(commit_status(watching.rules).alias("status"), F.lit(None).cast("int").alias("undecided"))
        verdict = F.when(F.col("exact"), exact).otherwise(verdict)
        rows = rows.withColumn("basis", F.when(F.col("exact"), COMMITS).otherwise(OBSERVED))
    complete = F.least(_window_fill(watching.rules), F.lit(1.0))
    rows = rows.withColumns({"verdict": verdict, "complete": complete})
    rows = rows.withColumns({"status": F.col("verdict.status"), "undecided": F.col("verdict.undecided")})
    return rows.drop("verdict")


# Each function from here to `_lag_never_fell` returns a health rule, or a part of one, as a Spark
# expression. The expressions use the columns that `observed_windows` returns. The same rules are in
# `kgtui.model.burrow` and `kgtui.model.health.judging`, most of them under the same names.


def commit_status(options: Options = DEFAULTS) -> Column:
    """Return a Spark expression: integer value of a partition's `Status`, by Burrow's rules.

    The expression uses the commits in the column `commits`. They must be all commits that the group
    made, and not only offset changes between polls.
    """
    lagging = (
        F.when(_ceased() & ~_lately_caught_up(), Status.STOP)
        .when(_rewound(), Status.REWIND)
        .when(_always_behind(options) & _unmoved(), Status.STALL)
        .when(_always_behind(options) & _lag_never_fell(), Status.WARN)
        .otherwise(Status.OK)
    )
    return F.when(_is_lagging(options), lagging).otherwise(Status.OK).cast("int")


def _window_fill(options: Options) -> Column:
    """Return the number of a partition's commits in `commits`, divided by `Options.intervals`."""
    return F.size("commits") / options.intervals


def _observed_verdict(watching: Watching) -> Column:
    """Return a Spark struct with the status of a partition, computed from polls.

    The field `status` is the status. The field `undecided` is a worse status that is also possible,
    or null. The rules are those of `kgtui.model.health.judging.judge_observed`.
    """
    halted = _ceased() | (F.col("moves") <= 1)
    waited = _seconds_still() > _full_window(watching)
    stop = halted & waited & ~_lately_caught_up()
    maybe_stop = halted & (waited == _lately_caught_up())
    rising = ~maybe_stop & _always_behind(watching.rules) & _lag_never_fell()
    enough = F.size(F.filter("commits", lambda commit: commit["lag"].isNotNull())) >= watching.enough
    lagging = (
        F.when(stop, _verdict(Status.STOP))
        .when(_rewound(), _verdict(Status.REWIND, F.when(maybe_stop, F.lit(Status.STOP.value))))
        .when(maybe_stop, _verdict(Status.OK, F.lit(Status.STOP.value)))
        .when(rising & enough, _verdict(Status.WARN))
        .when(rising, _verdict(Status.OK, F.lit(Status.WARN.value)))
        .otherwise(_verdict(Status.OK))
    )
    return F.when(_is_lagging(watching.rules), lagging).otherwise(_verdict(Status.OK))


def _observed_share_verdict(watching: Watching) -> Column:
    """Return a Spark struct with the status of a share partition, computed from polls.

    The field `status` is the status. The field `undecided` is a worse status that is also possible,
    or null. The rules are those of `kgtui.model.health.judging.judge_share`, except for WARN. That
    rule needs the lag at every poll, but the column `commits` contains the lag only at polls that
    found a new share-partition start offset. Therefore, only `undecided` can be WARN.
    """
    still = (F.col("now") - F.col("still_since")) / 1000
    standstill = F.when(F.col("members") == 0, Status.STOP.value).otherwise(Status.STALL.value)
    maybe_standstill = F.col("still_since") <= F.col("first_read")
    stopped = F.struct(standstill.cast("int").alias("status"), F.lit(None).cast("int").alias("undecided"))
    lagging = (
        F.when(still > watching.window, stopped)
        .when(_rewound(), _verdict(Status.REWIND, F.when(maybe_standstill, standstill)))
        .when(maybe_standstill, _verdict(Status.OK, standstill))
        .when(_lag_never_fell() & (F.size("commits") > 1), _verdict(Status.OK, F.lit(Status.WARN.value)))
        .otherwise(_verdict(Status.OK))
    )
    return F.when(F.col("lag") > watching.rules.allowed_lag, lagging).otherwise(_verdict(Status.OK))


def _verdict(status: Status, undecided: Column | None = None) -> Column:
    undecided = F.lit(None) if undecided is None else undecided
    return F.struct(F.lit(status.value).cast("int").alias("status"), undecided.cast("int").alias("undecided"))


def _first() -> Column:
    return F.element_at("commits", 1)


def _last() -> Column:
    return F.element_at("commits", -1)


def _is_lagging(options: Options) -> Column:
    full = _window_fill(options) >= options.minimum_complete
    return (F.size("commits") > 0) & full & F.coalesce(F.col("lag") > options.allowed_lag, F.lit(False))


def _seconds_still() -> Column:
    return (F.col("now") - _last()["at"]) / 1000


def _full_window(watching: Watching) -> Column:
    """Return how many seconds pass from the first to the last of `Options.intervals` commits.

    If fewer commits of the partition are known, the time is estimated from the average time between
    two observed changes of the committed offset, or from `Watching.commit_interval` if there were
    fewer than two changes. `kgtui.model.health.judging` uses the same rule.
    """
    steps = watching.rules.intervals - 1
    observed = (_last()["at"] - F.element_at("commits", 2)["at"]) / 1000 / (F.col("moves") - 2)
    pace = F.when(F.col("moves") > 2, observed).otherwise(watching.commit_interval)
    span = (_last()["at"] - _first()["at"]) / 1000
    return F.when(F.size("commits") >= watching.rules.intervals, span).otherwise(pace * steps)


def _ceased() -> Column:
    return F.col("now") - _last()["at"] > _last()["at"] - _first()["at"]


def _lately_caught_up() -> Column:
    return F.coalesce(F.col("lowest_end") <= _last()["offset"], F.lit(False))


def _rewound() -> Column:
    """Return a Spark expression: whether the committed offset went back, and is still lower.

    The offset is still lower if no later commit has reached the offset before the decrease again.
    """
    nothing = F.lit(None).cast("bigint")
    start = F.struct(nothing.alias("last"), nothing.alias("before"), F.lit(False).alias("recovered"))

    def step(state: Column, commit: Column) -> Column:
        offset, before = commit["offset"], state["before"]
        decreased = before.isNull() & (offset < state["last"])
        return F.struct(
            offset.alias("last"),
            F.when(decreased, state["last"]).otherwise(before).alias("before"),
            (state["recovered"] | F.coalesce(offset >= before, F.lit(False))).alias("recovered"),
        )

    return F.aggregate("commits", start, step, lambda state: state["before"].isNotNull() & ~state["recovered"])


def _always_behind(options: Options) -> Column:
    return F.forall("commits", lambda commit: F.coalesce(commit["lag"] > options.allowed_lag, F.lit(True)))


def _unmoved() -> Column:
    return F.size(F.array_distinct("commits.offset")) == 1


def _lag_never_fell() -> Column:
    known = F.filter(F.col("commits.lag"), lambda lag: lag.isNotNull())
    return F.array_sort(known) == known


def _with_group_rows(rows: DataFrame) -> DataFrame:
    """Return one row for each group, and one row for each of its partitions whose status is not OK.

    There are separate rows for each time window. The status of a group is computed from those of
    its partitions, by the rules of `kgtui.model.burrow.roll_up`.
    """
    has_offsets = F.col("read") & F.col("topic").isNotNull()
    worst = F.max(F.when(has_offsets, F.col("status")))
    bad = F.when(has_offsets & (F.col("status") > Status.OK), F.struct(*_partition_row()))
    by_size = F.when(has_offsets & F.col("lag").isNotNull(), F.struct(-F.col("lag"), "topic", "partition"))
    groups = rows.groupBy(*_SLOT, "members", "read", "offsets_may_be_hidden").agg(
        worst.alias("worst"),
        F.count_if(has_offsets).alias("partitions"),
        F.count_if(has_offsets & (F.col("complete") >= 1)).alias("full"),
        F.sum(F.when(has_offsets, F.col("lag"))).alias("lag"),
        F.count_if(has_offsets & F.col("missing")).cast("int").alias("unknown"),
        F.min(by_size).alias("largest"),
        F.max(F.when(has_offsets, F.col("undecided"))).alias("undecided"),
        F.collect_list(bad).alias("bad"),
        # The column `basis` says from which source a status was computed. For a group, it is
        # `observed` if it is `observed` for at least one partition. `max` returns this value,
        # because "observed" sorts after "commits".
        F.max(F.when(has_offsets, F.col("basis"))).alias("basis"),
    )
    rows = groups.transform(_with_group_row).select(*_SLOT, F.explode(F.concat("total", "bad")).alias("row"))
    return rows.select(*_SLOT, "row.*")


def _partition_row() -> list[Column]:
    return _row({
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "status": _status_name(F.col("status")),
        "lag": F.col("lag"),
        "position": F.col("position"),
        "complete": F.col("complete"),
        "commits": F.size("commits"),
        "first_commit": to_timestamp(F.element_at("commits", 1)["at"]),
        "last_commit": to_timestamp(F.element_at("commits", -1)["at"]),
        "undecided": _status_name(_if_worse(F.col("undecided"), F.col("status"))),
        "basis": F.col("basis"),
        "started": _started(),
    })  # fmt: skip


def _with_group_row(rows: DataFrame) -> DataFrame:
    """Add the column `total`: an array with one struct, from which the row about the group is made.

    The caller appends the array `bad`, which contains the rows about unhealthy partitions.
    """
    status = F.least(F.coalesce("worst", F.lit(Status.OK.value)), F.lit(Status.ERR.value))
    is_bad = F.col("worst") > Status.OK
    affected = F.size(F.filter("bad", lambda row: row["status"] == _status_name(F.col("worst"))))
    full = F.when(F.col("partitions") > 0, F.col("full") / F.col("partitions")).otherwise(0.0)
    # If ACLs may hide some offsets of the group from the recorder, ERR is possible, because the
    # group may be unhealthy in a hidden partition.
    undecided = F.greatest("undecided", F.when(F.col("offsets_may_be_hidden"), F.lit(Status.ERR.value)))
    total = _row({
        "status": F.when(F.col("read"), _status_name(status)),
        "worst": F.when(is_bad, _status_name(F.col("worst"))),
        "affected": F.when(F.col("read"), F.coalesce(F.when(is_bad, affected), F.lit(0))),
        "lag": F.col("lag"),
        "unknown": F.when(F.col("read"), F.col("unknown")),
        "complete": F.when(F.col("read"), full),
        "undecided": F.when(F.col("read"), _status_name(_if_worse(undecided, status))),
        "offsets_may_be_hidden": F.when(F.col("read"), F.col("offsets_may_be_hidden")),
        "max_lag_topic": F.col("largest.topic"),
        "max_lag_partition": F.col("largest.partition"),
        "basis": F.coalesce("basis", F.lit(OBSERVED)),
        "members": F.col("members"),
    })  # fmt: skip
    return rows.withColumn("total", F.array(F.struct(*total)))


def _status_name(number: Column) -> Column:
    """Convert the integer value of a `Status` to its name; null stays null."""
    names = F.create_map(*(F.lit(part) for status in Status for part in (status.value, status.name)))
    return F.element_at(names, number)


def _if_worse(undecided: Column, status: Column) -> Column:
    """Return the possible status `undecided` if it is worse than `status`; otherwise null.

    ERR, STOP, STALL and REWIND count as equally bad.
    """
    error = F.lit(Status.ERR.value)
    return F.when(F.least(undecided, error) > F.least(status, error), undecided)


def _row(columns: dict[str, Column]) -> list[Column]:
    """Return the columns `_ROW` in this order. Those that are missing from `columns` are null."""
    types = {column.name: TYPES[column.type] for column in HEALTH.columns} | {"started": LongType()}
    return [columns.get(name, F.lit(None)).cast(types[name]).alias(name) for name in _ROW]


def _started() -> Column:
    """Return a Spark expression: when the problem of a partition began, in ms since the epoch.

    The caller uses the expression only if the status of the partition is not OK. The result depends
    on the status:

    - STOP or STALL of a share partition: the last poll at which a consumer was active
    - STOP of other partitions: time of the last commit
    - STALL of other partitions, and WARN: time of the oldest known commit
    - REWIND: time of the last commit with a lower offset than the previous commit
    """
    still = F.when(F.col("kind") == "share", F.col("still_since"))
    return (
        F.when(F.col("status") == Status.STOP.value, F.coalesce(still, _last()["at"]))
        .when(F.col("status") == Status.STALL.value, F.coalesce(still, _first()["at"]))
        .when(F.col("status") == Status.REWIND.value, _went_back_at())
        .otherwise(_first()["at"])
    )


def _went_back_at() -> Column:
    """Return when the committed offset last went back, in milliseconds since the epoch.

    This is the time of the newest commit with a lower offset than the commit before it.
    """
    nothing = F.lit(None).cast("bigint")
    start = F.struct(nothing.alias("offset"), nothing.alias("at"))

    def step(state: Column, commit: Column) -> Column:
        at = F.when(commit["offset"] < state["offset"], commit["at"]).otherwise(state["at"])
        return F.struct(commit["offset"].alias("offset"), at.alias("at"))

    return F.aggregate("commits", start, step, lambda state: state["at"])


def _to_table(rows: DataFrame) -> DataFrame:
    return rows.withColumns({
        "day": to_day(F.col("slot")),
        "window_start": to_timestamp(F.col("slot")),
        "source": F.when(F.col("basis") == COMMITS, BOTH).otherwise(RECORDED),
        "covered_from": to_timestamp(F.col("steady_since")),
        "covered_to": to_timestamp(F.col("at")),
    }).transform(conform, HEALTH)  # fmt: skip

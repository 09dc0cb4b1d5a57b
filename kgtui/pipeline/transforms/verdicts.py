"""Burrow's rules as expressions over columns: what `kgtui.model.verdict` and `kgtui.model.health.observed` judge.

A window is in columns: `commits`, an array of (offset, at, lag), oldest first; `lag`, the current one; `lowest_end`,
the lowest log end kept; `now`. Times are milliseconds. The names of rules are those of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.model.verdict import DEFAULTS, Status

if TYPE_CHECKING:
    from pyspark.sql import Column

    from kgtui.model.health.values import Watching
    from kgtui.model.verdict import Options

COMMIT = "struct<offset: bigint, at: bigint, lag: bigint>"
"""An entry of `commits`."""


def status(options: Options = DEFAULTS) -> Column:
    """The number of a partition's `Status`, from commits themselves (`judge_partition`)."""
    lagging = (
        F.when(_ceased() & ~_lately_caught_up(), Status.STOP)
        .when(_rewound(), Status.REWIND)
        .when(_always_behind(options) & _unmoved(), Status.STALL)
        .when(_always_behind(options) & _lag_never_fell(), Status.WARN)
        .otherwise(Status.OK)
    )
    return F.when(_lags(options), lagging).otherwise(Status.OK).cast("int")


def complete(options: Options = DEFAULTS) -> Column:
    """How full a window is, 0 to 1."""
    return F.size("commits") / options.intervals


def observed(watching: Watching) -> Column:
    """(status, undecided) of a partition from what polls saw of its commits (`judge_observed`).

    Beside the window it needs `moves`, how many positions were seen one after the other.
    """
    halted = _ceased() | (F.col("moves") <= 1)
    waited = _still() > _full_window(watching)
    stop = halted & waited & ~_lately_caught_up()
    open_stop = halted & (waited == _lately_caught_up())
    rising = ~open_stop & _always_behind(watching.rules) & _lag_never_fell()
    enough = F.size(F.filter("commits", lambda commit: commit["lag"].isNotNull())) >= watching.enough
    lagging = (
        F.when(stop, _said(Status.STOP))
        .when(_rewound(), _said(Status.REWIND, F.when(open_stop, F.lit(Status.STOP.value))))
        .when(open_stop, _said(Status.OK, F.lit(Status.STOP.value)))
        .when(rising & enough, _said(Status.WARN))
        .when(rising, _said(Status.OK, F.lit(Status.WARN.value)))
        .otherwise(_said(Status.OK))
    )
    return F.when(_lags(watching.rules), lagging).otherwise(_said(Status.OK))


def observed_share(watching: Watching) -> Column:
    """(status, undecided) of a share partition, from `still_since`, `members` and its start offsets (`judge_share`).

    WARN is never given, only left open: it takes every lag of the last window, and only changes are recorded.
    """
    still = (F.col("now") - F.col("still_since")) / 1000
    standstill = F.when(F.col("members") == 0, Status.STOP.value).otherwise(Status.STALL.value)
    open_stop = F.col("still_since") <= F.col("first_read")
    lagging = (
        F.when(still > watching.window, F.struct(standstill.cast("int").alias("status"), _none().alias("undecided")))
        .when(_rewound(), _said(Status.REWIND, F.when(open_stop, standstill)))
        .when(open_stop, _said(Status.OK, standstill))
        .when(_lag_never_fell() & (F.size("commits") > 1), _said(Status.OK, F.lit(Status.WARN.value)))
        .otherwise(_said(Status.OK))
    )
    return F.when(F.col("lag") > watching.rules.allowed_lag, lagging).otherwise(_said(Status.OK))


def name_of(number: Column) -> Column:
    """The name of a `Status`; null of null."""
    names = F.create_map(*(F.lit(part) for one in Status for part in (one.value, one.name)))
    return F.element_at(names, number)


def _said(found: Status, undecided: Column | None = None) -> Column:
    other = _none() if undecided is None else undecided.cast("int")
    return F.struct(F.lit(found.value).cast("int").alias("status"), other.alias("undecided"))


def _none() -> Column:
    return F.lit(None).cast("int")


def _first() -> Column:
    return F.element_at("commits", 1)


def _last() -> Column:
    return F.element_at("commits", -1)


def _lags(options: Options) -> Column:
    full = complete(options) >= options.minimum_complete
    return (F.size("commits") > 0) & full & F.coalesce(F.col("lag") > options.allowed_lag, F.lit(False))


def _still() -> Column:
    return (F.col("now") - _last()["at"]) / 1000


def _full_window(watching: Watching) -> Column:
    """Seconds that a full window of commits takes, at the pace seen (`Observed.full_window`)."""
    steps = watching.rules.intervals - 1
    seen = (_last()["at"] - F.element_at("commits", 2)["at"]) / 1000 / (F.col("moves") - 2)
    pace = F.when(F.col("moves") > 2, seen).otherwise(watching.commit_interval)
    span = (_last()["at"] - _first()["at"]) / 1000
    return F.when(F.size("commits") >= watching.rules.intervals, span).otherwise(pace * steps)


def _ceased() -> Column:
    return F.col("now") - _last()["at"] > _last()["at"] - _first()["at"]


def _lately_caught_up() -> Column:
    return F.coalesce(F.col("lowest_end") <= _last()["offset"], F.lit(False))


def _rewound() -> Column:
    """Remember the offset before the first step back, and whether a later commit made it good."""
    nothing = F.lit(None).cast("bigint")
    start = F.struct(nothing.alias("last"), nothing.alias("before"), F.lit(False).alias("good"))

    def step(state: Column, commit: Column) -> Column:
        offset, before = commit["offset"], state["before"]
        back = before.isNull() & (offset < state["last"])
        return F.struct(
            offset.alias("last"),
            F.when(back, state["last"]).otherwise(before).alias("before"),
            (state["good"] | F.coalesce(offset >= before, F.lit(False))).alias("good"),
        )

    return F.aggregate("commits", start, step, lambda state: state["before"].isNotNull() & ~state["good"])


def _always_behind(options: Options) -> Column:
    return F.forall("commits", lambda commit: F.coalesce(commit["lag"] > options.allowed_lag, F.lit(True)))


def _unmoved() -> Column:
    return F.size(F.array_distinct("commits.offset")) == 1


def _lag_never_fell() -> Column:
    """Known lags are in order already."""
    known = F.filter(F.col("commits.lag"), lambda lag: lag.isNotNull())
    return F.array_sort(known) == known

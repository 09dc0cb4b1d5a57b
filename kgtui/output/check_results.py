"""Writes the output of `kgtui check`: one line per group, with the verdict on its health, such as `OK` or `STOP`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgtui.model.burrow import Status
from kgtui.model.facts import may_hide_topics
from kgtui.model.fields import Field, Missing, as_object
from kgtui.model.fields.group_fields import COORDINATOR, GROUP, PROTOCOL, TYPE
from kgtui.model.health.judged import worse_problem
from kgtui.model.health.wording import age, duration, expiry, local_clock, loss_when, lost_records, missing, reason
from kgtui.model.number_format import counted
from kgtui.model.problem import unsettled_reason
from kgtui.model.rfc3339 import rfc3339
from kgtui.output import formats, marks
from kgtui.output.table import Column, columns_of, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.fields import Type
    from kgtui.model.fields.group_fields import GroupField
    from kgtui.model.health import EmptyPeriod, GroupHealth, Loss, PartitionHealth, RebalanceRate, TimeLag, Undecided
    from kgtui.model.snapshot import Snapshot
    from kgtui.output.formats import Format

_MIN_SHOWN_TREND = 0.05
"""The trend of a lag is shown as `0/s` if the lag changes by less than this number of records per second."""
_MIN_AGE_FOR_ESTIMATE = 60.0
"""Minimum age of the oldest unread record, in seconds, for which the estimated time to catch up is shown.

If only a lower bound of the age is known, the estimated time is shown, however small the lower bound is. If nothing is
known about the age, it is not shown.
"""
_SOURCE = "computed from the data that kgtui check read"


@dataclass(frozen=True, slots=True)
class CheckResults:
    """The health verdicts to print.

    Attributes:
        ids: ids of the groups to print, in this order.
        counts: verdict → number of groups, including groups that are not printed.
        failed: whether the check failed, because the verdict on at least one group, or a problem such as lost records,
            is at least as bad as `fail_on`.
        fail_on: the mildest verdict with which the check fails (`--fail-on`).
        seconds: how long `kgtui check` observed the groups, in seconds.
        interval: time between two reads of the groups, in seconds.
        coverage: how many brokers answered, and how many groups could be read.
        faults: what could not be read, and why.
    """

    snapshot: Snapshot
    ids: Sequence[str]
    counts: dict[str, int]
    failed: bool
    fail_on: Status
    seconds: float
    interval: float
    coverage: Coverage
    faults: tuple[Fault, ...] = ()


def as_table(results: CheckResults) -> str:
    """Format the verdicts as a table. `OK?` means that there is too little data to exclude a worse verdict than OK."""
    columns = columns_of(TABLE_COLUMNS)
    return table([*columns, Column("WHY")], [_cells(results.snapshot, group) for group in results.ids])


def _cells(snapshot: Snapshot, group: str) -> list[str]:
    unread = marks.unknown(snapshot.group_faults.get(group))
    why = "; ".join(notes(snapshot.health[group], TYPE.value(snapshot, group)))
    return [*(marks.cell(field, unread, snapshot, group) for field in TABLE_COLUMNS), why]


def as_json(results: CheckResults) -> bytes:
    """Encode the verdicts as JSON, with durations in seconds.

    The document has the same top-level keys as the JSON of `kgtui ls`. It also has the key `check` with a summary, such
    as the number of groups per verdict.
    """
    snapshot = results.snapshot
    groups = [as_object(JSON_FIELDS, snapshot, group) for group in results.ids]
    document = formats.document(snapshot.cluster, snapshot.taken_at, results.coverage, groups, results.faults)
    document["check"] = {
        "seconds": results.seconds,
        "interval": results.interval,
        "fail_on": results.fail_on.name,
        "failed": results.failed,
        "verdicts": results.counts,
    }
    return formats.json_bytes(document)


def as_csv(results: CheckResults) -> bytes:
    """Encode the verdicts as CSV with a header line; unknown values are empty cells."""
    rows = (tuple(as_object(CSV_FIELDS, results.snapshot, group).values()) for group in results.ids)
    return formats.csv_bytes([field.name for field in CSV_FIELDS], rows)


WRITERS: dict[Format, Callable[[CheckResults], str | bytes]] = {"table": as_table, "json": as_json, "csv": as_csv}
"""Maps each format of `kgtui check` to the function that writes the verdicts in this format."""


def trend_text(trend: float | None) -> str:
    """Format the trend of a lag, in records/s: `+12.5/s`, `-3.0/s`, `0/s`, or `–` if it is unknown."""
    if trend is None:
        return marks.NONE
    return "0/s" if abs(trend) < _MIN_SHOWN_TREND else f"{trend:+,.1f}/s"


def notes(health: GroupHealth, group_type: str | None) -> list[str]:
    """Return the texts for the column WHY: first the reason for the verdict, then other problems and estimates.

    Args:
        group_type: type of the group, or None if it is unknown. Some phrases are different for share groups.
    """
    now = health.read_at or 0.0
    clock = local_clock(now)
    found = [reason(health, group_type)]
    after = _stopped_after(health)
    if after is not None:
        found.append(f"stopped after {clock(after)}")
    if health.lost:
        found.append(lost_records(health.lost))
    if health.loss is not None and health.loss.seconds <= health.loss.NEAR:
        found.append(f"records of {health.loss.topic} may expire {loss_when(health.loss, clock)}")
    if health.expiry_reason and health.loss is None:
        found.append(f"it is not known when unread records expire: {health.expiry_reason}")
    empty = health.empty
    if empty is not None and empty.expires_in is not None and empty.expires_in <= empty.SOON:
        found.append(expiry(empty, clock, health.read_at))
    found += _rebalance_notes(health)
    time_lag = health.time_lag
    if health.drain and time_lag is not None and (time_lag.at_least or time_lag.seconds >= _MIN_AGE_FOR_ESTIMATE):
        found.append(f"caught up in about {duration(health.drain)}, {clock(now + health.drain)}")
    if time_lag is not None and time_lag.at_least and time_lag.reason:
        found.append(f"the exact age of unread records is not known: {time_lag.reason}")
    found += [missing(one) for one in health.undecided]
    return [text for text in found if text]


def _rebalance_notes(health: GroupHealth) -> list[str]:
    found = []
    if health.rebalances is not None and health.rebalances.flapping:
        # Only the group epoch counts every rebalance. Without it, kgtui may have missed some between two reads.
        least = "at least " if health.rebalances.epoch_steps is None else ""
        rebalances = counted(health.rebalances.rebalances, "rebalance")
        found.append(f"{least}{rebalances} in {duration(health.rebalances.seconds)}")
    if health.unsettled is not None:
        found.append(unsettled_reason(health.state))
    if health.holding_up:
        count = len(health.holding_up)
        found.append(f"{counted(count, 'member')} {'is' if count == 1 else 'are'} behind the target assignment")
    return found


def verdict_text(health: GroupHealth) -> str:
    """Return the verdict on a group: `OK`, `WARN`, an error such as `STOP`, or `GONE` if the group does not exist.

    If the group has a problem that is worse than the verdict, return the name of the problem, such as `LOST`. A
    question mark, as in `OK?`, means that there is too little data to exclude a worse verdict.
    """
    worse = worse_problem(health)
    if worse is not None and worse.problem_name is not None:
        return worse.problem_name.upper()
    name = "GONE" if health.status is Status.NOT_FOUND else health.kind.name
    return name + "?" * bool(health.undecided)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _time_lag_text(time_lag: TimeLag) -> str:
    return age(time_lag)


def _time_lag_object(time_lag: TimeLag) -> dict[str, Any]:
    return {
        "seconds": _rounded(time_lag.seconds), "at_least": time_lag.at_least, "at_most": _rounded(time_lag.at_most),
        "exact": time_lag.exact, "reason": time_lag.reason or None,
    }  # fmt: skip


def _undecided_object(one: Undecided) -> dict[str, Any]:
    needs = {} if one.why else {"needs": _rounded(one.needs), "has": _rounded(one.has)}
    return {
        "verdict": one.status.name, "lacks": one.lack.value, "partitions": one.partitions, **needs, "text": missing(one)
    }  # fmt: skip


def _partition_object(row: PartitionHealth) -> dict[str, Any]:
    return {
        "topic": row.topic, "partition": row.partition, "verdict": row.status.name, "lag": row.lag,
        "position": row.position, "unchanged": _rounded(row.still), "complete": row.complete,
        "subscribed": row.subscribed, "age": None if row.age is None else _time_lag_object(row.age),
    }  # fmt: skip


def _max_lag(health: GroupHealth) -> PartitionHealth | None:
    return None if health.verdict.max_lag is None else health.partitions[health.verdict.max_lag]


def _loss_object(loss: Loss) -> dict[str, Any]:
    return {
        "topic": loss.topic, "partition": loss.partition, "seconds": _rounded(loss.seconds), "at_most": loss.at_most,
        "basis": loss.basis, "lead": loss.lead, "exact": loss.exact,
        "at": None if loss.at is None else rfc3339(loss.at),
    }  # fmt: skip


def _rebalances_object(rate: RebalanceRate) -> dict[str, Any]:
    return {
        "count": rate.rebalances, "state_changes": rate.state_changes, "epoch_steps": rate.epoch_steps,
        "seconds": _rounded(rate.seconds), "per_hour": _rounded(rate.per_hour), "flapping": rate.flapping,
    }  # fmt: skip


def _empty_object(empty: EmptyPeriod) -> dict[str, Any]:
    return {
        "seconds": _rounded(empty.seconds), "at_least": empty.at_least, "expires_in": _rounded(empty.expires_in)
    }  # fmt: skip


def _holding_up(health: GroupHealth) -> list[dict[str, Any]]:
    return [{"member_id": name, "epochs_behind": behind} for name, behind in health.holding_up.items()]


def _bad_partitions(health: GroupHealth) -> list[dict[str, Any]]:
    return [_partition_object(row) for row in health.partitions.values() if row.status > Status.OK]


def _health(name: str, title: str, kind: Type, value: Callable[[GroupHealth], Any], **more: Any) -> GroupField:
    """Define a field of the output of `kgtui check`. `value` computes the field's value from a group's health data."""
    return Field(name, title, kind, _SOURCE, lambda snapshot, group: value(snapshot.health[group]), **more)


def _stopped_after(health: GroupHealth) -> float | None:
    return health.stopped_after if health.kind in (Status.STOP, Status.STALL) else None


STATE = _health("state", "STATE", "string", lambda health: health.state)
VERDICT = _health("verdict", "VERDICT", "string", lambda health: health.status.name if health.reads else None)
VERDICT_TEXT = _health(
    "verdict",
    "VERDICT",
    "string",
    lambda health: verdict_text(health) if health.reads else None,
    missing=Missing.UNREAD,
)
CAUSE = _health("cause", "CAUSE", "string", lambda health: health.kind.name if health.reads else None)
BASIS = _health("basis", "BASIS", "string", lambda health: health.basis)
REASON: GroupField = Field(
    "reason", "REASON", "string", _SOURCE,
    lambda snapshot, group: reason(snapshot.health[group], TYPE.value(snapshot, group)),
)  # fmt: skip
UNDECIDED = _health("undecided", "UNDECIDED", "array", lambda health: [*map(_undecided_object, health.undecided)])
UNDECIDED_TEXT = _health("undecided", "UNDECIDED", "string", lambda health: "; ".join(map(missing, health.undecided)))
COMPLETE = _health("complete", "COMPLETE", "double", lambda health: health.verdict.complete)
LAG_TEXT = _health(
    "lag", "LAG", "long", lambda health: health.lag, format=lambda lag: marks.lag(lag.lag, lag.lower_bound),
    missing=Missing.UNREAD,
)  # fmt: skip
LAG = _health("lag", "LAG", "long", lambda health: None if health.lag is None else health.lag.lag)
LAG_UNKNOWN = _health(
    "lag_unknown", "LAG UNKNOWN", "int", lambda health: None if health.lag is None else health.lag.unknown
)
OFFSETS_MAY_BE_HIDDEN: GroupField = Field("offsets_may_be_hidden", "MAY BE HIDDEN", "boolean", _SOURCE, may_hide_topics)
MAX_LAG = _health("max_lag", "MAX LAG", "object", _max_lag, encode=_partition_object)
TREND = _health("trend", "TREND", "double", lambda health: health.trend, format=trend_text, encode=_rounded)
TREND_SECONDS = _health("trend_seconds", "TREND OVER", "double", lambda health: health.trend_seconds, encode=_rounded)
TIME_LAG = _health(
    "time_lag", "TIME LAG", "object", lambda health: health.time_lag, format=_time_lag_text, encode=_time_lag_object
)
TIME_LAG_SECONDS = _health(
    "time_lag", "TIME LAG", "double", lambda health: health.time_lag, format=_time_lag_text,
    encode=lambda time_lag: _rounded(time_lag.seconds),
)  # fmt: skip
TIME_LAG_AT_LEAST = _health(
    "time_lag_at_least", "AT LEAST", "boolean", lambda health: health.time_lag, encode=lambda lag: lag.at_least
)
DRAIN = _health("drain", "CAUGHT UP IN", "double", lambda health: health.drain, encode=_rounded)
CAUGHT_UP_AT = _health(
    "caught_up_at", "CAUGHT UP AT", "timestamp",
    lambda health: None if health.drain is None or health.read_at is None else health.read_at + health.drain,
    format=rfc3339, encode=rfc3339,
)  # fmt: skip
STOPPED_AFTER = _health(
    "stopped_after", "STOPPED AFTER", "timestamp", _stopped_after, format=rfc3339, encode=rfc3339
)  # fmt: skip
EXPIRY_REASON = _health("expiry_reason", "EXPIRY UNKNOWN", "string", lambda health: health.expiry_reason or None)
LOST = _health("lost", "LOST", "long", lambda health: health.lost)
LOSS = _health("loss", "LOSS", "object", lambda health: health.loss, encode=_loss_object)
LOSS_IN = _health(
    "loss_in", "LOSS IN", "double", lambda health: health.loss, encode=lambda loss: _rounded(loss.seconds)
)
REBALANCES = _health("rebalances", "REBALANCES", "object", lambda health: health.rebalances, encode=_rebalances_object)
REBALANCES_PER_HOUR = _health(
    "rebalances_per_hour", "REBALANCES/H", "double", lambda health: health.rebalances,
    encode=lambda rate: _rounded(rate.per_hour),
)  # fmt: skip
HOLDING_UP = _health("holding_up", "HOLDING UP", "array", _holding_up)
MEMBERS_BEHIND = _health("members_behind", "MEMBERS BEHIND", "int", lambda health: len(health.holding_up))
EMPTY = _health("empty", "EMPTY", "object", lambda health: health.empty, encode=_empty_object)
EMPTY_SECONDS = _health(
    "empty", "EMPTY", "double", lambda health: health.empty, encode=lambda empty: _rounded(empty.seconds)
)
EXPIRES_IN = _health(
    "expires_in", "EXPIRES IN", "double", lambda health: health.empty, encode=lambda empty: _rounded(empty.expires_in)
)
PARTITIONS = _health("partitions", "PARTITIONS", "array", _bad_partitions)
SECONDS = _health("seconds", "SECONDS", "double", lambda health: health.seconds, encode=_rounded)
READS = _health("reads", "READS", "int", lambda health: health.reads)
READS_FAILED = _health("reads_failed", "FAILED", "int", lambda health: health.failed)
READ_AT = _health("read_at", "READ AT", "timestamp", lambda health: health.read_at, format=rfc3339, encode=rfc3339)

TABLE_COLUMNS = (GROUP, TYPE, STATE, VERDICT_TEXT, LAG_TEXT, TREND, TIME_LAG_SECONDS)
"""Columns of the table of `kgtui check`, except the last column, WHY."""

CSV_FIELDS = (
    GROUP, TYPE, STATE, VERDICT, CAUSE, BASIS, LAG, LAG_UNKNOWN, TREND, TIME_LAG_SECONDS, TIME_LAG_AT_LEAST, DRAIN,
    LOST, LOSS_IN, REBALANCES_PER_HOUR, MEMBERS_BEHIND, EMPTY_SECONDS, EXPIRES_IN, UNDECIDED_TEXT, REASON,
    OFFSETS_MAY_BE_HIDDEN,
)  # fmt: skip
"""Fields of a group in the CSV of `kgtui check`."""

JSON_FIELDS = (
    GROUP, TYPE, PROTOCOL, STATE, COORDINATOR, VERDICT, CAUSE, BASIS, REASON, STOPPED_AFTER, UNDECIDED, COMPLETE, LAG,
    LAG_UNKNOWN, MAX_LAG, TREND, TREND_SECONDS, TIME_LAG, DRAIN, CAUGHT_UP_AT, LOST, LOSS, EXPIRY_REASON, REBALANCES,
    HOLDING_UP, EMPTY, PARTITIONS, SECONDS, READS, READS_FAILED, READ_AT, OFFSETS_MAY_BE_HIDDEN,
)  # fmt: skip
"""Fields of a group in the JSON of `kgtui check`."""

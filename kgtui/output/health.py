"""How groups do, one a line: what `kgtui check` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgtui.model import facts
from kgtui.model.health.wording import duration, expiry, loss_in, missing, reason
from kgtui.model.verdict import Status
from kgtui.output import machine, marks
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.health import GroupHealth, PartitionHealth, Undecided
    from kgtui.model.snapshot import Snapshot

CSV_HEADER = (
    "group", "type", "state", "verdict", "cause", "basis", "lag", "lag_unknown", "trend", "time_lag",
    "time_lag_at_least", "drain", "lost", "loss_in", "rebalances_per_hour", "members_behind", "empty", "expires_in",
    "undecided", "reason",
)  # fmt: skip

_COLUMNS = (
    Column("GROUP"), Column("TYPE"), Column("STATE"), Column("VERDICT"), Column("LAG", number=True),
    Column("TREND", number=True), Column("TIME LAG", number=True), Column("WHY"),
)  # fmt: skip
_STILL = 0.05  # records a second that are no trend
_LONG = 60.0  # seconds of time lag from which it is worth saying when it will be gone


@dataclass(frozen=True, slots=True)
class Checked:
    """What to print.

    Attributes:
        snapshot: with the health of every group watched.
        ids: the groups to print, in order.
        counts: verdict → how many of the groups that were chosen, printed or not.
        failed: the verdict of some group is as bad as was asked for.
        fail_on: how bad that is.
        seconds: how long it was watched.
        interval: seconds between two reads.
        faults: all that could not be learned.
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


def as_table(checked: Checked) -> str:
    """A table; `OK?` is a verdict beside which a worse one could not be ruled out."""
    return table(_COLUMNS, [_cells(checked, group) for group in checked.ids])


def as_json(checked: Checked) -> bytes:
    """The frame of `ls`, with `check` for the run as a whole; unknown is null, spans are seconds."""
    groups = [_object(checked, group) for group in checked.ids]
    frame = machine.document(
        checked.snapshot.cluster, checked.snapshot.taken_at, checked.coverage, groups, checked.faults
    )  # fmt: skip
    frame["check"] = {
        "seconds": checked.seconds,
        "interval": checked.interval,
        "fail_on": checked.fail_on.name,
        "failed": checked.failed,
        "verdicts": checked.counts,
    }
    return machine.json_bytes(frame)


def as_csv(checked: Checked) -> bytes:
    """CSV with a header; unknown is an empty cell."""
    return machine.csv_bytes(CSV_HEADER, (_record(checked, group) for group in checked.ids))


def trend_text(trend: float | None) -> str:
    """`+12.5/s`, `-3.0/s`, `0/s`, `–`."""
    if trend is None:
        return marks.NONE
    return "0/s" if abs(trend) < _STILL else f"{trend:+,.1f}/s"


def notes(health: GroupHealth, group_type: str | None) -> list[str]:
    """Why the verdict is what it is, and what else is worth knowing, most urgent first."""
    found = [reason(health, group_type)]
    if health.lost:
        found.append(f"{health.lost:,} records expired unread")
    if health.loss is not None and health.loss.seconds <= health.loss.NEAR:
        found.append(f"records of {health.loss.topic} will be lost in {loss_in(health.loss)}")
    empty = health.empty
    if empty is not None and empty.expires_in is not None and empty.expires_in <= empty.SOON:
        found.append(expiry(empty))
    if health.rebalances is not None and health.rebalances.flapping:
        found.append(f"{health.rebalances.rebalances} rebalances in {duration(health.rebalances.seconds)}")
    if health.holding_up:
        count = len(health.holding_up)
        found.append(f"{count} member{'s' * (count != 1)} behind the group's epoch")
    if health.drain and health.time_lag is not None and (health.time_lag.at_least or health.time_lag.seconds >= _LONG):
        found.append(f"drained in about {duration(health.drain)}")
    found += [missing(one) for one in health.undecided]
    return [text for text in found if text]


def verdict_text(health: GroupHealth) -> str:
    """`OK`, `OK?`, `WARN`, `STOP`, …: of a bad group what is bad about it."""
    name = "GONE" if health.status is Status.NOT_FOUND else health.kind.name
    return name + "?" * bool(health.undecided)


def _cells(checked: Checked, group: str) -> list[str]:
    snapshot, health = checked.snapshot, checked.snapshot.health[group]
    fault, kind = snapshot.group_faults.get(group), facts.type_of(snapshot, group)
    lag = marks.lag(health.lag.lag, health.lag.unknown, fault) if health.lag is not None else marks.unknown(fault)
    age = health.time_lag
    return [
        group,
        marks.text(kind),
        marks.text(health.state),
        verdict_text(health) if health.reads else marks.unknown(fault),
        lag,
        trend_text(health.trend),
        marks.NONE if age is None else f"{marks.AT_LEAST + ' ' if age.at_least else ''}{duration(age.seconds)}",
        "; ".join(notes(health, kind)),
    ]


def _record(checked: Checked, group: str) -> tuple[object, ...]:
    health = checked.snapshot.health[group]
    group_type = facts.type_of(checked.snapshot, group)
    age, rebalances = health.time_lag, health.rebalances
    return (
        group,
        group_type,
        health.state,
        health.status.name if health.reads else None,
        health.kind.name if health.reads else None,
        health.basis,
        None if health.lag is None else health.lag.lag,
        None if health.lag is None else health.lag.unknown,
        _rounded(health.trend),
        None if age is None else _rounded(age.seconds),
        None if age is None else age.at_least,
        _rounded(health.drain),
        health.lost,
        None if health.loss is None else _rounded(health.loss.seconds),
        None if rebalances is None else _rounded(rebalances.per_hour),
        len(health.holding_up),
        None if health.empty is None else _rounded(health.empty.seconds),
        None if health.empty is None else _rounded(health.empty.expires_in),
        "; ".join(missing(one) for one in health.undecided),
        reason(health, group_type),
    )


def _object(checked: Checked, group: str) -> dict[str, Any]:
    """Everything known of how a group does."""
    snapshot, health = checked.snapshot, checked.snapshot.health[group]
    group_type = facts.type_of(snapshot, group)
    age, lag, rebalances = health.time_lag, health.lag, health.rebalances
    return {
        "group": group,
        "type": group_type,
        "protocol": snapshot.groups[group].protocol,
        "state": health.state,
        "coordinator": snapshot.groups[group].coordinator,
        "verdict": health.status.name if health.reads else None,
        "cause": health.kind.name if health.reads else None,
        "basis": health.basis,
        "reason": reason(health, group_type),
        "undecided": [_undecided(one) for one in health.undecided],
        "complete": health.verdict.complete,
        "lag": None if lag is None else lag.lag,
        "lag_unknown": None if lag is None else lag.unknown,
        "max_lag": None if health.verdict.max_lag is None else _partition(health.partitions[health.verdict.max_lag]),
        "trend": _rounded(health.trend),
        "trend_seconds": _rounded(health.trend_seconds),
        "time_lag": None if age is None else {"seconds": _rounded(age.seconds), "at_least": age.at_least},
        "drain": _rounded(health.drain),
        "lost": health.lost,
        "loss": _loss(health),
        "rebalances": None if rebalances is None else {
            "count": rebalances.rebalances,
            "state_changes": rebalances.state_changes,
            "epoch_steps": rebalances.epoch_steps,
            "seconds": _rounded(rebalances.seconds),
            "per_hour": _rounded(rebalances.per_hour),
            "flapping": rebalances.flapping,
        },
        "holding_up": [{"member_id": name, "epochs_behind": behind} for name, behind in health.holding_up.items()],
        "empty": None if health.empty is None else {
            "seconds": _rounded(health.empty.seconds),
            "at_least": health.empty.at_least,
            "expires_in": _rounded(health.empty.expires_in),
        },
        "partitions": [_partition(row) for row in health.partitions.values() if row.status > Status.OK],
        "seconds": _rounded(health.seconds),
        "reads": health.reads,
        "reads_failed": health.failed,
        "read_at": None if health.read_at is None else machine.rfc3339(health.read_at),
    }  # fmt: skip


def _undecided(one: Undecided) -> dict[str, Any]:
    known = {} if one.why else {"needs": _rounded(one.needs), "has": _rounded(one.has)}
    return {
        "verdict": one.status.name, "lacks": one.lack.value, "partitions": one.partitions, **known, "text": missing(one)
    }  # fmt: skip


def _partition(row: PartitionHealth) -> dict[str, Any]:
    return {
        "topic": row.topic, "partition": row.partition, "verdict": row.status.name, "lag": row.lag,
        "position": row.position, "unchanged": _rounded(row.still), "complete": row.complete,
        "subscribed": row.subscribed,
    }  # fmt: skip


def _loss(health: GroupHealth) -> dict[str, Any] | None:
    loss = health.loss
    return None if loss is None else {
        "topic": loss.topic, "partition": loss.partition, "seconds": _rounded(loss.seconds), "at_most": loss.at_most,
        "basis": loss.basis, "lead": loss.lead,
    }  # fmt: skip


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)

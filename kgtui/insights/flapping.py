"""Return findings about groups that flap now, or flapped in the past. To flap is to rebalance unusually often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.insights.finding import Evidence, Finding, Kind, Severity
from kgtui.insights.past_problems import past_finding
from kgtui.insights.rules import evidence_of
from kgtui.lake.schemas.gold import CHURN
from kgtui.model.health.wording import duration
from kgtui.model.rfc3339 import utc_datetime

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.lake.gold import Gold, GoldRow

_PAUSE = 1_800.0
"""A group that has not rebalanced for more than this time, in seconds, no longer counts as flapping."""


def read_churn(gold: Gold, since: float) -> list[GoldRow]:
    """Return the rows of table `churn` for groups that were flapping (rebalanced unusually often) in at least one hour.

    Table `churn` has one row per group and hour, with the number of rebalances.

    Args:
        since: start of the first hour to read, in epoch seconds.
    """
    start = utc_datetime(since)
    hours = gold.rows(CHURN, ("group",), since=start, time="hour", where="flapping")
    groups = {row["group"] for row in hours}
    return gold.rows(CHURN, since=start, time="hour", groups=groups) if groups else []


@dataclass(frozen=True, slots=True)
class FlappingRun:
    """A time span in which a group rebalanced unusually often.

    Attributes:
        since, until: times of the first and the last rebalance, in epoch seconds.
        rate: largest number of rebalances per hour in this time span.
        what: text such as `rebalanced up to 9 times per hour`.
        evidence: rows of table `churn` in this time span, newest first.
    """

    group: str
    since: float
    until: float
    rate: float
    what: str
    evidence: Evidence

    def goes_on(self, now: float) -> bool:
        """Return whether the last rebalance was at most `_PAUSE` seconds before `now` (epoch seconds)."""
        return now - self.until <= _PAUSE


def flapping(rows: Iterable[GoldRow], now: float) -> list[Finding]:
    """Return a finding for each group that rebalances unusually often now.

    Args:
        rows: result of `read_churn`.
        now: end of the time that the gold tables cover, in epoch seconds.
    """
    return [
        Finding(
            Kind.FLAPPING,
            Severity.WARN,
            run.group,
            (run.group,),
            run.what,
            run.since,
            "find out why members join and leave: restarts, scaling, max.poll.interval.ms, session.timeout.ms",
            run.evidence,
            ("kgtui", "show", run.group),
            weight=run.rate,
        )
        for run in flapping_runs(rows)
        if run.goes_on(now)
    ]


def flapping_runs(rows: Iterable[GoldRow]) -> list[FlappingRun]:
    """Return the time spans in which groups were flapping, sorted by their start.

    Args:
        rows: rows of table `churn`, from `read_churn`.
    """
    by_group: dict[str, list[GoldRow]] = {}
    for row in sorted(rows, key=lambda row: row["hour"]):
        by_group.setdefault(row["group"], []).append(row)
    runs = [_flapping_run(hours) for rows in by_group.values() for hours in _bursts(rows)]
    return sorted((run for run in runs if run is not None), key=lambda run: run.since)


def _bursts(hours: Sequence[GoldRow]) -> list[list[GoldRow]]:
    """Split the rows of one group into bursts (series of rebalances with short pauses).

    A burst ends when no rebalance follows within `_PAUSE` seconds.

    Args:
        hours: rows of table `churn` about the group, oldest first. The result keeps this order.
    """
    bursts: list[list[GoldRow]] = []
    for row in hours:
        before = bursts[-1][-1] if bursts else None
        if before is None or _start(row) > _end(before) + _PAUSE:
            bursts.append([])
        bursts[-1].append(row)
    return bursts


def _flapping_run(hours: Sequence[GoldRow]) -> FlappingRun | None:
    often = [row for row in hours if row["flapping"]]
    if not often:
        return None
    rate = max(row["per_hour"] or row["rebalances"] for row in often)
    held_up = sum(row["rebalancing_seconds"] or 0.0 for row in hours)
    rebalances = f"rebalanced up to {rate:.0f} times per hour"
    if held_up >= 1:
        rebalances = f"{rebalances}; {duration(held_up)} were spent rebalancing"
    columns = ("hour", "rebalances", "per_hour", "members_joined", "members_left", "rebalancing_seconds")
    group, evidence = often[0]["group"], evidence_of(Kind.FLAPPING, columns, hours[::-1])
    return FlappingRun(group, min(map(_start, often)), max(map(_end, hours)), rate, rebalances, evidence)


def _start(row: GoldRow) -> float:
    return float((row["burst_since"] or row["hour"]).timestamp())


def _end(row: GoldRow) -> float:
    """Return the time of the last rebalance in the row's hour. If the time is unknown, return the start of the hour."""
    return float((row["last_rebalance"] or row["hour"]).timestamp())


def past_flapping(rows: Iterable[GoldRow], now: float) -> list[Finding]:
    """Return a finding for each ended time span in which a group rebalanced unusually often.

    Args:
        rows: result of `read_churn`.
        now: end of the time that the gold tables cover, in epoch seconds.
    """
    found = []
    for run in flapping_runs(rows):
        if run.goes_on(now):
            continue
        times = (run.since, run.until, "the group's members stopped joining and leaving")
        found.append(past_finding(Kind.FLAPPING, run.group, run.what, times, run.evidence))
    return found

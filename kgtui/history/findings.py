"""From gold tables to findings: what is unhealthy, at risk, flapping, unusual or unused, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.errors import LakeError
from kgtui.history import finding_rules as rules
from kgtui.history.gold import NEVER_MADE, Gold
from kgtui.history.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, HEALTH, LAG
from kgtui.model.finding import Insights

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.history.gold import Row
    from kgtui.history.schemas import Table
    from kgtui.model.finding import Finding

_CHURN_HOURS = 24


def insights(path: Path | str) -> Insights:
    """All findings of a lake, as of the newest moment that its gold tables know.

    Raises:
        LakeError: it is no lake, a table of it cannot be read, or the pipeline has made none yet.
    """
    return insights_of(Gold(path))


def insights_of(gold: Gold) -> Insights:
    """All findings of the gold tables. Raises `LakeError` as `insights`."""
    ages = gold.ages()
    if not any(age.there for age in ages):
        why = "; ".join(dict.fromkeys(f"{age.table}: {age.trouble}" for age in ages if age.trouble != NEVER_MADE))
        raise LakeError(
            f"{gold.path} has no gold tables that can be read{f' ({why})' if why else ''}: "
            "make them with kgtui pipeline run --lake LAKE"
        )
    there = {age.table for age in ages if age.there}
    # Cleanup rests on whole days and churn on hours: what goes on is told by the tables that follow the minutes.
    lively = [
        age.covered_to
        for age in ages
        if age.table in (Gold.title(LAG), Gold.title(HEALTH)) and age.covered_to is not None
    ]
    known = lively or [age.covered_to for age in ages if age.covered_to is not None]
    now = max(known, default=None)
    found = [] if now is None else _findings(gold, there, now)
    return Insights(tuple(sorted(found, key=lambda finding: finding.urgency)), ages, now)


def _findings(gold: Gold, there: set[str], now: float) -> list[Finding]:
    def newest(table: Table, column: str) -> list[Row]:
        return gold.newest(table, column) if Gold.title(table) in there else []

    unused = rules.unused(newest(CLEANUP, "day"))
    left = {group for finding in unused for group in finding.groups}
    groups = {row["group"]: row for row in newest(LAG, "minute") if row["topic"] is None}
    forecast = [row for row in newest(FORECAST, "hour") if row["group"] not in left]
    unhealthy = rules.unhealthy([row for row in newest(HEALTH, "window_start") if row["group"] not in left], groups)
    at_risk = rules.at_risk(forecast)
    ill = {finding.subject for finding in (*unhealthy, *at_risk)}
    drain = rules.drain(forecast, groups, ill)
    ill |= {finding.subject for finding in drain}
    churn = (
        gold.rows(CHURN, since=rules.instant(now - _CHURN_HOURS * 3_600), time="hour")
        if Gold.title(CHURN) in there
        else []
    )
    unusual = [row for row in newest(BASELINE, "hour") if row["group"] not in left]
    return [*unhealthy, *at_risk, *drain, *rules.flapping(churn, now), *rules.unusual(unusual, ill), *unused]

"""Read the gold tables of a lake and apply all rules to them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from kgtui.errors import LakeError
from kgtui.insights import rules
from kgtui.insights.finding import Insights
from kgtui.lake.gold import NEVER_WRITTEN, Gold, only_whole_groups
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, HEALTH, LAG, SERIES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path
    from typing import Any

    from kgtui.insights.finding import Finding
    from kgtui.lake.gold import GoldRow, Where
    from kgtui.lake.schemas import Table

_CHURN_HOURS = 24


def read_insights(path: Path | str) -> Insights:
    """Return all findings of a lake. The time that counts as now is the end of the data in its gold tables.

    Raises:
        LakeError: the folder is not a lake, or none of its gold tables can be read.
    """
    return find_insights(Gold(path))


def find_insights(gold: Gold) -> Insights:
    """Return all findings in the gold tables.

    Raises:
        LakeError: none of the gold tables can be read.
    """
    ages = gold.ages()
    if not any(age.is_readable for age in ages):
        why = "; ".join(dict.fromkeys(f"{age.table}: {age.error}" for age in ages if age.error != NEVER_WRITTEN))
        raise LakeError(
            f"{gold.path} has no gold tables that can be read{f' ({why})' if why else ''}: "
            "create them with kgtui pipeline run --lake LAKE"
        )
    readable = {age.table for age in ages if age.is_readable}
    # The end of `lag` and `health` counts as now, because every run of the pipeline extends these two tables. `cleanup`
    # covers whole days and `churn` whole hours; their ends count only if `lag` and `health` have no rows.
    frequent = [
        age.covered_to
        for age in ages
        if age.table in (Gold.title(LAG), Gold.title(HEALTH)) and age.covered_to is not None
    ]
    ends = frequent or [age.covered_to for age in ages if age.covered_to is not None]
    now = max(ends, default=None)
    found = [] if now is None else _findings(gold, readable, now)
    return Insights(tuple(sorted(found, key=lambda finding: finding.urgency)), ages, now)


def _findings(gold: Gold, readable: set[str], now: float) -> list[Finding]:
    def newest(
        table: Table, time: str, where: Where | None = None, groups: Collection[str] | None = None
    ) -> list[GoldRow]:
        return gold.newest(table, time, where=where, groups=groups) if Gold.title(table) in readable else []

    unused = rules.unused(newest(CLEANUP, "day"))
    left = {group for finding in unused for group in finding.groups}
    health = [row for row in newest(HEALTH, "window_start", _not_ok) if row["group"] not in left]
    forecast = [row for row in _forecast(gold) if row["group"] not in left] if Gold.title(FORECAST) in readable else []
    concerned = {row["group"] for row in (*health, *forecast)}
    groups = {row["group"]: row for row in newest(LAG, "minute", only_whole_groups, concerned)}
    unhealthy, at_risk = rules.unhealthy(health, groups), rules.at_risk(forecast)
    ill = {finding.subject for finding in (*unhealthy, *at_risk)}
    drain = rules.drain(forecast, groups, ill)
    ill |= {finding.subject for finding in drain}
    lately = rules.instant(now - _CHURN_HOURS * 3_600)
    churn = gold.rows(CHURN, since=lately, time="hour", where=_is_flapping) if Gold.title(CHURN) in readable else []
    unusual = [row for row in newest(BASELINE, "hour", _is_outlier) if row["group"] not in left]
    return [*unhealthy, *at_risk, *drain, *rules.flapping(churn, now), *rules.unusual(unusual, ill), *unused]


def _forecast(gold: Gold) -> list[GoldRow]:
    """Return the newest forecast of each group. If it has no trend yet, return that of the hour before instead."""
    last = gold.last(FORECAST, "hour")
    if not isinstance(last, datetime):
        return []
    rows = gold.rows(FORECAST, since=last - timedelta(hours=1), time="hour", where=_has_forecast)
    whole = {(row["group"], row["hour"]): row for row in rows if row["topic"] is None}
    before = {group: hour for group, hour in whole if hour != last}
    hours = {
        group: last if row["trend"] is not None else before.get(group, last)
        for (group, hour), row in whole.items()
        if hour == last
    }
    return [row for row in rows if row["hour"] == hours.get(row["group"])]


# Nearly all groups are healthy, and there may be 100,000. These filters let pyarrow skip the rows of healthy groups, so
# that they are not converted to Python objects.


def _not_ok(column: Callable[[str], Any]) -> Any:
    return column("status") != "OK"


def _has_forecast(column: Callable[[str], Any]) -> Any:
    ends = (column("drain_seconds") >= rules.MIN_BACKLOG_AGE) | (column("trend") > 0)
    return column("at_risk") | (column("lost") > 0) | ends | column("trend").is_null()


def _is_flapping(column: Callable[[str], Any]) -> Any:
    return column("flapping")


def _is_outlier(column: Callable[[str], Any]) -> Any:
    far = rules.FAR_FROM_NORMAL
    some = [(column(f"{name}_deviation") >= far) | (column(f"{name}_deviation") <= -far) for name in SERIES]
    return some[0] | some[1] | some[2]

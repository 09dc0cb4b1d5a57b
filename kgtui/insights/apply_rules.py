"""Read the gold tables of a lake, and apply all rules that find problems of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from kgtui.errors import LakeError
from kgtui.insights import rules
from kgtui.insights.finding import CREATE_GOLD_TABLES, Finding, Insights, Kind
from kgtui.insights.flapping import flapping, past_flapping, read_churn
from kgtui.insights.past_problems import past_unhealthy, read_episodes
from kgtui.lake.gold import NEVER_WRITTEN, WHOLE_GROUPS, Gold, GoldRow, TableAge
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, HEALTH, LAG, SERIES
from kgtui.model.rfc3339 import utc_datetime

if TYPE_CHECKING:
    from kgtui.lake.schemas import Table
    from kgtui.lake.store import LakePath
    from kgtui.model.timeline import LagHistory

_CHURN_HOURS = 24


def read_insights(path: LakePath | str, since: float | None = None) -> Insights:
    """Return all findings (problems of groups) in the gold tables (results of the pipeline) of a lake.

    Args:
        since: past problems are returned if they ended at or after this time, in epoch seconds; None for no past
            problems.

    Raises:
        LakeError: the folder is not a lake, or none of its gold tables can be read.
    """
    return find_insights(Gold(path), since)


def find_insights(gold: Gold, since: float | None = None) -> Insights:
    """Return all findings (problems of groups) in the gold tables (results of the pipeline).

    Args:
        since: past problems are returned if they ended at or after this time, in epoch seconds; None for no past
            problems.

    Raises:
        LakeError: none of the gold tables can be read.
    """
    ages = readable_ages(gold)
    readable = {age.table for age in ages if age.is_readable}
    now = end_of(ages)
    if now is None:
        return Insights((), ages)
    context = Context(gold, readable, now)
    found = tuple(sorted(_findings(context), key=lambda finding: finding.urgency))
    return Insights(found, ages, now, () if since is None else _past_problems(context, since))


def readable_ages(gold: Gold) -> tuple[TableAge, ...]:
    """Return a `TableAge` (age or error) for each gold table. Raises `LakeError` if no gold table can be read."""
    ages = gold.ages()
    if not any(age.is_readable for age in ages):
        why = "; ".join(dict.fromkeys(f"{age.table}: {age.error}" for age in ages if age.error != NEVER_WRITTEN))
        raise LakeError(
            f"{gold.path} has no gold tables that can be read{f' ({why})' if why else ''}{CREATE_GOLD_TABLES}"
        )
    return ages


def end_of(ages: Iterable[TableAge]) -> float | None:
    """Return the end of the time that the gold tables cover, in seconds since the epoch; None if all tables are empty.

    The rules use this end as the current time.
    """
    # Use the end of the tables `lag` and `health`, because every pipeline run adds rows to them. The other gold tables
    # have only one row per hour or day.
    ends = {age.table: age.covered_to for age in ages if age.covered_to is not None}
    frequent = [end for table, end in ends.items() if table in (LAG.title, HEALTH.title)]
    return max(frequent or ends.values(), default=None)


def _past_problems(context: Context, since: float) -> tuple[Finding, ...]:
    found: list[Finding] = []
    if context.is_readable(HEALTH):
        found += past_unhealthy(read_episodes(context.gold, since, context.now), context.unused, context.behind)
    if context.is_readable(CHURN):
        # Each row of table `churn` covers an hour, and is selected by the start of the hour. Read from an hour before
        # `since`, because an hour that began before `since` can contain later rebalances.
        found += past_flapping(read_churn(context.gold, since - 3_600), context.now)
    ended = [finding for finding in found if finding.until is not None and finding.until >= since]
    return tuple(sorted(ended, key=lambda finding: (-(finding.until or 0.0), finding.subject)))


_LAG_COLUMNS = ("group", "state", "time_lag")
"""Columns of the gold table `lag` that `Context.lag` reads: group id, state, and age of the oldest unread record."""


class Context:
    """Data that the rules share: gold rows, which are read only once, and results of earlier rules.

    Attributes:
        now: end of the time that the gold tables cover, in epoch seconds. It is used as the current time.
        unused: ids of the unused groups, which the first rule finds.
        behind: group id → start of the group's backlog (unread records), in epoch seconds.
        reported: ids of groups with a finding by an earlier rule, except the rule about unused groups. For these
            groups, the rule `DRAIN` does not report a growing lag, and the rule `UNUSUAL` reports only an unusual input
            rate.
    """

    def __init__(self, gold: Gold, readable: set[str], now: float) -> None:
        self.gold, self.now = gold, now
        self.unused: set[str] = set()
        self.reported: set[str] = set()
        self.behind: dict[str, float] = {}
        self._readable = readable
        self._rows: dict[Read, list[GoldRow]] = {}

    def rows(self, rule: Rule) -> list[GoldRow]:
        """Return the gold rows that a rule examines; an empty list if the rule's gold table cannot be read."""
        if not self.is_readable(rule.kind.table):
            return []
        if rule.read not in self._rows:
            self._rows[rule.read] = rule.read(self)
        return self._rows[rule.read]

    def is_readable(self, table: Table) -> bool:
        """Return whether a gold table exists and can be read. This was checked before the first rule was applied."""
        return table.title in self._readable

    @cached_property
    def lag(self) -> dict[str, GoldRow]:
        """Group id → the group's row in table `lag` for the newest minute of the table.

        The dict contains only groups that appear in the rows that at least one rule reads. Unused groups are left out.
        """
        if not self.is_readable(LAG):
            return {}
        groups = {row["group"] for rule in RULES for row in self.rows(rule) if "group" in row} - self.unused
        rows = self.gold.newest(LAG, "minute", _LAG_COLUMNS, where=WHOLE_GROUPS, groups=groups)
        return {row["group"]: row for row in rows}

    def histories(self, rows: Iterable[GoldRow]) -> dict[str, LagHistory]:
        """Return a dict: group id → lag and rates in the 24 hours before `now`, for all groups in `rows`.

        The dict is empty if table `lag` cannot be read.
        """
        groups = {row["group"] for row in rows}
        if not groups or not self.is_readable(LAG):
            return {}
        return self.gold.lag_histories(groups, since=utc_datetime(self.now - 86_400))


Read = Callable[[Context], list[GoldRow]]


@dataclass(frozen=True, slots=True)
class Rule:
    """How the findings of one kind are computed.

    Attributes:
        read: function that returns rows of the gold table `kind.table`.
        find: function that computes findings from these rows.
        skips_unused: whether rows about unused groups are left out before `find` is called.
    """

    kind: Kind
    read: Read
    find: Callable[[list[GoldRow], Context], list[Finding]]
    skips_unused: bool = True


def _findings(context: Context) -> list[Finding]:
    found: list[Finding] = []
    for rule in RULES:
        rows = context.rows(rule)
        if rule.skips_unused:
            rows = [row for row in rows if row["group"] not in context.unused]
        made = rule.find(rows, context)
        found += made
        if rule.kind is Kind.UNUSED:
            context.unused = {group for finding in made for group in finding.groups}
        else:
            context.reported |= {finding.subject for finding in made}
        if rule.kind in (Kind.AT_RISK, Kind.DRAIN):
            context.behind |= {finding.subject: finding.since for finding in made if finding.since is not None}
    return found


# Each function below reads the gold rows for one rule. SQL conditions leave out healthy groups, because a cluster can
# have 100,000 of them.


def _unused(context: Context) -> list[GoldRow]:
    # Table `cleanup` has no rows for a day without unused groups, so its newest day can be in the past. Therefore, read
    # the rows of the current day.
    return context.gold.rows(CLEANUP, since=utc_datetime(context.now).date(), time="day")


def _unhealthy(context: Context) -> list[GoldRow]:
    return context.gold.newest(HEALTH, "window_start", where="status <> 'OK'")


def _forecasts(context: Context) -> list[GoldRow]:
    """Return the forecasts for the current hour. Groups without a forecast for this hour are left out.

    But if a group's forecast for the current hour contains no trend (growth of the lag) yet, return the group's
    forecasts for the hour before instead, if there are any.
    """
    # Table `forecast` has no rows for an hour without lag, so its newest hour can be in the past. Therefore, compute
    # the current hour from `now`.
    current = utc_datetime(context.now).replace(minute=0, second=0, microsecond=0)
    rows = context.gold.rows(FORECAST, since=current - timedelta(hours=1), time="hour", where=_HAS_FORECAST)
    whole = {(row["group"], row["hour"]): row for row in rows if row["topic"] is None}
    before = {group: hour for group, hour in whole if hour != current}
    hours = {
        group: current if row["trend"] is not None else before.get(group, current)
        for (group, hour), row in whole.items()
        if hour == current
    }
    return [row for row in rows if row["hour"] == hours.get(row["group"])]


_HAS_FORECAST = (
    f"at_risk OR lost > 0 OR drain_seconds >= {rules.MIN_BACKLOG_AGE} OR trend > 0 OR trend IS NULL"
)  # fmt: skip


def _churn(context: Context) -> list[GoldRow]:
    return read_churn(context.gold, context.now - _CHURN_HOURS * 3_600)


def _outliers(context: Context) -> list[GoldRow]:
    """Return the rows of table `baseline` that contain outliers, such as an unusual lag.

    The rows are from the newest hour of the table and the 24 hours before. Groups without an outlier in the newest hour
    are left out.
    """
    newest = context.gold.newest(BASELINE, "hour", where=_IS_OUTLIER)
    if not newest:
        return []
    before, groups = newest[0]["hour"] - timedelta(hours=24), {row["group"] for row in newest}
    return context.gold.rows(BASELINE, since=before, time="hour", groups=groups, where=_IS_OUTLIER)


_IS_OUTLIER = " OR ".join(f"abs({name}_deviation) >= {rules.FAR_FROM_NORMAL}" for name in SERIES)


RULES = (
    Rule(Kind.UNUSED, _unused, lambda rows, _: rules.unused(rows), skips_unused=False),
    Rule(Kind.UNHEALTHY, _unhealthy, lambda rows, context: rules.unhealthy(rows, context.lag)),
    Rule(Kind.AT_RISK, _forecasts, lambda rows, _: rules.at_risk(rows)),
    Rule(Kind.DRAIN, _forecasts, lambda rows, context: rules.drain(rows, context.lag, context.reported)),
    Rule(Kind.UNUSUAL, _outliers, lambda rows, context: rules.unusual(rows, context.reported, context.histories(rows))),
    # Do not skip unused groups, because a group that is rebalancing now is in use again.
    Rule(Kind.FLAPPING, _churn, lambda rows, context: flapping(rows, context.now), skips_unused=False),
)
"""All rules, in the order in which they are applied.

The rule that finds unused groups is first, because most other rules skip these groups.
"""

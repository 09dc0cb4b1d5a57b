"""What a report tells of a lake: its findings, when groups were not well, and how they went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.errors import LakeError
from kgtui.insights.finding import Kind
from kgtui.insights.reader import find_insights
from kgtui.insights.rules import instant
from kgtui.lake.gold import Gold, about_groups
from kgtui.lake.schemas.gold import HEALTH, LAG
from kgtui.lake.tables import recorded_cluster_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from kgtui.insights.finding import Insights
    from kgtui.lake.gold import GoldRow
    from kgtui.model.timeline import LagHistory

LONGEST = 14 * 86_400.0
"""Seconds before the end that a report begins with at most, unless told otherwise."""

MOST_DRAWN = 60
"""Groups whose course is drawn."""

_SEVERITY = ("WARN", "STALL", "STOP", "REWIND")


@dataclass(frozen=True, slots=True)
class Episode:
    """A time in which a group was not well.

    Attributes:
        worst: the worst status of one of its partitions: WARN, STOP, STALL or REWIND.
        since, until: seconds since the epoch; `until` is the last time that it was seen so.
        going_on: it is so to the end of what is known.
        most_lag: the most records that waited; None when that is not known.
    """

    group: str
    worst: str
    since: float
    until: float
    going_on: bool
    most_lag: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a report tells.

    Attributes:
        lake: where the tables lie.
        cluster: its id; None when the lake does not tell.
        since, until: what the plots cover, in seconds since the epoch.
        courses: of the groups that findings and episodes are about, by group.
        episodes: the newest first.
        groups: how many groups the tables know at the end.
    """

    lake: str
    cluster: str | None
    since: float
    until: float
    made_at: float
    insights: Insights
    lag_histories: Mapping[str, LagHistory] = field(default_factory=dict)
    episodes: tuple[Episode, ...] = ()
    groups: int = 0


def report_of(path: Path | str, made_at: float, *, since: float | None = None, until: float | None = None) -> Report:
    """Gather a report. Findings are as of the end of the tables; the rest is cut to an interval.

    Args:
        made_at, since, until: seconds since the epoch.

    Raises:
        LakeError: as `findings.insights`, or nothing is known of the interval.
    """
    gold = Gold(path)
    found = find_insights(gold)
    end = until if until is not None else found.as_of
    if end is None:
        raise LakeError(f"{gold.path} has gold tables without rows: there is nothing to report")
    begin = since if since is not None else end - LONGEST
    unused = {group for one in found.findings if one.kind is Kind.UNUSED for group in one.groups}
    episodes = tuple(one for one in _episodes(gold, begin, end) if one.group not in unused)
    wanted = [group for finding in found.findings for group in finding.groups[:1]]
    groups = list(dict.fromkeys([*wanted, *(episode.group for episode in episodes)]))[:MOST_DRAWN]
    lag_histories = gold.lag_histories(groups, since=instant(begin), until=instant(end))
    first = min((course.minutes[0] for course in lag_histories.values()), default=begin)
    known = {row["group"] for row in gold.newest(LAG, "minute", ("group",), where=about_groups)}
    return Report(
        str(gold.path),
        recorded_cluster_id(gold.path),
        max(begin, first),
        end,
        made_at,
        found,
        lag_histories,
        episodes,
        len(known),
    )


def _episodes(gold: Gold, since: float, until: float) -> tuple[Episode, ...]:
    """When groups were not well, the newest first."""
    columns = ("group", "window_start", "status", "worst", "bad_since", "lag", "covered_to")
    rows = gold.rows(
        HEALTH,
        columns,
        since=instant(since),
        until=instant(until),
        time="window_start",
        where=lambda column: about_groups(column) & column("status").isin(["WARN", "ERR"]),
    )
    newest = {row["window_start"] for row in gold.newest(HEALTH, "window_start", ("window_start",))}
    found: dict[tuple[str, object], list[GoldRow]] = {}
    for row in rows:
        found.setdefault((row["group"], row["bad_since"]), []).append(row)
    episodes = [_episode(some, any(row["window_start"] in newest for row in some)) for some in found.values()]
    return tuple(sorted(episodes, key=lambda one: (-one.until, one.since, one.group)))


def _episode(rows: Iterable[GoldRow], going_on: bool) -> Episode:
    rows = sorted(rows, key=lambda row: row["window_start"])
    began = rows[0]["bad_since"] or rows[0]["window_start"]
    lags = [row["lag"] for row in rows if row["lag"] is not None]
    statuses = [row["worst"] or row["status"] for row in rows]
    worst = max(statuses, key=lambda status: _SEVERITY.index(status) if status in _SEVERITY else len(_SEVERITY))
    return Episode(
        rows[0]["group"],
        worst,
        began.timestamp(),
        rows[-1]["covered_to"].timestamp(),
        going_on,
        max(lags, default=None),
    )

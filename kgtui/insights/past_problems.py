"""Find episodes (time spans in which a group was unhealthy), and return findings about episodes that have ended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.insights import rules
from kgtui.insights.finding import Evidence, Finding, Kind, Severity
from kgtui.lake.gold import WHOLE_GROUPS
from kgtui.lake.schemas.gold import HEALTH
from kgtui.model.health.wording import duration
from kgtui.model.number_format import counted
from kgtui.model.rfc3339 import utc_datetime

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from kgtui.lake.gold import Gold, GoldRow

_COLUMNS = (
    "group", "window_start", "status", "worst", "bad_since", "ended_since", "lag", "members", "covered_from",
    "covered_to",
)  # fmt: skip
_STATUS_SEVERITY = ("WARN", "STALL", "STOP", "REWIND")
_PAUSE = 1_800.0
"""Maximum pause, in seconds, between two episodes of a group that are merged into one episode.

An episode is a time span in which the group was unhealthy.
"""

_ENDED = {
    "STOP": "the group committed again",
    "STALL": "the group's offsets moved forward again",
    "REWIND": "the committed offsets no longer went back",
    "WARN": "the group's lag fell again",
}
_MEMBERS_CAME = "members joined the group, and it committed again"
_UNKNOWN_END = "it is not known what ended the problem, because the group or its offsets were not recorded afterwards"
_ADVICE = "find out what happened at this time, so that it does not happen again"


@dataclass(frozen=True, slots=True)
class Episode:
    """A time span in which a group was unhealthy.

    Attributes:
        worst: worst status of any partition in the episode: WARN, STALL, STOP or REWIND (`kgtui.model.burrow.Status`).
        since: start in epoch seconds.
        until: end in epoch seconds. If no recovery was recorded, this is the end of the last time window in which the
            group was unhealthy.
        ongoing: whether the group is still unhealthy at the end of the time span that was read.
        max_lag: largest lag of the group during the episode, in records; None if unknown.
        ended: text that says what ended the problem; empty if the problem is ongoing.
        since_at_least: whether the episode may have begun before `since`.
        lag_after: lag after the recovery, in records; None if unknown.
    """

    group: str
    worst: str
    since: float
    until: float
    ongoing: bool
    max_lag: int | None = None
    ended: str = ""
    since_at_least: bool = False
    lag_after: int | None = None


def read_episodes(gold: Gold, since: float, until: float) -> tuple[Episode, ...]:
    """Return the episodes (time spans in which a group was unhealthy), the most recently ended one first.

    Args:
        since, until: time span to search, in epoch seconds. An episode that began earlier is
            included if the group was unhealthy in a time window that starts at or after `since`.
            An episode that lasts until the newest time window is ongoing.
    """
    times = (utc_datetime(since), utc_datetime(until))
    rows = gold.rows(HEALTH, _COLUMNS, since=times[0], until=times[1], time="window_start", where=_IS_PROBLEM)
    newest = gold.last(HEALTH, "window_start", until=times[1])
    by_group: dict[str, list[GoldRow]] = {}
    for row in rows:
        by_group.setdefault(row["group"], []).append(row)
    found = [episode for some in by_group.values() for episode in _episodes(some, newest, times[1])]
    return tuple(sorted(found, key=lambda episode: (-episode.until, episode.since, episode.group)))


_IS_PROBLEM = f"{WHOLE_GROUPS} AND (status IN ('WARN', 'ERR') OR ended_since IS NOT NULL)"


def _episodes(rows: Iterable[GoldRow], newest: object, until: datetime) -> list[Episode]:
    """Return the episodes (time spans in which the group was unhealthy) of one group.

    Args:
        rows: rows of table `health` about the group.
        newest: start of the newest time window in table `health` up to `until`. An episode is ongoing if the group is
            unhealthy in this time window.
        until: end of the time span to search. Recoveries after this time are ignored.
    """
    by_start: dict[object, list[GoldRow]] = {}
    for row in sorted(rows, key=lambda row: row["window_start"]):
        by_start.setdefault(row["ended_since"] or row["bad_since"], []).append(row)
    merged: list[Episode] = []
    for windows in by_start.values():
        if all(row["status"] == "OK" for row in windows):
            # Only the recovery was read, because the group was unhealthy before the time span that is searched. Omit
            # the episode, because its worst status is unknown.
            continue
        one = _episode(windows, newest, until)
        if merged and one.since - merged[-1].until <= _PAUSE:
            one = _joined(merged.pop(), one)
        merged.append(one)
    return merged


def _episode(windows: Sequence[GoldRow], newest: object, until: datetime) -> Episode:
    bad = [row for row in windows if row["status"] != "OK"]
    after = next((row for row in windows if row["status"] == "OK" and row["covered_to"] <= until), None)
    since = bad[0]["bad_since"] or bad[0]["window_start"]
    ongoing = after is None and any(row["window_start"] == newest for row in windows)
    return Episode(
        bad[0]["group"],
        max((row["worst"] or row["status"] for row in bad), key=_severity_of_status),
        since.timestamp(),
        min((after or bad[-1])["covered_to"], until).timestamp(),
        ongoing,
        max((row["lag"] for row in bad if row["lag"] is not None), default=None),
        "" if ongoing else _what_ended(bad[-1], after),
        since <= bad[0]["covered_from"],
        None if after is None else after["lag"],
    )


def _joined(one: Episode, other: Episode) -> Episode:
    lags = [lag for lag in (one.max_lag, other.max_lag) if lag is not None]
    return Episode(
        one.group,
        max((one.worst, other.worst), key=_severity_of_status),
        min(one.since, other.since),
        max(one.until, other.until),
        other.ongoing,
        max(lags, default=None),
        other.ended,
        one.since_at_least if one.since <= other.since else other.since_at_least,
        other.lag_after,
    )


def _what_ended(last: GoldRow, after: GoldRow | None) -> str:
    """Return a text that says what ended a problem.

    Args:
        last: last row of table `health` in which the group is unhealthy.
        after: first row with status OK after `last`; None if no recovery was recorded.
    """
    if after is None:
        return _UNKNOWN_END
    if last["members"] == 0 and after["members"]:
        return _MEMBERS_CAME
    return _ENDED.get(last["worst"] or last["status"], "the group's status was OK again")


def _severity_of_status(status: str) -> int:
    return _STATUS_SEVERITY.index(status) if status in _STATUS_SEVERITY else len(_STATUS_SEVERITY)


def past_unhealthy(episodes: Iterable[Episode], unused: Collection[str], behind: Mapping[str, float]) -> list[Finding]:
    """Return a finding for each episode (time span in which a group was unhealthy) that has ended.

    Args:
        unused: ids of unused groups, whose episodes are left out.
        behind: group id → start of the group's current backlog (unread records), in epoch seconds. If a `WARN` episode
            ended after this time, it is left out, because another finding already describes the same backlog.
    """
    found = []
    for one in episodes:
        same_backlog = one.worst == "WARN" and behind.get(one.group, math.inf) <= one.until
        if one.ongoing or one.group in unused or same_backlog:
            continue
        problem = f"{rules.STATUS.get(one.worst, f'was {one.worst}')} for {duration(one.until - one.since)}"
        if one.max_lag is not None:
            problem = f"{problem}, with up to {counted(one.max_lag, 'unread record')}"
        if one.lag_after:
            left = f"{counted(one.lag_after, 'unread record')} {'was' if one.lag_after == 1 else 'were'} left"
            problem = f"{problem}; {left} when the problem ended"
        row = (utc_datetime(one.since), utc_datetime(one.until), one.worst, one.max_lag, one.lag_after)
        evidence = Evidence(HEALTH.title, ("since", "until", "worst", "max_lag", "lag_after"), (row,))
        found.append(past_finding(Kind.UNHEALTHY, one.group, problem, (one.since, one.until, one.ended), evidence,
                           since_at_least=one.since_at_least))  # fmt: skip
    return found


def past_finding(
    kind: Kind, group: str, what: str, times: tuple[float, float, str], evidence: Evidence, *,
    since_at_least: bool = False,
) -> Finding:  # fmt: skip
    """Return a finding about a problem that has ended.

    Args:
        what: text that says what was wrong, without the group id.
        times: `(start, end, text that says what ended the problem)`; times in epoch seconds.
        since_at_least: whether the problem may have begun before the start.
    """
    since, until, ended = times
    command = ("kgtui", "show", group)
    return Finding(kind, Severity.NOTE, group, (group,), what, since, _ADVICE, evidence, command,
                   since_at_least=since_at_least, until=until, ended=ended)  # fmt: skip

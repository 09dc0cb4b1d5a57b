"""The rules: pure functions that compute findings from rows of gold tables. Each kind of finding has one function.

The rule about groups that rebalance too often is in `kgtui.insights.flapping`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kgtui.insights.finding import Evidence, Finding, Kind, Severity
from kgtui.model.group_types import EMPTY
from kgtui.model.health import Loss
from kgtui.model.health.wording import duration, lost_records
from kgtui.model.number_format import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from kgtui.lake.gold import GoldRow
    from kgtui.model.timeline import LagHistory


MIN_BACKLOG_AGE = 60.0
"""Minimum age of a group's oldest unread record, in seconds, for the rule `drain` to report the group.

The rule `drain` reports groups that catch up with a backlog, or whose lag grows. If the age is unknown, the rule
assumes that the record is old enough. A group that catches up is reported only if catching up will take at least
`MIN_BACKLOG_AGE` seconds.
"""

_SHOWN_RANGE = 0.1
"""A finding shows the range of an estimated time only if the range is at least this wide, as a fraction of the time.

For example, a wide range is shown as "about 6 min (between 5 min and 7 min)". If the range is narrower, the finding
shows only "about 6 min".
"""

MAX_EVIDENCE_ROWS = 12
"""Maximum number of rows of a gold table that a finding shows as evidence.

If there are more rows, the finding shows how many rows are left out.
"""

FAR_FROM_NORMAL = 3.5
"""Minimum absolute robust z-score of an outlier (Iglewicz and Hoaglin 1993).

The robust z-score is the difference from the median, divided by the standard deviation. The standard deviation is
estimated from the median absolute deviation.
"""

_USUAL_MINUTES = 3
"""Number of normal minutes in a row that end the search for the time at which a lag or rate became unusual.

The search goes back in time, minute by minute.
"""

_MIN_RELATIVE_DISTANCE = 0.5
"""An outlier must differ from the normal value by more than this fraction of the normal value.

A normal value of less than 1 counts as 1.

This condition prevents outliers in a nearly constant series, in which even small differences have large z-scores.
"""

_BASES = {"hour of week": "weeks", "hour of day": "days"}
_SERIES = (
    ("rate_in", "input", "/s"),
    ("lag", "lag", ""),
    ("rate_out", "output", "/s"),
)

STATUS = {
    "STOP": "stopped committing",
    "STALL": "keeps committing the same offsets",
    "REWIND": "went back to earlier offsets",
    "WARN": "is falling behind steadily",
}
_ADVICE = {
    "STOP": "the members are connected but do not commit: look in their logs for a record that cannot be processed",
    "STALL": "the members commit but make no progress: look in their logs for a record that cannot be processed",
    "REWIND": "somebody reset the offsets of the group, or commits arrived late: the group reads some records twice",
    "WARN": "add members, up to one per partition, or make processing faster",
}
_NO_MEMBERS = "the group has no members: start its consumers again, or delete the group if it is no longer needed"
_UNUSED = "ask the owner of the group; if nobody needs the group, delete it (kgtui backs up its offsets first)"
_UNUSED_FAMILY = "ask the owner of the groups; if nobody needs them, delete them (kgtui backs up their offsets first)"


def unhealthy(rows: Iterable[GoldRow], groups: Mapping[str, GoldRow]) -> list[Finding]:
    """Return a finding for each group with status WARN or ERR.

    Args:
        rows: newest rows of table `health`.
        groups: group id → newest row of table `lag`.
    """
    whole, partitions = _split_rows(rows)
    found = []
    for row in whole:
        if row["status"] not in ("WARN", "ERR"):
            continue
        group, worst = row["group"], row["worst"] or row["status"]
        parts = partitions.get(group, [])
        parts.sort(key=lambda part: -(part["lag"] or 0))
        columns = ("topic", "partition", "status", "lag", "position", "last_commit", "complete")
        problem = STATUS.get(worst, f"is {worst}")
        if (row["affected"] or 0) > 1:
            problem = f"{problem} on {counted(row['affected'], 'partition')}"
        if row["lag"] is not None:
            problem = f"{problem}; {counted(row['lag'], 'unread record')}"
        nobody = groups.get(group, {}).get("state") == EMPTY
        found.append(
            Finding(
                Kind.UNHEALTHY,
                Severity.ERROR if row["status"] == "ERR" else Severity.WARN,
                group,
                (group,),
                problem,
                seconds_of(row["bad_since"]),
                _NO_MEMBERS if nobody else _ADVICE.get(worst, "look at the members and the offsets of the group"),
                evidence_of(Kind.UNHEALTHY, columns, parts or [row]),
                ("kgtui", "show", group),
                since_at_least=_may_have_begun_earlier(row["bad_since"], row["covered_from"]),
                weight=float(row["lag"] or 0),
            )
        )
    return found


def at_risk(rows: Iterable[GoldRow]) -> list[Finding]:
    """Return a finding for each group that has lost unread records to retention, or will lose some.

    Args:
        rows: newest rows of table `forecast`.
    """
    whole, partitions = _split_rows(rows)
    found = []
    for row in whole:
        lost = row["lost"] or 0
        if not (lost or row["at_risk"]):
            continue
        group = row["group"]
        parts = [part for part in partitions.get(group, ()) if part["lost"] or part["at_risk"]]
        parts.sort(key=lambda part: (-(part["lost"] or 0), part["loss_seconds"] or 0.0))
        columns = ("topic", "partition", "lag", "lead", "lost", "loss_at", "loss_basis", "trend")
        found.append(
            Finding(
                Kind.AT_RISK,
                _risk(row, lost),
                group,
                (group,),
                _loss(row, lost),
                seconds_of(row["behind_since"]),
                "make the group read faster, and raise retention.ms or retention.bytes of the topic until it "
                "has caught up",
                evidence_of(Kind.AT_RISK, columns, parts or [row]),
                ("kgtui", "show", group),
                since_at_least=bool(row["behind_since_at_least"]),
                weight=1e12 + lost if lost else 1e9 / (1.0 + (row["loss_seconds"] or 0.0)),
            )
        )
    return found


def _risk(row: GoldRow, lost: int) -> Severity:
    """Return the severity of a loss of unread records.

    - ERROR: records are already lost, will be lost within `Loss.SOON`, or the time of the loss is unknown
    - WARN: records will be lost within `Loss.NEAR`
    - NOTE: records will be lost later
    """
    seconds = row["loss_seconds"]
    if lost or seconds is None or seconds <= Loss.SOON:
        return Severity.ERROR
    return Severity.WARN if seconds <= Loss.NEAR else Severity.NOTE


def _loss(row: GoldRow, lost: int) -> str:
    if not row["at_risk"]:
        return lost_records(lost) if lost else ""
    seconds, limit = row["loss_seconds"], "at most" if row["loss_at_most"] else "about"
    when = "" if seconds is None else f" in {limit} {duration(seconds)}"
    if lost:
        return f"{lost_records(lost)}; more unread records expire{when}"
    return f"records will expire{when}, before the group reads them"


def drain(rows: Iterable[GoldRow], groups: Mapping[str, GoldRow], others: Collection[str]) -> list[Finding]:
    """Return a finding for each group that is catching up with its backlog, or whose lag is growing.

    Args:
        rows: newest rows of table `forecast`.
        groups: group id → newest row of table `lag`.
        others: ids of groups for which an earlier rule has a finding. A growing lag of these groups is not reported.
    """
    found = []
    for row in rows:
        group, trend = row["group"], row["trend"]
        age = groups.get(group, {}).get("time_lag")
        if row["topic"] is not None or not row["lag"] or (age is not None and age < MIN_BACKLOG_AGE):
            continue
        if row["drain_seconds"] is not None and row["drain_seconds"] >= MIN_BACKLOG_AGE:
            what = f"the group catches up on {counted(row['lag'], 'unread record')} in {_drain_time(row)}"
            soon = "do nothing if the group will catch up soon enough; otherwise, add members to the group"
            found.append(_drain(row, Severity.NOTE, what, soon, row["drain_seconds"]))
        elif trend is not None and trend > 2 * (row["trend_error"] or 0.0) and trend > 0 and group not in others:
            what = f"{counted(row['lag'], 'unread record')}, growing by {trend * 60:,.0f} per minute"
            found.append(_drain(row, Severity.WARN, what, _ADVICE["WARN"], trend))
    return found


def _drain(row: GoldRow, severity: Severity, what: str, advice: str, weight: float) -> Finding:
    columns = ("hour", "lag", "time_lag", "trend", "trend_error", "drain_seconds", "drain_min_seconds",
               "drain_max_seconds", "drained_at")  # fmt: skip
    group, evidence = row["group"], evidence_of(Kind.DRAIN, columns, [row])
    command, since = ("kgtui", "show", group), seconds_of(row["behind_since"])
    at_least = bool(row["behind_since_at_least"])
    return Finding(Kind.DRAIN, severity, group, (group,), what, since, advice, evidence, command,
                   since_at_least=at_least, weight=weight)  # fmt: skip


def _drain_time(row: GoldRow) -> str:
    seconds, soonest, latest = row["drain_seconds"], row["drain_min_seconds"], row["drain_max_seconds"]
    estimate = f"about {duration(seconds)}"
    if soonest is None or (latest is not None and latest - soonest < _SHOWN_RANGE * seconds):
        return estimate
    if latest is None:
        return f"{estimate} (at least {duration(soonest)})"
    return f"{estimate} (between {duration(soonest)} and {duration(latest)})"


def _may_have_begun_earlier(since: datetime | None, covered_from: datetime | None) -> bool:
    """Return whether a problem may have begun before its recorded start, because no earlier data were recorded.

    Args:
        since: recorded start of the problem.
        covered_from: start of the recorded data.
    """
    return since is not None and covered_from is not None and since <= covered_from


def _split_rows(rows: Iterable[GoldRow]) -> tuple[list[GoldRow], dict[str, list[GoldRow]]]:
    """Split rows of a gold table into rows about whole groups, and a dict: group id → rows about its partitions."""
    whole: list[GoldRow] = []
    partitions: dict[str, list[GoldRow]] = {}
    for row in rows:
        if row["topic"] is None:
            whole.append(row)
        else:
            partitions.setdefault(row["group"], []).append(row)
    return whole, partitions


def evidence_of(kind: Kind, columns: tuple[str, ...], rows: Sequence[GoldRow]) -> Evidence:
    """Return evidence with the first `MAX_EVIDENCE_ROWS` rows, the given columns, and the number of rows left out."""
    values = tuple(tuple(row[name] for name in columns) for row in rows[:MAX_EVIDENCE_ROWS])
    return Evidence(kind.table.title, columns, values, max(0, len(rows) - MAX_EVIDENCE_ROWS))


def seconds_of(moment: datetime | None) -> float | None:
    """Convert a datetime to seconds since the epoch; None stays None."""
    return None if moment is None else moment.timestamp()


def unusual(
    rows: Iterable[GoldRow], others: Collection[str], histories: Mapping[str, LagHistory] | None = None
) -> list[Finding]:
    """Return a finding for each group whose lag or rates are unusual in the newest hour of table `baseline`.

    The lag and rates are compared with those in the same hour of earlier weeks or days.

    Args:
        rows: rows of table `baseline` with unusual values, from the newest hour and from earlier hours.
        others: ids of groups for which an earlier rule has a finding. For these groups, only an unusual input rate is
            reported.
        histories: group id → lag and rates of the last 24 hours, to find the minute at which a problem began. For a
            group without an entry, the start of the first of the consecutive unusual hours is used instead.
    """
    found = []
    hours: dict[str, list[GoldRow]] = {}
    for row in sorted(rows, key=lambda row: row["hour"]):
        hours.setdefault(row["group"], []).append(row)
    last = max((some[-1]["hour"] for some in hours.values()), default=None)
    for row in (some[-1] for some in hours.values() if some[-1]["hour"] == last):
        group = row["group"]
        sentences: list[str] = []
        most, since = 0.0, _first_of_run(hours[group])["hour"].timestamp()
        for name, title, unit in _SERIES:
            value, normal, deviation = row[name], row[f"{name}_normal"], row[f"{name}_deviation"]
            if deviation is None or value is None or normal is None or (group in others and name != "rate_in"):
                continue
            far = abs(deviation) >= FAR_FROM_NORMAL and abs(value - normal) > _MIN_RELATIVE_DISTANCE * max(normal, 1.0)
            if not far or (name == "lag" and value < normal):
                continue
            difference = f"{value / normal:.1f} times the usual {title}" if normal > 0 else f"more {title} than usual"
            if not sentences and histories is not None and group in histories:
                since = _unusual_since(histories[group], name, value, normal)
            sentences.append(f"{difference}: {_amount(value)}{unit} instead of {_amount(normal)}{unit}")
            most = max(most, abs(deviation))
        if sentences:
            basis = _BASES.get(row["basis"], "days")
            columns = tuple(
                f"{name}{suffix}" for name, *_ in _SERIES for suffix in ("", "_normal", "_spread", "_deviation")
            )
            found.append(
                Finding(
                    Kind.UNUSUAL,
                    Severity.WARN,
                    group,
                    (group,),
                    f"{'; '.join(sentences)} (compared with the same hour of earlier {basis})",
                    since,
                    "find out whether this was intended: a campaign, a replay of old records, a new release",
                    evidence_of(Kind.UNUSUAL, ("hour", *columns, "hours"), [row]),
                    ("kgtui", "show", group),
                    weight=most,
                )
            )
    return found


def _unusual_since(history: LagHistory, name: str, value: float, normal: float) -> float:
    """Return the time, in epoch seconds, at which a group's lag or rate became unusual.

    Since then, the lag or rate has been closer to `value` than to `normal`, except in interruptions of less than
    `_USUAL_MINUTES` minutes.

    Args:
        name: `lag`, `rate_in` or `rate_out`.
        value: the unusual value in the newest hour.
        normal: the normal value in the newest hour.
    """
    since, usual = history.minutes[-1], 0
    for at, number in zip(reversed(history.minutes), reversed(getattr(history, name)), strict=True):
        if number is None:
            continue
        usual = usual + 1 if (number - normal) * (value - normal) < (value - normal) ** 2 / 2 else 0
        if usual >= _USUAL_MINUTES:
            break
        since = since if usual else at
    return since


def _first_of_run(hours: Sequence[GoldRow]) -> GoldRow:
    """Return the first row of the newest series of consecutive hours (hours without a missing hour in between).

    Args:
        hours: rows sorted by hour, with at most one row per hour.
    """
    first = hours[-1]
    for row in reversed(hours[:-1]):
        if (first["hour"] - row["hour"]).total_seconds() > 3_600:
            break
        first = row
    return first


def unused(rows: Iterable[GoldRow]) -> list[Finding]:
    """Return findings about unused groups.

    If all groups with the same id prefix are unused, there is one finding about this family, such as `team-007.*`.

    Args:
        rows: newest rows of table `cleanup`.
    """
    rows = list(rows)
    columns = ("name", "state", "type", "lag", "last_commit", "empty_since", "expires_at")
    found = []
    families: dict[str, list[GoldRow]] = {row["name"]: [] for row in rows if row["kind"] == "family"}
    for row in rows:
        if row["kind"] == "group" and row["family"] in families:
            families[row["family"]].append(row)
    for row in rows:
        family = row["kind"] == "family"
        if not family and row["family"] in families:
            continue
        parts = families[row["name"]] if family else [row]
        parts.sort(key=lambda part: part["name"])
        groups = tuple(part["name"] for part in parts)
        facts = [counted(row["groups"], "unused group") if family else "unused"]
        if row["lag"] is not None:
            facts.append(counted(row["lag"], "unread record"))
        if row["expires_at"] is not None:
            facts.append(f"the offsets expire by {row['expires_at']:%Y-%m-%d %H:%M} UTC")
        if row["offsets_may_be_hidden"]:
            subject = "some of the groups" if family else "the group"
            facts.append(f"{subject} may be in use, because brokers may have hidden some offsets from kgtui")
        found.append(
            Finding(
                Kind.UNUSED,
                Severity.NOTE,
                row["name"],
                groups,
                "; ".join(facts),
                seconds_of(row["quiet_since"]),
                _UNUSED_FAMILY if family else _UNUSED,
                evidence_of(Kind.UNUSED, columns, parts),
                _delete(row["name"], groups),
                since_at_least=True,
                family=family,
                weight=float(row["groups"]),
            )
        )
    return found


def _delete(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command that deletes groups.

    For up to `MAX_EVIDENCE_ROWS` groups, the command contains their ids. For more groups, it contains a filter, which
    matches all Empty groups whose ids begin with the prefix of a family name, such as `team-007.*`.

    Args:
        name: group id, or family name.
    """
    if len(groups) <= MAX_EVIDENCE_ROWS:
        return ("kgtui", "delete", *(f"--group={group}" for group in groups))
    return ("kgtui", "delete", f"/^{re.escape(name.removesuffix('*'))}/", "state:Empty")


def _amount(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"

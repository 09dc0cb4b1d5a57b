"""One rule for each kind of finding about how groups do: rows of a gold table in, findings out.

Pure; rows are as `Gold` reads them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kgtui.insights.finding import Evidence, Finding, Kind, Severity
from kgtui.model.group_types import EMPTY
from kgtui.model.health import Loss
from kgtui.model.health.wording import duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kgtui.lake.gold import GoldRow


WORTH_TELLING = 60.0
"""Seconds: a backlog that is younger is the ordinary way between a log and its reader."""

_LATELY = 2 * 3_600.0
"""Seconds since a restless hour began within which the group counts as restless now."""

_STATUS = {
    "STOP": "stopped committing",
    "STALL": "commits the same offsets again and again",
    "REWIND": "went back to offsets that it had passed",
    "WARN": "falls behind steadily",
}
_ADVICE = {
    "STOP": "its members are there and commit nothing: look in their logs for a record that cannot be processed",
    "STALL": "its members commit and do not get on: look in their logs for a record that cannot be processed",
    "REWIND": "somebody reset its offsets, or commits came late: what lies between is read twice",
    "WARN": "give it more members, up to one for each partition, or make its processing faster",
}
_NOBODY = "nobody is in the group: start its consumers again, or delete it if it is not needed any more"


def instant(seconds: float) -> datetime:
    """Seconds since the epoch as the tables have times."""
    return datetime.fromtimestamp(seconds, UTC)


def unhealthy(rows: Iterable[GoldRow], groups: Mapping[str, GoldRow]) -> list[Finding]:
    """Groups whose verdict is worse than OK, from `health`.

    Args:
        rows: those of the newest window.
        groups: group → its newest row of `lag`.
    """
    whole, partitions = _parted(rows)
    found = []
    for row in whole:
        if row["status"] not in ("WARN", "ERR"):
            continue
        group, worst = row["group"], row["worst"] or row["status"]
        parts = partitions.get(group, [])
        parts.sort(key=lambda part: -(part["lag"] or 0))
        columns = ("topic", "partition", "status", "lag", "position", "last_commit", "complete")
        waiting = "" if row["lag"] is None else f"; {row['lag']:,} unread records"
        many = f" on {row['affected']} partitions" if (row["affected"] or 0) > 1 else ""
        nobody = groups.get(group, {}).get("state") == EMPTY
        found.append(
            Finding(
                Kind.UNHEALTHY,
                Severity.ERROR if row["status"] == "ERR" else Severity.WARN,
                group,
                (group,),
                f"{_STATUS.get(worst, f'is {worst}')}{many}{waiting}",
                seconds_of(row["bad_since"]),
                _NOBODY if nobody else _ADVICE.get(worst, "look at the group"),
                evidence_of("gold/health", columns, parts or [row]),
                ("kgtui", "show", group),
                weight=float(row["lag"] or 0),
            )
        )
    return found


def at_risk(rows: Iterable[GoldRow]) -> list[Finding]:
    """Groups that have lost records, or will before they read them, from the newest hour of `forecast`."""
    whole, partitions = _parted(rows)
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
                None,
                "make it read faster; until it has caught up let the topic keep more (retention.ms, retention.bytes)",
                evidence_of("gold/forecast", columns, parts or [row]),
                ("kgtui", "show", group),
                weight=1e12 + lost if lost else 1e9 / (1.0 + (row["loss_seconds"] or 0.0)),
            )
        )
    return found


def _risk(row: GoldRow, lost: int) -> Severity:
    """The sooner, the worse; when nobody can tell, it may be now."""
    seconds = row["loss_seconds"]
    if lost or seconds is None or seconds <= Loss.SOON:
        return Severity.ERROR
    return Severity.WARN if seconds <= Loss.NEAR else Severity.NOTE


def _loss(row: GoldRow, lost: int) -> str:
    soon = ""
    if row["at_risk"]:
        seconds = row["loss_seconds"]
        when = "" if seconds is None else f" in {'at most' if row['loss_at_most'] else 'about'} {duration(seconds)}"
        soon = f"unread records expire{when}"
    if not lost:
        return f"{soon}, before they are read" if soon else ""
    return f"{lost:,} records expired before they were read" + (f"; more {soon}" if soon else "")


def drain(rows: Iterable[GoldRow], groups: Mapping[str, GoldRow], others: Collection[str]) -> list[Finding]:
    """When a backlog will be gone, or that it grows, from the newest hour of `forecast`.

    Args:
        others: groups of which worse is told already: that theirs grows too is nothing new.
    """
    found = []
    for row in rows:
        group, trend = row["group"], row["trend"]
        age = groups.get(group, {}).get("time_lag")
        if row["topic"] is not None or not row["lag"] or (age is not None and age < WORTH_TELLING):
            continue
        if row["drain_seconds"] is not None and row["drain_seconds"] >= WORTH_TELLING:
            what = f"the group catches up on {row['lag']:,} unread records in about {duration(row['drain_seconds'])}"
            soon = "nothing, if that is soon enough; else give it more members"
            found.append(_drain(row, Severity.NOTE, what, soon, row["drain_seconds"]))
        elif trend is not None and trend > 2 * (row["trend_error"] or 0.0) and trend > 0 and group not in others:
            what = f"the backlog of {row['lag']:,} records grows by {trend * 60:,.0f} a minute"
            found.append(_drain(row, Severity.WARN, what, _ADVICE["WARN"], trend))
    return found


def _drain(row: GoldRow, severity: Severity, what: str, advice: str, weight: float) -> Finding:
    columns = ("hour", "lag", "trend", "trend_error", "drain_seconds", "drained_at")
    group, evidence = row["group"], evidence_of("gold/forecast", columns, [row])
    command = ("kgtui", "show", group)
    return Finding(Kind.DRAIN, severity, group, (group,), what, None, advice, evidence, command, weight=weight)


def flapping(rows: Iterable[GoldRow], now: float) -> list[Finding]:
    """Groups that rebalance again and again, or did within a day, from `churn`."""
    by_group: dict[str, list[GoldRow]] = {}
    for row in sorted(rows, key=lambda row: row["hour"]):
        if row["flapping"]:
            by_group.setdefault(row["group"], []).append(row)
    found = []
    for group, hours in by_group.items():
        hours = _last_stretch(hours)
        going_on = now - hours[-1]["hour"].timestamp() < _LATELY
        rate = max(row["per_hour"] or row["rebalances"] for row in hours)
        held_up = sum(row["rebalancing_seconds"] or 0.0 for row in hours)
        cost = f"; {duration(held_up)} of that time went into it" if held_up >= 1 else ""
        span = "" if going_on else f" for {duration(3_600.0 * len(hours))}, and has stopped"
        columns = ("hour", "rebalances", "per_hour", "members_joined", "members_left", "rebalancing_seconds")
        found.append(
            Finding(
                Kind.FLAPPING,
                Severity.WARN if going_on else Severity.NOTE,
                group,
                (group,),
                f"rebalanced up to {rate:.0f} times an hour{span}{cost}",
                hours[0]["hour"].timestamp(),
                "see which members come and go, and why: restarts, scaling, max.poll.interval.ms, session.timeout.ms",
                evidence_of("gold/churn", columns, hours[::-1]),
                ("kgtui", "show", group),
                weight=rate,
            )
        )
    return found


def _last_stretch(hours: Sequence[GoldRow]) -> list[GoldRow]:
    """The last of them that follow each other, one quiet hour in between being none."""
    stretch = [hours[-1]]
    for row in reversed(hours[:-1]):
        if (stretch[0]["hour"] - row["hour"]).total_seconds() > _LATELY:
            break
        stretch.insert(0, row)
    return stretch


def _parted(rows: Iterable[GoldRow]) -> tuple[list[GoldRow], dict[str, list[GoldRow]]]:
    """Rows about whole groups, and those about their partitions by group."""
    whole: list[GoldRow] = []
    partitions: dict[str, list[GoldRow]] = {}
    for row in rows:
        if row["topic"] is None:
            whole.append(row)
        else:
            partitions.setdefault(row["group"], []).append(row)
    return whole, partitions


MOST_ROWS = 12
"""Rows of evidence; of more, the count is told."""


def evidence_of(table: str, columns: tuple[str, ...], rows: Sequence[GoldRow]) -> Evidence:
    """Columns of the first rows, and how many more there are."""
    told = tuple(tuple(row[name] for name in columns) for row in rows[:MOST_ROWS])
    return Evidence(table, columns, told, max(0, len(rows) - MOST_ROWS))


def seconds_of(moment: datetime | None) -> float | None:
    """Seconds since the epoch."""
    return None if moment is None else moment.timestamp()


FAR_FROM_NORMAL = 3.5
"""Robust z-score from which a value is an outlier (Iglewicz and Hoaglin 1993)."""

_APART = 0.5
"""How far from normal, as a share of it, a value has to be besides: little spread makes any step look large."""

_SERIES = (
    ("rate_in", "as much comes in as usual", "comes in", "/s"),
    ("lag", "as many records wait as usual", "wait", ""),
    ("rate_out", "as much is read as usual", "is read", "/s"),
)


def unusual(rows: Iterable[GoldRow], others: Collection[str]) -> list[Finding]:
    """Groups that are far from how they are at this hour, from the newest hour of `baseline`.

    Args:
        others: groups of which worse is told already: of those only what comes in is told.
    """
    found = []
    for row in rows:
        group = row["group"]
        sentences, most = [], 0.0
        for name, times, verb, unit in _SERIES:
            value, normal, deviation = row[name], row[f"{name}_normal"], row[f"{name}_deviation"]
            if deviation is None or value is None or normal is None or (group in others and name != "rate_in"):
                continue
            far = abs(deviation) >= FAR_FROM_NORMAL and abs(value - normal) > _APART * max(normal, 1.0)
            if not far or (name == "lag" and value < normal):
                continue
            ratio = f"{value / normal:.1f} times {times}" if normal > 0 else f"more {verb} than usual"
            sentences.append(f"{ratio}: {_amount(value)}{unit} instead of {_amount(normal)}{unit}")
            most = max(most, abs(deviation))
        if sentences:
            columns = tuple(
                f"{name}{suffix}" for name, *_ in _SERIES for suffix in ("", "_normal", "_spread", "_deviation")
            )
            found.append(
                Finding(
                    Kind.UNUSUAL,
                    Severity.WARN,
                    group,
                    (group,),
                    "; ".join(sentences) + f" (compared with the same {row['basis'] or 'hour'} before)",
                    row["hour"].timestamp(),
                    "find out whether somebody meant this: a campaign, a replay, a release of who writes or reads",
                    evidence_of("gold/baseline", ("hour", *columns, "hours"), [row]),
                    ("kgtui", "show", group),
                    weight=most,
                )
            )
    return found


def unused(rows: Iterable[GoldRow]) -> list[Finding]:
    """Groups and whole families that nobody uses, from the newest day of `cleanup`."""
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
        unread = "" if row["lag"] is None else f"; {row['lag']:,} unread records are nobody's"
        expires = "" if row["expires_at"] is None else f"; expires at the latest {row['expires_at']:%Y-%m-%d %H:%M} UTC"
        what = f"{row['groups']} groups, none of them used" if family else "nobody uses it"
        found.append(
            Finding(
                Kind.UNUSED,
                Severity.NOTE,
                row["name"],
                groups,
                f"{what}{unread}{expires}",
                seconds_of(row["quiet_since"]),
                "ask whose it is; if it is not needed any more, delete it (its offsets are backed up first)",
                evidence_of("gold/cleanup", columns, parts),
                _delete(row["name"], groups),
                since_at_least=True,
                family=family,
                weight=float(row["groups"]),
            )
        )
    return found


def _delete(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """By their names, or where that would be long by what their names begin with."""
    if len(groups) <= MOST_ROWS:
        return ("kgtui", "delete", *(f"--group={group}" for group in groups))
    return ("kgtui", "delete", f"/^{re.escape(name.removesuffix('*'))}/", "state:Empty")


def _amount(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"

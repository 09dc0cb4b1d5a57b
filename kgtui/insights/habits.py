"""Findings about how groups are used: unlike at other times, or not at all. Pure; rows are as `Gold` reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kgtui.insights.evidence import MOST_ROWS, evidence_of, seconds_of
from kgtui.insights.finding import Finding, Kind, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kgtui.lake.gold import GoldRow

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

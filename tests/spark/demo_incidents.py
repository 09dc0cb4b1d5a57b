"""Compute the findings that `kgtui pipeline demo` must report.

They are computed from the TOML file that describes the simulated incidents (problems of groups).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from kgtui.insights.finding import Kind
from kgtui.simulator.commit_patterns import VariableSpeed
from kgtui.simulator.demo_history import INCIDENTS, HistoryPlan, TimeSpec
from kgtui.simulator.scenarios.loader import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = 3_600.0
LONG_UNUSED = 24 * HOUR
"""Time without members and commits after which a group is reported as unused, in seconds."""


@dataclass(frozen=True, slots=True)
class Incident:
    """A simulated problem of one group, which the demo must report as a finding.

    Attributes:
        begin: start of the problem, in seconds since the epoch; None if it began before the simulated history.
        end: end of the problem, in seconds since the epoch; None if it continues at the end of the history.
        seconds: forecast that the finding must contain, in seconds after the end of the history. For the kind DRAIN,
            the time until the group has caught up, or None if it does not catch up. For the kind AT_RISK, the time
            until the group loses records, or 0 if it already loses records. None for all other kinds.
    """

    kind: Kind
    group: str
    begin: float | None
    end: float | None = None
    seconds: float | None = None


def incidents(plan: HistoryPlan) -> tuple[list[Incident], set[str]]:
    """Return the incidents that the demo must report as findings, and the ids of all groups without an incident."""
    data = _with_times(read_toml(INCIDENTS), plan)
    found = [incident for group in data["groups"] for incident in _of_group(group, data["topics"], plan)]
    return found, {group["id"] for group in data["groups"]} - {incident.group for incident in found}


def _with_times(value: Any, plan: HistoryPlan) -> Any:
    """Return a copy of `value` in which each time is a number: seconds since the start of the simulated history.

    For example, `{hours_after_start = 2}` becomes 7,200.
    """
    if isinstance(value, list):
        return [_with_times(item, plan) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() & {"hours_before_end", "hours_after_start", "fraction"}:
        return msgspec.convert(value, TimeSpec).seconds(plan)
    return {key: _with_times(item, plan) for key, item in value.items()}


def _of_group(group: dict[str, Any], topics: dict[str, Any], plan: HistoryPlan) -> Iterator[Incident]:
    name = group["id"]
    if "rotation_between" in group:
        begin, end = group["rotation_between"]["begin"], group["rotation_between"]["end"]
        goes_on = end >= plan.seconds
        yield Incident(Kind.FLAPPING, name, plan.start + begin, None if goes_on else plan.start + end)
    left = [time for time, slots in group.get("schedule", {}).get("changes", ()) if not slots]
    for read in group.get("reads", ()):
        speeds = [tuple(pair) for pair in read["commits"].get("speeds", ())]
        speeds += [(time, 0.0) for time in left]
        topic = topics[read["topic"]]
        if speeds and plan.seconds - speeds[-1][0] >= LONG_UNUSED and speeds[-1][1] == 0:
            yield Incident(Kind.UNUSED, name, plan.start + speeds[-1][0] if speeds[-1][0] > 0 else None)
        else:
            yield from _of_speeds(name, speeds, topic["hours_kept"] * HOUR, plan)
        if "surge" in topic:
            yield Incident(Kind.UNUSUAL, name, plan.start + topic["surge"]["begin"])


def _of_speeds(name: str, speeds: list[tuple[float, float]], kept: float, plan: HistoryPlan) -> Iterator[Incident]:
    """Yield the incidents (problems) that follow from a group's consumption speeds; none if `speeds` is empty.

    Args:
        name: id of the group.
        speeds: pairs (time from which the speed applies, speed). The time is in seconds since the start of the
            history, and the speed is the number of records consumed per produced record.
        kept: retention time of the topic, in seconds.
    """
    if not speeds:
        return
    ends: list[float | None] = [time for time, _ in speeds[1:]]
    for (begin, speed), end in zip(speeds, [*ends, None], strict=True):
        if speed < 0.95:
            yield Incident(Kind.UNHEALTHY, name, plan.start + begin, None if end is None else plan.start + end)
    begin, speed = plan.start + speeds[0][0], speeds[-1][1]
    age = plan.seconds - VariableSpeed(tuple(speeds)).read_until(plan.seconds)
    if age < 60:
        return
    if speed < 1:
        # `left`: seconds until the age of the first unread record reaches the retention time. The group then loses
        # records.
        left = (kept - age) / (1 - speed)
        if left <= kept:
            yield Incident(Kind.AT_RISK, name, begin, seconds=max(left, 0.0))
        elif speed >= 0.95:
            yield Incident(Kind.DRAIN, name, begin)
    else:
        yield Incident(Kind.DRAIN, name, begin, seconds=age / (speed - 1))

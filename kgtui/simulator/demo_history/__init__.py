"""Create the topics and groups of the demo recording: several simulated days with daily traffic peaks and incidents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kgtui.errors import UsageError
from kgtui.simulator.hashing import hash_number
from kgtui.simulator.membership import ScheduledMembership
from kgtui.simulator.scenarios.loader import build_groups, check_keys, group_specs, read_toml
from kgtui.simulator.topics import DAY, HOUR, DailyTopic

if TYPE_CHECKING:
    from kgtui.simulator.cluster_state import ClusterState

INCIDENTS = Path(__file__).with_name("incidents.toml")

_BASE = 100_000_000
"""Log end offset of partition 0 of each topic at the start of the history.

It is large, so that records that were written before the start also have positive offsets.
"""


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """The time span of a history, and the times of its incidents.

    Attributes:
        start: start of the history and of the cluster, in seconds since the epoch.
        seconds: length of the history, in seconds.
        seed: random seed, from which small variations are derived. The times of incidents vary by up to ten minutes,
            and the record rates of topics by up to 20 %.
    """

    start: float
    seconds: float
    seed: int = 1

    def before_end(self, hours: float, jitter: str = "") -> float:
        """Return the time `hours` before the end of the history, in seconds since the history's start (at least 0).

        Args:
            jitter: any text. A hash of this text and the seed moves the time by up to ten minutes, earlier or later.
                An empty text does not move the time.
        """
        return max(0.0, self.seconds - hours * HOUR + (self._jitter(jitter) if jitter else 0.0))

    def at_fraction(self, fraction: float, jitter: str) -> float:
        """Convert a fraction of the history to a time in seconds since the start of the history (at least 0).

        Args:
            fraction: the time as a fraction of the history: 0 is its start, 1 its end.
            jitter: any text. A hash of this text and the seed moves the time by up to ten minutes, earlier or later,
                even if the text is empty.
        """
        return max(0.0, self.seconds * fraction + hash_number(self.seed, "when", jitter) % 1_200 - 600.0)

    def rate_factor(self, name: str) -> float:
        """Return a factor from 0.8 to 1.2 by which the record rate of a topic is multiplied.

        It depends only on the topic's name and the seed.
        """
        return 0.8 + hash_number(self.seed, "scale", name) % 400 / 1_000

    def _jitter(self, name: str) -> float:
        return hash_number(self.seed, "when", name) % 1_200 - 600.0


class SurgeSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A surge of traffic between two times, in seconds since the start of the history.

    During the surge, `extra` times the average traffic is added.
    """

    begin: float
    end: float
    extra: float


class DailyTopicSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One topic in `[topics]` of `incidents.toml`.

    Attributes:
        rate: number of records per second. It is multiplied by `HistoryPlan.rate_factor`. The average rate of each
            partition is then 1 to 1.4 times the product.
        hours_kept: number of hours for which retention keeps records.
        surge: time span with additional traffic; None for no surge.
    """

    partitions: int
    rate: float
    hours_kept: float
    surge: SurgeSpec | None = None

    def build(self, name: str, plan: HistoryPlan) -> DailyTopic:
        """Return the topic with the given name. Its record rate is multiplied by `plan.rate_factor(name)`."""
        return DailyTopic(
            name,
            self.partitions,
            self.rate * plan.rate_factor(name),
            base=_BASE,
            seed=plan.seed,
            hours=self.hours_kept,
            midnight=plan.start % DAY,
            surge=(0.0, 0.0) if self.surge is None else (self.surge.begin, self.surge.end),
            surging=0.0 if self.surge is None else self.surge.extra,
        )


class TimeSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A time in `incidents.toml`. Exactly one of `hours_before_end`, `hours_after_start` and `fraction` must be set.

    Attributes:
        hours_before_end: hours before the end of the history.
        hours_after_start: hours after the start of the history; a negative number is a time before the start.
        fraction: the time as a fraction of the history: 0 is its start, 1 its end.
        jitter: any text. A hash of this text and the seed moves the time by up to ten minutes, earlier or later. A time
            given as `hours_before_end` is moved only if the text is not empty. A time given as `fraction` is always
            moved, and a time given as `hours_after_start` never.
        plus_hours: hours that are added to the time.
    """

    hours_before_end: float | None = None
    hours_after_start: float | None = None
    fraction: float | None = None
    jitter: str = ""
    plus_hours: float = 0.0

    def seconds(self, plan: HistoryPlan) -> float:
        """Return this time in seconds since the start of the history.

        Raises:
            ValueError: none or more than one of `hours_before_end`, `hours_after_start` and `fraction` is set.
        """
        values = [
            value for value in (self.hours_before_end, self.hours_after_start, self.fraction) if value is not None
        ]
        if len(values) != 1:
            raise ValueError("use exactly one of the keys hours_before_end, hours_after_start and fraction")
        if self.hours_before_end is not None:
            time = plan.before_end(self.hours_before_end, self.jitter)
        elif self.fraction is not None:
            time = plan.at_fraction(self.fraction, self.jitter)
        else:
            time = values[0] * HOUR
        return time + self.plus_hours * HOUR


class RotationBetween(Struct, frozen=True, forbid_unknown_fields=True):
    """The key `rotation_between` in a group's TOML table: the group's members change periodically for a limited time.

    Attributes:
        begin, end: times of the first and the last change, in seconds since the start of the history.
        every: seconds between two changes.
        turns: each tuple contains the numbers (from 0) of the members that exist at one time. The first tuple applies
            before `begin` and after `end`. In between, each change switches to the next tuple; after the last tuple,
            the first one follows again.
            Example: with `((0, 1), (0,))`, member 1 leaves and returns again and again.
    """

    begin: float
    end: float
    every: float
    turns: tuple[tuple[int, ...], ...]


_TIME_KEYS = frozenset(TimeSpec.__struct_fields__) - {"jitter", "plus_hours"}


def add_history(state: ClusterState, plan: HistoryPlan, path: Path = INCIDENTS) -> None:
    """Add topics and groups to an empty cluster. The TOML file `path` defines them.

    The clock of the cluster must show the time `plan.start`.

    Raises:
        UsageError: the file is invalid.
    """
    data = _with_times(read_toml(path), plan, path.name)
    topics = {
        name: check_keys(spec, DailyTopicSpec, f"{path.name}, topic {name!r}").build(name, plan)
        for name, spec in data.get("topics", {}).items()
    }
    for group in data.get("groups", []):
        _add_schedule(group, plan, path.name)
    state.add_topics(topics.values())
    state.add_groups(build_groups([*group_specs(data, path.name)], {**topics}, plan.seed, path.name))


def _with_times(value: Any, plan: HistoryPlan, where: str) -> Any:
    """Return a copy of parsed TOML in which each table that defines a time is replaced by a number.

    Such a table has the keys of `TimeSpec`. The number is the time in seconds since the start of the history.

    Args:
        where: name of the TOML file, for error messages.
    """
    if isinstance(value, list):
        return [_with_times(item, plan, where) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() & _TIME_KEYS:
        time: TimeSpec = check_keys(value, TimeSpec, where)
        try:
            return time.seconds(plan)
        except ValueError as err:
            raise UsageError(f"{where}: {value}: {err}") from err
    return {key: _with_times(item, plan, where) for key, item in value.items()}


def _add_schedule(group: dict[str, Any], plan: HistoryPlan, where: str) -> None:
    """Replace the key `deployed` or `rotation_between` in a group's parsed TOML table with the key `schedule`.

    The schedule contains the membership changes that the replaced key describes. A table that has neither `deployed`
    nor `rotation_between` is not changed.
    """
    if "deployed" in group:
        schedule = _deployment(plan, str(group.pop("deployed")))
    elif "rotation_between" in group:
        rotation: RotationBetween = check_keys(
            group.pop("rotation_between"), RotationBetween, f"{where}, group {group.get('id')!r}"
        )
        schedule = ScheduledMembership.rotating_between(rotation.begin, rotation.end, rotation.every, rotation.turns)
    else:
        return
    group["schedule"] = {"first": schedule.first, "changes": schedule.changes}


def _deployment(plan: HistoryPlan, name: str) -> ScheduledMembership:
    """Simulate a deployment: return a schedule in which two members of a group are replaced, one 40 s after the other.

    The first replacement takes place after 20 to 70 % of the history. The exact time depends on `name` and the seed.
    """
    at = plan.at_fraction(0.2 + hash_number(plan.seed, name) % 50 / 100, name)
    return ScheduledMembership((0, 1), ((at, (1, 2)), (at + 40.0, (2, 3))))

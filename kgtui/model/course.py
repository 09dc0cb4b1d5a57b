"""How groups went over some time, as the tables of a pipeline tell it: what a report draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING

from kgtui.model.past import Past

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.model.finding import Insights


@dataclass(frozen=True, slots=True)
class Course:
    """How a group went: one value a minute, None where nothing is known.

    Attributes:
        minutes: seconds since the epoch, growing.
        lag: records.
        rate_in, rate_out: records a second.
        time_lag: seconds.
        breaks: minutes before which polls are missing: nothing connects them to the one before.
    """

    minutes: tuple[float, ...]
    lag: tuple[int | None, ...]
    rate_in: tuple[float | None, ...]
    rate_out: tuple[float | None, ...]
    time_lag: tuple[float | None, ...]
    members: tuple[int | None, ...]
    breaks: frozenset[float] = frozenset()

    def past(self, since: float, until: float) -> Past:
        """The same for plots over an interval; states and epochs are not among it."""
        gaps = tuple((old, new, "nothing recorded") for old, new in pairwise(self.minutes) if new in self.breaks)
        return Past(
            since, until, self.minutes, _known(self.lag), _known(self.members), _known(self.rate_in),
            _known(self.rate_out), gaps=gaps,
        )  # fmt: skip


def _known(values: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(nan if value is None else float(value) for value in values)


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
    courses: Mapping[str, Course] = field(default_factory=dict)
    episodes: tuple[Episode, ...] = ()
    groups: int = 0

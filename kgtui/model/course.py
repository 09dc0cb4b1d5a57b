"""How groups went over some time, as the tables of a pipeline tell it: what a report draws."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING

from kgtui.model.past import Past

if TYPE_CHECKING:
    from collections.abc import Sequence


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

"""Samples of a group over time, in compact rings: time, lag and members."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from dataclasses import dataclass, field

LENGTH = 900  # samples kept per group: half an hour at 2 s
GROUPS = 500  # groups kept; the one not looked at for longest goes first


@dataclass(slots=True)
class Series:
    """The samples of one group, oldest first. An unknown value is NaN.

    Attributes:
        times: seconds since the epoch.
        lag: records.
        members: count.
    """

    times: array[float] = field(default_factory=lambda: array("d"))
    lag: array[float] = field(default_factory=lambda: array("d"))
    members: array[float] = field(default_factory=lambda: array("d"))

    def add(self, at: float, lag: int | None, members: int | None) -> None:
        """Append a sample; drops the oldest tenth when full."""
        if len(self.times) >= LENGTH:
            for column in (self.times, self.lag, self.members):
                del column[: LENGTH // 10]
        self.times.append(at)
        self.lag.append(math.nan if lag is None else lag)
        self.members.append(math.nan if members is None else members)

    def lag_trend(self, window: float = 60.0) -> float | None:
        """Change of the lag in records a second over the last `window` seconds; None until two samples tell."""
        known = [(t, lag) for t, lag in zip(self.times, self.lag, strict=True) if not math.isnan(lag)]
        if not known:
            return None
        recent = [(t, lag) for t, lag in known if t >= known[-1][0] - window]
        (first, before), (last, now) = recent[0], recent[-1]
        return (now - before) / (last - first) if last > first else None


class SeriesStore:
    """Series of the groups that were looked at."""

    def __init__(self) -> None:
        self._series: OrderedDict[str, Series] = OrderedDict()

    def add(self, group: str, at: float, lag: int | None, members: int | None) -> None:
        """Append a sample of a group."""
        series = self._series.get(group)
        if series is None:
            series = self._series[group] = Series()
            if len(self._series) > GROUPS:
                self._series.popitem(last=False)
        self._series.move_to_end(group)
        series.add(at, lag, members)

    def get(self, group: str) -> Series | None:
        """The samples of a group, or None if it was never looked at."""
        return self._series.get(group)

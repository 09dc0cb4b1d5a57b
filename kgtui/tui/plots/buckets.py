"""Samples of a past as so many values, one a cell: what falls into a cell becomes one number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.past import Past

Summary = Literal["largest", "mean", "last"]


def bucketed(past: Past, values: Sequence[float], count: int, summary: Summary) -> list[float]:
    """`count` values over the whole interval, NaN where nothing is known.

    A value holds until the next sample, but not over a gap and not beyond the last one.
    """
    buckets: list[list[float]] = [[] for _ in range(count)]
    scale = count / max(past.until - past.since, 1e-9)
    places = [min(max(int((at - past.since) * scale), 0), count - 1) for at in past.times]
    before = -1
    for index, (place, value) in enumerate(zip(places, values, strict=False)):
        if index and place > before + 1 and not _over_gap(past, past.times[index - 1], past.times[index]):
            for empty in range(before + 1, place):
                buckets[empty].append(values[index - 1])
        buckets[place].append(value)
        before = place
    return [_one(bucket, summary) for bucket in buckets]


def _over_gap(past: Past, earlier: float, later: float) -> bool:
    return any(start <= earlier and later <= end for start, end, _ in past.gaps)


def _one(bucket: list[float], summary: Summary) -> float:
    known = [value for value in bucket if not math.isnan(value)]
    if not known:
        return math.nan
    if summary == "mean":
        return sum(known) / len(known)
    return max(known) if summary == "largest" else known[-1]


def smooth(values: Sequence[float], cells: int) -> list[float]:
    """The mean of so many known values up to each; what is not known stays so."""
    if cells <= 1:
        return list(values)
    found = []
    for index, value in enumerate(values):
        known = [one for one in values[max(0, index + 1 - cells) : index + 1] if not math.isnan(one)]
        found.append(value if math.isnan(value) else sum(known) / len(known))
    return found

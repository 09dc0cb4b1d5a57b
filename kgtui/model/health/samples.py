"""What was read of one partition, over time, in one compact array."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.offsets import PartitionLag

LENGTH = 120
"""Samples kept of a partition by default: 10 minutes at 5 s in full; what is older thins out, the oldest stays."""

_FIELDS = 5
_UNKNOWN = -1  # offsets and lags are never negative


class Sample(NamedTuple):
    """One read of one partition.

    Attributes:
        at: milliseconds since the epoch.
        position: committed offset, or share-partition start offset; None when there is none or it is not known.
        lag: as the group's type counts it; None when not known.
    """

    at: int
    position: int | None
    log_end: int | None
    log_start: int | None
    lag: int | None


class Samples:
    """The samples of one partition, oldest first; 40 bytes each."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: array[int] = array("q")

    def __len__(self) -> int:
        return len(self._rows) // _FIELDS

    def __iter__(self) -> Iterator[Sample]:
        # Written out, because it is done for thousands of partitions again and again.
        values = self._rows.tolist()
        numbers = iter(values)
        if values and min(values) >= 0:  # all is known
            yield from map(Sample._make, zip(numbers, numbers, numbers, numbers, numbers, strict=True))
            return
        for at, position, log_end, log_start, lag in zip(numbers, numbers, numbers, numbers, numbers, strict=True):
            yield Sample(
                at,
                None if position < 0 else position,
                None if log_end < 0 else log_end,
                None if log_start < 0 else log_start,
                None if lag < 0 else lag,
            )

    def add(self, at: int, row: PartitionLag, length: int = LENGTH) -> None:
        """Append what was read at `at`, in milliseconds, later than all before; keep at most `length`, at least 4."""
        while len(self._rows) >= length * _FIELDS:
            self._thin()
        # Written out, because it is done for every partition in view at every poll.
        position, end, start, lag = row.position, row.log_end, row.log_start, row.lag
        self._rows.extend((
            at,
            _UNKNOWN if position is None else position,
            _UNKNOWN if end is None else end,
            _UNKNOWN if start is None else start,
            _UNKNOWN if lag is None else lag,
        ))  # fmt: skip

    def _thin(self) -> None:
        """Drop every other sample of the older half, but never the oldest."""
        half = len(self) // 2
        kept: array[int] = array("q")
        for number in range(0, half, 2):
            kept.extend(self._rows[number * _FIELDS : (number + 1) * _FIELDS])
        kept.extend(self._rows[half * _FIELDS :])
        self._rows = kept

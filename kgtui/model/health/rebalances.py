"""How often a group rebalances: state changes and epoch steps of the last hour, as far as it was watched."""

from __future__ import annotations

from array import array

from kgtui.model.group_types import REBALANCING
from kgtui.model.health.values import RebalanceRate

HOUR = 3600.0
LENGTH = 512
"""Stretches kept; a quiet minute is one, and so is each read that saw something change."""

_QUIET = 60.0
_FIELDS = 5  # end, seconds watched, state changes, entries into a rebalance, epoch steps


class RebalanceLog:
    """Collects what each read saw change since the read before, in an array of bounded length."""

    __slots__ = ("_epoch", "_has_epoch", "_rows", "_state")

    def __init__(self) -> None:
        self._rows: array[float] = array("d")
        self._state: str | None = None
        self._epoch: int | None = None
        self._has_epoch = False

    def add(self, at: float, state: str, epoch: int | None, watched: float | None) -> None:
        """Take a read.

        Args:
            at: seconds since the epoch.
            epoch: the group epoch; None for groups without.
            watched: seconds since the read before; None when there was none, or a gap lies in between: what changed
                over a gap is not counted, because nobody knows how often.
        """
        before, self._state = self._state, state
        was, self._epoch = self._epoch, epoch
        self._has_epoch = self._has_epoch or epoch is not None
        if watched is None or before is None:
            return
        changed = int(state != before)
        entered = int(state in REBALANCING and before not in REBALANCING)
        steps = max(epoch - was, 0) if epoch is not None and was is not None else 0
        last = self._rows[-_FIELDS:]
        if not (changed or steps) and last and not (last[2] or last[4]) and last[1] + watched <= _QUIET:
            self._rows[-_FIELDS] = at
            self._rows[1 - _FIELDS] += watched
            return
        self._rows.extend((at, watched, changed, entered, steps))
        del self._rows[: -LENGTH * _FIELDS]

    def rate(self, now: float) -> RebalanceRate | None:
        """What the last hour saw; None before two reads without a gap in between."""
        rows = [self._rows[i : i + _FIELDS] for i in range(0, len(self._rows), _FIELDS)]
        recent = [row for row in rows if row[0] > now - HOUR]
        if not recent:
            return None
        watched, changes, entries, steps = (sum(column) for column in list(zip(*recent, strict=True))[1:])
        return RebalanceRate(
            int(changes), int(steps) if self._has_epoch else None, int(max(entries, steps)), watched
        )  # fmt: skip

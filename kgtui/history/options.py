"""How a recorder is set, and how it goes."""

from __future__ import annotations

from dataclasses import dataclass

from kgtui.monitor.policy import RECORD_DESCRIBE_INTERVAL, RECORD_INTERVAL


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """Settings; times in seconds.

    Attributes:
        interval: between polls.
        flush: the longest that a poll waits before it is written; what a kill loses at most.
        keyframe: between full pictures.
        describe: within which every group is described again.
        keep_days: how many whole days stay in the lake; None for all.
    """

    interval: float = RECORD_INTERVAL
    flush: float = 10.0
    keyframe: float = 600.0
    describe: float = RECORD_DESCRIBE_INTERVAL
    keep_days: int | None = 30


@dataclass(frozen=True, slots=True)
class RecorderStatus:
    """How it goes.

    Attributes:
        polls, rows: written so far in this run.
        last: seconds since the epoch of the newest poll in the lake; None before the first.
        waiting: rows that are not in the lake yet.
        trouble: why nothing can be written at the moment; `` when all is well.
    """

    polls: int = 0
    rows: int = 0
    last: float | None = None
    waiting: int = 0
    error: str = ""

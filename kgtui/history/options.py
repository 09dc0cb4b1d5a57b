"""Options and status of the recorder."""

from __future__ import annotations

from dataclasses import dataclass

from kgtui.monitor.policy import RECORD_DESCRIBE_INTERVAL, RECORD_INTERVAL


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """Options of the recorder; times are in seconds.

    Attributes:
        interval: time between polls.
        flush: longest time before a poll is written; a crash loses at most this much.
        keyframe: time between keyframes.
        describe: time within which every group is described again.
        keep_days: number of full days that stay in the lake; None keeps all.
    """

    interval: float = RECORD_INTERVAL
    flush: float = 10.0
    keyframe: float = 600.0
    describe: float = RECORD_DESCRIBE_INTERVAL
    keep_days: int | None = 30


@dataclass(frozen=True, slots=True)
class RecorderStatus:
    """Status of the recorder.

    Attributes:
        polls, rows: number of polls and rows written in this run.
        last: time of the newest poll in the lake, in seconds since the epoch; None before the first.
        waiting: number of rows that are not in the lake yet.
        error: why nothing can be recorded at the moment; empty if there is no problem.
    """

    polls: int = 0
    rows: int = 0
    last: float | None = None
    waiting: int = 0
    error: str = ""

"""Options and status of the recorder."""

from __future__ import annotations

from dataclasses import dataclass

from kgtui.monitor.policy import RECORD_DESCRIBE_INTERVAL, RECORD_INTERVAL


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """Options of the recorder; times are in seconds.

    Attributes:
        interval: time between polls.
        flush: maximum time that the rows of a poll wait in memory before they are written to the lake. A crash loses
            only polls that are still waiting.
        keyframe: time between two keyframes, which are polls that record the complete state instead of changes.
        describe: maximum time between two descriptions of the same group.
        keep_days: number of full days after which polls are deleted from the lake; None keeps all polls.
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
        last: time of the newest poll that this run wrote, in seconds since the epoch; None if it wrote no poll yet.
        waiting: number of rows that wait in memory to be written to the lake.
        error: why nothing can be recorded at the moment; empty if there is no problem.
    """

    polls: int = 0
    rows: int = 0
    last: float | None = None
    waiting: int = 0
    error: str = ""

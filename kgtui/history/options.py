"""Options and status of the recorder."""

from __future__ import annotations

from dataclasses import dataclass

from kgtui.monitor.policy import RECORD_DESCRIBE_INTERVAL, RECORD_INTERVAL


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """Options of the recorder. All times are in seconds.

    Attributes:
        interval: time from the start of a poll to the start of the next poll.
        flush: maximum time for which the rows of a poll wait in memory before they are written to the lake. A crash of
            the recorder loses only the polls that are still waiting.
        keyframe: time between two keyframes, which are polls that record the complete state instead of changes.
        describe: maximum time between two reads of the description of the same group.
        keep_days: age in full days at which polls are deleted from the lake; None keeps all polls.
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
        polls, rows: number of polls and rows that the recorder has written since it was started.
        last: time of the newest of these polls, in seconds since the epoch; None before the first one is written.
        waiting: number of rows that wait in memory to be written to the lake.
        error: the reason why nothing can be recorded at the moment; empty if there is no problem.
    """

    polls: int = 0
    rows: int = 0
    last: float | None = None
    waiting: int = 0
    error: str = ""

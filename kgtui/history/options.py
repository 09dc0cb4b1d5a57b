"""Options and status of the recorder."""

from __future__ import annotations

from dataclasses import dataclass

from kgtui.monitor.policy import RECORD_DESCRIBE_INTERVAL, RECORD_INTERVAL


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """Options of the recorder. Times are in seconds, except `keep_days`.

    Attributes:
        interval: time from the start of a poll to the start of the next poll.
        flush: maximum time for which rows wait in memory until they are written. If the recorder crashes, the waiting
            rows are lost.
        keyframe: time between two keyframes (polls that write the complete state). The polls between them write only
            changed rows.
        describe: maximum time between two reads of a group's description.
        keep_days: number of full UTC days before today whose polls are kept; None to keep all polls.
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
        polls: number of polls that this recorder has written to the lake.
        rows: number of rows that this recorder has written to the lake.
        last: time of the newest poll that was written, in seconds since the epoch; None if no poll was written.
        waiting: number of rows that wait in memory to be written to the lake.
        error: why nothing can be recorded now; empty if there is no problem.
    """

    polls: int = 0
    rows: int = 0
    last: float | None = None
    waiting: int = 0
    error: str = ""

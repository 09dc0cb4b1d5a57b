"""Options and status of the recorder."""

from __future__ import annotations

from dataclasses import dataclass

from kgtui.monitor.policy import RECORD_DESCRIBE_INTERVAL, RECORD_INTERVAL


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """Options of the recorder. All times are in seconds.

    Attributes:
        interval: time between the starts of two polls.
        flush: maximum time that rows wait in memory. A crash loses only waiting rows.
        keyframe: time between two polls that write all rows. Other polls write only changed rows.
        describe: maximum time between two reads of a group's description.
        keep_days: age at which polls are deleted, in full days; None to keep all polls.
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
        polls, rows: numbers of polls and rows that this recorder has written.
        last: time of the newest written poll, in seconds since the epoch; None if there is none.
        waiting: number of rows that wait in memory.
        error: why nothing can be recorded now; empty if there is no problem.
    """

    polls: int = 0
    rows: int = 0
    last: float | None = None
    waiting: int = 0
    error: str = ""

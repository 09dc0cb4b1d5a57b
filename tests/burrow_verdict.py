"""The algorithm with which Burrow, LinkedIn's lag monitor, judges whether a group keeps up in one partition.

Tests compare the verdicts of this algorithm with those of kgtui.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.burrow import (
    DEFAULTS,
    PartitionVerdict,
    Status,
    always_behind,
    ceased,
    lag_never_fell,
    lately_caught_up,
    rewind,
    unmoved,
)

if TYPE_CHECKING:
    from kgtui.model.burrow import Options, Window


def judge_partition(window: Window, now: int, options: Options = DEFAULTS) -> PartitionVerdict:
    """Return Burrow's verdict on one partition.

    The first rule that applies decides. `minimum_complete`, `intervals` and `allowed_lag` are attributes of `options`.
    The rules 5 and 6 ignore commits whose lag is unknown.

    1. The window has no commits, or fewer commits than `minimum_complete` × `intervals`: OK.
    2. The current lag is unknown, or is at most `allowed_lag`: OK.
    3. More time has passed since the last commit than between the first and the last commit, and the last committed
       offset is lower than every log end offset in the window: STOP.
    4. The committed offset fell, and has not risen to the earlier value again: REWIND.
    5. The lag was always above `allowed_lag`, and the committed offset never changed: STALL.
    6. The lag was always above `allowed_lag`, and the lag never fell: WARN.
    7. Otherwise: OK.

    Args:
        window: the group's newest commits for the partition, and the partition's newest log end offsets.
        now: current time in milliseconds since the Unix epoch.
    """
    commits, lag = window.commits, window.current_lag
    if not commits:
        return PartitionVerdict(Status.OK)
    complete = len(commits) / options.intervals
    status = Status.OK
    if complete >= options.minimum_complete and lag is not None and lag > options.allowed_lag:
        status = _of_lagging(window, now, options.allowed_lag)
    return PartitionVerdict(status, complete, lag, commits[0], commits[-1])


def _of_lagging(window: Window, now: int, allowed_lag: int) -> Status:
    commits = window.commits
    if ceased(commits, now) and not lately_caught_up(window):
        return Status.STOP
    if rewind(commits) is not None:
        return Status.REWIND
    if always_behind(commits, allowed_lag):
        if unmoved(commits):
            return Status.STALL
        if lag_never_fell(commits):
            return Status.WARN
    return Status.OK

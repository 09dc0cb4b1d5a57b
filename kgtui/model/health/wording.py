"""Texts about the health of groups: why a group has its verdict, when records will be lost, why a verdict is not final.

The verdict on a group is OK, WARN, ERR or NOT_FOUND. It is not final as long as kgtui cannot exclude a worse verdict,
because data is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kgtui.model.access import HIDDEN, NONE_VISIBLE
from kgtui.model.burrow import Status
from kgtui.model.group_types import EMPTY, SHARE_OFFSET_TYPES
from kgtui.model.health.values import Lack
from kgtui.model.number_format import counted
from kgtui.model.rfc3339 import utc_datetime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.health.values import EmptyPeriod, GroupHealth, Loss, PartitionHealth, TimeLag, Undecided

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))

_WITH_DATE = 43_200.0
"""A time is shown with its date if it is at least this many seconds (12 hours) in the past or future."""


class Clock(Protocol):
    """Type of a function that converts epoch seconds to a text such as `01:18`, or `01:18:04` if `seconds` is True."""

    def __call__(self, at: float, *, seconds: bool = False) -> str: ...


def lost_records(number: int) -> str:
    """Return a text such as `3 records expired before they were read`."""
    return f"{counted(number, 'record')} expired before {'it was' if number == 1 else 'they were'} read"


def duration(seconds: float) -> str:
    """Format a duration with at most two units: `45 s`, `3 h 20 min`, `5 d 1 h`."""
    whole = max(round(seconds), 0)
    for index, (size, unit) in enumerate(_UNITS):
        if whole >= size:
            count, rest = divmod(whole, size)
            smaller = _UNITS[index + 1] if index + 1 < len(_UNITS) else None
            if smaller is None or rest // smaller[0] == 0:
                return f"{count} {unit}"
            return f"{count} {unit} {rest // smaller[0]} {smaller[1]}"
    return "0 s"


def reason(health: GroupHealth, group_type: str | None = None) -> str:
    """Return one line that says why a group has its verdict; empty if the verdict is OK.

    The line may contain a topic name with control characters. The caller must escape them.

    Args:
        group_type: type of the group; None if unknown. For a share group, the line is about acknowledged records
            instead of commits.
    """
    if health.status is Status.NOT_FOUND:
        return "the group no longer exists"
    worst = health.worst
    if worst is None:
        return ""
    partitions = f"{worst.topic}-{worst.partition}"
    if health.affected > 1:
        partitions = f"{partitions} (and {counted(health.affected - 1, 'more partition')})"
    return _sentence(worst, group_type in SHARE_OFFSET_TYPES, health.state, partitions)


def _sentence(worst: PartitionHealth, share: bool, state: str | None, partitions: str) -> str:
    unread = f"{worst.lag or 0:,} unread"
    if worst.status is Status.REWIND:
        sentence = f"the {'start' if share else 'committed'} offset of {partitions} went back"
        if worst.rewind is not None:
            sentence = f"{sentence} from {worst.rewind.before:,} to {worst.rewind.after:,}"
        return f"{sentence}, {unread}"
    if worst.status is Status.WARN:
        over = "" if share else f" over {counted(worst.commits, 'commit')}"
        return f"the lag of {partitions} does not fall{over}, {unread}"
    sentence = (
        f"{'nothing acknowledged' if share else 'no commit'} on {partitions} for {duration(worst.still)}, {unread}"
    )
    if state == EMPTY:
        return f"{sentence}; the group is Empty"
    return f"{sentence}; no member subscribes to the topic" if worst.subscribed is False else sentence


def loss_when(loss: Loss, clock: Clock | None = None) -> str:
    """Return a text that says when a loss of records is expected.

    - `in about 3 h, 04:12`: an estimate, and the time of day of the expected loss.
    - `in at most 3 h, 04:12`: the loss can also happen sooner.
    - `from 01:18:04`: records can be lost from this time on. The time is known exactly.
    - `at any time`: `retention.bytes` can delete the records at any time (`Loss.basis` is `size`).

    Args:
        clock: converts epoch seconds to text. If it is None, the text contains no time of day, as in `in about 3 h`.
    """
    if loss.basis == "size":
        return "at any time"
    if loss.exact and clock is not None and loss.at is not None:
        return f"from {clock(loss.at, seconds=True)}"
    about = "" if loss.exact else "at most " if loss.at_most else "about "
    at = "" if clock is None or loss.at is None else f", {clock(loss.at)}"
    return f"in {about}{duration(loss.seconds)}{at}"


def age(time_lag: TimeLag, at_least: str = "≥ ") -> str:
    """Format the age of the oldest unread record: `1 h 20 min`, `≥ 5 min`, `2 h to 2 h 10 min`.

    Args:
        at_least: symbol to put before an age that is only a lower bound.
    """
    if time_lag.at_most is not None and not time_lag.at_least:
        return f"{duration(time_lag.seconds)} to {duration(time_lag.at_most)}"
    return f"{at_least if time_lag.at_least else ''}{duration(time_lag.seconds)}"


def expiry(empty: EmptyPeriod, clock: Clock | None = None, read_at: float | None = None) -> str:
    """Return a text such as `offsets may expire in at most 3 h, 04:12`.

    The text is empty if it is unknown when the offsets can expire, or if they never expire.

    Args:
        empty: how long the group has been in the state Empty, and when its offsets can expire.
        clock: converts epoch seconds to text, such as `04:12`.
        read_at: when `empty` was computed, in epoch seconds. If `clock` or `read_at` is None, the text contains no time
            of day.
    """
    if empty.expires_in is None:
        return ""
    text = f"offsets may expire in {'at most ' if empty.at_most else ''}{duration(empty.expires_in)}"
    return text if clock is None or read_at is None else ", ".join((text, clock(read_at + empty.expires_in)))


def local_clock(now: float) -> Clock:
    """Return a function that converts epoch seconds to local time, such as `01:18`.

    The returned function puts the date before a time that is at least 12 hours before or after `now` (epoch seconds).
    """

    def clock(at: float, *, seconds: bool = False) -> str:
        local = utc_datetime(at).astimezone()
        date = "%Y-%m-%d " if abs(at - now) >= _WITH_DATE else ""
        return f"{local:{date}%H:%M{':%S' if seconds else ''}}"

    return clock


def missing(undecided: Undecided) -> str:
    """Return a text that says which data kgtui lacks to confirm or exclude a possible verdict.

    For example: `STOP requires more than 45 s without progress; observed so far: 20 s`.
    """
    if undecided.lack is Lack.PERMISSION:
        return "offsets in topics that you are not allowed to describe may be hidden"
    if undecided.why == HIDDEN:
        return f"{NONE_VISIBLE}; brokers leave out the topics that you are not allowed to describe"
    if undecided.lack is Lack.LAG:
        return f"the lag of some partitions is unknown: {undecided.why}"
    verdict = undecided.status.name
    if undecided.lack is Lack.COMMITS:
        return f"{verdict} requires {undecided.needs:.0f} commits; observed so far: {undecided.has:.0f}"
    condition = "of observation" if undecided.status is Status.WARN else "without progress"
    needs, has = duration(undecided.needs), duration(undecided.has)
    return f"{verdict} requires more than {needs} {condition}; observed so far: {has}"


def undecided_lines(groups: Iterable[GroupHealth], seconds: float) -> list[str]:
    """Return lines for `kgtui check` that say why verdicts on groups are not final.

    There is one line per reason. It contains the number of groups to which the reason applies.

    Args:
        groups: health of each group.
        seconds: how long kgtui has watched the groups.
    """
    by_reason: dict[tuple[object, ...], list[Undecided]] = {}
    for health in groups:
        for one in health.undecided:
            if one.why == HIDDEN and one.lack is Lack.LAG:
                # Skip hidden offsets, because `kgtui check` already prints them as an error of the group.
                continue
            by_reason.setdefault((one.status, one.lack, one.why), []).append(one)
    lines = []
    for undecided in by_reason.values():
        most = max(undecided, key=lambda one: one.needs)
        after_watch = "" if most.lack is Lack.PERMISSION else f"after {duration(seconds)}, "
        if len(undecided) == 1:
            lines.append(f"{after_watch}the verdict on 1 group is not final: {missing(most)}")
        else:
            groups_text = counted(len(undecided), "group")
            lines.append(f"{after_watch}the verdicts on {groups_text} are not final: {missing(most)}")
    return lines

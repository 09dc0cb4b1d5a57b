"""Texts about the health of a group: the reason for a verdict, and which data is missing for an undecided verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.access import HIDDEN, NONE_VISIBLE
from kgtui.model.burrow import Status
from kgtui.model.group_types import EMPTY, SHARE_OFFSET_TYPES
from kgtui.model.health.values import Lack

if TYPE_CHECKING:
    from kgtui.model.health.values import EmptyPeriod, GroupHealth, Loss, PartitionHealth, Undecided

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    """Format a duration with its two largest units: `45 s`, `2 min`, `3 h 20 min`, `5 d 1 h`."""
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
    """Return the reason for a verdict in one line, or `` for the verdict OK. Topic names in it are not escaped."""
    if health.status is Status.NOT_FOUND:
        return "the group no longer exists"
    worst = health.worst
    if worst is None:
        return ""
    others = f" (and {health.affected - 1} more partitions)" if health.affected > 2 else ""
    others = " (and 1 more partition)" if health.affected == 2 else others
    return _sentence(worst, group_type in SHARE_OFFSET_TYPES, health.state, others)


def _sentence(worst: PartitionHealth, share: bool, state: str | None, others: str) -> str:
    where = f"{worst.topic}-{worst.partition}{others}"
    waiting = f"{worst.lag or 0:,} unread"
    if worst.status is Status.REWIND:
        return f"the {'start' if share else 'committed'} offset of {where} went back, {waiting}"
    if worst.status is Status.WARN:
        over = "" if share else f" over {worst.commits} commits"
        return f"the lag of {where} does not fall{over}, {waiting}"
    what = "nothing acknowledged" if share else "no commit"
    nobody = "; no member subscribes to the topic" if worst.subscribed is False else ""
    nobody = "; the group is Empty" if state == EMPTY else nobody
    return f"{what} on {where} for {duration(worst.still)}, {waiting}{nobody}"


def loss_in(loss: Loss) -> str:
    """Format the time until the first records are lost: `about 3 h`, `at most 3 h`."""
    return f"{'at most' if loss.at_most else 'about'} {duration(loss.seconds)}"


def expiry(empty: EmptyPeriod) -> str:
    """Return a text that says when the offsets of an Empty group may expire; `` if the time is not known."""
    if empty.expires_in is None:
        return ""
    at_most = "at most " if empty.at_most else ""
    return f"offsets may expire in {at_most}{duration(empty.expires_in)}"


def missing(undecided: Undecided) -> str:
    """Return which data is missing to decide a verdict: `STOP needs more than 45 s without progress, observed 20 s`."""
    if undecided.lack is Lack.PERMISSION:
        return "offsets in topics that you may not describe may be hidden"
    if undecided.why == HIDDEN:
        return f"{NONE_VISIBLE}; brokers leave out the topics that you may not describe"
    if undecided.lack is Lack.LAG:
        return f"the lag of some partitions is unknown: {undecided.why}"
    name = undecided.status.name
    if undecided.lack is Lack.COMMITS:
        return f"{name} needs {undecided.needs:.0f} commits, observed {undecided.has:.0f}"
    what = "of watching" if undecided.status is Status.WARN else "without progress"
    return f"{name} needs more than {duration(undecided.needs)} {what}, observed {duration(undecided.has)}"

"""A group's health in words: the reason of a verdict, and what a watch could not decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.group_types import EMPTY, SHARE
from kgtui.model.health.values import Lack
from kgtui.model.verdict import Status

if TYPE_CHECKING:
    from kgtui.model.health.values import EmptySpell, GroupHealth, Loss, PartitionHealth, Undecided

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float) -> str:
    """A span of time by its two largest units: `45 s`, `2 min`, `3 h 20 min`, `5 d 1 h`."""
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
    """Why the verdict is what it is, in one line; `` when all is well. Names of topics are as the cluster has them."""
    if health.status is Status.NOT_FOUND:
        return "the group does not exist any more"
    worst = health.worst
    if worst is None:
        return ""
    others = f" (and {health.affected - 1} more partitions)" if health.affected > 2 else ""
    others = " (and 1 more partition)" if health.affected == 2 else others
    return _sentence(worst, group_type == SHARE, health.state, others)


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
    """When the first records will be lost: `about 3 h`, `at most 3 h`."""
    return f"{'at most' if loss.at_most else 'about'} {duration(loss.seconds)}"


def expiry(spell: EmptySpell) -> str:
    """When the broker may drop the offsets of a group that is Empty; `` where that is not known."""
    if spell.expires_in is None:
        return ""
    at_most = "at most " if spell.at_least else ""
    return f"offsets may expire in {at_most}{duration(spell.expires_in)}"


def missing(undecided: Undecided) -> str:
    """What it would take to decide: `STOP needs more than 45 s at a standstill, seen 20 s`."""
    if undecided.lack is Lack.LAG:
        return f"no verdict where the lag is unknown: {undecided.why}"
    name = undecided.status.name
    if undecided.lack is Lack.COMMITS:
        return f"{name} needs {undecided.needs:.0f} commits, seen {undecided.has:.0f}"
    what = "of watching" if undecided.status is Status.WARN else "at a standstill"
    return f"{name} needs more than {duration(undecided.needs)} {what}, seen {duration(undecided.has)}"

"""Decides whether deleting a group is safe, from the plan of the deletion and from what kgtui has observed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kgtui.actions.plan import Allowed, Undo
from kgtui.model.health.wording import duration

if TYPE_CHECKING:
    from kgtui.actions.plan import DeletionLoss, Refused

RECENT = 300.0
"""A group that committed or had members less than this many seconds ago may still be in use, or may be restarting."""


class Answer(StrEnum):
    """The answer to the question whether it is safe to delete a group."""

    YES = "yes"
    UNCERTAIN = "uncertain"
    NO = "no"


class Safety(NamedTuple):
    """Whether it is safe to delete a group, with the reason."""

    answer: Answer
    reason: str

    @property
    def text(self) -> str:
        """The answer and the reason, such as `no: Stable with 2 members: stop them first`."""
        return f"{self.answer}: {self.reason}"

    @property
    def short_text(self) -> str:
        """The answer without the question, and the reason, such as `not safe: the group has not read 5 records`."""
        return f"{_SHORT[self.answer]}: {self.reason}"


_SHORT = {Answer.YES: "safe", Answer.UNCERTAIN: "uncertain", Answer.NO: "not safe"}


def safety_of(line: Allowed | Refused, *, now: float, empty_since: float | None = None) -> Safety:
    """Return whether it is safe to delete a group.

    The answer is yes only if nothing has used the group recently, if no record is unread, and if the backup can restore
    all offsets.

    Args:
        line: what the plan says about the group.
        now: seconds since the epoch.
        empty_since: when kgtui observed that the group became Empty, in seconds since the epoch; None if the group was
            already Empty when kgtui started.
    """
    if not isinstance(line, Allowed):
        return Safety(Answer.NO, line.reason)
    loss = line.loss
    if loss.last_commit is not None and now - loss.last_commit < RECENT:
        age = duration(now - loss.last_commit)
        return Safety(Answer.NO, f"offsets were committed {age} ago, so that an application may still use the group")
    if loss.undo is Undo.IRREVERSIBLE:
        return Safety(Answer.NO, "no backup can restore the offsets of deleted topics")
    if empty_since is not None and now - empty_since < RECENT:
        age = duration(now - empty_since)
        return Safety(Answer.UNCERTAIN, f"all members left {age} ago, and the application may only be restarting")
    return _safety_of_offsets(loss)


def _safety_of_offsets(loss: DeletionLoss) -> Safety:
    if loss.hidden:
        return Safety(Answer.UNCERTAIN, "the group may have offsets in topics that you may not describe")
    if not loss.partitions:
        return Safety(Answer.YES, "the group has no offsets")
    unread = loss.unread
    if unread.lag:
        return Safety(Answer.NO, f"the group has not read {unread_text(loss)}, and its position would be lost")
    if unread.lag is None or unread.lower_bound:
        return Safety(Answer.UNCERTAIN, "it is not known whether the group has read all records")
    return Safety(Answer.YES, "the group has read all records, and the backup can restore its offsets")


def unread_text(loss: DeletionLoss) -> str:
    """Return how many records the group has not read, such as `5 records` or `at least 5 records`; else `unknown`."""
    if not loss.partitions:
        return "unknown" if loss.hidden else "no records, because the group has no offsets"
    if loss.unread.lag is None:
        return "unknown"
    at_least = "at least " if loss.unread.lower_bound else ""
    return f"{at_least}{loss.unread.lag:,} record{'' if loss.unread.lag == 1 else 's'}"

"""The plan of a deletion.

For each group, the plan says what would be lost, or why kgtui refuses to delete the group. `safety_of` says whether it
is safe to delete the group.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kgtui.actions.group_data import GroupData, read_group_data, why_unreadable
from kgtui.admin.base import DEFAULT_TIMEOUT
from kgtui.admin.reading import access_of
from kgtui.model.access import NONE_VISIBLE
from kgtui.model.answer import Fault, why_missing
from kgtui.model.group import listing_of
from kgtui.model.group_types import GROUP_TYPES, kind_of
from kgtui.model.guard import why_not_delete, why_not_described
from kgtui.model.health.wording import duration
from kgtui.model.number_format import counted
from kgtui.model.offsets import lag_of_group

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import LagTotal


class Undo(StrEnum):
    """How much of the deleted data the backup can restore."""

    RESTORABLE = "restorable"
    PARTLY = "partly"
    IRREVERSIBLE = "irreversible"


@dataclass(frozen=True, slots=True)
class DeletionLoss:
    """What is lost when a group is deleted.

    Attributes:
        topics: number of topics in which the group has an offset.
        partitions: number of partitions in which the group has an offset.
        positions: sum of the group's offsets in all partitions.
        unread: total lag of the group, in records.
        last_commit: time of the last commit that kgtui saw, in seconds since the epoch; None if it saw none. No RPC
            reports when a group committed last.
        undo: how much of the lost data the backup can restore.
        not_restored: texts that name what the backup cannot restore; empty if it can restore everything.
        hidden: whether the group can have more offsets, in topics that the user is not allowed to describe.
    """

    topics: int
    partitions: int
    positions: int
    unread: LagTotal
    last_commit: float | None
    undo: Undo
    not_restored: tuple[str, ...] = ()
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Allowed:
    """Entry of a deletion plan for a group that kgtui can delete: the group's description, and what would be lost."""

    description: GroupDescription
    loss: DeletionLoss

    @property
    def group(self) -> str:
        """The id of the group."""
        return self.description.group

    @property
    def type(self) -> str:
        return self.description.type


@dataclass(frozen=True, slots=True)
class Refused:
    """Entry of a deletion plan for a group that kgtui refuses to delete. `type` is the group type; None if unknown."""

    group: str
    reason: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a deletion.

    Attributes:
        lines: one entry per requested group, in the order of the request, without duplicates.
        made_at: time of the plan, in seconds since the epoch.
    """

    lines: tuple[Allowed | Refused, ...]
    made_at: float

    @property
    def allowed(self) -> tuple[Allowed, ...]:
        """The entries of the groups that kgtui will delete if the user confirms the plan."""
        return tuple(line for line in self.lines if isinstance(line, Allowed))

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The entries of the groups that kgtui will not delete."""
        return tuple(line for line in self.lines if isinstance(line, Refused))

    @property
    def irreversible(self) -> bool:
        """Whether the deletion of at least one group would lose offsets that no backup can restore."""
        return any(line.loss.undo is Undo.IRREVERSIBLE for line in self.allowed)


async def plan(
    admin: GroupAdmin,
    groups: Iterable[str],
    *,
    timeout: float = DEFAULT_TIMEOUT,
    last_commits: Mapping[str, float] | None = None,
) -> Plan:
    """Plan a deletion: find out what each group would lose, or why its deletion is refused.

    Args:
        timeout: time limit for each step (describe, read offsets, read log offsets), in seconds.
        last_commits: group id → time of the last commit that kgtui saw, in seconds since the epoch.

    Raises:
        UnreachableError: no broker answers.
    """
    ids = tuple(dict.fromkeys(groups))
    if not ids:
        return Plan((), time.time())
    answer = await admin.describe_groups(ids, timeout=timeout)
    refused: dict[str, Refused] = {}
    for group in ids:
        description = answer.rows.get(group)
        if description is None:
            refused[group] = Refused(group, why_not_described(why_missing(answer.faults, group)))
        elif (reason := why_not_delete(group, description)) is not None:
            refused[group] = Refused(group, reason, description.type)
    empty = [answer.rows[group] for group in ids if group not in refused]
    data, access = await asyncio.gather(
        read_group_data(admin, empty, timeout=timeout), access_of(admin, timeout=timeout)
    )
    commit_times = last_commits or {}
    lines = [
        refused.get(group)
        or _line(answer.rows[group], data[group], commit_times.get(group), hides_topics=access.hides_topics)
        for group in ids
    ]
    return Plan(tuple(lines), time.time())


def _line(
    description: GroupDescription, data: GroupData | Fault, last_commit: float | None, *, hides_topics: bool
) -> Allowed | Refused:
    reason = why_no_backup(data)
    if reason is not None or isinstance(data, Fault):
        return Refused(description.group, reason or "", description.type)
    return Allowed(description, loss_of(data, last_commit, hides_topics=hides_topics))


def why_no_backup(data: GroupData | Fault) -> str | None:
    """Return a text that says why a complete backup of a group is impossible; None if it is possible."""
    if isinstance(data, GroupData):
        return why_unreadable(data.offsets)
    if data.name == "GROUP_AUTHORIZATION_FAILED":
        return "a backup is not possible: to read the offsets, you need the ACL operation DESCRIBE on this group"
    return f"a backup is not possible: the offsets cannot be read: {data.message or data.name}"


def loss_of(data: GroupData, last_commit: float | None = None, *, hides_topics: bool = False) -> DeletionLoss:
    """Return what the deletion of a group would lose, and how much of it a backup can restore.

    Args:
        last_commit: time of the last commit that kgtui saw, in seconds since the epoch; None if it saw none.
        hides_topics: whether the user lacks or may lack DESCRIBE on some topics, so that brokers can hide offsets.
    """
    positions = data.positions
    unread = lag_of_group(data.offsets)
    hidden = unread.hidden or (hides_topics and listing_of(data.description).has_offsets)
    gone = len(positions.keys() & data.gone_partitions)
    gaps = _gaps(data, gone, hidden=hidden)
    undo = Undo.IRREVERSIBLE if gone else Undo.PARTLY if gaps else Undo.RESTORABLE
    return DeletionLoss(
        len({topic for topic, _ in positions}), len(positions), sum(positions.values()),
        replace(unread, hidden=hidden), last_commit, undo, tuple(gaps), hidden,
    )  # fmt: skip


def _gaps(data: GroupData, gone: int, *, hidden: bool) -> list[str]:
    gaps = ["any offsets in topics on which you have no DESCRIBE permission"] if hidden else []
    if not data.positions:
        return gaps
    if gone:
        gaps.insert(0, f"offsets of {counted(gone, 'deleted partition')}")
    group_type = GROUP_TYPES.get(data.description.type)
    return [*gaps, *group_type.not_restorable] if group_type else gaps


def type_text(description: GroupDescription) -> str:
    """Return the type of a group, such as `share`. For a classic group, add its kind, such as `classic (connect)`."""
    kind = kind_of(description.type, description.protocol)
    if kind == "other":
        kind = description.protocol
    return description.type if kind == description.type else f"{description.type} ({kind})"


def loss_text(loss: DeletionLoss) -> str:
    """Return a text that says what is lost, such as `offsets of 12 partitions in 3 topics, 1,284 unread records`.

    The text says `at least 12 partitions` if there can be more offsets in topics that the user is not allowed to
    describe.
    """
    if not loss.partitions:
        return NONE_VISIBLE if loss.hidden else "no offsets"
    lower_bound = "at least " if loss.hidden else ""
    offsets = f"offsets of {lower_bound}{counted(loss.partitions, 'partition')} in {counted(loss.topics, 'topic')}"
    if loss.unread.lag is None:
        return offsets
    at_least = "at least " if loss.unread.lower_bound else ""
    return f"{offsets}, {at_least}{counted(loss.unread.lag, 'unread record')}"


def undo_text(loss: DeletionLoss) -> str:
    """Return a text that says what the backup can and cannot restore.

    An example is `Offsets can be restored; commit time and expiry cannot`.
    """
    not_restored = "; ".join(loss.not_restored)
    if loss.undo is Undo.IRREVERSIBLE:
        return f"irreversible: {not_restored}"
    if len(loss.not_restored) > 1:
        return f"Offsets can be restored. Not restored: {not_restored}"
    return f"Offsets can be restored; {not_restored} cannot" if not_restored else "Offsets can be restored"


RECENT = 300.0
"""A group is possibly in use if it appeared, committed or became Empty less than this many seconds ago."""


class SafeToDelete(StrEnum):
    """Whether it is safe to delete a group."""

    YES = "yes"
    UNCERTAIN = "uncertain"
    NO = "no"


class Safety(NamedTuple):
    """Whether it is safe to delete a group, and the reason."""

    answer: SafeToDelete
    reason: str

    @property
    def text(self) -> str:
        """The answer (`yes`, `no` or `uncertain`) and the reason, such as `yes: the group has no offsets`."""
        return f"{self.answer}: {self.reason}"

    @property
    def short_text(self) -> str:
        """The answer (`safe`, `not safe` or `uncertain`) and the reason, such as `safe: the group has no offsets`."""
        return f"{_SHORT[self.answer]}: {self.reason}"


_SHORT = {SafeToDelete.YES: "safe", SafeToDelete.UNCERTAIN: "uncertain", SafeToDelete.NO: "not safe"}


def safety_of(
    line: Allowed | Refused, *, now: float, empty_since: float | None = None, appeared: bool = False
) -> Safety:
    """Return whether it is safe to delete a group, and the reason.

    The deletion is safe if nothing suggests that the group was used in the last `RECENT` seconds, if the group has no
    unread records, and if a backup can restore all its offsets.

    Args:
        line: entry of the group in the deletion plan.
        now: current time, in seconds since the epoch.
        empty_since: when the group became Empty, in seconds since the epoch; None if kgtui has not observed this.
        appeared: whether the group was created after kgtui started, and has had no members since its creation.
    """
    if not isinstance(line, Allowed):
        return Safety(SafeToDelete.NO, line.reason)
    loss = line.loss
    if loss.last_commit is not None and now - loss.last_commit < RECENT:
        age = duration(now - loss.last_commit)
        return Safety(
            SafeToDelete.NO, f"offsets were committed {age} ago, so an application may still be using the group"
        )
    if loss.undo is Undo.IRREVERSIBLE:
        return Safety(SafeToDelete.NO, "no backup can restore the offsets of deleted topics")
    if empty_since is not None and now - empty_since < RECENT:
        age = duration(now - empty_since)
        if appeared:
            return Safety(
                SafeToDelete.UNCERTAIN, f"the group appeared {age} ago, so the application may just be starting"
            )
        return Safety(SafeToDelete.UNCERTAIN, f"all members left {age} ago, so the application may just be restarting")
    return _safety_of_offsets(loss)


def _safety_of_offsets(loss: DeletionLoss) -> Safety:
    if loss.hidden:
        why = "the group may have offsets in topics that you are not allowed to describe"
        return Safety(SafeToDelete.UNCERTAIN, why)
    if not loss.partitions:
        return Safety(SafeToDelete.YES, "the group has no offsets")
    unread = loss.unread
    if unread.lag:
        return Safety(SafeToDelete.NO, f"the group has not read {unread_text(loss)}, and its position would be lost")
    if unread.lag is None or unread.lower_bound:
        return Safety(SafeToDelete.UNCERTAIN, "it is not known whether the group has read all records")
    return Safety(SafeToDelete.YES, "the group has read all records, and the backup can restore its offsets")


def unread_text(loss: DeletionLoss) -> str:
    """Return the number of unread records as a text, such as `5 records`, `at least 5 records` or `unknown`.

    For a group without offsets, the text is `no records, because the group has no offsets`. But if brokers might hide
    offsets of this group from the user, the text is `unknown`.
    """
    if not loss.partitions:
        return "unknown" if loss.hidden else "no records, because the group has no offsets"
    if loss.unread.lag is None:
        return "unknown"
    at_least = "at least " if loss.unread.lower_bound else ""
    return f"{at_least}{counted(loss.unread.lag, 'record')}"

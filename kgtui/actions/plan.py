"""What a delete would do, group by group, before anything is done: allowed, with what is lost, or refused, and why."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from kgtui.actions.group_data import GroupData, read_group_data
from kgtui.admin.base import DEFAULT_TIMEOUT
from kgtui.model.answer import Fault, why_missing
from kgtui.model.group_types import GROUP_TYPES, kind_of
from kgtui.model.guard import why_not_delete, why_not_described
from kgtui.model.offsets import lags
from kgtui.model.offsets import total as lag_total

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import LagTotal

_OPERATIONS_BEFORE_CONFIGS = frozenset({"READ", "DELETE", "DESCRIBE"})
_EVERY_OPERATION = _OPERATIONS_BEFORE_CONFIGS | {"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}
_MAYBE_BEFORE_CONFIGS = frozenset(f"DescribeGroups v{version}" for version in range(6)) | {"ConsumerGroupDescribe v0"}


class Undo(StrEnum):
    """How far the backup can bring back what a delete takes."""

    RESTORABLE = "restorable"
    PARTLY = "partly"
    IRREVERSIBLE = "irreversible"


@dataclass(frozen=True, slots=True)
class Loss:
    """What a group loses when it is deleted.

    Attributes:
        topics: topics in which it has an offset.
        partitions: partitions in which it has an offset.
        positions: the sum of these offsets.
        unread: the lag, as far as it is known.
        last_commit: seconds since the epoch; None when not known, which no RPC tells.
        undo: how far it can be undone.
        not_restored: what the backup cannot bring back, in words; empty when it brings back everything.
    """

    topics: int
    partitions: int
    positions: int
    unread: LagTotal
    last_commit: float | None
    undo: Undo
    not_restored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowed:
    """A group that may be deleted as it was just described."""

    description: GroupDescription
    loss: Loss

    @property
    def group(self) -> str:
        """Group id."""
        return self.description.group

    @property
    def type(self) -> str:
        """Group type."""
        return self.description.type


@dataclass(frozen=True, slots=True)
class Refused:
    """A group that will not be deleted, and why. `type` is None when it was not learned."""

    group: str
    reason: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One line per group, in the order asked for, without repeats.

    Attributes:
        made_at: seconds since the epoch.
    """

    lines: tuple[Allowed | Refused, ...]
    made_at: float

    @property
    def allowed(self) -> tuple[Allowed, ...]:
        """The groups that would be deleted."""
        return tuple(line for line in self.lines if isinstance(line, Allowed))

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The groups that would be left alone."""
        return tuple(line for line in self.lines if isinstance(line, Refused))

    @property
    def irreversible(self) -> bool:
        """Whether anything would be lost that no backup brings back."""
        return any(line.loss.undo is Undo.IRREVERSIBLE for line in self.allowed)


async def plan(
    admin: GroupAdmin,
    groups: Iterable[str],
    *,
    timeout: float = DEFAULT_TIMEOUT,
    last_commits: Mapping[str, float] | None = None,
) -> Plan:
    """Describe each group freshly by the RPC of its type and read what it holds; nothing is sent that changes anything.

    Args:
        timeout: seconds for each of the three rounds of calls.
        last_commits: group id → time of its last commit, in seconds since the epoch, where it was observed.

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
    held = await read_group_data(admin, empty, timeout=timeout)
    seen = last_commits or {}
    lines = [refused.get(group) or _line(answer.rows[group], held[group], seen.get(group)) for group in ids]
    return Plan(tuple(lines), time.time())


def _line(description: GroupDescription, held: GroupData | Fault, last_commit: float | None) -> Allowed | Refused:
    reason = why_no_backup(held)
    if reason is not None or isinstance(held, Fault):
        return Refused(description.group, reason or "", description.type)
    return Allowed(description, loss_of(held, last_commit))


def why_no_backup(held: GroupData | Fault) -> str | None:
    """Why what a group holds cannot be backed up completely; None when it can."""
    if isinstance(held, GroupData):
        return held.unreadable
    if held.name == "GROUP_AUTHORIZATION_FAILED":
        return "no backup: you may not read its offsets (the ACL operation DESCRIBE on this Group is missing)"
    return f"no backup: its offsets cannot be read: {held.message or held.name}"


def loss_of(held: GroupData, last_commit: float | None = None) -> Loss:
    """What is lost with the group, and how much of it the backup brings back."""
    positions = held.positions
    total = sum((row.start_offset if hasattr(row, "start_offset") else row.offset) or 0 for row in positions)
    unread = lag_total(lags(held.offsets))
    gone = sorted(held.gone_topics & {row.topic for row in positions})
    gaps = _gaps(held, gone)
    undo = Undo.IRREVERSIBLE if gone else Undo.PARTLY if gaps else Undo.RESTORABLE
    return Loss(len({row.topic for row in positions}), len(positions), total, unread, last_commit, undo, tuple(gaps))


def _gaps(held: GroupData, gone: list[str]) -> list[str]:
    gaps = ["offsets in topics that you may not describe, if there are any"] if _may_hide(held.description) else []
    if not held.positions:
        return gaps
    if gone:
        gaps.insert(0, f"offsets of deleted topics ({len(gone):,})")
    group_type = GROUP_TYPES.get(held.description.type)
    return [*gaps, *group_type.not_restorable] if group_type else gaps


def _may_hide(description: GroupDescription) -> bool:
    """Whether the broker may be leaving offsets out: OffsetFetch omits topics without DESCRIBE, and does not say so.

    Who may do everything with the group is taken for one who sees every topic; before 3.8 there were fewer operations.
    """
    operations = description.operations
    if operations is None or operations >= _EVERY_OPERATION or "ALL" in operations:
        return False
    old = description.source in _MAYBE_BEFORE_CONFIGS and operations >= _OPERATIONS_BEFORE_CONFIGS
    return not old


def type_text(description: GroupDescription) -> str:
    """`classic (connect)`: the type, and what a user calls the group where that is another word."""
    kind = kind_of(description.type, description.protocol)
    if kind == "other":
        kind = description.protocol
    return description.type if kind == description.type else f"{description.type} ({kind})"


def loss_text(loss: Loss) -> str:
    """Say what a delete loses: `offsets of 12 partitions in 3 topics, 1,284 unread records`, or `no offsets`."""
    if not loss.partitions:
        return "no offsets"
    offsets = f"offsets of {_count(loss.partitions, 'partition')} in {_count(loss.topics, 'topic')}"
    if loss.unread.lag is None:
        return offsets
    at_least = "at least " if loss.unread.unknown else ""
    return f"{offsets}, {at_least}{_count(loss.unread.lag, 'unread record')}"


def undo_text(loss: Loss) -> str:
    """Say how far a backup undoes a delete: `Offsets can be restored; commit time and expiry cannot`."""
    gaps = "; ".join(loss.not_restored)
    if loss.undo is Undo.IRREVERSIBLE:
        return f"irreversible: {gaps}"
    if len(loss.not_restored) > 1:
        return f"Offsets can be restored; this cannot: {gaps}"
    return f"Offsets can be restored; {gaps} cannot" if gaps else "Offsets can be restored"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"

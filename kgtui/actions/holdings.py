"""What a group holds and loses: offsets, share offsets, configs. Read for the plan, and again for the backup."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from kgtui.errors import KgtuiError
from kgtui.model.answer import Answer, Fault
from kgtui.model.group_types import SHARE_OFFSET_TYPES
from kgtui.model.offsets import GroupOffsets, reason_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.group import GroupConfig, GroupDescription
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition

T = TypeVar("T")
TOPIC_GONE = frozenset({3, 100})
"""UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """All that the broker gave of one group.

    Attributes:
        description: as the RPC of its type described it.
        offsets: committed or share offsets, with the bounds of their logs where these could be read.
        configs: None when they could not be read; then `configs_fault` says why.
    """

    description: GroupDescription
    offsets: GroupOffsets
    configs: tuple[GroupConfig, ...] | None = None
    configs_fault: Fault | None = None

    @property
    def group(self) -> str:
        """Group id."""
        return self.description.group

    @property
    def rows(self) -> list[CommittedOffset | ShareOffset]:
        """Every partition that the broker named."""
        return [*self.offsets.committed, *self.offsets.share]

    @property
    def positions(self) -> list[CommittedOffset | ShareOffset]:
        """Every partition that has an offset."""
        rows: list[CommittedOffset | ShareOffset] = [row for row in self.offsets.committed if row.offset is not None]
        rows += [row for row in self.offsets.share if row.start_offset is not None]
        return rows

    @property
    def gone_topics(self) -> frozenset[str]:
        """Topics with an offset that the cluster does not have any more."""
        bounds = self.offsets.bounds or {}
        return frozenset(
            row.topic
            for row in self.rows
            if row.error in TOPIC_GONE
            or ((found := bounds.get((row.topic, row.partition))) is not None and found.error in TOPIC_GONE)
        )

    @property
    def unreadable(self) -> str | None:
        """Why no complete backup of the offsets can be made; None when it can."""
        errors = [row.error for row in self.rows if row.error]
        failed = [error for error in errors if error not in TOPIC_GONE]
        if not failed:
            return None
        reasons = ", ".join(sorted({reason_of(error) for error in failed}))
        count = f"{len(failed):,} partition{'' if len(failed) == 1 else 's'}"
        return f"no complete backup: the offsets of {count} cannot be read ({reasons})"


async def read_holdings(
    admin: GroupAdmin, descriptions: Iterable[GroupDescription], *, timeout: float
) -> dict[str, Holdings | Fault]:
    """Group id → what it holds, or why its offsets could not be read. Configs and bounds may be missing."""
    described = {description.group: description for description in descriptions}
    share = [group for group, description in described.items() if description.type in SHARE_OFFSET_TYPES]
    others = [group for group, description in described.items() if description.type not in SHARE_OFFSET_TYPES]
    committed, shared, configs = await asyncio.gather(
        _ask(admin.committed_offsets(others, timeout=timeout), others),
        _ask(admin.share_offsets(share, timeout=timeout), share),
        _ask(admin.group_configs(described, timeout=timeout), described),
    )
    wanted = {(row.topic, row.partition) for rows in (committed, shared) for row in _rows(rows.rows)}
    bounds = await _bounds(admin, wanted, timeout)
    held: dict[str, Holdings | Fault] = {}
    for group, description in described.items():
        answer: Answer[Mapping[str, tuple[CommittedOffset, ...] | tuple[ShareOffset, ...]]]
        answer = shared if description.type in SHARE_OFFSET_TYPES else committed
        if group not in answer.rows:
            held[group] = fault_of(answer, group)
            continue
        offsets = _offsets(committed.rows.get(group, ()), shared.rows.get(group, ()), bounds)
        known = configs.rows.get(group)
        held[group] = Holdings(description, offsets, known, None if known is not None else fault_of(configs, group))
    return held


def fault_of(answer: Answer[T], group: str) -> Fault:
    """The fault that explains why `group` is not among the rows of an answer."""
    mine = [fault for fault in answer.faults if fault.group == group]
    shared = [fault for fault in answer.faults if fault.group is None]
    return next(iter(mine + shared), Fault("NO_ANSWER", "the broker said nothing about it", group=group))


async def _ask(call: Awaitable[Answer[Mapping[str, T]]], groups: Iterable[str]) -> Answer[Mapping[str, T]]:
    """An answer in any case: a call of which nothing could be learned is a fault for each group."""
    try:
        return await call
    except KgtuiError as error:
        return Answer({}, tuple(Fault("NO_ANSWER", str(error), group=group) for group in groups))


async def _bounds(
    admin: GroupAdmin, partitions: Iterable[TopicPartition], timeout: float
) -> Mapping[TopicPartition, PartitionBounds]:
    wanted = sorted(partitions)
    if not wanted:
        return {}
    try:
        return (await admin.partition_bounds(wanted, timeout=timeout)).rows
    except KgtuiError:
        return {}


def _rows(
    rows: Mapping[str, tuple[CommittedOffset, ...]] | Mapping[str, tuple[ShareOffset, ...]],
) -> list[CommittedOffset | ShareOffset]:
    return [row for group_rows in rows.values() for row in group_rows]


def _offsets(
    committed: tuple[CommittedOffset, ...],
    share: tuple[ShareOffset, ...],
    bounds: Mapping[TopicPartition, PartitionBounds],
) -> GroupOffsets:
    named = GroupOffsets(committed, share)
    return replace(named, bounds={key: bounds[key] for key in named.partitions if key in bounds})

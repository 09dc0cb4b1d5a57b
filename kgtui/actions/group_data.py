"""Read the offsets and configs of groups, for deletion plans and backups.

A deletion plan shows which offsets would be lost. A backup stores the offsets and configs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.groups_read import CONFIGS, OFFSETS
from kgtui.admin.reading import Logs, read_groups
from kgtui.model.error_numbers import TOPIC_GONE
from kgtui.model.group import listing_of
from kgtui.model.number_format import counted
from kgtui.model.offsets import reason_for_code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupConfig, GroupDescription
    from kgtui.model.offsets import CommittedOffset, GroupOffsets, ShareOffset, TopicPartition


@dataclass(frozen=True, slots=True)
class GroupData:
    """The data of one group that its backup contains: description, offsets and configs.

    Attributes:
        offsets: committed offsets or share-partition start offsets, with log start and end offsets if known.
        configs: configs of the group; None if they could not be read.
        configs_fault: why the configs could not be read; None if they were read.
    """

    description: GroupDescription
    offsets: GroupOffsets
    configs: tuple[GroupConfig, ...] | None = None
    configs_fault: Fault | None = None

    @property
    def group(self) -> str:
        """The id of the group."""
        return self.description.group

    @property
    def rows(self) -> list[CommittedOffset | ShareOffset]:
        """One row per partition in the coordinator's response, even if the group has no offset in the partition."""
        return [*self.offsets.committed, *self.offsets.share]

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """A dict: partition → offset, for the partitions in which the group has an offset."""
        return self.offsets.by_partition()

    @property
    def gone_partitions(self) -> frozenset[TopicPartition]:
        """Partitions in `rows` that no longer exist, usually because their topic was deleted."""
        bounds = self.offsets.bounds or {}
        return frozenset(
            (row.topic, row.partition)
            for row in self.rows
            if row.error in TOPIC_GONE
            or ((found := bounds.get((row.topic, row.partition))) is not None and found.error in TOPIC_GONE)
        )


async def read_offsets(
    admin: GroupAdmin, descriptions: Iterable[GroupDescription], *, timeout: float
) -> dict[str, GroupOffsets | Fault]:
    """Return a dict: group id → offsets of the group, or the error if its offsets cannot be read.

    Log start and log end offsets are not read.
    """
    listings = {description.group: listing_of(description) for description in descriptions}
    read = await read_groups(admin, Deadline(timeout), offsets=listings, every_offset=True, separately=True)
    return {group: read.offsets_of(group) or read.why_missing(group, OFFSETS) for group in listings}


def why_unreadable(offsets: GroupOffsets) -> str | None:
    """Return a text that says why a complete backup of a group's offsets is impossible; None if it is possible."""
    errors = [row.error for row in offsets.committed] + [row.error for row in offsets.share]
    failed = [error for error in errors if error and error not in TOPIC_GONE]
    if not failed:
        return None
    reasons = ", ".join(sorted({reason_for_code(error) for error in failed}))
    count = counted(len(failed), "partition")
    return f"a complete backup is not possible: the offsets of {count} cannot be read ({reasons})"


async def read_group_data(
    admin: GroupAdmin, descriptions: Iterable[GroupDescription], *, timeout: float
) -> dict[str, GroupData | Fault]:
    """Return a dict: group id → data of the group, or the error if its offsets cannot be read.

    Configs, log start offsets and log end offsets are optional. If they cannot be read, the data does not contain them.
    """
    described = {description.group: description for description in descriptions}
    read = await read_groups(
        admin,
        Deadline(timeout),
        offsets={group: listing_of(description) for group, description in described.items()},
        configs=described.keys(),
        logs=Logs.BOUNDS,
        every_offset=True,
        separately=True,
        log_timeout=timeout,
    )
    data: dict[str, GroupData | Fault] = {}
    for group, description in described.items():
        offsets, configs = read.offsets_of(group), read.configs.get(group)
        if offsets is None:
            data[group] = read.why_missing(group, OFFSETS)
        else:
            fault = None if configs is not None else read.why_missing(group, CONFIGS)
            data[group] = GroupData(description, offsets, configs, fault)
    return data

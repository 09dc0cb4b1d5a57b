"""Finds out whether brokers may have left out groups or offsets because of missing permissions, and reports it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.commands.printing import notify
from kgtui.errors import KgtuiError
from kgtui.model import facts
from kgtui.model.access import NO_VISIBLE_GROUP, Access, hidden_fault

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterable

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.snapshot import Snapshot


async def read_access(admin: GroupAdmin, *, timeout: float) -> Access:
    """Return the permissions of the user. If they cannot be read, the result is that the user may see nothing."""
    try:
        return await admin.access(timeout=timeout)
    except KgtuiError:
        return Access()


async def with_hidden_faults(
    admin: GroupAdmin, snapshot: Snapshot, groups: Iterable[str], *, timeout: float
) -> Snapshot:
    """Return the snapshot with a fault for each group that has no offsets and may have hidden ones.

    The permissions of the user are read only if a group has no offsets.

    Args:
        groups: ids of groups whose offsets were read.
        timeout: time limit for reading the permissions, in seconds.
    """
    empty = [group for group in groups if facts.has_no_offsets(snapshot, group)]
    if not empty:
        return snapshot
    access = await read_access(admin, timeout=timeout)
    faults = {} if access.any_topic else {group: hidden_fault(group) for group in empty}
    return replace(snapshot, access=access, group_faults={**snapshot.group_faults, **faults})


def notify_no_visible_group(args: argparse.Namespace, snapshot: Snapshot, listed: Collection[str]) -> bool:
    """Print a message if no group is listed although the cluster may have groups that the user may not describe.

    Args:
        listed: ids of all groups that the brokers listed.

    Returns:
        True if the exit code has to be 1, because `--allow-empty` is not given.
    """
    access = snapshot.access
    if listed or snapshot.answering < len(snapshot.brokers) or access is None or access.lists_every_group:
        return False
    notify(NO_VISIBLE_GROUP)
    return not args.allow_empty

"""Check whether groups that no broker lists any longer were deleted.

While a broker fails, restarts or hands over its groups, no broker lists these groups, although they still exist.
Therefore, a group is kept until its coordinator responds that the group does not exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.monitor.policy import MISSING_CHECK_MAX_PAUSE, MISSING_CHECK_PAUSE, MISSING_GROUPS_PER_CHECK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.admin.base import GroupAdmin
    from kgtui.monitor.store import Store


async def gone_or_forbidden(admin: GroupAdmin, groups: Iterable[str], *, timeout: float) -> set[str]:
    """Ask coordinators about groups that no broker lists, and return the ids of the groups that no longer exist.

    Groups that the user is not allowed to describe are returned, too, because nothing about them can be read. If the
    request fails, the result is empty.

    Args:
        timeout: time limit for the requests to all coordinators, in seconds.
    """
    try:
        answer = await admin.describe_groups(groups, timeout=timeout)
    except KgtuiError:
        return set()
    refused = ("GROUP_ID_NOT_FOUND", "GROUP_AUTHORIZATION_FAILED")
    return {fault.group for fault in answer.faults if fault.group is not None and fault.name in refused}


class MissingGroups:
    """Checks groups that no broker lists. Removes a group from the store if it was deleted.

    A group is also removed if the user is not allowed to describe it.

    Args:
        timeout: time limit for one check, in seconds.

    Attributes:
        due_in: time to wait before the next check, in seconds. It is 0 after a check that removes a group, and after
            groups were added. After the first check that removes no group, it is `MISSING_CHECK_PAUSE`. After each
            further such check, it doubles, up to `MISSING_CHECK_MAX_PAUSE`.
    """

    def __init__(self, admin: GroupAdmin, store: Store, timeout: float) -> None:
        self._admin = admin
        self._store = store
        self._timeout = timeout
        self._nodes: dict[str, int] = {}
        self.due_in = 0.0

    def add(self, node: int, groups: Iterable[str]) -> None:
        """Add groups to check. The broker `node` was the last one that listed them."""
        new = {group: node for group in groups if self._nodes.get(group) != node}
        if new:
            self._nodes |= new
            self.due_in = 0.0

    def listed(self, groups: Iterable[str]) -> None:
        """Stop checking groups that a broker lists again."""
        for group in groups if self._nodes else ():
            self._nodes.pop(group, None)

    def __contains__(self, group: object) -> bool:
        return group in self._nodes

    def __bool__(self) -> bool:
        return bool(self._nodes)

    async def check(self) -> bool:
        """Check up to `MISSING_GROUPS_PER_CHECK` groups. Return whether groups were removed from the store.

        The groups that have waited longest since their last check come first.
        """
        batch = list(self._nodes)[:MISSING_GROUPS_PER_CHECK]
        gone = await gone_or_forbidden(self._admin, batch, timeout=self._timeout)
        # Ignore groups that a broker has listed again while this check was running.
        checked = {group: node for group in batch if (node := self._nodes.pop(group, None)) is not None}
        for group, node in checked.items():
            if group not in gone:
                self._nodes[group] = node
        removed = checked.keys() & gone
        for node in set(checked.values()):
            self._store.drop(node, [group for group in removed if checked[group] == node])
        self.due_in = 0.0 if removed else min(max(2 * self.due_in, MISSING_CHECK_PAUSE), MISSING_CHECK_MAX_PAUSE)
        return bool(removed)

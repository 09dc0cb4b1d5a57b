"""Is a group still there? Asked after a delete, and for deletes of earlier sessions whose end is not known."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.model.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.group import GroupDescription


class Presence(Enum):
    """What the cluster knows of a name."""

    GONE = "gone"
    PRESENT = "present"
    UNKNOWN = "unknown"


async def check_presence(admin: GroupAdmin, groups: Collection[str], *, timeout: float) -> dict[str, Presence]:
    """Describe each group again; where that proves nothing, look for it in a list of which no broker is missing."""
    try:
        answer = await admin.describe_groups(groups, timeout=timeout)
    except KgtuiError:
        answer = Answer({})
    found = {group: _described(answer, group) for group in groups}
    open_ = {group for group, presence in found.items() if presence is Presence.UNKNOWN}
    return found | await _listed(admin, open_, timeout) if open_ else found


def _described(answer: Answer[Mapping[str, GroupDescription]], group: str) -> Presence:
    description = answer.rows.get(group)
    if description is not None:
        return Presence.PRESENT if description.authoritative else Presence.UNKNOWN
    not_found = any(fault.group == group and fault.name == "GROUP_ID_NOT_FOUND" for fault in answer.faults)
    return Presence.GONE if not_found else Presence.UNKNOWN


async def _listed(admin: GroupAdmin, groups: Collection[str], timeout: float) -> dict[str, Presence]:
    """A list hides what one may not describe, so absence from it counts only when no fault came with it."""
    try:
        answer = await admin.list_groups(timeout=timeout)
    except KgtuiError:
        return dict.fromkeys(groups, Presence.UNKNOWN)
    whole = not answer.faults and answer.coverage.complete and answer.coverage.brokers[1] > 0
    absent = Presence.GONE if whole else Presence.UNKNOWN
    return {group: Presence.PRESENT if group in answer.rows else absent for group in groups}

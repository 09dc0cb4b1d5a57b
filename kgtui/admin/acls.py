"""Find the topics that ACLs deny to the user, although the user may describe all other topics."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kgtui.errors import UnsupportedError
from kgtui.protocol.messages.acls import DESCRIBE_ACLS

if TYPE_CHECKING:
    from kgtui.admin.deadline import Deadline
    from kgtui.client.options import Lane
    from kgtui.client.pool import Pool, Reply

_TOPIC = 2
"""Number of the resource type TOPIC in Kafka's `ResourceType`."""

_ANY_PATTERN, _LITERAL, _PREFIXED = 1, 3, 4
"""Numbers of pattern types in Kafka's `PatternType`."""

_ANY, _ALL, _READ, _WRITE, _DELETE, _ALTER, _DESCRIBE = 1, 2, 3, 4, 6, 7, 8
"""Numbers of operations in Kafka's `AclOperation`."""

_DENY, _ALLOW = 2, 3
"""Numbers of permission types in Kafka's `AclPermissionType`."""

_DENIES = frozenset({_ALL, _DESCRIBE})
"""Operations whose denial by an ACL forbids a user to describe the topic."""

_ALLOWS = _DENIES | {_READ, _WRITE, _DELETE, _ALTER}
"""Operations whose permission by an ACL also permits a user to describe the topic."""


async def read_denied_patterns(
    pool: Pool, node: int, deadline: Deadline, lane: Lane
) -> frozenset[tuple[str, bool]] | None:
    """Ask one broker for all ACLs that deny the operation DESCRIBE on topics, to any user. Raises `ClientError`.

    The caller must already know that the user may describe topics with any name.

    Returns:
        Pairs `(topic name, False)` and `(prefix of topic names, True)`. The result is None if other topics may be
        hidden too, because the ACLs cannot be read, or because no ACL allows all topics. If no ACL allows all topics,
        the broker probably has the setting `allow.everyone.if.no.acl.found`, which hides each topic that has ACLs from
        all users without an ACL for it.
    """
    try:
        denied, allowed = await asyncio.gather(
            _read_acls(pool, node, deadline, lane, name=None, pattern=_ANY_PATTERN, permission=_DENY),
            _read_acls(pool, node, deadline, lane, name="*", pattern=_LITERAL, permission=_ALLOW),
        )
    except UnsupportedError:
        return None
    if denied is None or allowed is None or not any(_has(row, _ALLOWS) for row in allowed):
        return None
    return frozenset((row["ResourceName"], row["PatternType"] == _PREFIXED) for row in denied if _has(row, _DENIES))


def _has(resource: dict[str, Any], operations: frozenset[int]) -> bool:
    return any(acl["Operation"] in operations for acl in resource["Acls"])


async def _read_acls(
    pool: Pool, node: int, deadline: Deadline, lane: Lane, *, name: str | None, pattern: int, permission: int
) -> list[dict[str, Any]] | None:
    """Return the resources with matching ACLs for topics; None if the broker refuses to describe ACLs."""
    request = {
        "ResourceTypeFilter": _TOPIC,
        "ResourceNameFilter": name,
        "PatternTypeFilter": pattern,
        "PrincipalFilter": None,
        "HostFilter": None,
        "Operation": _ANY,
        "PermissionType": permission,
    }
    reply: Reply[dict[str, Any]] = await pool.call(node, DESCRIBE_ACLS, request, timeout=deadline.left(), lane=lane)
    resources: list[dict[str, Any]] = reply.value["Resources"]
    return None if reply.value["ErrorCode"] else resources

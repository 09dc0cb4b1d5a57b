"""Principals with which tests check the README's table of permissions, on a broker with an authorizer.

- For each line of the table, one principal has only the permissions in this line.
- For each permission in the table, one principal lacks this permission, and has all others. The principal also lacks
  broader permissions that include the missing one, such as DESCRIBE on the cluster, which includes DESCRIBE on a group.

The permission DELETE is for the group `DELETED_GROUP`. Other permissions on one group are for `GROUP`, and permissions
on one topic are for `TOPIC`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Permission(NamedTuple):
    """An operation on groups, topics or the cluster, which an ACL can allow or deny.

    Attributes:
        operation: a value of Kafka's enum AclOperation, such as `DESCRIBE`.
        name: name of the group, topic or cluster; `*` for all groups or all topics.
    """

    operation: str
    resource: Literal["cluster", "group", "topic"]
    name: str


GROUP, TOPIC = "team-a-live", "team-a-events"
DELETED_GROUP = "permission-delete"
"""Id of a group that tests create and delete."""

LIST_ONE = Permission("DESCRIBE", "group", GROUP)
LIST_ALL = Permission("DESCRIBE", "cluster", "kafka-cluster")
SEE_TOPIC = Permission("DESCRIBE", "topic", TOPIC)
SEE_ANY_TOPIC = Permission("DESCRIBE", "topic", "*")
GROUP_CONFIGS = Permission("DESCRIBE_CONFIGS", "group", GROUP)
TOPIC_CONFIGS = Permission("DESCRIBE_CONFIGS", "topic", TOPIC)
CLUSTER_CONFIGS = Permission("DESCRIBE_CONFIGS", "cluster", "kafka-cluster")
DELETE = Permission("DELETE", "group", DELETED_GROUP)

LINES = {
    "list a group": (LIST_ONE,),
    "list every group": (LIST_ALL,),
    "see members": (LIST_ONE, SEE_TOPIC),
    "see offsets": (LIST_ONE, SEE_TOPIC),
    "be sure that no offsets are hidden": (SEE_ANY_TOPIC,),
    "see log ends and lag": (SEE_TOPIC,),
    "see when unread records were written": (SEE_TOPIC,),
    "see configs": (GROUP_CONFIGS,),
    "see when data or offsets will expire": (TOPIC_CONFIGS, CLUSTER_CONFIGS),
    "delete": (DELETE,),
}
"""Maps each action in the README's table of permissions to the permissions that the action needs."""

_ALL = frozenset(permission for permissions in LINES.values() for permission in permissions)

_ALSO_MISSING = {LIST_ONE: {LIST_ALL}, SEE_TOPIC: {SEE_ANY_TOPIC}}
"""Permission → broader permissions that include it. A principal without the permission also lacks the broader ones."""


def only(line: str) -> str:
    """Return the name of the principal that has only the permissions in one line of the README's table.

    `line` is the action in this line, such as `list a group`.
    """
    return f"only-{list(LINES).index(line)}"


def without(permission: Permission) -> str:
    """Return the name of the principal that has all permissions in the README's table except `permission`.

    The principal also lacks the broader permissions that include `permission`.
    """
    return f"without-{permission.operation}-{permission.resource}-{'any' if permission.name == '*' else 'one'}"


PERMISSIONS: dict[str, frozenset[Permission]] = {
    **{only(line): frozenset(permissions) for line, permissions in LINES.items()},
    **{without(one): _ALL - {one} - _ALSO_MISSING.get(one, set()) for one in sorted(_ALL)},
}
"""Maps the name of each principal to the permissions that the principal's ACLs allow."""

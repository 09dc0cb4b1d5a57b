"""Principals of the broker with an authorizer, one for each line of the table of permissions in the README.

For each line, `PERMISSIONS` has a principal with only the permissions of this line. For each permission, it also has a
principal who lacks this permission and has all other permissions of the table. A permission on one group or one topic
is for `GROUP` or `TOPIC`; the permission to delete is for `DELETED_GROUP`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Permission(NamedTuple):
    """An ACL operation that a principal may perform on a cluster, a group or a topic.

    Attributes:
        operation: name of Kafka's AclOperation.
        resource: the type of the resource.
        name: name of the resource; `*` means all groups or topics.
    """

    operation: str
    resource: Literal["cluster", "group", "topic"]
    name: str


GROUP, TOPIC = "team-a-live", "team-a-events"
DELETED_GROUP = "permission-delete"
"""A group that the tests create and delete."""

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
    "see configs": (GROUP_CONFIGS,),
    "see when data or offsets will expire": (TOPIC_CONFIGS, CLUSTER_CONFIGS),
    "delete": (DELETE,),
}
"""Action, the first cell of a line in the README's table of permissions → the permissions that the action needs."""

_ALL = frozenset(permission for permissions in LINES.values() for permission in permissions)

_ALSO_MISSING = {LIST_ONE: {LIST_ALL}, SEE_TOPIC: {SEE_ANY_TOPIC}}
"""Permission → wider permissions that include it, and that a principal without the permission must not have either."""


def only(line: str) -> str:
    """Return the principal who has only the permissions of a line of the table."""
    return f"only-{list(LINES).index(line)}"


def without(permission: Permission) -> str:
    """Return the principal who has every permission of the table except this one."""
    return f"without-{permission.operation}-{permission.resource}-{'any' if permission.name == '*' else 'one'}"


PERMISSIONS: dict[str, frozenset[Permission]] = {
    **{only(line): frozenset(permissions) for line, permissions in LINES.items()},
    **{without(one): _ALL - {one} - _ALSO_MISSING.get(one, set()) for one in sorted(_ALL)},
}
"""Principal → the permissions that its ACLs allow."""

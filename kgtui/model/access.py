"""The permissions of the user, and texts about groups whose offsets might be hidden from the user.

Brokers silently leave out groups and topics on which the user lacks the permission DESCRIBE. If a response is empty,
there may still be groups or topics that the user is not allowed to see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.answer import Fault
from kgtui.model.error_numbers import TOPIC_AUTHORIZATION_FAILED
from kgtui.model.number_format import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

CLUSTER_OPERATIONS = frozenset(
    {"CREATE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE"}
)
"""Every ACL operation on a cluster.

A super user is allowed to perform all of them, and so is every user of a cluster without an authorizer.
"""

HIDDEN = "OFFSETS_MAY_BE_HIDDEN"
"""Name of the error (`Fault`) for a group without visible offsets, if brokers might hide offsets from the user."""

HIDDEN_TOPICS = "OFFSETS_HIDDEN"
"""Name of the error (`Fault`) for a group whose members read topics on which the user lacks DESCRIBE.

Brokers hide the offsets of the group in these topics.
"""

NONE_VISIBLE = "no offsets that you are allowed to see"
"""Text for a group that has no visible offsets, but might have offsets that brokers hide from the user."""

VISIBLE_ONLY = "only in topics that you are allowed to see"
"""Text next to a number, such as a lag. It says that the number covers only topics on which the user has DESCRIBE."""

NOT_LISTED = "Offsets in topics that you are not allowed to describe are not listed."
"""Sentence below a list of offsets. It says that the list may be incomplete, because the user lacks permissions."""

NO_VISIBLE_GROUP = (
    "there is no group that you are allowed to see. Brokers leave out the groups that you are not allowed to describe. "
    "To list every group, ask for the ACL operation DESCRIBE on the cluster; to list some groups, ask for DESCRIBE on "
    "these groups"
)
"""Message for a user who sees no group and lacks DESCRIBE on the cluster."""


@dataclass(frozen=True, slots=True)
class Access:
    """The permissions that decide what brokers hide from the user. `Access()` stands for no permissions.

    Attributes:
        cluster_operations: names of the allowed AclOperations on the cluster; None if not reported.
        any_topic: whether the user has DESCRIBE on all topics, except those in `denied_topics`.
        denied_topics: names or prefixes (`pay-*`) of topics on which a DENY ACL forbids DESCRIBE; None if not known.
    """

    cluster_operations: frozenset[str] | None = None
    any_topic: bool = False
    denied_topics: frozenset[str] | None = None

    @property
    def lists_every_group(self) -> bool:
        """Whether brokers list every group to the user. They do so if the user has DESCRIBE on the cluster."""
        return "DESCRIBE" in (self.cluster_operations or ())

    @property
    def hides_topics(self) -> bool:
        """Whether kgtui knows that the user lacks DESCRIBE on some topics.

        Brokers leave out the offsets in these topics. If `denied_topics` is None (not known), the result can be False
        although brokers hide topics.
        """
        return not self.any_topic or bool(self.denied_topics)

    @property
    def sees_every_topic(self) -> bool:
        """Whether kgtui knows that brokers hide no topic from the user.

        If `denied_topics` is None (not known), the result is True only for a user who has the permissions of a super
        user: DESCRIBE on all topics, and all `CLUSTER_OPERATIONS` on the cluster.
        """
        if not self.any_topic or self.denied_topics:
            return False
        return self.denied_topics is not None or (self.cluster_operations or frozenset()) >= CLUSTER_OPERATIONS


FULL_ACCESS = Access(CLUSTER_OPERATIONS, any_topic=True)
"""The permissions of a super user, and of every user of a cluster without an authorizer."""


def recording_warning(access: Access) -> str:
    """Return a warning if a recording would lack groups or topics that brokers hide from the user; otherwise `""`."""
    lacking = {}
    if not access.lists_every_group:
        lacking["groups"] = "the cluster"
    if access.hides_topics:
        lacking["topics"] = "all topics"
    if not lacking:
        return ""
    return (
        f"the recording may be incomplete, because brokers leave out the {' and '.join(lacking)} that you are not "
        "allowed to describe. To record everything, ask for the ACL operation DESCRIBE on "
        f"{' and '.join(lacking.values())}"
    )


def lower_bound_reason(access: Access) -> str:
    """Return a text that says why the shown lag might be too low, and how the user can get to see the whole lag."""
    request = (
        f"ask to {_remove_denial(access)}"
        if access.denied_topics
        else "ask for the ACL operation DESCRIBE on all topics"
    )
    return f"Brokers leave out the topics that you are not allowed to describe. To see the whole lag, {request}"


def hidden_fault(group: str, access: Access | None) -> Fault:
    """Return the fault of a group that has no visible offsets. It says that brokers might hide offsets from the user.

    Args:
        access: the permissions of the user; None if they were not read.
    """
    message = f"{NONE_VISIBLE}; brokers leave out the topics that you are not allowed to describe"
    advice = "grant DESCRIBE on the topics of the group to this user"
    if access is not None and access.denied_topics:
        advice = _remove_denial(access)
    return Fault(HIDDEN, message, group=group, advice=advice)


def _remove_denial(access: Access) -> str:
    first_topic, *others = sorted(access.denied_topics or ())
    if others:
        more_topics = counted(len(others), "more topic")
        return f"remove the ACLs that deny DESCRIBE on topic {first_topic} and on {more_topics}"
    return f"remove the ACL that denies DESCRIBE on topic {first_topic}"


def hidden_topics_fault(group: str, topics: Sequence[str]) -> Fault:
    """Return the fault of a group whose members read topics that the user is not allowed to describe.

    Args:
        topics: names of the topics that the user is not allowed to describe, at least one.
    """
    names = topics[0] if len(topics) == 1 else f"{topics[0]} and {len(topics) - 1} more"
    return Fault(
        HIDDEN_TOPICS,
        f"the offsets in topic {names} are hidden, because you are not allowed to describe the topic",
        TOPIC_AUTHORIZATION_FAILED,
        group=group,
        advice="grant DESCRIBE on the topic to this user",
    )

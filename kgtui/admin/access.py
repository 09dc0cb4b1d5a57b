"""Read the permissions of the Kafka user that kgtui logs in as.

Brokers silently leave out groups and topics that this user is not allowed to describe. The permissions show whether a
response is complete.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import uuid4

from kgtui.admin import decoding
from kgtui.admin.deadline import Deadline
from kgtui.client.options import Lane
from kgtui.errors import KgtuiError, UnsupportedError
from kgtui.model.access import Access
from kgtui.model.error_numbers import FORBIDDEN, TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from kgtui.protocol.messages.cluster import METADATA
from kgtui.protocol.messages.security import DESCRIBE_ACLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence

    from kgtui.client.pool import Pool, Reply
    from kgtui.model.answer import Answer
    from kgtui.model.offsets import PartitionBounds, TopicPartition


class _Offset(Protocol):
    @property
    def topic(self) -> str: ...


T = TypeVar("T", bound=_Offset)


class UserAccess:
    """Reads the user's permissions, and finds groups whose offsets are incomplete because of missing permissions.

    Attributes:
        refusals: groups and partitions for which brokers refused requests.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.refusals = Refusals()
        self._last: Access | None = None
        self._topics: dict[str, frozenset[str]] = {}
        self._shared: dict[frozenset[str], frozenset[str]] = {}

    @cached_property
    def _reader(self) -> AccessReader:
        return AccessReader(self._pool, self.refusals)

    async def read(self, max_age: float, timeout: float) -> Access:
        """Return the user's permissions, from the cache if they were read at most `max_age` seconds ago."""
        self._last = await self._reader.read(max_age, Deadline(timeout))
        return self._last

    async def with_hidden(
        self, reading: Awaitable[Answer[dict[str, tuple[T, ...]]]], asked: str, timeout: float
    ) -> Answer[dict[str, tuple[T, ...]]]:
        """Wait for an answer that contains the offsets of groups, and return a copy with the attribute `hidden` set.

        `hidden` contains the groups whose offsets can be incomplete. If the user lacks DESCRIBE on some topics,
        `hidden` contains all groups, because any group can have offsets in these topics.

        Args:
            asked: name of the request in messages, such as `read offsets`.
            timeout: time limit for additional requests about permissions, in seconds.
        """
        before = self._last
        answer = await reading
        self.refusals.note_groups(asked, answer)
        left_out = await self._left_out(answer.rows, timeout)
        if any(access is not None and access.hides_topics for access in (before, self._last)):
            return replace(answer, hidden=dict.fromkeys(answer.rows, ()) | left_out)
        return replace(answer, hidden=left_out) if left_out else answer

    async def _left_out(self, rows: Mapping[str, tuple[T, ...]], timeout: float) -> dict[str, tuple[str, ...]]:
        """Return a dict: group id → topics that an earlier answer contained, but that ACLs now hide from the user.

        If the permissions cannot be read, the dict contains an empty tuple for each group whose new offsets lack topics
        of an earlier answer.

        Args:
            rows: group id → offsets in the new answer.
            timeout: time limit for reading the permissions, in seconds.
        """
        access = self._last
        if access is None or not access.any_topic or access.sees_every_topic:
            self._topics.clear()
            return {}
        missing: dict[str, frozenset[str]] = {}
        for group, offsets in rows.items():
            topics = frozenset(row.topic for row in offsets)
            known = self._topics.get(group)
            if known is not None and not known <= topics:
                missing[group] = known - topics
            elif known != topics:
                self._topics[group] = self._shared.setdefault(topics, topics)
        if not missing:
            return {}
        self.refusals.suspect(frozenset().union(*missing.values()))
        try:
            access = await self.read(math.inf, timeout)
        except KgtuiError:
            return dict.fromkeys(missing, ())
        denied = access.denied_topics or frozenset()
        for group, topics in missing.items():
            # Remove each missing topic that no ACL hides from `_topics`. The group no longer has offsets in this topic,
            # for example because the offsets have expired. If the topic stayed in `_topics`, it would be missing in
            # every later answer, too, and kgtui would check the permissions each time.
            now = frozenset(row.topic for row in rows[group]) | (topics & denied)
            self._topics[group] = self._shared.setdefault(now, now)
        return {group: tuple(sorted(topics & denied)) for group, topics in missing.items() if topics & denied}

    def forget(self, groups: Iterable[str]) -> None:
        """Forget in which topics these groups have offsets, because the groups no longer exist."""
        for group in groups:
            self._topics.pop(group, None)


K = TypeVar("K")


class Refusals:
    """Groups and partitions for which brokers refused requests because of missing permissions.

    Attributes:
        changes: counter that increases when the user's permissions may have changed, for example after a new refusal.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._groups: set[tuple[str, str]] = set()
        self._partitions: set[TopicPartition] = set()
        self._suspects: set[str] = set()

    def note_groups(self, asked: str, answer: Answer[Mapping[str, object]]) -> None:
        """Remember the groups for which brokers refused this request. Forget groups that now have a result.

        Args:
            asked: kind of the request, such as `describe`. Each kind needs a different permission.
            answer: the results; `answer.faults` contains the refusals.
        """
        refused = {(asked, fault.group) for fault in answer.faults if fault.group and fault.code in FORBIDDEN}
        answered = [key for key in self._groups if key[0] == asked and key[1] in answer.rows]
        self._note(self._groups, refused, answered)

    def note_partitions(self, bounds: Mapping[TopicPartition, PartitionBounds]) -> None:
        """Remember partitions whose log bounds brokers refused to return. Forget partitions that now have a result."""
        refused = {tp for tp, row in bounds.items() if row.error in FORBIDDEN}
        answered = [tp for tp in self._partitions if (row := bounds.get(tp)) is not None and not row.error]
        self._note(self._partitions, refused, answered)

    def suspect(self, topics: Collection[str]) -> None:
        """Remember topics that are missing in a group's newest offsets. The user may have lost DESCRIBE on them."""
        self._note(self._suspects, topics, ())

    @property
    def topics(self) -> frozenset[str]:
        """Topics on which the user might lack DESCRIBE: brokers refuse requests about them, or omit them in answers."""
        return frozenset(self._suspects.union(topic for topic, _ in self._partitions))

    def allowed(self, topics: Collection[str]) -> None:
        """Forget that brokers refused requests about these topics, because the user now has DESCRIBE on the topics."""
        self._suspects.difference_update(topics)
        self._partitions = {tp for tp in self._partitions if tp[0] not in topics}

    def _note(self, known: set[K], refused: Collection[K], answered: Collection[K]) -> None:
        if answered or not known.issuperset(refused):
            self.changes += 1
            known.difference_update(answered)
            known.update(refused)


_LAST_WITH_OPERATIONS = 10
"""Last version of the Metadata RPC whose response contains the user's authorized operations on the cluster.

KIP-430 added these operations to the response, and KIP-700 removed them.
"""

_FIRST_WITH_OPERATIONS = 8
"""First version of the Metadata RPC whose response contains the user's authorized cluster operations (KIP-430)."""


_SUFFIX = "-kgtui-permission-check"
"""Suffix of the random topic names whose metadata kgtui requests to check the user's permissions.

Administrators who find such a name in the broker's authorizer log can see where the request came from.
"""

_MAX_TOPICS = 500
"""Maximum number of topics in one Metadata request that checks permissions; further topics are not checked.

The response lists every partition of these topics. The limit keeps the response small.
"""

_TOPIC = 2
"""Code of the resource type TOPIC in Kafka's enum `ResourceType`."""

_ANY_PATTERN, _LITERAL, _PREFIXED = 1, 3, 4
"""Codes of pattern types in Kafka's enum `PatternType`."""

_ANY, _ALL, _READ, _WRITE, _DELETE, _ALTER, _DESCRIBE = 1, 2, 3, 4, 6, 7, 8
"""Codes of operations in Kafka's enum `AclOperation`."""

_DENY, _ALLOW = 2, 3
"""Codes of permission types in Kafka's enum `AclPermissionType`."""

_DENIES = frozenset({_ALL, _DESCRIBE})
"""Codes of ACL operations. A user to whom an ACL denies one of them on a topic is not allowed to describe the topic."""

_ALLOWS = _DENIES | {_READ, _WRITE, _DELETE, _ALTER}
"""Codes of ACL operations. A user to whom an ACL allows one of them on a topic is allowed to describe the topic."""


class AccessReader:
    """Reads the user's permissions, and caches them.

    Args:
        refusals: requests that brokers refused. When `Refusals.changes` increases, the cached permissions are outdated.
    """

    def __init__(self, pool: Pool, refusals: Refusals) -> None:
        self._pool, self._refusals = pool, refusals
        self._last: Access | None = None
        self._read_at = 0.0
        self._changes = 0
        self._reading = asyncio.Lock()

    async def read(self, max_age: float, deadline: Deadline) -> Access:
        """Return the user's permissions, from the cache if they were read at most `max_age` seconds ago."""
        async with self._reading:
            changes = self._refusals.changes
            fresh = changes == self._changes and time.monotonic() - self._read_at <= max_age
            if self._last is None or not fresh:
                suspects = self._refusals.topics
                self._last = await read_access(self._pool, deadline, suspects)
                self._read_at, self._changes = time.monotonic(), changes
                if self._last.any_topic:
                    self._refusals.allowed(suspects.difference(self._last.denied_topics or ()))
            return self._last


async def read_access(pool: Pool, deadline: Deadline, suspects: Collection[str] = ()) -> Access:
    """Read the user's permissions with small requests to any broker.

    No RPC reports whether a user has DESCRIBE on every topic. Therefore, kgtui requests the metadata of a random topic
    name. UNKNOWN_TOPIC_OR_PARTITION means that the user has this permission. TOPIC_AUTHORIZATION_FAILED means that the
    user lacks it.

    Even a user with this permission can be denied DESCRIBE on single topics by ACLs. kgtui reads these ACLs if the user
    has DESCRIBE on the cluster.

    Args:
        suspects: topics on which the user might lack DESCRIBE. kgtui requests the metadata of these topics, too.

    Raises:
        UnreachableError: no broker answered.
    """
    await pool.metadata(timeout=deadline.left())
    return await pool.ask_any(partial(_read, pool, sorted(suspects), deadline), timeout=deadline.left())


async def _read(pool: Pool, suspects: Sequence[str], deadline: Deadline, node: int) -> Access:
    name, lane = f"{uuid4().hex}{_SUFFIX}", pool.live_lane(node)
    names = (name, *suspects[:_MAX_TOPICS])
    operations, rows = await read_operations(pool, node, deadline, topics=names, lane=lane)
    codes = {row["Name"]: row["ErrorCode"] for row in rows}
    # A user with DESCRIBE on topics of any name gets UNKNOWN_TOPIC_OR_PARTITION for the random topic, which does not
    # exist. Other users get TOPIC_AUTHORIZATION_FAILED.
    if codes.get(name) != UNKNOWN_TOPIC_OR_PARTITION:
        return Access(operations, any_topic=False)
    refused = frozenset(topic for topic in suspects if codes.get(topic) == TOPIC_AUTHORIZATION_FAILED)
    access = Access(operations, any_topic=True)
    denied = None
    if access.lists_every_group and not access.sees_every_topic:
        denied = await _read_denied(pool, node, deadline, lane)
    return replace(access, denied_topics=refused or None if denied is None else denied | refused)


async def _read_denied(pool: Pool, node: int, deadline: Deadline, lane: Lane) -> frozenset[str] | None:
    """Return the topics on which ACLs deny DESCRIBE to the user; None if unknown. Raises `ClientError`.

    In the result, `pay*` stands for all topics with the prefix `pay`.
    """
    patterns = await _denied_patterns(pool, node, deadline, lane)
    if not patterns or len(patterns) > _MAX_TOPICS:
        return None if patterns is None or patterns else frozenset()
    # `patterns` comes from the ACLs of all users. To find out which ACLs apply to this user, request the metadata of
    # each topic, and of one random topic name per prefix. The broker refuses the topics that this user is not allowed
    # to describe.
    topics = {f"{name}{uuid4().hex}{_SUFFIX}" if prefixed else name: (name, prefixed) for name, prefixed in patterns}
    _, rows = await read_operations(pool, node, deadline, topics=topics, lane=lane)
    refused = (topics.get(row["Name"]) for row in rows if row["ErrorCode"] == TOPIC_AUTHORIZATION_FAILED)
    return frozenset(f"{name}*" if prefixed else name for name, prefixed in filter(None, refused))


async def read_operations(
    pool: Pool, node: int, deadline: Deadline, *, topics: Iterable[str] = (), lane: Lane = Lane.BULK
) -> tuple[frozenset[str] | None, list[dict[str, Any]]]:
    """Find out with a Metadata request which cluster operations the user is allowed to perform. Raises `ClientError`.

    Args:
        topics: topics whose metadata are requested too.

    Returns:
        `(operations, rows)`: names of the allowed operations, such as `DESCRIBE` (None if not reported), and the
        response's row for each of `topics`.
    """
    version = min(await pool.version(node, METADATA, timeout=deadline.left(), lane=lane), _LAST_WITH_OPERATIONS)
    with_operations = version >= _FIRST_WITH_OPERATIONS
    request: dict[str, Any] = {"Topics": [{"Name": topic} for topic in topics], "AllowAutoTopicCreation": False}
    if with_operations:
        request["IncludeClusterAuthorizedOperations"] = True
    reply: Reply[dict[str, Any]] = await pool.call(
        node, METADATA, request, timeout=deadline.left(), lane=lane, version=version
    )
    found = decoding.operations(reply.value["ClusterAuthorizedOperations"]) if with_operations else None
    return found, reply.value["Topics"]


async def _denied_patterns(pool: Pool, node: int, deadline: Deadline, lane: Lane) -> frozenset[tuple[str, bool]] | None:
    """Return the topic names and prefixes with an ACL that denies DESCRIBE to at least one user.

    Raises `ClientError`.

    Returns:
        `("payments", False)` for a topic and `("pay", True)` for a prefix. None if the ACLs cannot be read, or if
        they do not show all topics that users are not allowed to describe.
    """
    try:
        denied, allowed = await asyncio.gather(
            _read_acls(pool, node, deadline, lane, name=None, pattern=_ANY_PATTERN, permission=_DENY),
            _read_acls(pool, node, deadline, lane, name="*", pattern=_LITERAL, permission=_ALLOW),
        )
    except UnsupportedError:
        return None
    # If no ACL allows DESCRIBE on `*`, users possibly have access only through `allow.everyone.if.no.acl.found`. In
    # this case, a topic that has any ACL is forbidden to all users whom its ACLs do not allow. The DENY ACLs do not
    # show such topics, so return None (unknown).
    if denied is None or allowed is None or not any(_has(row, _ALLOWS) for row in allowed):
        return None
    return frozenset((row["ResourceName"], row["PatternType"] == _PREFIXED) for row in denied if _has(row, _DENIES))


def _has(resource: dict[str, Any], operations: frozenset[int]) -> bool:
    return any(acl["Operation"] in operations for acl in resource["Acls"])


async def _read_acls(
    pool: Pool, node: int, deadline: Deadline, lane: Lane, *, name: str | None, pattern: int, permission: int
) -> list[dict[str, Any]] | None:
    """Request the ACLs of topics.

    Args:
        name: topic name or prefix in the ACL; None matches every name.
        pattern: code in Kafka's enum `PatternType`.
        permission: `_DENY` or `_ALLOW`.

    Returns:
        One row per topic name or prefix that has matching ACLs. None if the broker returned an error.
    """
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

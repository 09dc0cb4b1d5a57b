"""Read the permissions of the user that decide which groups and topics brokers leave out of their responses."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kgtui.admin.decoding import operations
from kgtui.client.options import Lane
from kgtui.model.access import Access
from kgtui.model.error_numbers import UNKNOWN_TOPIC_OR_PARTITION
from kgtui.protocol.messages.cluster import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.admin.deadline import Deadline
    from kgtui.admin.refusals import Refusals
    from kgtui.client.pool import Pool, Reply

_LAST_WITH_OPERATIONS = 10
"""Last version of the Metadata RPC that reports the authorized operations on the cluster.

KIP-430 added these operations to the response, and KIP-700 removed them again.
"""

_FIRST_WITH_OPERATIONS = 8
"""First version of the Metadata RPC that reports the authorized operations on the cluster."""


class AccessReader:
    """Reads the permissions of the user, and returns them again while they are young and seem to be unchanged.

    Args:
        pool: connections to the cluster.
        refusals: what brokers refuse. After a change, the permissions are read again.
    """

    def __init__(self, pool: Pool, refusals: Refusals) -> None:
        self._pool, self._refusals = pool, refusals
        self._last: Access | None = None
        self._read_at = 0.0
        self._changes = 0
        self._reading = asyncio.Lock()

    async def read(self, max_age: float, deadline: Deadline) -> Access:
        """Return the permissions; see `GroupAdmin.access`."""
        async with self._reading:
            changes = self._refusals.changes
            fresh = changes == self._changes and time.monotonic() - self._read_at <= max_age
            if self._last is None or not fresh:
                self._last = await read_access(self._pool, deadline)
                self._read_at, self._changes = time.monotonic(), changes
            return self._last


async def read_access(pool: Pool, deadline: Deadline) -> Access:
    """Read the permissions with one small request to any broker.

    No RPC reports whether a user may describe every topic. The request therefore contains the name of a topic that does
    not exist and that no ACL names, because it begins with random characters. For this topic, a broker responds with
    UNKNOWN_TOPIC_OR_PARTITION if the user may describe topics with any name, and otherwise with
    TOPIC_AUTHORIZATION_FAILED. The request never creates the topic.

    Raises:
        UnreachableError: no broker answered.
    """
    await pool.metadata(timeout=deadline.left())
    topic = f"{uuid4().hex}-kgtui-permission-check"
    return await pool.ask_any(partial(_read, pool, topic, deadline), timeout=deadline.left())


async def _read(pool: Pool, topic: str, deadline: Deadline, node: int) -> Access:
    found, rows = await read_operations(pool, node, deadline, topics=(topic,), lane=pool.live_lane(node))
    # Only UNKNOWN_TOPIC_OR_PARTITION proves that the user may describe a topic with any name.
    return Access(found, [row["ErrorCode"] for row in rows] == [UNKNOWN_TOPIC_OR_PARTITION])


async def read_operations(
    pool: Pool, node: int, deadline: Deadline, *, topics: Iterable[str] = (), lane: Lane = Lane.BULK
) -> tuple[frozenset[str] | None, list[dict[str, Any]]]:
    """Ask one broker with a Metadata request for the authorized operations on the cluster. Raises `ClientError`.

    Returns the operations, or None if the broker does not report them; and the response rows of `topics`.
    """
    version = min(await pool.version(node, METADATA, timeout=deadline.left(), lane=lane), _LAST_WITH_OPERATIONS)
    with_operations = version >= _FIRST_WITH_OPERATIONS
    request: dict[str, Any] = {"Topics": [{"Name": topic} for topic in topics], "AllowAutoTopicCreation": False}
    if with_operations:
        request["IncludeClusterAuthorizedOperations"] = True
    reply: Reply[dict[str, Any]] = await pool.call(
        node, METADATA, request, timeout=deadline.left(), lane=lane, version=version
    )
    found = operations(reply.value["ClusterAuthorizedOperations"]) if with_operations else None
    return found, reply.value["Topics"]

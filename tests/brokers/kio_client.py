"""A minimal Kafka client for operations that client libraries do not support.

It encodes requests with the package kio.
"""

from __future__ import annotations

import socket
import struct
import time
from datetime import timedelta
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from kio.schema.find_coordinator.v4.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v4.response import FindCoordinatorResponse
from kio.schema.list_groups.v5.request import ListGroupsRequest
from kio.schema.list_groups.v5.response import ListGroupsResponse
from kio.schema.offset_commit.v9.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_commit.v9.response import OffsetCommitResponse
from kio.schema.types import GroupId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i32, i32Timedelta, i64

if TYPE_CHECKING:
    from collections.abc import Mapping

NONE = 0
NOT_READY = {14, 15, 16, 27}
"""Error codes after which a request is repeated.

The coordinator is loading (14), is not available (15) or has moved (16), or the group rebalances (27).
"""

LONG = i32Timedelta.parse(timedelta(minutes=30))
"""Session timeout of 30 minutes, which is the maximum that the broker accepts.

With this timeout, members need no heartbeats during a test run.
"""


class Listed(NamedTuple):
    """Type, protocol type and state of a group in a response to ListGroups."""

    type: str
    protocol: str
    state: str


class Connection:
    """A connection to one broker. The broker sends responses in the order of the requests."""

    def __init__(self, address: str, client_id: str = "kgtui-tests") -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        self._client_id = client_id

    def send(self, request: Any) -> None:
        """Send a request (an instance of one of kio's request classes). Do not wait for the response."""
        buffer = BytesIO()
        header = request.__header_schema__(
            request_api_key=request.__api_key__,
            request_api_version=request.__version__,
            correlation_id=i32(1),
            client_id=self._client_id,
        )
        entity_writer(type(header))(buffer, header)
        entity_writer(type(request))(buffer, request)
        frame = buffer.getvalue()
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self, response: type[Any]) -> Any:
        """Wait for the next response, and return it as an object of the class `response`.

        The next response belongs to the oldest request whose response has not been received yet.
        """
        (size,) = struct.unpack(">i", self._read(4))
        frame = self._read(size)
        _, read = entity_reader(response.__header_schema__)(frame, 0)
        return entity_reader(response)(frame, read)[0]

    def call(self, request: Any, response: type[Any]) -> Any:
        """Send a request, and return the response as an object of the class `response`."""
        self.send(request)
        return self.receive(response)

    def fileno(self) -> int:
        """Return the file descriptor of the socket, for `select`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection.

        A member that has joined through the connection stays in its group until its session times out.
        """
        self._socket.close()

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionError("the broker closed the connection")
            parts += part
        return bytes(parts)


def list_groups(address: str) -> dict[str, Listed]:
    """Ask each broker in `address` (`host:port,…`) for its groups, and return all groups by id."""
    groups: dict[str, Listed] = {}
    for broker in address.split(","):
        connection = Connection(broker)
        try:
            answer = connection.call(ListGroupsRequest(states_filter=(), types_filter=()), ListGroupsResponse)
        finally:
            connection.close()
        groups |= {g.group_id: Listed(g.group_type, g.protocol_type, g.group_state) for g in answer.groups}
    return groups


def wait_for_states(address: str, expected: dict[str, str], timeout: float) -> dict[str, Listed]:
    """List the groups repeatedly until they have the states in `expected` (group id → state). Return the last list.

    Raises:
        TimeoutError: some groups do not have the expected states after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        listed = list_groups(address)
        missing = {g: listed.get(g) for g, state in expected.items() if g not in listed or listed[g].state != state}
        if not missing:
            return listed
        if time.monotonic() > deadline:
            raise TimeoutError(f"groups are not in their expected state after {timeout:.0f} s: {missing}")
        time.sleep(0.1)


def wait_until_gone(address: str, group: str, timeout: float) -> None:
    """List the groups repeatedly until `group` no longer exists.

    Raises:
        TimeoutError: the group still exists after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while group in list_groups(address):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{group} still exists after {timeout:.0f} s")
        time.sleep(0.1)


def find_coordinator(address: str, group: str, timeout: float) -> str:
    """Return the address of the group's coordinator as `host:port`.

    On a new cluster, the first call makes the broker create `__consumer_offsets`.

    Raises:
        TimeoutError: the broker returns an error code in `NOT_READY` for `timeout` seconds, or another error code once.
    """
    connection = Connection(address.split(",", 1)[0])
    deadline = time.monotonic() + timeout
    try:
        while True:
            request = FindCoordinatorRequest(key_type=i8(0), coordinator_keys=(group,))
            (found,) = connection.call(request, FindCoordinatorResponse).coordinators
            if int(found.error_code) == NONE:
                return f"{found.host}:{found.port}"
            if int(found.error_code) not in NOT_READY or time.monotonic() > deadline:
                raise TimeoutError(f"group {group[:40]!r} has no coordinator: {found}")
            time.sleep(0.05)
    finally:
        connection.close()


def commit(address: str, group: str, offsets: Mapping[tuple[str, int], int], metadata: str, timeout: float) -> None:
    """Commit `offsets` ((topic, partition) → offset) for a group without joining the group.

    Raises `ConnectionError` if the broker rejects an offset.
    """
    connection = Connection(find_coordinator(address, group, timeout))
    try:
        commit_on(connection, group, offsets, metadata, timeout)
    finally:
        connection.close()


def commit_on(
    connection: Connection, group: str, offsets: Mapping[tuple[str, int], int], metadata: str, timeout: float
) -> None:
    """Commit `offsets` ((topic, partition) → offset) on an existing connection to the group's coordinator."""
    topics = tuple(
        OffsetCommitRequestTopic(
            name=TopicName(topic),
            partitions=tuple(
                OffsetCommitRequestPartition(
                    partition_index=i32(p), committed_offset=i64(offset), committed_metadata=metadata
                )
                for (of, p), offset in offsets.items()
                if of == topic
            ),
        )
        for topic in sorted({topic for topic, _ in offsets})
    )
    deadline = time.monotonic() + timeout
    request = OffsetCommitRequest(group_id=GroupId(group), member_id="", topics=topics)
    while True:
        answer = connection.call(request, OffsetCommitResponse)
        codes = {int(p.error_code) for topic in answer.topics for p in topic.partitions}
        if codes == {NONE}:
            return
        if not codes & NOT_READY or time.monotonic() > deadline:
            raise ConnectionError(f"OffsetCommit for {group[:40]!r}: {answer}")
        time.sleep(0.1)

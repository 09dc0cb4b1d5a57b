"""Bare requests to a broker, coded by kio: what no client library sends for us."""

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
"""The coordinator loads, is elsewhere or rebalances: ask again."""

LONG = i32Timedelta.parse(timedelta(minutes=30))
"""A broker's longest session timeout: such a member needs no heartbeat within a test run."""


class Listed(NamedTuple):
    """What ListGroups says of one group."""

    type: str
    protocol: str
    state: str


class Connection:
    """One connection to one broker, one request at a time."""

    def __init__(self, address: str, client_id: str = "kgtui-tests") -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        self._client_id = client_id

    def send(self, request: Any) -> None:
        """Sends a request of kio."""
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
        """The answer to the request sent before."""
        (size,) = struct.unpack(">i", self._read(4))
        frame = self._read(size)
        _, read = entity_reader(response.__header_schema__)(frame, 0)
        return entity_reader(response)(frame, read)[0]

    def call(self, request: Any, response: type[Any]) -> Any:
        """Sends, and waits for the answer."""
        self.send(request)
        return self.receive(response)

    def fileno(self) -> int:
        """The socket, for `select`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Closes the connection; members on it stay in their groups until their session ends."""
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
    """Every group that the brokers at `address` (`host:port,…`) coordinate."""
    groups: dict[str, Listed] = {}
    for broker in address.split(","):
        connection = Connection(broker)
        try:
            answer = connection.call(ListGroupsRequest(states_filter=(), types_filter=()), ListGroupsResponse)
        finally:
            connection.close()
        groups |= {g.group_id: Listed(g.group_type, g.protocol_type, g.group_state) for g in answer.groups}
    return groups


def wait_for_states(address: str, wanted: dict[str, str], timeout: float) -> dict[str, Listed]:
    """Lists again and again until every group has the state wanted of it.

    Raises:
        TimeoutError: names the groups that have not, and what they are instead.
    """
    deadline = time.monotonic() + timeout
    while True:
        listed = list_groups(address)
        missing = {g: listed.get(g) for g, state in wanted.items() if g not in listed or listed[g].state != state}
        if not missing:
            return listed
        if time.monotonic() > deadline:
            raise TimeoutError(f"not in the wanted state after {timeout:.0f} s: {missing}")
        time.sleep(0.1)


def wait_until_gone(address: str, group: str, timeout: float) -> None:
    """Lists again and again until a group is there no more.

    Raises:
        TimeoutError: it is still there.
    """
    deadline = time.monotonic() + timeout
    while group in list_groups(address):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{group} is still there after {timeout:.0f} s")
        time.sleep(0.1)


def find_coordinator(address: str, group: str, timeout: float) -> str:
    """`host:port` of the broker that coordinates a group; the first call of all has the offsets topic made.

    Raises:
        TimeoutError: there is no coordinator yet.
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
                raise TimeoutError(f"no coordinator of {group[:40]!r}: {found}")
            time.sleep(0.05)
    finally:
        connection.close()


def commit(address: str, group: str, offsets: Mapping[tuple[str, int], int], metadata: str, timeout: float) -> None:
    """Commits offsets by (topic, partition) as no member of the group, which takes any group id that fits.

    Raises:
        ConnectionError: the broker refuses one of them.
    """
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
    connection = Connection(find_coordinator(address, group, timeout))
    deadline = time.monotonic() + timeout
    request = OffsetCommitRequest(group_id=GroupId(group), member_id="", topics=topics)
    try:
        while True:
            answer = connection.call(request, OffsetCommitResponse)
            codes = {int(p.error_code) for topic in answer.topics for p in topic.partitions}
            if codes == {NONE}:
                return
            if not codes & NOT_READY or time.monotonic() > deadline:
                raise ConnectionError(f"OffsetCommit for {group[:40]!r}: {answer}")
            time.sleep(0.1)
    finally:
        connection.close()

"""Group members that behave like Confluent's schema registries: protocol type `sr`, and metadata in JSON."""

from __future__ import annotations

import json
import select
import time

from kio.schema.join_group.v9.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.join_group.v9.response import JoinGroupResponse
from kio.schema.sync_group.v5.request import SyncGroupRequest, SyncGroupRequestAssignment
from kio.schema.sync_group.v5.response import SyncGroupResponse
from kio.schema.types import GroupId
from kio.static.primitive import i32

from tests.brokers.kio_client import LONG, NONE, NOT_READY, Connection, find_coordinator

MEMBER_ID_REQUIRED = 79


class Registry:
    """A simulated schema registry: a group member with the same protocol type and metadata as a real one."""

    def __init__(self, address: str, group: str, host: str, port: int) -> None:
        self.identity = {
            "version": 1,
            "host": host,
            "port": port,
            "master_eligibility": True,
            "scheme": "http",
        }
        self.member_id = ""
        self._group = GroupId(group)
        self._connection = Connection(address, client_id=f"sr-{host}")

    def ask_to_join(self) -> None:
        """Send JoinGroup, but do not wait for the response.

        The coordinator does not respond before all members of the group have sent JoinGroup.
        """
        self._connection.send(
            JoinGroupRequest(
                group_id=self._group,
                session_timeout=LONG,
                rebalance_timeout=LONG,
                member_id=self.member_id,
                protocol_type="sr",
                protocols=(JoinGroupRequestProtocol(name="v0", metadata=json.dumps(self.identity).encode()),),
            )
        )

    def fileno(self) -> int:
        """Return the file descriptor of the socket, for `select`."""
        return self._connection.fileno()

    def joined(self) -> JoinGroupResponse:
        """Wait for the coordinator's response to JoinGroup, and return the response."""
        answer: JoinGroupResponse = self._connection.receive(JoinGroupResponse)
        return answer

    def get_id(self, timeout: float) -> None:
        """Request a member id from the coordinator (KIP-394)."""
        deadline = time.monotonic() + timeout
        while True:
            self.ask_to_join()
            answer = self.joined()
            if int(answer.error_code) == MEMBER_ID_REQUIRED:
                self.member_id = answer.member_id
                return
            if int(answer.error_code) not in NOT_READY or time.monotonic() > deadline:
                raise TimeoutError(f"the coordinator assigned no member id: error {answer.error_code}")
            time.sleep(0.1)

    def sync(self, generation: int, assignments: dict[str, bytes]) -> None:
        """Send SyncGroup, and wait for the response.

        Args:
            generation: current generation of the group.
            assignments: member id → encoded assignment; empty unless this member is the leader.
        """
        answer = self._connection.call(
            SyncGroupRequest(
                group_id=self._group,
                generation_id=i32(generation),
                member_id=self.member_id,
                protocol_type="sr",
                protocol_name="v0",
                assignments=tuple(
                    SyncGroupRequestAssignment(member_id=member, assignment=assignment)
                    for member, assignment in assignments.items()
                ),
            ),
            SyncGroupResponse,
        )
        if int(answer.error_code) != NONE:
            raise ConnectionError(f"SyncGroup: error {answer.error_code}")

    def close(self) -> None:
        """Close the connection. The member remains in the group until its session times out."""
        self._connection.close()


def join_registries(address: str, group: str, hosts: list[tuple[str, int]], timeout: float) -> list[Registry]:
    """Create one simulated schema registry per (host, port); return them when they have joined the group.

    As in a group of real registries, the leader of the group becomes the primary registry (`master`).

    Args:
        address: `host:port` of any broker.
        group: group id.
        hosts: (host, port) of each registry, for its metadata.
        timeout: maximum seconds for each step, such as finding the coordinator.
    """
    address = find_coordinator(address, group, timeout)
    members: list[Registry] = []
    for host, port in hosts:
        member = Registry(address, group, host, port)
        members.append(member)
        member.get_id(timeout)
    answers = _join_one_generation(members, timeout)
    leader = next(m for m in members if m.member_id == answers[0].leader)
    assignment = json.dumps(
        {"version": 1, "error": 0, "master": leader.member_id, "master_identity": leader.identity}
    ).encode()
    everyone = {member.member_id: assignment for member in members}
    for member in sorted(members, key=lambda m: m is not leader):
        member.sync(answers[0].generation_id, everyone if member is leader else {})
    return members


def _join_one_generation(members: list[Registry], timeout: float) -> list[JoinGroupResponse]:
    """Repeat JoinGroup until all members are in the same generation. Return the JoinGroup response of each member."""
    deadline = time.monotonic() + timeout
    answers: dict[Registry, JoinGroupResponse] = {}
    asking: set[Registry] = set()
    while len(answers) < len(members):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the registries do not agree on a generation: {answers}")
        for member in set(members) - asking - set(answers):
            member.ask_to_join()
            asking.add(member)
        answered, _, _ = select.select(list(asking), [], [], 0.2)
        for member in answered:
            answers[member] = member.joined()
            asking.remove(member)
            if int(answers[member].error_code) != NONE:
                raise ConnectionError(f"JoinGroup: {answers[member]}")
        newest = max((answer.generation_id for answer in answers.values()), default=0)
        # Drop responses with an older generation, so that their members send JoinGroup again. If no new response has
        # arrived within 0.2 s, drop all responses, because a rebalance ends only after all members have joined again.
        answers = {m: a for m, a in answers.items() if answered and a.generation_id == newest}
    return [answers[member] for member in members]

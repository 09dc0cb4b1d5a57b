"""Classic groups: consumers of the classic protocol, Connect, registries, simple groups (DescribeGroups)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kgtui.simulator.groups.base import Group, Pace
from kgtui.simulator.groups.payload import ConsumerPayload, Payload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.simulator.groups.base import Client, Reads
    from kgtui.simulator.life import Life, Moment

CONSUMER_PAYLOAD = ConsumerPayload()


class ClassicGroup(Group):
    """A group whose members agree among themselves; the broker only passes their bytes on.

    Attributes:
        payload: what makes those bytes.
        outlives: seconds from its last member's leaving until it is Dead; None for a group with commits, which stays.
    """

    type: ClassVar[str] = "classic"
    standard_pace: ClassVar[Pace] = (("PreparingRebalance", 3.0), ("CompletingRebalance", 1.5))

    def __init__(
        self,
        name: str,
        life: Life,
        reads: Sequence[Reads] = (),
        *,
        protocol: str = "consumer",
        payload: Payload = CONSUMER_PAYLOAD,
        client: Client | None = None,
        pace: Pace | None = None,
        epoch: int = 7,
        seed: int = 1,
        outlives: float | None = None,
    ) -> None:
        super().__init__(name, life, reads, protocol=protocol, client=client, pace=pace, epoch=epoch, seed=seed)
        self.payload = payload
        self.outlives = outlives

    def state_at(self, moment: Moment) -> str:
        """As of every group; one without commits is Dead when its time is over, until somebody joins again."""
        if self.outlives is not None and not moment.slots and moment.since >= self.outlives:
            return "Dead"
        return super().state_at(moment)

    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """As in DescribeGroups: the protocol and the members' bytes are told only of a Stable group."""
        moment = self.moment(t)
        state = self.state_at(moment)
        stable = state == "Stable"
        rows = self.payload.members(self, moment) if stable else [(b"", b"")] * len(moment.slots)
        return {
            "GroupId": self.name,
            "GroupState": state,
            "ProtocolType": self.protocol,
            "ProtocolData": self.payload.name if stable else "",
            "Members": [
                {
                    "MemberId": self.member_id(slot),
                    "GroupInstanceId": self.instance_id(slot),
                    "ClientId": self.client_id(slot),
                    "ClientHost": self.host(slot),
                    "MemberMetadata": metadata,
                    "MemberAssignment": assignment,
                }
                for slot, (metadata, assignment) in zip(moment.slots, rows, strict=True)
            ],
            "AuthorizedOperations": operations,
        }

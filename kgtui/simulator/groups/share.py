"""Share groups: any member may get records of any partition (KIP-932, ShareGroupDescribe)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kgtui.simulator.groups.base import Assignment, Group, Pace
from kgtui.simulator.groups.consumer import topic_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kgtui.simulator.groups.base import Client, Reads
    from kgtui.simulator.life import Life, Slot


class ShareGroup(Group):
    """A group whose members share partitions; it has start offsets instead of commits.

    Attributes:
        in_flight: records beyond the start offset that are acknowledged already, so that lag is less than the distance.
    """

    type: ClassVar[str] = "share"
    standard_pace: ClassVar[Pace] = ()

    def __init__(
        self,
        name: str,
        life: Life,
        reads: Sequence[Reads] = (),
        *,
        in_flight: int = 3,
        client: Client | None = None,
        pace: Pace | None = None,
        epoch: int = 7,
        seed: int = 1,
    ) -> None:
        super().__init__(name, life, reads, protocol="share", client=client, pace=pace, epoch=epoch, seed=seed)
        self.in_flight = in_flight

    def member_id(self, slot: Slot) -> str:
        """Made up by the member itself."""
        return self.kafka_member_id(slot)

    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """As in ShareGroupDescribe; after the last member left, the assignment stays an epoch behind."""
        moment = self.moment(t)
        epoch = self.epoch + moment.change
        return {
            "GroupId": self.name,
            "GroupState": self.state_at(moment),
            "GroupEpoch": epoch,
            "AssignmentEpoch": epoch if moment.slots else epoch - 1,
            "AssignorName": "simple",
            "Members": [
                {
                    "MemberId": self.member_id(slot),
                    "RackId": self.rack(slot),
                    "MemberEpoch": epoch,
                    "ClientId": self.client_id(slot),
                    "ClientHost": self.host(slot),
                    "SubscribedTopicNames": self.topics,
                    "Assignment": topic_partitions(self._assignment(index, len(moment.slots))),
                }
                for index, slot in enumerate(moment.slots)
            ],
            "AuthorizedOperations": operations,
        }

    def _assignment(self, index: int, members: int) -> Assignment:
        """All partitions to few members; with more members than partitions, each has one that others have too."""
        rows: Assignment = []
        for read in self.reads:
            count = read.topic.partitions
            mine = {p for p in range(count) if p % members == index} | {index % count, (index + 1) % count}
            rows.append((read.topic, sorted(mine)))
        return rows

    def commits(self, t: float) -> Iterator[tuple[Reads, list[tuple[int, int]]]]:
        """A share group commits nothing that OffsetFetch would tell."""
        return iter(())

    def start_offsets(self, t: float) -> Iterator[tuple[Reads, list[tuple[int, int, int]]]]:
        """Each topic with `(partition, start offset, lag)`; −1 where the share partition was never initialised."""
        moment = self.moment(t)
        at = t if moment.slots else t - min(moment.since, t)
        for read in self.reads:
            positions = read.habit.positions(read.topic, at)
            rows = [
                (p, -1, -1) if start is None or p in read.without else (p, start, max(0, end - start - self.in_flight))
                for p, (start, end) in enumerate(zip(positions, read.topic.log_ends(t), strict=True))
            ]
            yield read, rows

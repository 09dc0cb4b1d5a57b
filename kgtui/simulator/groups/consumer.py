"""Consumer groups of the protocol in which the broker assigns (KIP-848, ConsumerGroupDescribe)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kgtui.simulator.groups.base import Group, Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.simulator.groups.base import Assignment, Client, Reads
    from kgtui.simulator.life import Life, Moment, Slot


class ConsumerGroup(Group):
    """A group whose members move one by one to the target that the broker has worked out.

    Attributes:
        assignor: name of the broker's assignor.
        regex: pattern that members subscribe with instead of names.
        classic: slots whose members still speak the classic protocol, while the group is being migrated.
    """

    type: ClassVar[str] = "consumer"
    standard_pace: ClassVar[Pace] = (("Assigning", 1.0), ("Reconciling", 8.0))

    def __init__(
        self,
        name: str,
        life: Life,
        reads: Sequence[Reads] = (),
        *,
        assignor: str = "uniform",
        regex: str = "",
        classic: frozenset[int] = frozenset(),
        client: Client | None = None,
        pace: Pace | None = None,
        epoch: int = 7,
        seed: int = 1,
    ) -> None:
        super().__init__(name, life, reads, client=client, pace=pace, epoch=epoch, seed=seed)
        self.assignor = assignor
        self.regex = regex
        self.classic = classic

    def member_id(self, slot: Slot) -> str:
        """Made by the broker for a classic member, else by the member itself."""
        return super().member_id(slot) if slot.number in self.classic else self.kafka_member_id(slot)

    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """As in ConsumerGroupDescribe: while Reconciling, some members have not reached their target yet."""
        moment = self.moment(t)
        state = self.state_at(moment)
        epoch = self.epoch + moment.change
        return {
            "GroupId": self.name,
            "GroupState": state,
            "GroupEpoch": epoch,
            "AssignmentEpoch": epoch - 1 if state == "Assigning" else epoch,
            "AssignorName": self.assignor,
            "Members": self._members(moment, state, epoch),
            "AuthorizedOperations": operations,
        }

    def _members(self, moment: Moment, state: str, epoch: int) -> list[dict[str, Any]]:
        old = dict(zip(moment.before, self.share_out(moment.before), strict=True))
        new = self.share_out(moment.slots)
        members = []
        for index, (slot, share) in enumerate(zip(moment.slots, new, strict=True)):
            arrived = self.arrived(moment, state, index)
            was: Assignment = old.get(slot, [])
            target = was if state == "Assigning" else share
            members.append(
                {
                    "MemberId": self.member_id(slot),
                    "InstanceId": self.instance_id(slot),
                    "RackId": self.rack(slot),
                    "MemberEpoch": epoch if arrived else epoch - 1 if slot in old else 0,
                    "ClientId": self.client_id(slot),
                    "ClientHost": self.host(slot),
                    "SubscribedTopicNames": [] if self.regex else self.topics,
                    "SubscribedTopicRegex": self.regex,
                    "Assignment": topic_partitions(share if arrived else kept(was, share)),
                    "TargetAssignment": topic_partitions(target),
                    "MemberType": 0 if slot.number in self.classic else 1,
                }
            )
        return members

    def arrived(self, moment: Moment, state: str, index: int) -> bool:
        """Whether a member has reached its target: they do so one after the other."""
        if state in ("Assigning", "NotReady"):
            return False
        if state != "Reconciling":
            return True
        begin = sum(seconds for name, seconds in self.pace if name != "Reconciling")
        length = dict(self.pace)["Reconciling"]
        return moment.since - begin >= length * (index + 1) / (len(moment.slots) + 1)


def kept(was: Assignment, target: Assignment) -> Assignment:
    """What a member keeps while it reconciles: what it had and is also in its target."""
    wanted = {topic.name: set(partitions) for topic, partitions in target}
    both = [(topic, [p for p in partitions if p in wanted.get(topic.name, ())]) for topic, partitions in was]
    return [(topic, partitions) for topic, partitions in both if partitions]


def topic_partitions(share: Assignment) -> dict[str, Any]:
    """An assignment as the messages hold it."""
    return {
        "TopicPartitions": [
            {"TopicId": topic.id, "TopicName": topic.name, "Partitions": partitions} for topic, partitions in share
        ]
    }

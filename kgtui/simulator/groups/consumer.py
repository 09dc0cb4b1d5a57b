"""Consumer groups, in which the broker computes the assignments (KIP-848, ConsumerGroupDescribe)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kgtui.simulator.groups.base import Group, GroupKeys, Phases, topic_partitions

if TYPE_CHECKING:
    from kgtui.simulator.groups.base import Assignment
    from kgtui.simulator.membership import Membership, Slot


class ConsumerKeys(GroupKeys, tag="consumer", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The properties of a consumer group in scenario files.

    Attributes:
        assignor: name of the assignor that the broker uses.
        regex: regular expression to which the members subscribe; empty if they subscribe to topic names.
        classic: numbers (from 0) of the members that still use the classic protocol.
    """

    assignor: str = "uniform"
    regex: str = ""
    classic: frozenset[int] = frozenset()


class ConsumerGroup(Group):
    """A consumer group. The broker computes a target assignment, which the members adopt one after the other."""

    type: ClassVar[str] = "consumer"
    default_phases: ClassVar[Phases] = (("Assigning", 1.0), ("Reconciling", 8.0))
    keys_class = ConsumerKeys
    keys: ConsumerKeys

    def member_id(self, slot: Slot) -> str:
        """Return the id of a member.

        Brokers generate the ids of members that use the classic protocol. All other members generate their own ids.
        """
        return super().member_id(slot) if slot.number in self.keys.classic else self.kafka_member_id(slot)

    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """Return the group's fields in a ConsumerGroupDescribe response.

        While the group is Reconciling, the current assignment of some members differs from their target assignment.
        """
        membership = self.membership(t)
        state = self.state_with(membership)
        epoch = self.epoch + membership.change
        return {
            "GroupId": self.name,
            "GroupState": state,
            "GroupEpoch": epoch,
            "AssignmentEpoch": epoch - 1 if state == "Assigning" else epoch,
            "AssignorName": self.keys.assignor,
            "Members": self._members(membership, state, epoch),
            "AuthorizedOperations": operations,
        }

    def _members(self, membership: Membership, state: str, epoch: int) -> list[dict[str, Any]]:
        old = dict(zip(membership.before, self.assign_ranges(membership.before), strict=True))
        new = self.assign_ranges(membership.slots)
        members = []
        for index, (slot, assigned) in enumerate(zip(membership.slots, new, strict=True)):
            reconciled = self.reconciled(membership, state, index)
            previous: Assignment = old.get(slot, [])
            target = previous if state == "Assigning" else assigned
            members.append(
                {
                    "MemberId": self.member_id(slot),
                    "InstanceId": self.instance_id(slot),
                    "RackId": self.rack(slot),
                    "MemberEpoch": epoch if reconciled else epoch - 1 if slot in old else 0,
                    "ClientId": self.client_id(slot),
                    "ClientHost": self.host(slot),
                    "SubscribedTopicNames": [] if self.keys.regex else self.subscribed_topics,
                    "SubscribedTopicRegex": self.keys.regex,
                    "Assignment": topic_partitions(assigned if reconciled else retained(previous, assigned)),
                    "TargetAssignment": topic_partitions(target),
                    "MemberType": 0 if slot.number in self.keys.classic else 1,
                }
            )
        return members

    def reconciled(self, membership: Membership, state: str, index: int) -> bool:
        """Return whether the member at `index` has adopted its target assignment.

        In the state Reconciling, the members adopt their target assignments one after the other.
        """
        if state in ("Assigning", "NotReady"):
            return False
        if state != "Reconciling":
            return True
        begin = sum(seconds for name, seconds in self.phases if name != "Reconciling")
        length = dict(self.phases)["Reconciling"]
        return membership.since - begin >= length * (index + 1) / (len(membership.slots) + 1)


def retained(previous: Assignment, target: Assignment) -> Assignment:
    """Return the partitions that are in both the previous and the target assignment of a member.

    The member keeps reading these partitions while it reconciles.
    """
    targeted = {topic.name: set(partitions) for topic, partitions in target}
    both = [(topic, [p for p in partitions if p in targeted.get(topic.name, ())]) for topic, partitions in previous]
    return [(topic, partitions) for topic, partitions in both if partitions]

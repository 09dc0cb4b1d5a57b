"""Share groups, in which several members can read the same partition (KIP-932, ShareGroupDescribe)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kgtui.simulator.groups.base import Assignment, Group, GroupKeys, Phases, topic_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.groups.base import ConsumedTopic
    from kgtui.simulator.membership import Slot


class ShareKeys(GroupKeys, tag="share", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The properties of a share group in scenario files.

    Attributes:
        in_flight: number of records per partition that are already acknowledged, but follow a record that is not. The
            share-partition start offset is therefore below their offsets. Acknowledged records do not count as lag.
    """

    in_flight: int = 3


class ShareGroup(Group):
    """A share group, which has share-partition start offsets instead of committed offsets."""

    type: ClassVar[str] = "share"
    default_phases: ClassVar[Phases] = ()
    keys_class = ShareKeys
    keys: ShareKeys

    def member_id(self, slot: Slot) -> str:
        return self.kafka_member_id(slot)

    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """Return the group's fields in a ShareGroupDescribe response.

        If the group has no members, its assignment epoch is one lower than its group epoch.
        """
        membership = self.membership(t)
        epoch = self.epoch + membership.change
        return {
            "GroupId": self.name,
            "GroupState": self.state_with(membership),
            "GroupEpoch": epoch,
            "AssignmentEpoch": epoch if membership.slots else epoch - 1,
            "AssignorName": "simple",
            "Members": [
                {
                    "MemberId": self.member_id(slot),
                    "RackId": self.rack(slot),
                    "MemberEpoch": epoch,
                    "ClientId": self.client_id(slot),
                    "ClientHost": self.host(slot),
                    "SubscribedTopicNames": self.subscribed_topics,
                    "Assignment": topic_partitions(self._assignment(index, len(membership.slots))),
                }
                for index, slot in enumerate(membership.slots)
            ],
            "AuthorizedOperations": operations,
        }

    def _assignment(self, index: int, members: int) -> Assignment:
        """Return the assignment of one member.

        The partitions of each topic are distributed to the members by round robin. In addition, each member gets two
        adjacent partitions of each topic, so that some partitions are assigned to several members.
        """
        rows: Assignment = []
        for read in self.topics_read:
            count = read.topic.partitions
            assigned = {p for p in range(count) if p % members == index} | {index % count, (index + 1) % count}
            rows.append((read.topic, sorted(assigned)))
        return rows

    def commits(self, t: float) -> Iterator[tuple[ConsumedTopic, list[tuple[int, int]]]]:
        """Yield nothing, because OffsetFetch returns no offsets for share groups."""
        return iter(())

    def start_offsets(self, t: float) -> Iterator[tuple[ConsumedTopic, list[tuple[int, int, int]]]]:
        """Yield `(topic, [(partition, share-partition start offset, lag), …])` for each topic.

        The offset and the lag are -1 if a share partition is not initialized.
        """
        membership = self.membership(t)
        at = t if membership.slots else t - min(membership.since, t)
        ahead = self.keys.in_flight
        for read in self.topics_read:
            starts = read.commits.committed_offsets(read.topic, at)
            rows = [
                (p, -1, -1) if start is None or p in read.without else (p, start, max(0, end - start - ahead))
                for p, (start, end) in enumerate(zip(starts, read.topic.log_ends(t), strict=True))
            ]
            yield read, rows

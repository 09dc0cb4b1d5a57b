"""Compares the members of a group at two successive reads: who joined, who left, which partitions moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.members import owners_of

if TYPE_CHECKING:
    from kgtui.model.members import Member
    from kgtui.model.offsets import TopicPartition


class OwnerMove(NamedTuple):
    """A partition that has another owner than before.

    Attributes:
        before: the last known owner; None if no owner was known.
        after: the owner now.
    """

    partition: TopicPartition
    before: Member | None
    after: Member


class MembershipChange(NamedTuple):
    """The differences between two reads of the members of a group.

    Attributes:
        joined, left: members that only the later read has, and members that only the earlier read has, sorted by id.
        moved: partitions whose owner differs from their last known owner, sorted. A partition that has lost its owner
            is not included until it has another owner.
    """

    joined: tuple[Member, ...] = ()
    left: tuple[Member, ...] = ()
    moved: tuple[OwnerMove, ...] = ()


_NO_CHANGE = MembershipChange()


class Membership:
    """The members of one group at the newest read, and the last known owner of each partition.

    The owners are kept while a group is rebalancing, because brokers report no assignments of classic groups then.

    Args:
        members: members before the first read; None if they are not known.
    """

    __slots__ = ("_members", "_owners")

    def __init__(self, members: tuple[Member, ...] | None = None) -> None:
        self._members = members
        self._owners: dict[TopicPartition, Member] = owners_of(members)

    def __len__(self) -> int:
        """Return the number of members and owned partitions, which the memory of this object depends on."""
        return len(self._members or ()) + len(self._owners)

    @property
    def members(self) -> tuple[Member, ...] | None:
        """The members at the newest read; None if they are not known."""
        return self._members

    @property
    def known(self) -> bool:
        return self._members is not None

    def update(self, members: tuple[Member, ...] | None) -> MembershipChange:
        """Store the members of a new read, and return how they differ from the previous read.

        The result is empty if the members were not known before. If `members` is None, because the broker withheld
        them, the earlier members are kept.
        """
        old = self._members
        if members is None or old is members or old == members:
            return _NO_CHANGE
        self._members = members
        owners = owners_of(members)
        if old is None:
            self._owners = owners
            return _NO_CHANGE
        before, after = ({member.member_id: member for member in read} for read in (old, members))
        moved = []
        for partition, owner in owners.items():
            last = self._owners.get(partition)
            if last is None or last.member_id != owner.member_id:
                moved.append(OwnerMove(partition, last, owner))
        self._owners.update(owners)
        moved.sort(key=lambda move: move.partition)
        return MembershipChange(
            tuple(after[name] for name in sorted(after.keys() - before.keys())),
            tuple(before[name] for name in sorted(before.keys() - after.keys())),
            tuple(moved),
        )

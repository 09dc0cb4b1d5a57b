"""Two moments of a recording beside each other: what joined, left, moved and grew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kgtui.history.frame import Frame
    from kgtui.history.moments import Moment
    from kgtui.model.group import Listing
    from kgtui.model.offsets import TopicPartition


class Moved(NamedTuple):
    """A partition that has another owner; None when nobody was known to have it."""

    group: str
    topic: str
    partition: int
    before: str | None
    after: str | None


class Grown(NamedTuple):
    """A group's lag at both moments, in records; None when unknown."""

    group: str
    before: int | None
    after: int | None

    @property
    def by(self) -> int:
        """How many records it grew by; negative when it shrank, 0 when one of them is unknown."""
        return 0 if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs from one moment to another. Everything is sorted by group but `lags`.

    Attributes:
        joined, left: groups that are only at the later, only at the earlier.
        relisted: group → listing at both, where type, protocol, state or coordinator differ.
        members_joined, members_left: (group, member id), of groups that are at both.
        moved: partitions with another owner, of groups that are at both.
        lags: groups whose summed lag differs, the one that grew most first.
    """

    earlier: Moment
    later: Moment
    joined: tuple[str, ...]
    left: tuple[str, ...]
    relisted: tuple[tuple[str, Listing, Listing], ...]
    members_joined: tuple[tuple[str, str], ...]
    members_left: tuple[tuple[str, str], ...]
    moved: tuple[Moved, ...]
    lags: tuple[Grown, ...]


def compare(a: Frame, b: Frame) -> Comparison:
    """Whichever is the later is taken as such."""
    if a.moment.poll > b.moment.poll:
        a, b = b, a
    old, new = a.listings, b.listings
    both = sorted(old.keys() & new.keys())
    members_joined: list[tuple[str, str]] = []
    members_left: list[tuple[str, str]] = []
    moved: list[Moved] = []
    lags: list[Grown] = []
    for frame in (a, b):
        frame.prepare(both, offsets=True)
        frame.prepare(both, offsets=False)
    for group in both:
        before, after = a.member_ids(group), b.member_ids(group)
        members_joined += [(group, name) for name in sorted(after - before)]
        members_left += [(group, name) for name in sorted(before - after)]
        moved += _moved(group, a.owners(group), b.owners(group))
        grown = Grown(group, a.lag(group).lag, b.lag(group).lag)
        if grown.before != grown.after:
            lags.append(grown)
    return Comparison(
        a.moment,
        b.moment,
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(old.keys() - new.keys())),
        tuple((group, old[group], new[group]) for group in both if old[group] != new[group]),
        tuple(members_joined),
        tuple(members_left),
        tuple(moved),
        tuple(sorted(lags, key=lambda grown: (-grown.by, grown.group))),
    )


def _moved(
    group: str, before: dict[TopicPartition, str | None], after: dict[TopicPartition, str | None]
) -> list[Moved]:
    return [
        Moved(group, *tp, before.get(tp), after.get(tp))
        for tp in sorted(before.keys() | after.keys())
        if before.get(tp) != after.get(tp)
    ]

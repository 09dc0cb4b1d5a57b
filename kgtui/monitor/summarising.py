"""What the sweep keeps of a group that nobody looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.offsets import lag_of_group
from kgtui.model.roster import roster_of
from kgtui.model.snapshot import Summary

if TYPE_CHECKING:
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import GroupOffsets


class Summariser:
    """Makes `Summary`s whose topics are shared between groups: 100,000 of them have few."""

    def __init__(self) -> None:
        self._shared: dict[tuple[str, ...], tuple[str, ...]] = {}

    def _share(self, texts: set[str]) -> tuple[str, ...]:
        row = tuple(sorted(texts))
        return self._shared.setdefault(row, row)

    def summary(
        self,
        description: GroupDescription | None,
        offsets: GroupOffsets | None,
        fault: Fault | None,
        at: float,
        *,
        memberless: bool = False,
    ) -> Summary:
        """What is kept of a group that nobody looks at; a part that was not learned is None or empty.

        Args:
            memberless: the list says that there are no members, so it was not described.
        """
        members = description.members if description else None
        sums = lag_of_group(offsets) if offsets else None
        topics = {topic for topic, _ in offsets.partitions} if offsets else set()
        for member in members or ():
            topics.update(member.topics or ())
        return Summary(
            members=description.member_count if description else 0 if memberless else None,
            lag=sums.lag if sums else None,
            lag_unknown=sums.unknown if sums else 0,
            partitions=sums.partitions if sums else 0,
            topics=self._share(topics),
            roster=roster_of(members),
            at=at,
            state=description.state if description else None,
            type=description.type if description else None,
            fault=fault,
        )

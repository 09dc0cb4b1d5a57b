"""Makes the summary of a group from what was read of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.facts import topics_of
from kgtui.model.member_index import member_index_of
from kgtui.model.snapshot import Summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import LagTotal

Topics = dict[tuple[str, ...], tuple[str, ...]]
"""Topics of the groups summed up so far, so that those of many groups are kept once: 100,000 have few."""


def summary_of(
    description: GroupDescription | None,
    sums: LagTotal | None,
    topics: Iterable[str],
    fault: Fault | None,
    at: float,
    *,
    memberless: bool = False,
    shared: Topics,
) -> Summary:
    """What is kept of a group that nobody looks at; a part that was not learned is None or empty.

    Args:
        sums: of its lag.
        topics: those that it has an offset in.
        at: seconds since the epoch when it was read.
        memberless: the list says that there are no members, so it was not described.
        shared: looked into for the topics, and added to.
    """
    found = set(topics)
    if description is not None:
        found |= topics_of(description)
    row = tuple(sorted(found))
    return Summary(
        members=description.member_count if description else 0 if memberless else None,
        lag=sums.lag if sums else None,
        lag_unknown=sums.unknown if sums else 0,
        partitions=sums.partitions if sums else 0,
        topics=shared.setdefault(row, row),
        member_index=member_index_of(description.members if description else None),
        at=at,
        state=description.state if description else None,
        type=description.type if description else None,
        fault=fault,
    )

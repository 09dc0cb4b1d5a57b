"""One group's past from its recorded rows: lag, rates, members at every poll, and what changed when."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kgtui.history.group_sums import LONGS, SUMS, Step, steps_of
from kgtui.lake.stored_text import restored
from kgtui.model.series import ChangePoint
from kgtui.model.timeline import GroupTimeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    import pyarrow as pa

    from kgtui.history.moments import Moment

FAULT_COLUMNS = ("poll", "gone", "scope", "broker", "group")
GROUP_COLUMNS = ("poll", "gone", "coordinator", "state", "group_epoch", "assignment_epoch", "members")
MEMBER_COLUMNS = ("poll", "gone", "member_id")


def past_of_group(
    groups: pa.Table,
    members: pa.Table,
    partitions: pa.Table,
    faults: pa.Table,
    moments: Sequence[Moment],
    since: float,
    until: float,
) -> GroupTimeline:
    """The past of one group.

    Args:
        faults: what could not be learned then, of this group or of none.
        groups, members, partitions: the group's rows, from the keyframe of the first moment to the last moment.
        moments: every poll of that time, in order, from a keyframe on.
        since, until: seconds since the epoch; earlier moments only tell how it was then.
    """
    polls = steps_of(partitions, moments)
    listed = _rows(groups)
    change_points = _sights(listed, _rows(members), polls, moments)
    columns = _columns(polls, change_points, moments, _unread(listed, _rows(faults), moments))
    gaps = tuple(
        (before.at, moment.at, moment.gap) for before, moment in pairwise(moments) if moment.gap and moment.at >= since
    )
    times, lag, members_, written, read = _clipped(columns, since)
    return GroupTimeline(since, until, times, lag, members_, written, read, tuple(change_points), gaps)


def faults_of(faults: pa.Table, group: str) -> pa.Table:
    """The faults that may keep a group's offsets from being read: its own, and those of brokers.

    Args:
        group: as it is stored.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = faults["group"].cast(pa.string())
    offsets = pc.is_in(faults["scope"].cast(pa.string()), pa.array(["cluster", "broker", "offsets"]))
    ours = pc.or_(pc.is_null(names), pc.fill_null(pc.equal(names, group), False))
    return faults.filter(pc.and_(offsets, ours))


def _clipped(columns: Sequence[array[float]], since: float) -> Sequence[array[float]]:
    start = next((index for index, at in enumerate(columns[0]) if at >= since), len(columns[0]))
    return [column[start:] for column in columns]


# -- numbers ---------------------------------------------------------------------------------------------------------


def _columns(
    polls: Mapping[int, Step], change_points: Sequence[ChangePoint], moments: Sequence[Moment], unread: Set[int]
) -> list[array[float]]:
    """times, lag, members, written, read; no rate at a poll that did not read the offsets, nor at the next."""
    columns = [array("d") for _ in range(5)]
    seen = {round(point.at * 1000): point for point in change_points}
    sums = Step()
    now: ChangePoint | None = None
    before: Moment | None = None
    for moment in moments:
        if before is None or moment.keyframe != before.keyframe:
            sums = Step()
        step = polls.get(moment.poll, Step())
        sums = sums._replace(**{name: getattr(sums, name) + getattr(step, name) for name in SUMS})
        now = seen.get(moment.poll, now)
        row = [math.nan] * 4
        if now is not None and now.listed:
            seconds = None if before is None or moment.gap else (moment.poll - before.poll) / 1000
            if before is not None and not unread.isdisjoint((before.poll, moment.poll)):
                seconds = None
            row[0] = sums.lag % LONGS if sums.lags else math.nan
            row[1] = math.nan if now.members is None else now.members
            row[2] = step.grown / seconds if seconds and sums.ends else math.nan
            row[3] = step.moved / seconds if seconds and sums.positions and not step.rewound else math.nan
        for column, value in zip(columns, (moment.at, *row), strict=True):
            column.append(value)
        before = moment
    return columns


def _unread(
    groups: Mapping[int, list[dict[str, Any]]], faults: Mapping[int, list[dict[str, Any]]], moments: Iterable[Moment]
) -> set[int]:
    """The polls at which the group's offsets could not be read: a fault of its own, or of its coordinator."""
    found: set[int] = set()
    active: set[tuple[object, object, object]] = set()
    coordinator: int | None = None
    keyframe = None
    for moment in moments:
        if moment.keyframe != keyframe:
            active, keyframe = set(), moment.keyframe
        for row in groups.get(moment.poll, ()):
            coordinator = row["coordinator"]
        for row in faults.get(moment.poll, ()):
            key = (row["scope"], row["broker"], row["group"])
            active.discard(key) if row["gone"] else active.add(key)
        if any(group is not None or broker in (None, coordinator) for _, broker, group in active):
            found.add(moment.poll)
    return found


# -- what changed ----------------------------------------------------------------------------------------------------


def _sights(
    groups: Mapping[int, list[dict[str, Any]]],
    members: Mapping[int, list[dict[str, Any]]],
    polls: Mapping[int, Step],
    moments: Iterable[Moment],
) -> list[ChangePoint]:
    """Each poll at which the group was another than at the one before; the first too."""
    change_points: list[ChangePoint] = []
    people: frozenset[str] = frozenset()
    standing = ChangePoint(0.0, listed=False)
    before: Moment | None = None
    for moment in moments:
        whole = before is None or moment.keyframe != before.keyframe
        step = polls.get(moment.poll, Step())
        if whole or moment.gap or moment.poll in groups or moment.poll in members or step.handed or step.rewound:
            standing = _standing(groups.get(moment.poll, ()), ChangePoint(0.0, listed=False) if whole else standing)
            now = _people(members.get(moment.poll, ()), frozenset() if whole else people)
            told = standing._replace(
                at=moment.at, joined=_sorted(now - people), left=_sorted(people - now), moved=step.handed,
                rewound=step.rewound, gap=moment.gap if before else "", since=before.at if before else None,
            )  # fmt: skip
            if not change_points:
                change_points.append(told._replace(joined=(), left=(), moved=0))
            elif told.standing != change_points[-1].standing or told[6:11] != ((), (), 0, 0, ""):
                change_points.append(told)
            people = now
        before = moment
    return change_points


def _standing(rows: Iterable[Mapping[str, Any]], known: ChangePoint) -> ChangePoint:
    for row in rows:
        if row["gone"]:
            known = ChangePoint(0.0, listed=False)
        else:
            known = ChangePoint(
                0.0,
                True,
                row["state"],
                row["group_epoch"],
                row["assignment_epoch"],
                row["members"],
            )
    return known


def _people(rows: Iterable[Mapping[str, Any]], known: frozenset[str]) -> frozenset[str]:
    gone = {restored(str(row["member_id"])) for row in rows if row["gone"]}
    return (known - gone) | {restored(str(row["member_id"])) for row in rows if not row["gone"]}


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _rows(table: pa.Table) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in table.to_pylist():
        found[row["poll"]].append(row)
    return found

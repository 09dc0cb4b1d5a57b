"""One group's past from its recorded rows: lag, rates, members at every poll, and what changed when."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.history.rows import COMMIT, SHARE
from kgtui.lake.arrow import to_one_chunk, unescape_surrogates
from kgtui.model.series import ChangePoint
from kgtui.model.timeline import GroupTimeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    import pyarrow as pa

    from kgtui.history.poll_index import RecordedPoll


FAULT_COLUMNS = ("poll", "gone", "scope", "broker", "group")
GROUP_COLUMNS = ("poll", "gone", "coordinator", "state", "group_epoch", "assignment_epoch", "members")
MEMBER_COLUMNS = ("poll", "gone", "member_id")


def group_timeline(
    groups: pa.Table,
    members: pa.Table,
    partitions: pa.Table,
    faults: pa.Table,
    moments: Sequence[RecordedPoll],
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
    polls = poll_changes(partitions, moments)
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
    polls: Mapping[int, PollChange],
    change_points: Sequence[ChangePoint],
    moments: Sequence[RecordedPoll],
    unread: Set[int],
) -> list[array[float]]:
    """times, lag, members, written, read; no rate at a poll that did not read the offsets, nor at the next."""
    columns = [array("d") for _ in range(5)]
    seen = {round(point.at * 1000): point for point in change_points}
    sums = PollChange()
    now: ChangePoint | None = None
    before: RecordedPoll | None = None
    for moment in moments:
        if before is None or moment.keyframe != before.keyframe:
            sums = PollChange()
        step = polls.get(moment.ms, PollChange())
        sums = sums._replace(**{name: getattr(sums, name) + getattr(step, name) for name in SUMS})
        now = seen.get(moment.ms, now)
        row = [math.nan] * 4
        if now is not None and now.listed:
            seconds = None if before is None or moment.gap else (moment.ms - before.ms) / 1000
            if before is not None and not unread.isdisjoint((before.ms, moment.ms)):
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
    groups: Mapping[int, list[dict[str, Any]]],
    faults: Mapping[int, list[dict[str, Any]]],
    moments: Iterable[RecordedPoll],
) -> set[int]:
    """The polls at which the group's offsets could not be read: a fault of its own, or of its coordinator."""
    found: set[int] = set()
    active: set[tuple[object, object, object]] = set()
    coordinator: int | None = None
    keyframe = None
    for moment in moments:
        if moment.keyframe != keyframe:
            active, keyframe = set(), moment.keyframe
        for row in groups.get(moment.ms, ()):
            coordinator = row["coordinator"]
        for row in faults.get(moment.ms, ()):
            key = (row["scope"], row["broker"], row["group"])
            active.discard(key) if row["gone"] else active.add(key)
        if any(group is not None or broker in (None, coordinator) for _, broker, group in active):
            found.add(moment.ms)
    return found


# -- what changed ----------------------------------------------------------------------------------------------------


def _sights(
    groups: Mapping[int, list[dict[str, Any]]],
    members: Mapping[int, list[dict[str, Any]]],
    polls: Mapping[int, PollChange],
    moments: Iterable[RecordedPoll],
) -> list[ChangePoint]:
    """Each poll at which the group was another than at the one before; the first too."""
    change_points: list[ChangePoint] = []
    people: frozenset[str] = frozenset()
    standing = ChangePoint(0.0, listed=False)
    before: RecordedPoll | None = None
    for moment in moments:
        whole = before is None or moment.keyframe != before.keyframe
        step = polls.get(moment.ms, PollChange())
        if whole or moment.gap or moment.ms in groups or moment.ms in members or step.handed or step.rewound:
            standing = _standing(groups.get(moment.ms, ()), ChangePoint(0.0, listed=False) if whole else standing)
            now = _people(members.get(moment.ms, ()), frozenset() if whole else people)
            told = standing._replace(
                at=moment.at, joined=_sorted(now - people), left=_sorted(people - now), moved=step.handed,
                rewound=step.rewound, gap=moment.gap if before else "", since=before.at if before else None,
            )  # fmt: skip
            if not change_points:
                change_points.append(told._replace(joined=(), left=(), moved=0))
            elif told.compared != change_points[-1].compared or told[6:11] != ((), (), 0, 0, ""):
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
    gone = {unescape_surrogates(str(row["member_id"])) for row in rows if row["gone"]}
    return (known - gone) | {unescape_surrogates(str(row["member_id"])) for row in rows if not row["gone"]}


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _rows(table: pa.Table) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in table.to_pylist():
        found[row["poll"]].append(row)
    return found


PARTITION_COLUMNS = (
    "keyframe", "poll", "topic", "partition", "gone", "kind", "committed", "spso", "lag", "error", "log_end", "owner",
)  # fmt: skip

LONGS = 2**64
"""Differences of longs may wrap around; their sum is right again modulo this."""

SUMS = ("lag", "lags", "ends", "positions")  # added up from the last full picture on


class PollChange(NamedTuple):
    """What one poll changed.

    Attributes:
        lag, lags, ends, positions: by how much the summed lag grew, and how many partitions of which lag, log end and
            position are known.
        grown, moved, rewound: how far log ends and positions went on, and positions back.
        handed: partitions that have another owner than the last that was known.
    """

    lag: int = 0
    lags: int = 0
    ends: int = 0
    positions: int = 0
    grown: int = 0
    moved: int = 0
    rewound: int = 0
    handed: int = 0


def poll_changes(rows: pa.Table, moments: Sequence[RecordedPoll]) -> dict[int, PollChange]:
    """What each poll that has rows changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = rows.filter(pc.is_in(rows["poll"], pa.array([moment.ms for moment in moments], pa.int64())))
    if not rows.num_rows:
        return {}
    rows = to_one_chunk(rows)
    places = pa.table({"topic": rows["topic"].chunk(0).indices, "partition": rows["partition"], "poll": rows["poll"]})
    rows = rows.take(pc.sort_indices(places, [(name, "ascending") for name in places.column_names]))
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    columns["topic"] = columns["topic"].indices
    changed = pa.table({"poll": columns["poll"], **_summed(columns), **_steps(columns)})
    sums = changed.group_by("poll").aggregate([(name, "sum") for name in PollChange._fields[:-1]])
    handed = _handed(columns, moments[0].ms)
    found: dict[int, PollChange] = {}
    for row in sums.to_pylist():
        numbers = {name: row[f"{name}_sum"] or 0 for name in PollChange._fields[:-1]}
        found[row["poll"]] = PollChange(**numbers, handed=handed.get(row["poll"], 0))
    return found


def _summed(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """By how much each row changes the sums; the first of a partition after a keyframe is all of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first = _differs(columns, "keyframe", "topic", "partition")
    position, end, lag = _values(columns)
    found = {"lag": lag}
    for name, values in (("lags", lag), ("ends", end), ("positions", position)):
        found[name] = pc.is_valid(values).cast(pa.int64())
    changes = {}
    for name, values in found.items():
        filled = pc.fill_null(values, 0)
        changes[name] = pc.subtract(filled, pc.if_else(first, 0, pc.fill_null(_previous(filled), 0)))
    return changes


def _steps(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """How far the log and the position went since the row before of the same partition; null when not known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first = _differs(columns, "topic", "partition")
    position, end, _ = _values(columns)
    nothing = pa.scalar(None, pa.int64())
    grown, moved = (
        pc.if_else(first, nothing, pc.subtract(values, _previous(values))) for values in (end, position)
    )  # a topic made anew begins at 0: its log has not grown
    return {
        "grown": pc.if_else(pc.less(grown, 0), nothing, grown),
        "moved": pc.if_else(pc.less(moved, 0), nothing, moved),
        "rewound": pc.if_else(pc.less(moved, 0), pc.negate(moved), nothing),
    }


def _values(columns: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Position, log end and lag of each row, as `kgtui.model.offsets` counts them; null when there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing = pa.scalar(None, pa.int64())
    kind = columns["kind"].cast(pa.string())
    live = pc.invert(columns["gone"])
    is_commit, is_share = (pc.and_(live, pc.fill_null(pc.equal(kind, name), False)) for name in (COMMIT, SHARE))
    end = pc.if_else(live, columns["log_end"], nothing)
    fine = pc.and_(is_commit, pc.fill_null(pc.equal(columns["error"], 0), True))
    behind = pc.max_element_wise(pc.subtract(end, columns["committed"]), 0, skip_nulls=False)
    lag = pc.if_else(fine, behind, pc.if_else(is_share, columns["lag"], nothing))
    position = pc.if_else(live, pc.coalesce(columns["committed"], columns["spso"]), nothing)
    return position, end, lag


def _handed(columns: Mapping[str, pa.Array], beginning: int) -> dict[int, int]:
    """Poll → partitions that have another owner than the last that was known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ("poll", "topic", "partition", "owner")
    owned = pa.table({name: columns[name] for name in names}).filter(pc.is_valid(columns["owner"]))
    if not owned.num_rows:
        return {}
    kept = {name: owned[name].combine_chunks() for name in names}
    kept["owner"] = kept["owner"].indices
    handed = pc.and_(_differs(kept, "topic", "partition", "owner"), pc.greater(kept["poll"], beginning))
    counts = pc.value_counts(kept["poll"].filter(handed)).to_pylist()
    return {count["values"]: count["counts"] for count in counts}


def _differs(columns: Mapping[str, pa.Array], *names: str) -> pa.Array:
    """For each row, whether one of these columns is another than in the row before."""
    import pyarrow as pa
    import pyarrow.compute as pc

    differs = None
    for name in names:
        one = pc.not_equal(columns[name][1:], columns[name][:-1])
        differs = one if differs is None else pc.or_(differs, one)
    return pa.concat_arrays([pa.array([True]), differs])


def _previous(values: pa.Array) -> pa.Array:
    """The value of the row before; null for the first."""
    import pyarrow as pa

    return pa.concat_arrays([pa.nulls(1, values.type), values[:-1]])

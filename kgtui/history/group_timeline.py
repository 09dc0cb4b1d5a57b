"""Compute the history of a group (lag, read and write rates, members, changes) from its recorded rows."""

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


FAULT_COLUMNS = ("poll", "gone", "scope", "name", "broker", "group")
GROUP_COLUMNS = (
    "poll", "gone", "coordinator", "state", "group_epoch", "assignment_epoch", "members", "offsets_may_be_hidden",
)  # fmt: skip
MEMBER_COLUMNS = ("poll", "gone", "member_id")


def group_timeline(
    groups: pa.Table,
    members: pa.Table,
    partitions: pa.Table,
    faults: pa.Table,
    recorded_polls: Sequence[RecordedPoll],
    since: float,
    until: float,
) -> GroupTimeline:
    """Compute a group's lag, rates and number of members at each poll, and the polls at which the group changed.

    Args:
        groups, members, partitions: all rows of the group in the tables with these names.
        faults: rows of table `faults` about this group, about a broker, or about the whole cluster.
        recorded_polls: consecutive polls, oldest first. The first one must be a keyframe (a poll with the complete
            state).
        since, until: start and end of the history, in seconds since the epoch. Polls before `since` are used only to
            find the state at `since`.
    """
    polls = poll_changes(partitions, recorded_polls)
    group_rows = _rows(groups)
    change_points = _change_points(group_rows, _rows(members), polls, recorded_polls)
    columns = _columns(polls, change_points, recorded_polls, _unread(group_rows, _rows(faults), recorded_polls))
    gaps = tuple(
        (before.at, poll.at, poll.gap) for before, poll in pairwise(recorded_polls) if poll.gap and poll.at >= since
    )
    times, lag, members_, written, read = _clipped(columns, since)
    hidden = _may_lack_topics(group_rows, since)
    return GroupTimeline(since, until, times, lag, members_, written, read, tuple(change_points), gaps, hidden)


def _may_lack_topics(groups: Mapping[int, list[dict[str, Any]]], since: float) -> bool:
    marks = [
        (poll / 1000, row["offsets_may_be_hidden"] is True) for poll, rows in sorted(groups.items()) for row in rows
    ]
    ends = [at for at, _ in marks[1:]]
    return any(mark and end > since for (_, mark), end in zip(marks, [*ends, math.inf], strict=True))


def faults_of(faults: pa.Table, group: str) -> pa.Table:
    """Return the rows of table `faults` that can explain why a poll did not read a group's offsets.

    These are the errors about this group, about any broker, and about the whole cluster.

    Args:
        faults: rows of table `faults`.
        group: group id, with lone surrogates escaped as in the table.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = faults["group"].cast(pa.string())
    offsets = pc.is_in(faults["scope"].cast(pa.string()), pa.array(["cluster", "broker", "offsets"]))
    may_concern_group = pc.or_(pc.is_null(names), pc.fill_null(pc.equal(names, group), False))
    return faults.filter(pc.and_(offsets, may_concern_group))


def _clipped(columns: Sequence[array[float]], since: float) -> Sequence[array[float]]:
    start = next((index for index, at in enumerate(columns[0]) if at >= since), len(columns[0]))
    return [column[start:] for column in columns]


def _columns(
    polls: Mapping[int, PollChange],
    change_points: Sequence[ChangePoint],
    recorded_polls: Sequence[RecordedPoll],
    unread: Set[int],
) -> list[array[float]]:
    """Return five columns with one value per poll. Unknown values are NaN.

    The columns are: time in seconds since the epoch, lag in records, number of members, records written per second,
    and records read per second.

    Args:
        unread: times of the polls at which an error prevented reading the group's offsets, in milliseconds since the
            epoch.
    """
    columns = [array("d") for _ in range(5)]
    point_by_poll = {round(point.at * 1000): point for point in change_points}
    sums = PollChange()
    now: ChangePoint | None = None
    before: RecordedPoll | None = None
    for poll in recorded_polls:
        if before is None or poll.keyframe != before.keyframe:
            sums = PollChange()
        change = polls.get(poll.ms, PollChange())
        sums = sums._replace(**{name: getattr(sums, name) + getattr(change, name) for name in SUMS})
        now = point_by_poll.get(poll.ms, now)
        row = [math.nan] * 4
        if now is not None and now.listed:
            seconds = None if before is None or poll.gap else (poll.ms - before.ms) / 1000
            if before is not None and not unread.isdisjoint((before.ms, poll.ms)):
                seconds = None  # No rates, because the offsets could not be read at this poll or at the previous one.
            row[0] = sums.lag % INT64_RANGE if sums.known_lags else math.nan
            row[1] = math.nan if now.members is None else now.members
            row[2] = change.written / seconds if seconds and sums.known_ends else math.nan
            row[3] = change.read / seconds if seconds and sums.known_positions and not change.rewound else math.nan
        for column, value in zip(columns, (poll.at, *row), strict=True):
            column.append(value)
        before = poll
    return columns


def _unread(
    groups: Mapping[int, list[dict[str, Any]]],
    faults: Mapping[int, list[dict[str, Any]]],
    recorded_polls: Iterable[RecordedPoll],
) -> set[int]:
    """Return the times of the polls at which an error prevented reading the group's offsets, in ms since the epoch."""
    found: set[int] = set()
    active: set[tuple[object, object, object, object]] = set()
    coordinator: int | None = None
    keyframe = None
    for poll in recorded_polls:
        if poll.keyframe != keyframe:
            active, keyframe = set(), poll.keyframe
        for row in groups.get(poll.ms, ()):
            coordinator = row["coordinator"]
        for row in faults.get(poll.ms, ()):
            key = (row["scope"], row["name"], row["broker"], row["group"])
            active.discard(key) if row["gone"] else active.add(key)
        if any(group is not None or broker in (None, coordinator) for _, _, broker, group in active):
            found.add(poll.ms)
    return found


def _change_points(
    groups: Mapping[int, list[dict[str, Any]]],
    members: Mapping[int, list[dict[str, Any]]],
    polls: Mapping[int, PollChange],
    recorded_polls: Iterable[RecordedPoll],
) -> list[ChangePoint]:
    """Return the change points of a group (the polls at which it changed, with its new state), oldest first.

    There is a `ChangePoint` for the first poll, for each later poll at which the group changed, and for each later poll
    that follows a gap (missing polls).
    """
    change_points: list[ChangePoint] = []
    member_ids: frozenset[str] = frozenset()
    state = ChangePoint(0.0, listed=False)
    before: RecordedPoll | None = None
    for poll in recorded_polls:
        whole = before is None or poll.keyframe != before.keyframe
        change = polls.get(poll.ms, PollChange())
        if whole or poll.gap or poll.ms in groups or poll.ms in members or change.reassigned or change.rewound:
            state = _group_state(groups.get(poll.ms, ()), ChangePoint(0.0, listed=False) if whole else state)
            now = _member_ids(members.get(poll.ms, ()), frozenset() if whole else member_ids)
            change_point = state._replace(
                at=poll.at, joined=_sorted(now - member_ids), left=_sorted(member_ids - now), moved=change.reassigned,
                rewound=change.rewound, gap=poll.gap if before else "", since=before.at if before else None,
            )  # fmt: skip
            if not change_points:
                change_points.append(change_point._replace(joined=(), left=(), moved=0))
            elif change_point.compared != change_points[-1].compared or change_point[6:11] != ((), (), 0, 0, ""):
                change_points.append(change_point)
            member_ids = now
        before = poll
    return change_points


def _group_state(rows: Iterable[Mapping[str, Any]], previous: ChangePoint) -> ChangePoint:
    for row in rows:
        if row["gone"]:
            previous = ChangePoint(0.0, listed=False)
        else:
            previous = ChangePoint(
                0.0,
                True,
                row["state"],
                row["group_epoch"],
                row["assignment_epoch"],
                row["members"],
            )
    return previous


def _member_ids(rows: Iterable[Mapping[str, Any]], previous: frozenset[str]) -> frozenset[str]:
    gone = {unescape_surrogates(str(row["member_id"])) for row in rows if row["gone"]}
    return (previous - gone) | {unescape_surrogates(str(row["member_id"])) for row in rows if not row["gone"]}


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

INT64_RANGE = 2**64
"""Number of different values of a 64-bit integer.

Arrow adds lags as signed 64-bit integers. If such a sum overflows, it differs from the real sum by a multiple of this
number. Because the real sum is not negative, it is the computed sum modulo this number.
"""

SUMS = ("lag", "known_lags", "known_ends", "known_positions")
"""Attributes of `PollChange` from which totals, such as the lag of a group, are computed.

At a keyframe (a poll with the complete state), such an attribute contains the total. At each poll
before the next keyframe, it contains the change of the total since the previous poll. The total at
a poll is therefore the sum of the values from the last keyframe up to this poll.
"""


class PollChange(NamedTuple):
    """The changes since the previous poll, summed over the partitions of a group.

    A position is a committed offset or a share-partition start offset. At a keyframe (a poll with the complete state),
    the attributes in `SUMS` contain totals instead of changes.

    Attributes:
        lag: change of the lag, in records.
        known_lags: change of the number of partitions whose lag is known.
        known_ends: change of the number of partitions whose log end offset is known.
        known_positions: change of the number of partitions whose position is known.
        written: increases of log end offsets, in records. Decreases do not count.
        read: increases of positions, in records. Decreases do not count.
        rewound: how far positions moved backward, in records.
        reassigned: number of partitions that got a different owner.
    """

    lag: int = 0
    known_lags: int = 0
    known_ends: int = 0
    known_positions: int = 0
    written: int = 0
    read: int = 0
    rewound: int = 0
    reassigned: int = 0


def poll_changes(rows: pa.Table, recorded_polls: Sequence[RecordedPoll]) -> dict[int, PollChange]:
    """Return a dict: time of a poll, in milliseconds since the epoch → changes of the group since the previous poll.

    Args:
        rows: rows of one group in table `partitions`. Rows of polls that are not in `recorded_polls` are ignored.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = rows.filter(pc.is_in(rows["poll"], pa.array([poll.ms for poll in recorded_polls], pa.int64())))
    if not rows.num_rows:
        return {}
    rows = to_one_chunk(rows)
    places = pa.table({"topic": rows["topic"].chunk(0).indices, "partition": rows["partition"], "poll": rows["poll"]})
    rows = rows.take(pc.sort_indices(places, [(name, "ascending") for name in places.column_names]))
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    columns["topic"] = columns["topic"].indices
    changed = pa.table({"poll": columns["poll"], **_sum_changes(columns), **_movements(columns)})
    sums = changed.group_by("poll").aggregate([(name, "sum") for name in PollChange._fields[:-1]])
    reassigned = _owner_changes(columns, recorded_polls[0].ms)
    found: dict[int, PollChange] = {}
    for row in sums.to_pylist():
        numbers = {name: row[f"{name}_sum"] or 0 for name in PollChange._fields[:-1]}
        found[row["poll"]] = PollChange(**numbers, reassigned=reassigned.get(row["poll"], 0))
    return found


def _sum_changes(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return a column for each name in `SUMS`: how much the value changed since the previous row of the partition.

    In the first row of a partition since a keyframe (a poll with the complete state), the column contains the value
    itself instead of the change. Rows must be sorted by topic, partition and poll.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    first = differs(columns, "keyframe", "topic", "partition")
    position, end, lag = _values(columns)
    found = {"lag": lag}
    for name, values in (("known_lags", lag), ("known_ends", end), ("known_positions", position)):
        found[name] = pc.is_valid(values).cast(pa.int64())
    changes = {}
    for name, values in found.items():
        filled = pc.fill_null(values, 0)
        changes[name] = pc.subtract(filled, pc.if_else(first, 0, pc.fill_null(previous(filled), 0)))
    return changes


def _movements(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return a dict of three columns: how far offsets moved since the previous row of the partition, in records.

    - `written`: how far the log end offset moved forward; null if it moved backward
    - `read`: how far the position (committed offset or share-partition start offset) moved forward; null if it moved
      backward
    - `rewound`: how far the position moved backward; null if it did not

    Unknown values are null, as in the first row of a partition. Rows must be sorted by topic, partition and poll.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    first = differs(columns, "topic", "partition")
    position, end, _ = _values(columns)
    nothing = pa.scalar(None, pa.int64())
    written, read = (pc.if_else(first, nothing, pc.subtract(values, previous(values))) for values in (end, position))
    return {
        # The log end offset decreases if the topic was recreated. The number of written records is then unknown.
        "written": pc.if_else(pc.less(written, 0), nothing, written),
        "read": pc.if_else(pc.less(read, 0), nothing, read),
        "rewound": pc.if_else(pc.less(read, 0), pc.negate(read), nothing),
    }


def _values(columns: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return three columns with one value per row: position, log end offset, and lag in records.

    A position is a committed offset or a share-partition start offset. Unknown values are null.
    """
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


def _owner_changes(columns: Mapping[str, pa.Array], first_poll: int) -> dict[int, int]:
    """Return a dict: time of a poll, in milliseconds since the epoch → number of partitions that got a different owner.

    Partitions that lost their owner do not count. Rows must be sorted by topic, partition and poll.

    Args:
        first_poll: time of the first poll. It is left out of the result, because the owners before it are unknown.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ("poll", "topic", "partition", "owner")
    owned = pa.table({name: columns[name] for name in names}).filter(pc.is_valid(columns["owner"]))
    if not owned.num_rows:
        return {}
    kept = {name: owned[name].combine_chunks() for name in names}
    kept["owner"] = kept["owner"].indices
    reassigned = pc.and_(differs(kept, "topic", "partition", "owner"), pc.greater(kept["poll"], first_poll))
    counts = pc.value_counts(kept["poll"].filter(reassigned)).to_pylist()
    return {count["values"]: count["counts"] for count in counts}


def differs(columns: Mapping[str, pa.Array], *names: str) -> pa.Array:
    """Return a boolean for each row: whether the row differs from the previous row in any of the columns `names`.

    The boolean of the first row is true.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    differs = None
    for name in names:
        one = pc.not_equal(columns[name][1:], columns[name][:-1])
        differs = one if differs is None else pc.or_(differs, one)
    return pa.concat_arrays([pa.array([True]), differs])


def previous(values: pa.Array) -> pa.Array:
    """Return a column that contains, in each row, the value of the row before. The first row is null."""
    import pyarrow as pa

    return pa.concat_arrays([pa.nulls(1, values.type), values[:-1]])

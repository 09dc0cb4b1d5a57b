"""What each poll changed in a group's partitions, summed up: Arrow does that for a million rows in a moment.

Sums are differences from row to row, added up by poll; nothing is kept of single partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.history.rows import COMMIT, SHARE
from kgtui.lake.arrow import one_chunk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from kgtui.history.moments import Moment

PARTITION_COLUMNS = (
    "keyframe", "poll", "topic", "partition", "gone", "kind", "committed", "spso", "lag", "error", "log_end", "owner",
)  # fmt: skip

LONGS = 2**64
"""Differences of longs may wrap around; their sum is right again modulo this."""

SUMS = ("lag", "lags", "ends", "positions")  # added up from the last full picture on


class Step(NamedTuple):
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


def steps_of(rows: pa.Table, moments: Sequence[Moment]) -> dict[int, Step]:
    """What each poll that has rows changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = rows.filter(pc.is_in(rows["poll"], pa.array([moment.poll for moment in moments], pa.int64())))
    if not rows.num_rows:
        return {}
    rows = one_chunk(rows)
    places = pa.table({"topic": rows["topic"].chunk(0).indices, "partition": rows["partition"], "poll": rows["poll"]})
    rows = rows.take(pc.sort_indices(places, [(name, "ascending") for name in places.column_names]))
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    columns["topic"] = columns["topic"].indices
    changed = pa.table({"poll": columns["poll"], **_summed(columns), **_steps(columns)})
    sums = changed.group_by("poll").aggregate([(name, "sum") for name in Step._fields[:-1]])
    handed = _handed(columns, moments[0].poll)
    found: dict[int, Step] = {}
    for row in sums.to_pylist():
        numbers = {name: row[f"{name}_sum"] or 0 for name in Step._fields[:-1]}
        found[row["poll"]] = Step(**numbers, handed=handed.get(row["poll"], 0))
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

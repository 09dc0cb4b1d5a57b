"""Write Parquet files with many random records of `__consumer_offsets`. NumPy and Arrow make writing fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgtui.protocol.records import RecordType, encode
from tests.unit.protocol.records.random_records import every_record_type

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["commits", "commits with topic ids", "commits and 1 % other records"]

MIXED: Kind = "commits and 1 % other records"
"""Kind of sample data: 99 % of the records are offset commits, and 1 % are group metadata and other record types."""

PARTITIONS = 16
"""Number of partitions of `__consumer_offsets`. `write_records` writes one file per partition."""

_GROUPS, _PARTITIONS_PER_GROUP = 2_000, 10
TOPICS = {f"team-{number % 40}.service-{number}": f"t{number % 200}" for number in range(_GROUPS)}
"""Group id → topic in which the group commits offsets."""

START_MS = 1_790_035_200_000
"""Time of the first record of each partition, in milliseconds since the epoch: the beginning of a day (UTC)."""

STEP_MS = 50
"""Time between two records of a partition, in milliseconds."""

_COMMITS_PER_OTHER = 100
_OTHER_KEYS = b"\x00\x02"
"""Lower bound of the keys of all records that are not offset commits. The keys of offset commits are lower.

The first two bytes of a record's key are its version. Only the keys of offset commits have the versions 0 and 1.
"""

_COMMIT = [("version", ">i2"), ("offset", ">i8"), ("epoch", ">i4"), ("metadata", "u1"), ("time", ">i8"), ("tags", "u1")]
_TOPIC_ID = [("tag", "u1"), ("size", "u1"), ("id", ">u8", 2)]
KINDS: dict[Kind, np.dtype[np.void]] = {
    "commits": np.dtype(_COMMIT),
    "commits with topic ids": np.dtype(_COMMIT + _TOPIC_ID),
    MIXED: np.dtype(_COMMIT),
}
"""Kind of sample data → binary layout of the value of an offset commit record.

The values have version 4 and no commit metadata, like most commits in real clusters. Kafka stores a topic id in the
value if the client uses OffsetCommit v10 (Kafka 4.1).
"""


def write_records(folder: Path, records: int, kind: Kind = "commits", *, first: int = 0) -> Path:
    """Write `records` random records of the kind `kind` to new files in `folder`, and return `folder`.

    The offset commits are for 2,000 groups × 10 partitions. There is one file per partition of `__consumer_offsets`.

    Args:
        first: number of records that earlier calls have written. The new records have higher offsets and later times.
    """
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7 + first)
    keys = _keys()
    others = [(key, value) for key, value in every_record_type(7, 20) if key >= _OTHER_KEYS]
    first_offset, per_partition = first // PARTITIONS, max(records // PARTITIONS, 1)
    offsets = first_offset + np.arange(per_partition)
    for partition in range(PARTITIONS):
        times = START_MS + offsets * STEP_MS
        columns = {
            "partition": pa.array(np.full(per_partition, partition, np.int32)),
            "offset": pa.array(offsets),
            "timestamp": pa.array(times * 1000, pa.timestamp("us", tz="UTC")),
            "key": keys.take(pa.array(random.integers(0, len(keys), per_partition))),
            "value": _commits(random, times, kind),
        }
        if kind == MIXED:
            is_other = pa.array(np.arange(per_partition) % _COMMITS_PER_OTHER == 0)
            chosen = pa.array(random.integers(0, len(others), sum(is_other.to_pylist())))
            for name, data in zip(("key", "value"), zip(*others, strict=True), strict=True):
                columns[name] = pc.replace_with_mask(columns[name], is_other, pa.array(data, pa.binary()).take(chosen))
        pq.write_table(pa.table(columns), folder / f"{first}-{partition}.parquet", compression="snappy")
    return folder


def _keys() -> pa.Array:
    keys = [
        encode(RecordType.OFFSET_COMMIT, {"group": group, "topic": topic, "partition": partition}, None)[0]
        for group, topic in TOPICS.items()
        for partition in range(_PARTITIONS_PER_GROUP)
    ]
    return pa.array(keys, pa.binary())


def _commits(random: np.random.Generator, times: np.ndarray[tuple[int], np.dtype[np.int64]], kind: Kind) -> pa.Array:
    commits = np.zeros(len(times), KINDS[kind])
    commits["version"], commits["metadata"] = 4, 1
    commits["offset"] = random.integers(0, 1 << 40, len(times))
    commits["epoch"] = random.integers(0, 20, len(times))
    # A coordinator sets the commit time a few milliseconds before the record is written.
    commits["time"] = times - random.integers(0, 20, len(times))
    if kind == "commits with topic ids":
        commits["tags"], commits["size"] = 1, 16
        commits["id"] = random.integers(0, 1 << 62, (200, 2))[random.integers(0, 200, len(times))]
    size = pa.binary(commits.itemsize)
    return pa.Array.from_buffers(size, len(times), [None, pa.py_buffer(commits.tobytes())]).cast(pa.binary())

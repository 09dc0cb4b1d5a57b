"""The pipeline over made-up records: decoding beside a plain read of the same files, and how it grows.

`python -m tests.bench.pipeline CORES SIZE…` measures in a process of its own, since a JVM keeps its number of threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgtui.protocol.records import RecordType, encode
from tests import jars
from tests.bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_PARTITIONS = 16
_WARM = 100_000
"""Records from which a run is long enough to be measured, and warmed up for."""
_GROUPS, _EACH = 2_000, 10
_START_MS, _STEP_MS = 1_790_000_000_000, 50
_COMMIT = np.dtype(
    [("version", ">i2"), ("offset", ">i8"), ("epoch", ">i4"), ("metadata", "u1"), ("time", ">i8"), ("tags", "u1")]
)
"""A commit of version 4 without metadata, as brokers write nearly all of them."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        decode: records that are decoded.
        runs: records of whole runs, the smallest first.
        one_core: the run that is also measured on one core; 0 for none.
    """

    decode: int = 4_000_000
    runs: tuple[int, ...] = (1_000_000, 4_000_000, 16_000_000)
    one_core: int = 4_000_000


QUICK = Size(1_000_000, (250_000, 1_000_000), 1_000_000)
TINY = Size(2_000, (1_000,), 0)


def figures(size: Size) -> Iterator[Figure]:
    """Seconds of decoding beside those of reading, and of whole runs beside the smallest."""
    two = _measured(2, size.decode, size.runs)
    plain, decode = two["plain"], two["decode"]
    yield Figure(f"decode {size.decode:,} records", decode, "s", "a plain read of the same", plain, 5.0, of_ratio=True)
    smallest = size.runs[0]
    for records in size.runs:
        share = two["runs"][str(records)] / records * 1e6
        first = two["runs"][str(smallest)] / smallest * 1e6
        what = f"pipeline over {records:,} records, 2 cores: a million"
        yield Figure(what, share, "s", f"of {smallest:,}", first, 1.1, of_ratio=True)
    if size.one_core:
        one = _measured(1, 0, (size.one_core,))["runs"][str(size.one_core)]
        both = two["runs"].get(str(size.one_core), one)
        yield Figure(f"pipeline over {size.one_core:,} records, 1 core", one, "s", "2 cores", both)


def _measured(cores: int, decode: int, runs: tuple[int, ...]) -> Any:
    words = [sys.executable, "-m", "tests.bench.pipeline", str(cores), str(decode), *map(str, runs)]
    environment = os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder())}
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def write_records(folder: Path, records: int) -> Path:
    """Files of commits of some thousands of groups, one file a partition of the topic."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(7)
    keys = pa.array(
        [
            encode(
                RecordType.OFFSET_COMMIT,
                {"group": f"team-{g % 40}.service-{g}", "topic": f"t{g % 200}", "partition": p},
                None,
            )[0]
            for g in range(_GROUPS)
            for p in range(_EACH)
        ],
        pa.binary(),
    )
    each = max(records // _PARTITIONS, 1)
    for partition in range(_PARTITIONS):
        commits = np.zeros(each, _COMMIT)
        commits["version"], commits["metadata"] = 4, 1
        commits["offset"] = random.integers(0, 1 << 40, each)
        commits["epoch"] = random.integers(0, 20, each)
        commits["time"] = _START_MS + np.arange(each) * _STEP_MS
        values = pa.Array.from_buffers(pa.binary(_COMMIT.itemsize), each, [None, pa.py_buffer(commits.tobytes())])
        columns = {
            "partition": pa.array(np.full(each, partition, np.int32)),
            "offset": pa.array(np.arange(each)),
            "timestamp": pa.array(commits["time"].astype(np.int64) * 1000, pa.timestamp("us", tz="UTC")),
            "key": keys.take(pa.array(random.integers(0, len(keys), each))),
            "value": values.cast(pa.binary()),
        }
        pq.write_table(pa.table(columns), folder / f"{partition}.parquet", compression="snappy")
    return folder


def main(cores: int, decode: int, *runs: int) -> None:
    """Measure, and print the seconds as JSON."""
    from kgtui.pipeline.session import start

    spark = start(f"local[{cores}]")
    found: dict[str, Any] = {"runs": {}}
    with tempfile.TemporaryDirectory(prefix="kgtui-bench-") as place:
        if decode:
            found |= _decode(spark, write_records(Path(place) / "decode", decode))
        warming = runs[:1] if runs[0] >= _WARM else ()
        for records in (*warming, *runs):
            folder = Path(place) / f"{len(os.listdir(place))}"
            found["runs"][str(records)] = _run(spark, folder, write_records(folder / "records", records))
    spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


def _decode(spark: SparkSession, folder: Path) -> dict[str, float]:
    from kgtui.pipeline.transforms.bronze import coordinator_records
    from kgtui.pipeline.transforms.offset_commits import is_commit_key, plain_commits
    from kgtui.pipeline.transforms.records import read_records

    records = spark.read.parquet(str(folder)).transform(coordinator_records)
    rest = records.where(~is_commit_key()).transform(read_records)
    plain, decoded = [records], [records.transform(plain_commits), rest]
    for some in (plain, decoded):
        _seconds(some)  # warm
    return {"plain": min(_seconds(plain) for _ in range(3)), "decode": min(_seconds(decoded) for _ in range(2))}


def _seconds(frames: list[DataFrame]) -> float:
    begun = time.perf_counter()
    for frame in frames:
        frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun


def _run(spark: SparkSession, folder: Path, records: Path) -> float:
    from kgtui.pipeline.jobs.gold import gold
    from kgtui.pipeline.jobs.run import Sources, once
    from kgtui.pipeline.lake import SparkLake

    begun = time.perf_counter()
    once(SparkLake(spark, folder / "lake"), Sources(records=records), gold, lambda _: None)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

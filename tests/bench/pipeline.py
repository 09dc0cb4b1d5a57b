"""The pipeline over made-up records: decoding beside a plain read of the same files, and how it grows.

`python -m tests.bench.pipeline CORES DECODE SIZE…` measures in a process of its own, since a JVM keeps its number of
threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import jars
from tests.bench import scale
from tests.bench.coordinator_records import KINDS, write_records
from tests.bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

_ROUNDS = 3
_WARM = 100_000
"""Records from which a run is long enough to be measured, and warmed up for."""


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
    """Seconds of decoding beside those of reading, of whole runs beside the smallest, and what that makes of a rate."""
    two = _measured(2, size.decode, size.runs)
    for kind, took in two["decode"].items():
        speed = took["plain"] / took["decode"]
        what = f"decode {size.decode:,} {kind}: {speed:.2f} of a read's speed"
        yield Figure(what, took["decode"], "s", "a plain read of the same", took["plain"], 5.0, of_ratio=True)
    runs = [two["runs"][str(records)] for records in size.runs]
    for run in runs:
        share, first = (_seconds_of(one) / one["records"] * 1e6 for one in (run, runs[0]))
        what = f"pipeline over {run['records']:,} records, 2 cores: a million"
        yield Figure(what, share, "s", f"of {runs[0]['records']:,}", first, 1.1, of_ratio=True)
    for name, seconds in runs[-1]["seconds"].items():
        yield Figure(f"of {runs[-1]['records']:,}: {name}", seconds, "s", "all", _seconds_of(runs[-1]))
    if size.one_core:
        one = _measured(1, 0, (size.one_core,))["runs"][str(size.one_core)]
        both = two["runs"].get(str(size.one_core), one)
        what = f"pipeline over {size.one_core:,} records, 1 core"
        yield Figure(what, _seconds_of(one), "s", "2 cores", _seconds_of(both))
    if len(runs) > 1:
        yield from scale.figures(scale.steps(2, runs[0], runs[-1]))


def _seconds_of(run: Mapping[str, Any]) -> float:
    return float(sum(run["seconds"].values()))


def _measured(cores: int, decode: int, runs: tuple[int, ...]) -> Any:
    words = [sys.executable, "-m", "tests.bench.pipeline", str(cores), str(decode), *map(str, runs)]
    environment = os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder())}
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def main(cores: int, decode: int, *runs: int) -> None:
    """Measure, and print what was found as JSON."""
    from kgtui.pipeline.session import start

    spark = start(f"local[{cores}]")
    found: dict[str, Any] = {"decode": {}, "runs": {}}
    with tempfile.TemporaryDirectory(prefix="kgtui-bench-") as place:
        for kind in KINDS if decode else ():
            found["decode"][kind] = _decode(spark, write_records(Path(place) / kind, decode, kind))
        warming = runs[:1] if runs[0] >= _WARM else ()
        for records in (*warming, *runs):
            folder = Path(place) / f"{len(os.listdir(place))}"
            found["runs"][str(records)] = _run(spark, folder, records)
    spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


def _decode(spark: SparkSession, folder: Path) -> dict[str, float]:
    """Seconds of a plain read, and of what `silver` does to a batch but for writing; they take turns."""
    from kgtui.pipeline.jobs.bronze import coordinator_records
    from kgtui.pipeline.transforms.offset_commits import non_commits, regular_commits
    from kgtui.pipeline.transforms.record_decoding import decode_records

    records = spark.read.parquet(str(folder)).transform(coordinator_records)
    rest = records.transform(non_commits).transform(decode_records)
    ways = {"plain": [records], "decode": [records.transform(regular_commits), rest]}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(1 + _ROUNDS):
        for name, frames in ways.items():
            found[name].append(_seconds(frames))
    return {name: min(seconds[1:]) for name, seconds in found.items()}


def _seconds(frames: list[DataFrame]) -> float:
    begun = time.perf_counter()
    for frame in frames:
        frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun


def _run(spark: SparkSession, folder: Path, records: int) -> dict[str, Any]:
    """Seconds of each layer and bytes of its tables."""
    from kgtui.commands.pipeline import update_gold
    from kgtui.lake.schemas import BRONZE, SILVER
    from kgtui.lake.tables import make_tables
    from kgtui.pipeline.jobs.run import Sources, run_once
    from kgtui.pipeline.spark_lake import SparkLake

    made = write_records(folder / "records", records)
    ends = {"start": time.perf_counter()}

    def say(line: str) -> None:
        ends["bronze" if line.startswith("reading") else "silver"] = time.perf_counter()

    lake = SparkLake(spark, folder / "lake")
    make_tables(lake.folder, (*BRONZE, *SILVER))
    run_once(lake, Sources(records=made), update_gold, say)
    ends["gold"] = time.perf_counter()
    seconds = {name: end - begun for (_, begun), (name, end) in pairwise(ends.items())}
    stored = {layer: _bytes(folder / "lake" / layer) for layer in ("bronze", "silver")}
    return {"records": records, "seconds": seconds, "bytes": stored}


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

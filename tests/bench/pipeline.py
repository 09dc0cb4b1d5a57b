"""Measure the CPU time and the duration of the Spark pipeline with random records of `__consumer_offsets`.

First, the CPU time for decoding the records is compared with the CPU time for only reading the same files. Then the
durations of complete runs with different numbers of records are measured.

The benchmark starts `python -m tests.bench.pipeline CORES DECODE SIZE…` once per number of cores, because a Spark
session cannot change this number. DECODE is the number of records to decode. Each SIZE is the number of records in a
complete run.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import jars
from tests.bench import extrapolation
from tests.bench.figures import Figure
from tests.bench.history import INTERVAL, POLLS_PER_KEYFRAME, SyntheticLake
from tests.bench.history import Size as RecordingSize
from tests.bench.process_cpu import cpu_seconds
from tests.bench.sample_records import KINDS, PARTITIONS, START_MS, STEP_MS, TOPICS, write_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

_WARM_UP, _ROUNDS = 5, 12
"""Number of decoding rounds that only warm up the JVM's compiler, and number of rounds that are measured."""

RECORDS_PER_SEGMENT = int(POLLS_PER_KEYFRAME * INTERVAL * 1000 / STEP_MS) * PARTITIONS
"""Number of sample records of `__consumer_offsets` that are written during one segment of the recording.

A segment is the time between two keyframes (polls with all rows), which is ten minutes.
"""

_WARM_UP_FROM = 100_000
"""Minimum number of records for a warm-up run.

If the smallest run has at least this many records, it is executed once before the measurement, to warm up the JVM.
"""


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark.

    Attributes:
        decode: number of records to decode.
        runs: number of records in each complete run on two cores, ascending.
        one_core: number of records in an additional run on one core; 0 for no such run.
    """

    decode: int = 400_000
    runs: tuple[int, ...] = (1_000_000, 4_000_000, 16_000_000)
    one_core: int = 4_000_000


QUICK = Size(400_000, (250_000, 1_000_000), 1_000_000)
TINY = Size(2_000, (1_000,), 0)


def figures(size: Size) -> Iterator[Figure]:
    """Yield the results for decoding, for complete runs, and for the extrapolation to a large cluster."""
    two_cores = _measure(2, size.decode, size.runs)
    for kind, seconds in two_cores["decode"].items():
        speed = seconds["read"] / seconds["decode"]
        what = f"decode {size.decode:,} {kind}, at {speed:.2f} of the speed of only reading them (CPU time)"
        yield Figure(what, seconds["decode"], "s", "reading the same files", seconds["read"], 2.0, of_ratio=True)
    runs = [two_cores["runs"][str(records)] for records in size.runs]
    for run in runs:
        per_million, reference = (_total(one) / one["records"] * 1e6 for one in (run, runs[0]))
        what = f"time per million records of a complete run over {run['records']:,} records on 2 cores"
        yield Figure(what, per_million, "s", f"run over {runs[0]['records']:,}", reference, 1.1, of_ratio=True)
    for run in runs:
        cpu = run["gold_cpu"]
        what = (
            f"gold round after 1 % more than {run['records']:,} records and their recording, CPU without an empty round"
        )
        more, whole = (max(cpu[name] - cpu["empty"], 0.0) for name in ("more", "whole"))
        yield Figure(what, more, "s", "the whole time span", whole, 0.05, of_ratio=True)
        yield Figure("gold round without new data, CPU", cpu["empty"], "s")
    for layer, layer_seconds in runs[-1]["seconds"].items():
        what = f"time of the {layer} job in the run over {runs[-1]['records']:,} records"
        yield Figure(what, layer_seconds, "s", "whole run", _total(runs[-1]))
    if size.one_core:
        one_core = _measure(1, 0, (size.one_core,))["runs"][str(size.one_core)]
        reference_run = two_cores["runs"].get(str(size.one_core), one_core)
        what = f"complete run over {size.one_core:,} records on 1 core"
        yield Figure(what, _total(one_core), "s", "2 cores", _total(reference_run))
    if len(runs) > 1:
        yield from extrapolation.figures(extrapolation.layer_costs(2, runs[0], runs[-1]))


def _total(run: Mapping[str, Any]) -> float:
    """Return the duration of a run in seconds: the sum of the durations of its layers (bronze, silver and gold)."""
    return float(sum(run["seconds"].values()))


def _measure(cores: int, decode: int, runs: tuple[int, ...]) -> Any:
    """Run the function `main` of this module in another process; return the results that it prints as JSON."""
    command = [sys.executable, "-m", "tests.bench.pipeline", str(cores), str(decode), *map(str, runs)]
    environment = os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder())}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def main(cores: int, decode: int, *runs: int) -> None:
    """Measure decoding and complete runs on `cores` cores, and print the results as JSON.

    Args:
        cores: number of cores that Spark uses.
        decode: number of records to decode; 0 to measure no decoding.
        runs: number of records in each complete run.
    """
    from kgtui.pipeline.session import start

    spark = start(f"local[{cores}]")
    results: dict[str, Any] = {"decode": {}, "runs": {}}
    with tempfile.TemporaryDirectory(prefix="kgtui-bench-") as folder:
        for kind in KINDS if decode else ():
            results["decode"][kind] = _decode(spark, write_records(Path(folder) / kind, decode, kind))
        warm_up = runs[:1] if runs and runs[0] >= _WARM_UP_FROM else ()
        for records in (*warm_up, *runs):
            run_folder = Path(folder) / f"{len(os.listdir(folder))}"
            results["runs"][str(records)] = _run(spark, run_folder, records)
    spark.stop()
    sys.stdout.write(json.dumps(results) + "\n")


def _decode(spark: SparkSession, folder: Path) -> dict[str, float]:
    """Return the CPU seconds of two operations: `read` only reads the files, and `decode` also decodes the records.

    Each result is the fastest of several rounds. The CPU time includes the JVM and all Python workers.
    """
    from kgtui.pipeline.jobs.bronze import coordinator_records
    from kgtui.pipeline.jobs.silver import decode_non_commits
    from kgtui.pipeline.jvm_decoder import KeptRecords
    from kgtui.pipeline.transforms.offset_commits import non_commits

    records = spark.read.parquet(str(folder)).transform(coordinator_records)

    expected = records.transform(non_commits).count()

    def decode() -> None:
        kept = KeptRecords(spark)
        _compute(records.transform(kept.decode_commits))
        others = kept.take(expected)
        assert others is not None
        if expected:
            _compute(others.transform(decode_non_commits))

    seconds: dict[str, list[float]] = {"read": [], "decode": []}
    for _ in range(_WARM_UP + _ROUNDS):
        for name, task in (("read", partial(_compute, records)), ("decode", decode)):
            started = cpu_seconds(os.getpid())
            task()
            seconds[name].append(cpu_seconds(os.getpid()) - started)
    return {name: min(rounds[_WARM_UP:]) for name, rounds in seconds.items()}


def _compute(frame: DataFrame) -> None:
    """Compute all rows of `frame`, but do not store the rows."""
    frame.write.format("noop").mode("overwrite").save()


def _run(spark: SparkSession, folder: Path, records: int) -> dict[str, Any]:
    """Run the pipeline three times. The first run reads `records` records and a recording of the same time span.

    The second run reads 1 % more records and ten more minutes of the recording. The third run finds no new data.

    Returns:
        Dict with the keys `records` (number of records in the first run), `seconds` (duration of each layer in the
        first run), `bytes` (size of the bronze and of the silver tables after the first run), and `gold_cpu` (CPU
        seconds of the gold job: `whole` in the first, `more` in the second, and `empty` in the third run).
    """
    from kgtui.commands.pipeline import update_gold
    from kgtui.lake.schemas import BRONZE, SILVER
    from kgtui.lake.tables import create_tables
    from kgtui.pipeline.jobs.run import Sources, run_once
    from kgtui.pipeline.spark_lake import SparkLake

    files = write_records(folder / "records", records)
    segments = max(math.ceil(records / RECORDS_PER_SEGMENT), 1)
    recording = SyntheticLake(
        folder / "lake", RecordingSize(groups=len(TOPICS), segments=segments), topics=TOPICS, start=START_MS
    )
    ends = {"start": time.perf_counter()}
    gold_cpu: list[float] = []

    def note_end(step: str) -> None:
        ends["bronze" if step.startswith("reading") else "silver"] = time.perf_counter()

    def measured_gold(lake: SparkLake) -> None:
        started = cpu_seconds(os.getpid())
        update_gold(lake)
        gold_cpu.append(cpu_seconds(os.getpid()) - started)

    lake = SparkLake(spark, folder / "lake")
    create_tables(lake.folder, (*BRONZE, *SILVER))
    run_once(lake, Sources(records=files), measured_gold, note_end)
    ends["gold"] = time.perf_counter()
    seconds = {layer: end - start for (_, start), (layer, end) in pairwise(ends.items())}
    stored = {layer: _bytes(folder / "lake" / layer) for layer in ("bronze", "silver")}
    write_records(files, max(records // 100, PARTITIONS), first=records)
    recording.add_segment(segments + 1)
    for _ in range(2):
        run_once(lake, Sources(records=files), measured_gold, lambda _: None)
    cpu = dict(zip(("whole", "more", "empty"), gold_cpu, strict=True))
    return {"records": records, "seconds": seconds, "bytes": stored, "gold_cpu": cpu}


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

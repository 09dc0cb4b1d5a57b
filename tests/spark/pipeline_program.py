"""Run the pipeline on a folder of records: `python -m tests.spark.pipeline_program LAKE RECORDS [TARGET]`.

The module `background_runs` starts this program in background processes, and kills some of them.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.commands.pipeline import update_gold
from kgtui.lake.schemas import COORDINATOR_RECORDS
from kgtui.pipeline.jobs.run import Sources, run_once
from kgtui.pipeline.session import start
from kgtui.pipeline.transforms.record_decoding import decode_records
from tests.spark.spark_settings import ON_CLUSTER, SHORT_LIVED, new_lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(lake: str, records: str, target: str = "") -> None:
    """Run the pipeline, and print the name of each step when the step begins.

    Args:
        lake: folder of the lake.
        records: folder with Parquet files of `__consumer_offsets` records.
        target: where Spark runs: `sc://HOST:PORT` (Spark Connect server), `spark://HOST:PORT` (standalone cluster),
            `local[N]` (Spark Connect server in this process), or empty (local session).
    """
    if target.startswith("spark:"):
        spark = start(target, options=ON_CLUSTER)
    else:
        spark = start(None if target else "local[1]", target or None, options=SHORT_LIVED)
    print_step("started")
    try:
        run(spark, Path(lake), Path(records), target)
    finally:
        # Stop Spark even after an error. Otherwise, Python would wait forever for the Spark Connect server.
        spark.stop()


def run(spark: SparkSession, lake: Path, records: Path, target: str) -> None:
    """Run all steps of the pipeline, and print the name of each step on standard output.

    `lake`, `records` and `target` have the same meaning as in `main`.
    """
    # Tests kill local runs between two batches, so in these runs each batch reads one file. If `target` is the URL of a
    # server or a cluster, one batch reads all files, because tests never kill such a run.
    sources = Sources(records=records, max_files=None if target.startswith(("sc:", "spark:")) else 1)
    new = new_lake(spark, lake)
    run_once(new, sources, partial(update_gold, on_progress=print_step), print_step)
    if target.startswith("spark:"):
        # Normally, executors decode records in Java. Check that the executors can also run kgtui's Python code.
        assert new.read(COORDINATOR_RECORDS).limit(10).transform(decode_records).count() == 10
    print_step("done")


def print_step(step: str) -> None:
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

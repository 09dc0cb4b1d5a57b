"""Run the pipeline on a folder of records: `python -m tests.spark.pipeline_program LAKE RECORDS [TARGET]`.

`background_runs` starts this program in a separate process, so that it can be killed at any time.
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
    """Run the pipeline, and print the name of each step on standard output when the step begins.

    A run on an existing Spark Connect server (`sc://`) or standalone cluster (`spark://`) is never killed. All other
    runs read one file per batch, so that they can be killed between two batches.

    Args:
        lake: folder of the lake.
        records: folder with files of records.
        target: `sc://HOST:PORT`, `spark://HOST:PORT`, `local[N]` for a Spark Connect server in this run's own JVM, or
            empty for Spark without a server.
    """
    if target.startswith("spark:"):
        spark = start(target, options=ON_CLUSTER)
    else:
        spark = start(None if target else "local[1]", target or None, options=SHORT_LIVED)
    print_step("started")
    try:
        run(spark, Path(lake), Path(records), target)
    finally:
        # Without this call, Python would wait forever for the Spark Connect server when it exits after an error.
        spark.stop()


def run(spark: SparkSession, lake: Path, records: Path, target: str) -> None:
    """Run all steps, and print the name of each step on standard output. The arguments are the same as for `main`."""
    sources = Sources(records=records, max_files=None if target.startswith(("sc:", "spark:")) else 1)
    new = new_lake(spark, lake)
    run_once(new, sources, partial(update_gold, on_progress=print_step), print_step)
    if target.startswith("spark:"):
        # Without the decoder in Java, Spark needs Python and kgtui's code on the executors. This line checks that the
        # executors can run this code.
        assert new.read(COORDINATOR_RECORDS).limit(10).transform(decode_records).count() == 10
    print_step("done")


def print_step(step: str) -> None:
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Run the pipeline on a folder of records: `python -m tests.spark.pipeline_program LAKE RECORDS [TARGET]`.

`background_runs` starts this program in a process of its own, so that it can be killed at any time.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from kgtui.commands.pipeline import update_gold
from kgtui.pipeline.jobs.run import Sources, run_once
from kgtui.pipeline.session import start
from tests.spark.spark_settings import ON_CLUSTER, SHORT_LIVED, new_lake


def main(lake: str, records: str, target: str = "") -> None:
    """Run the pipeline, and print each step as a line on standard output.

    Runs on a Spark Connect server (`sc://`) or on a standalone cluster (`spark://`) are never killed. All other runs
    read one file per batch, so that they can be killed between two batches.

    Args:
        target: `sc://HOST:PORT`, `spark://HOST:PORT`, or `local[N]` for a Spark Connect server in the JVM of this run.
            Without a target, the run uses no server.
    """
    if target.startswith("spark:"):
        spark = start(target, options=ON_CLUSTER)
    else:
        spark = start(None if target else "local[1]", target or None, options=SHORT_LIVED)
    print_step("started")
    sources = Sources(records=Path(records), max_files=None if target.startswith(("sc:", "spark:")) else 1)
    run_once(new_lake(spark, Path(lake)), sources, partial(update_gold, on_progress=print_step), print_step)
    print_step("done")
    spark.stop()


def print_step(step: str) -> None:
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

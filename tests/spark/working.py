"""A program that runs the pipeline over a folder of records: `python -m tests.spark.working LAKE RECORDS [REMOTE]`.

It is killed by one test, and goes through Spark Connect for others.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from kgtui.commands.pipeline import update_gold
from kgtui.pipeline.jobs.run import Sources, run_once
from kgtui.pipeline.session import start
from tests.spark.setting import SHORT_LIVED, new_lake


def main(lake: str, records: str, remote: str | None = None) -> None:
    """Run it; each step is a line on standard output. Who may be killed takes the files one at a time."""
    spark = start(None if remote else "local[1]", remote, options=SHORT_LIVED)
    say("started")
    at_ease = remote is not None and remote.startswith("sc:")
    sources = Sources(records=Path(records), max_files=None if at_ease else 1)
    run_once(new_lake(spark, Path(lake)), sources, partial(update_gold, on_progress=say), say)
    say("done")
    spark.stop()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`kgtui pipeline`: from records of `__consumer_offsets` and recordings to answers, by Spark."""

from __future__ import annotations

import errno
import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.commands import pipeline_demo
from kgtui.commands.connecting import run_async
from kgtui.commands.parser import add_cluster_options
from kgtui.commands.printing import say
from kgtui.commands.progress import Progress
from kgtui.commands.times import instant_of, seconds_of
from kgtui.errors import LakeError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from datetime import date

    from kgtui.pipeline.jobs.run import Sources
    from kgtui.pipeline.lake import SparkLake


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    what = parser.add_subparsers(dest="what", metavar="run|watch|demo", required=True, prog=parser.prog)
    once = what.add_parser("run", help="decode what is new, compute what follows, and end")
    watch = what.add_parser("watch", help="the same again and again, until Ctrl-C")
    demo = what.add_parser("demo", help="make days of history of the simulator, run everything, print findings")
    for one in (once, watch):
        add_cluster_options(one, again=True)
        _add_options(one)
    watch.add_argument("--every", default="10s", metavar="TIME", help="between two batches (10s)")
    pipeline_demo.configure(demo)


def epilog() -> str:
    """What else there is to know."""
    return (
        "Reads __consumer_offsets only of a cluster that is named (--bootstrap-server or --cluster), where the user\n"
        "needs Read and Describe on that topic. What a run was killed in goes on with the next one: nothing is lost,\n"
        "nothing is double. Needs the extra spark and Java 17 or newer; with --remote no Java."
    )


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code: 1 when records cannot be read."""
    if args.what == "demo":
        return pipeline_demo.run(args)
    every = seconds_of("--every", args.every) if args.what == "watch" else None
    since = None if args.since is None else instant_of("--since", args.since, time.time())
    _check_lake(args.lake)
    from kgtui.pipeline.requirements import check_pyspark
    from kgtui.pipeline.session import end, start

    check_pyspark()
    sources = _sources(args, since)
    _prepare(args.lake, sources, every)
    with Progress() as progress:
        progress.tell("starting Spark")
        spark = start(args.master, args.remote, say=say)
        # Spark's own handler talks to the JVM in the middle of another call, and so waits for its end.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            from kgtui.pipeline.lake import SparkLake

            _work(SparkLake(spark, args.lake), sources, progress, every)
        except OSError as error:
            raise LakeError(f"{args.lake} cannot be written: {error.strerror or error}") from error
        finally:
            progress.tell("stopping Spark")
            end(spark)
    return 0


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lake", metavar="LAKE", required=True, help="a folder; made if there is none")
    parser.add_argument("--records", metavar="FOLDER", help="Parquet files of records of __consumer_offsets")
    parser.add_argument("--since", metavar="TIME", help="read the topic from then on, such as 30d, when it is new here")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--master", metavar="URL", help="Spark to run on (local[*])")
    where.add_argument("--remote", metavar="URL", help="a Spark Connect server, such as sc://spark:15002")


def _check_lake(path: str) -> None:
    """Complain of the folder before anything is started."""
    from kgtui.lake.folder import LakeFolder

    LakeFolder.of(path).check_usable()


def _prepare(path: str, sources: Sources, every: float | None) -> None:
    """Make the lake, and make sure that there is, or for `watch` can be, something to work on. Raises `LakeError`."""
    from kgtui.lake.folder import LakeFolder, is_table
    from kgtui.lake.retention import update_retention
    from kgtui.lake.schemas import BRONZE, COORDINATOR_RECORDS, POLLS, SILVER
    from kgtui.lake.tables import make_tables
    from kgtui.model.retention import Retention

    lake = LakeFolder.of(path)
    recorded, records = (is_table(lake.table(table.name, table.layer)) for table in (POLLS, COORDINATOR_RECORDS))
    records = records or sources.topic is not None or sources.records is not None
    if every is None and not recorded and not records:
        raise LakeError(
            f"nothing to work on: {lake.path} holds no recording and no records; name a cluster with "
            "--bootstrap-server or --cluster, files with --records, or record one first: kgtui record LAKE"
        )
    try:
        lake.prepare()
        if sources.topic is not None:
            lake.claim(sources.topic.cluster_id)
            update_retention(lake, Retention(offsets=sources.topic.offsets_retention), ())
        if not os.access(lake.path, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if records:
            make_tables(lake, (*BRONZE, *SILVER))
    except OSError as error:
        raise LakeError(f"{lake.path} cannot be written: {error.strerror or error}") from error


def _sources(args: argparse.Namespace, since: float | None) -> Sources:
    from kgtui.commands.offsets_topic import offsets_topic
    from kgtui.pipeline.jobs.run import Sources
    from kgtui.pipeline.sources.files import folder_of

    named = args.bootstrap_server is not None or args.cluster is not None
    return Sources(
        topic=run_async(offsets_topic(args)) if named else None,
        records=None if args.records is None else folder_of(args.records),
        since=since,
    )


def _work(lake: SparkLake, sources: Sources, progress: Progress, every: float | None) -> None:
    from functools import partial

    from kgtui.pipeline.jobs.run import once, watch

    began = time.monotonic()
    if every is not None:
        watch(lake, sources, partial(make_gold, say=progress.tell), progress.tell, every=every)
        return
    once(lake, sources, partial(make_gold, say=progress.tell), progress.tell)
    progress.end()
    say(f"{lake.folder.path} is up to date, after {time.monotonic() - began:.0f} s")


def make_gold(lake: SparkLake, say: Callable[[str], None] | None = None) -> tuple[date, ...]:
    """Make the days of the gold tables that are due; which those were."""
    from kgtui.lake.due import due
    from kgtui.lake.retention import load_retention
    from kgtui.lake.stored_text import stored
    from kgtui.pipeline.jobs.gold import GoldOptions, gold

    found, known = due(lake.folder), load_retention(lake.folder)
    options = GoldOptions(topics={stored(topic): seconds for topic, seconds in known.topics.items()})
    if known.offsets is not None:
        options = replace(options, offsets_retention=round(known.offsets))
    gold(lake, found.days, options=options, say=say)
    found.done()
    return found.days

"""`kgtui pipeline run` and `watch`: compute the silver and gold tables of a lake with Spark.

The silver tables contain decoded records of `__consumer_offsets`. The gold tables contain results that are computed
from the silver tables and from recordings.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.commands import pipeline_demo, pipeline_submit
from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.parser import add_cluster_options
from kgtui.commands.printing import Progress, notify
from kgtui.commands.time_options import parse_duration, parse_time
from kgtui.config import load, resolve
from kgtui.errors import KgtuiError, LakeError, SourceError
from kgtui.lake.store_errors import lake_error_text
from kgtui.model.error_numbers import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from datetime import date

    from kgtui.admin.kafka import KafkaGroupAdmin
    from kgtui.lake.folder import LakeFolder
    from kgtui.pipeline.jobs.run import Sources
    from kgtui.pipeline.sources import OffsetsTopic
    from kgtui.pipeline.spark_lake import SparkLake


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `kgtui pipeline` and their options."""
    subcommands = parser.add_subparsers(dest="what", metavar="run|watch|demo|submit", required=True, prog=parser.prog)
    once = subcommands.add_parser("run", help="decode new records, update the gold tables, and exit")
    watch = subcommands.add_parser("watch", help="repeat what run does until Ctrl-C")
    demo = subcommands.add_parser("demo", help="simulate days of history, run the pipeline on them, print findings")
    submit = subcommands.add_parser("submit", help="print the spark-submit command for YARN or Kubernetes")
    for subcommand in (once, watch):
        add_cluster_options(subcommand, again=True)
        _add_options(subcommand)
    watch.add_argument(
        "--every",
        default="10s",
        metavar="TIME",
        help="time between two searches for new records and new recorded polls (default: %(default)s)",
    )
    pipeline_demo.configure(demo)
    pipeline_submit.configure(submit)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lake", metavar="LAKE", required=True, help="folder or URI of the lake; it is created if it does not exist"
    )
    parser.add_argument(
        "--records", metavar="FOLDER", help="folder of Parquet files with records of __consumer_offsets"
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="in the first read of __consumer_offsets, skip records before this time, such as 30d for 30 days ago",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--master", metavar="URL", help="Spark master to run on (default: local[*])")
    where.add_argument("--remote", metavar="URL", help="Spark Connect server to run on, such as sc://spark:15002")


def epilog() -> str:
    """Return the text below the options of `kgtui pipeline --help`."""
    return (
        "The topic __consumer_offsets is read only if a cluster is named with --bootstrap-server or --cluster. The\n"
        "user needs Read and Describe on this topic. If a run is killed, the next run continues where it stopped, and\n"
        "no record is lost or counted twice. The pipeline needs the Python packages of kgtui[spark], and without\n"
        "--remote also Java 17 or newer."
    )


def run(args: argparse.Namespace) -> int:
    """Run `kgtui pipeline` and return its exit code."""
    if args.what == "demo":
        return pipeline_demo.run(args)
    if args.what == "submit":
        return pipeline_submit.run(args)
    interval = parse_duration("--every", args.every) if args.what == "watch" else None
    since = None if args.since is None else parse_time("--since", args.since, time.time())
    _check_lake(args.lake)
    from kgtui.lake.folder import LakeFolder
    from kgtui.lake.lock import held, recorder_lock
    from kgtui.pipeline.requirements import check_pyspark

    check_pyspark()
    sources = _sources(args, since)
    _prepare_lake(args.lake, sources, interval)
    lake = LakeFolder.of(args.lake)
    try:
        with held(recorder_lock(lake.pipeline_lock), notify):
            _run_on_spark(args, lake, sources, interval)
    except OSError as error:
        raise LakeError(f"{args.lake} cannot be written: {error.strerror or lake_error_text(error)}") from error
    return 0


def _run_on_spark(args: argparse.Namespace, lake: LakeFolder, sources: Sources, interval: float | None) -> None:
    from kgtui.pipeline.session import start, stop

    with Progress() as progress:
        progress.update("starting Spark")
        spark = start(args.master, args.remote, lake=lake.path, on_progress=notify)
        # Replace PySpark's handler for Ctrl-C, because that handler would wait until Spark ends the current call.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            from kgtui.pipeline.spark_lake import SparkLake

            _run_jobs(SparkLake(spark, lake.path), sources, progress, interval)
        finally:
            progress.update("stopping Spark")
            stop(spark)


def _check_lake(path: str) -> None:
    from kgtui.lake.folder import LakeFolder

    LakeFolder.of(path).check_usable()


def _prepare_lake(path: str, sources: Sources, interval: float | None) -> None:
    """Create the lake if it does not exist. If there are records of `__consumer_offsets`, also create their tables.

    Args:
        interval: seconds between two reads of new data in `kgtui pipeline watch`; None for `kgtui pipeline run`.

    Raises:
        LakeError: the lake cannot be written or belongs to a different cluster, or `kgtui pipeline run` has no data to
            read.
    """
    from kgtui.lake.folder import LakeFolder, is_table, update_retention
    from kgtui.lake.schemas import BRONZE, COORDINATOR_RECORDS, POLLS, SILVER
    from kgtui.lake.tables import create_tables
    from kgtui.model.cluster import Retention

    lake = LakeFolder.of(path)
    has_polls, has_records = (is_table(lake.table(table.name, table.layer)) for table in (POLLS, COORDINATOR_RECORDS))
    has_records = has_records or sources.topic is not None or sources.records is not None
    if interval is None and not has_polls and not has_records:
        raise LakeError(
            f"nothing to work on: {lake.path} contains neither a recording nor records of "
            "__consumer_offsets. Name a cluster with --bootstrap-server or --cluster, name files of such records with "
            "--records, or record a cluster first: kgtui record LAKE"
        )
    try:
        lake.prepare()
        if sources.topic is not None:
            lake.claim(sources.topic.cluster_id)
            lake.claim_topic(sources.topic.topic_id)
            update_retention(lake, Retention(offsets=sources.topic.offsets_retention), ())
        if isinstance(lake.path, Path) and not os.access(lake.path, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if has_records:
            create_tables(lake, (*BRONZE, *SILVER))
    except OSError as error:
        raise LakeError(f"{lake.path} cannot be written: {error.strerror or lake_error_text(error)}") from error


def _sources(args: argparse.Namespace, since: float | None) -> Sources:
    """Return the sources of records of `__consumer_offsets`.

    These are the cluster and the folder `--records`, if the command line names them.
    """
    from kgtui.pipeline.jobs.run import Sources
    from kgtui.pipeline.sources import records_folder

    names_cluster = args.bootstrap_server is not None or args.cluster is not None
    return Sources(
        topic=run_async(read_offsets_topic(args)) if names_cluster else None,
        records=None if args.records is None else records_folder(args.records),
        since=since,
    )


def _run_jobs(lake: SparkLake, sources: Sources, progress: Progress, interval: float | None) -> None:
    from kgtui.lake.pending_days import pending_days
    from kgtui.pipeline.jobs.run import run_continuously, run_once

    started = time.monotonic()
    update = partial(update_gold, on_progress=progress.update)
    if interval is not None:
        run_continuously(lake, sources, update, progress.update, interval=interval)
        return
    run_once(lake, sources, update, progress.update)
    progress.end()
    if future := pending_days(lake.folder).future:
        notify(
            f"the gold tables leave out records with timestamps in the future, such as {future[0]}: check the clocks "
            "of the brokers"
        )
    notify(f"updated {lake.folder.path} in {time.monotonic() - started:.0f} s")


def update_gold(lake: SparkLake, on_progress: Callable[[str], None] | None = None) -> tuple[date, ...]:
    """Recompute the gold tables, from the first day with new data on, and return the recomputed days.

    New data are recorded polls, and rows of silver tables (decoded records of `__consumer_offsets`).

    Days after tomorrow (UTC) are ignored, because their timestamps come from a broker with a wrong clock.
    """
    from kgtui.lake.arrow import escape_surrogates
    from kgtui.lake.folder import load_retention
    from kgtui.lake.pending_days import pending_days
    from kgtui.pipeline.jobs.gold import gold
    from kgtui.pipeline.jobs.gold_inputs import GoldOptions

    pending, retention = pending_days(lake.folder), load_retention(lake.folder)
    topics = {escape_surrogates(topic): seconds for topic, seconds in retention.topics.items()}
    options = GoldOptions(topics=topics, last=pending.last, first_poll_day=pending.first_poll_day)
    if retention.offsets is not None:
        options = replace(options, offsets_retention=round(retention.offsets))
    if pending.days:
        gold(lake, pending.since, options=options, on_progress=on_progress)
    pending.mark_done()
    return pending.days


async def read_offsets_topic(args: argparse.Namespace) -> OffsetsTopic:
    """Return what the pipeline needs to read `__consumer_offsets`, such as connection settings and log end offsets.

    Raises:
        SourceError: the topic does not exist, or its log start or log end offsets cannot be read.
        UnreachableError: no broker answers.
    """
    from kgtui.pipeline.sources import TOPIC, OffsetsTopic
    from kgtui.protocol.records import format_uuid

    target = resolve(load(), args)
    async with connected(args) as admin:
        bounds = await read_bounds(admin, timeout_of(args))
        leaders = await admin.pool.find_leaders([TOPIC], timeout=timeout_of(args), refresh=True)
        cluster = await admin.cluster(timeout=timeout_of(args))
        offsets_retention = await _read_offsets_retention(admin, timeout_of(args))
    topic_id = leaders.ids.get(TOPIC)
    return OffsetsTopic(
        tuple(target.seeds),
        bounds,
        dict(target.properties),
        cluster.cluster_id,
        offsets_retention,
        None if topic_id is None else format_uuid(topic_id),
    )


async def _read_offsets_retention(admin: KafkaGroupAdmin, timeout: float) -> float | None:
    """Return the broker config `offsets.retention.minutes`, converted to seconds.

    Returns None if the config cannot be read, for example because the user lacks permissions.
    """
    from kgtui.pipeline.sources import TOPIC

    try:
        return (await admin.retention([TOPIC], timeout=timeout)).rows.offsets
    except KgtuiError:
        return None


async def read_bounds(admin: KafkaGroupAdmin, timeout: float) -> Mapping[int, tuple[int, int]]:
    """Return a mapping: partition of `__consumer_offsets` → (log start offset, log end offset).

    Raises the same errors as `read_offsets_topic`.
    """
    from kgtui.pipeline.sources import TOPIC

    leaders = await admin.pool.find_leaders([TOPIC], timeout=timeout)
    if leaders.errors:
        raise SourceError(_error_message(min(leaders.errors.values()), leaders.errors))
    partitions = [partition for _, partition in sorted(leaders.nodes)]
    if not partitions:
        raise SourceError(_error_message(UNKNOWN_TOPIC_OR_PARTITION, {}))
    answer = await admin.partition_bounds([(TOPIC, partition) for partition in partitions], timeout=timeout)
    result: dict[int, tuple[int, int]] = {}
    for partition in partitions:
        bounds = answer.rows.get((TOPIC, partition))
        if bounds is None:
            reason = answer.faults[0].message if answer.faults else "no answer"
            raise SourceError(f"{TOPIC}: partition {partition} cannot be read: {reason}")
        if bounds.log_start is None or bounds.log_end is None:
            raise SourceError(_error_message(bounds.error, {(TOPIC, partition): bounds.error}))
        result[partition] = bounds.log_start, bounds.log_end
    return result


def _error_message(code: int, errors: Mapping[str | tuple[str, int], int]) -> str:
    from kgtui.pipeline.sources import NOT_PERMITTED, TOPIC
    from kgtui.protocol.error_codes import lookup

    if code == UNKNOWN_TOPIC_OR_PARTITION:
        return f"the cluster has no topic {TOPIC} yet, because no group has committed offsets"
    if code == TOPIC_AUTHORIZATION_FAILED:
        return NOT_PERMITTED
    partitions = sorted(key[1] for key in errors if isinstance(key, tuple))
    which = f", partition {partitions[0]}" if partitions else ""
    return f"{TOPIC}{which} cannot be read: {lookup(code).name}"

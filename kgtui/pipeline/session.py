"""Configure, start and stop Spark sessions on this machine, on a cluster, or with Spark Connect."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.errors import SparkError
from kgtui.lake.schemas import FILE_BYTES
from kgtui.pipeline import requirements, s3
from kgtui.pipeline.code_archive import ship_code
from kgtui.private_files import owner_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from kgtui.lake.store import LakePath

SECRETS = r"(?i)secret|password|passwd|token|credential|access[.]?key|jaas|private|kafka[.](sasl|ssl)[.]"
"""Regular expression for options whose values Spark hides in query plans, its web UI and its logs.

Spark hides a value if the value, or the name of its option, matches. The names of all SASL and TLS
options of Kafka match.
"""

_LOG4J_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_STOP_TIMEOUT = 10.0
"""Maximum time to wait for the end of a session, in seconds.

The wait for the exit of the JVM, which follows, has the same maximum.
"""

_IN_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Environment variable that is set in programs that `spark-submit` runs, and in no others."""

_NOISE = re.compile(
    rb"(?m)^(?:WARNING: Using incubator modules: "
    rb"|Streaming ForeachBatch worker (?:is starting|Started|Completed) )[^\n]*(?:\n|\Z)"
)
"""Matches lines of the JVM's standard error that are hidden from users.

The lines about ForeachBatch contain the secret token of the Spark Connect server.
"""

_NOISE_PREFIXES = (b"WARNING: Using", b"Streaming ForeachBatch")
_CHUNK_BYTES = 65_536


def local_options(folder: str | None = None) -> dict[str, str]:
    """Return the configuration of sessions whose JVM is started by this process.

    Args:
        folder: folder for Spark's temporary files; None for the system's temporary folder.
    """
    options = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{_LOG4J_CONFIGURATION}",
        "spark.driver.memory": os.environ.get("KGTUI_SPARK_MEMORY") or "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.redaction.regex": SECRETS,
        # Allow only the owner to read the files that Spark writes into a lake.
        "spark.hadoop.fs.permissions.umask-mode": "077",
        "spark.databricks.delta.snapshotPartitions": "2",
        # Let all Spark jobs share the cores. With Spark's default (FIFO), a long job would delay
        # all later jobs, such as the next batch of a streaming query.
        "spark.scheduler.mode": "FAIR",
        # Size of the pages in which Spark allocates memory. Each table in a join needs at least one
        # page, so Spark's default, which can be 64 MB, is too large.
        "spark.buffer.pageSize": "2m",
        # Maximum number of compiled classes that Spark keeps. To compute the gold tables, while
        # streaming queries run, Spark needs more than 1,000 classes. With Spark's default of 100,
        # most classes would be compiled again each time that the gold tables are computed.
        "spark.sql.codegen.cache.maxEntries": "10000",
        # Without this option, Spark would store for each expression which line of Python code has
        # created it, to show the line in errors. This would need five JVM calls per expression.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    if folder is not None:
        options["spark.local.dir"] = folder
    return options


def loopback_options() -> dict[str, str]:
    """Return options with which a Spark on this machine listens only on the loopback interface."""
    return dict.fromkeys(
        ("spark.driver.bindAddress", "spark.driver.host", "spark.connect.grpc.binding.address"), "127.0.0.1"
    )


def session_options(partitions: int | None = None) -> dict[str, str]:
    """Return the configuration that all sessions have, on this machine and on clusters.

    Args:
        partitions: number of shuffle partitions for a Spark on this machine; None for a cluster,
            which uses Spark's defaults.
    """
    options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # INT96, Spark's default format for timestamps in Parquet files, needs more space and has no
        # statistics. Snappy, Spark's default compression, is less efficient than Zstandard.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.compression.codec": "zstd",
        # Without this option, Spark's Kafka source silently returns no records of internal topics,
        # such as `__consumer_offsets`.
        "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true",
        "spark.sql.redaction.options.regex": SECRETS,
        "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
        # Maximum number of Spark tasks in which VACUUM lists files. With Spark's default of 10,000
        # tasks, VACUUM would take half a minute.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "32",
        # OPTIMIZE merges files that are smaller than `minFileSize` into files of at most
        # `maxFileSize`, in bytes. The default of both options is 1 GB.
        "spark.databricks.delta.optimize.minFileSize": str(FILE_BYTES // 2),
        "spark.databricks.delta.optimize.maxFileSize": str(FILE_BYTES),
        # Maximum size of a method that Spark generates, in bytes of bytecode. A larger method would
        # be slow, because the JIT compiler of the JVM does not compile it. If a method is larger,
        # Spark runs this part of the query without whole-stage code generation.
        "spark.sql.codegen.hugeMethodLimit": "8000",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }
    if partitions is not None:
        options["spark.sql.shuffle.partitions"] = str(partitions)
        # With adaptive execution, Spark plans the rest of a query again after each stage. With one
        # shuffle partition per core, this hardly improves the plans, but takes a tenth of the CPU
        # time in which the gold tables are computed.
        options["spark.sql.adaptive.enabled"] = "false"
    return options


def _local_threads(target: str) -> int | None:
    """Return the number of threads that a master URL names, such as 4 for `local[4]`.

    The result is None if the master URL is not a local one.
    """
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", target)
    if found is None:
        return None
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)


def start(
    master: str | None = None,
    remote: str | None = None,
    *,
    lake: LakePath | None = None,
    options: Mapping[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> SparkSession:
    """Start a session on this machine or on a cluster, or connect to a Spark Connect server.

    Args:
        master: Spark's master URL; None for `local[*]`. In a program that `spark-submit` runs,
            `master` and `remote` are ignored, because `spark-submit` has set the master.
        remote: `sc://HOST:PORT` of a Spark Connect server, or `local[N]` to start such a server on
            this machine; None to work without Spark Connect.
        lake: if this lake is in S3, a Spark that this function starts gets the jars and credentials
            for S3. A Spark Connect server that is already running must have them already.
        options: configuration that overrides the defaults.
        on_progress: called with messages for the user: before a download of jars, and if the Java
            decoder is not available.

    Raises:
        SparkError: PySpark, Java or a jar is missing or has the wrong version, Spark does not
            start, or the server does not respond.
    """
    requirements.check_pyspark()
    silence_py4j_logging()
    if _IN_SPARK_SUBMIT in os.environ:
        return _start_submitted(session_options() | dict(options or {}), on_progress)
    target = remote or master or "local[*]"
    if target.startswith("local"):
        # If Spark runs on this machine, its workers use kgtui's Python interpreter. The path of
        # this interpreter may not exist on other machines, so workers there use `python3` from
        # their PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    configuration = session_options(_local_threads(target))
    if remote is not None and not remote.startswith("local"):
        requirements.check_connect_server(target)
    else:
        requirements.check_java()
        requirements.check_spark_home()
        configuration |= local_options()
        further: tuple[requirements.Jar, ...] = ()
        if lake is not None and s3.is_in_s3(lake):
            further = s3.s3_jars()
            configuration |= s3.s3_options(lake)
            s3.export_credentials(lake)
        jars = requirements.find_jars(on_progress, further) + _decoder_jars(on_progress)
        configuration["spark.jars"] = ",".join(map(str, jars))
        # Spark always creates a warehouse folder. Without this option, Spark would create it in the
        # working directory.
        configuration["spark.sql.warehouse.dir"] = str(Path(tempfile.gettempdir(), f"kgtui-spark-{os.getuid()}"))
        if target.startswith("local"):
            configuration |= loopback_options()
    configuration |= options or {}
    spark = _connect(remote, configuration) if remote is not None else _start_on(target, configuration)
    if not target.startswith("local"):
        ship_code(spark)
    _enable_decoder(spark, on_progress)
    return spark


def _decoder_jars(on_progress: Callable[[str], None] | None) -> tuple[Path, ...]:
    """Return a tuple with the path of the Java decoder's jar.

    The tuple is empty if the decoder cannot be compiled. `on_progress` is then called with the
    reason.
    """
    from kgtui.pipeline.jvm_decoder import decoder_jar

    try:
        return (decoder_jar(),)
    except SparkError as error:
        if on_progress is not None:
            on_progress(str(error))
        return ()


def _enable_decoder(spark: SparkSession, on_progress: Callable[[str], None] | None) -> None:
    from kgtui.pipeline.jvm_decoder import enable_decoder

    if not enable_decoder(spark) and on_progress is not None:
        on_progress(
            "this Spark does not have kgtui's decoder, so records are decoded with Spark expressions and Python. This "
            "needs about twice as much CPU time"
        )


def _start_submitted(options: Mapping[str, str], on_progress: Callable[[str], None] | None) -> SparkSession:
    """Start a session in a program that `spark-submit` runs.

    Master, jars and memory are already set by `spark-submit`.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        with owner_only():
            spark = builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise SparkError(f"Spark did not start: {first_line(error)}") from error
    ship_code(spark)
    _enable_decoder(spark, on_progress)
    return spark


def _start_on(master: str, options: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("kgtui")
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        with owner_only(), filtered_jvm_stderr():
            return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise SparkError(f"Spark did not start on {master}: {first_line(error)}") from error


def _connect(url: str, options: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(url).appName("kgtui")
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        with owner_only(), filtered_jvm_stderr(), warnings.catch_warnings():
            # If this process has already started a Spark Connect server, PySpark tries to set all
            # options again, and warns about static options, which a running server cannot change.
            # Hide these warnings.
            warnings.filterwarnings("ignore", message="Failed to set")
            spark = builder.getOrCreate()
            found = spark.version
    except (PySparkException, OSError, RuntimeError) as error:
        address = requirements.without_parameters(url)
        raise SparkError(f"cannot open a session on the Spark server at {address}: {first_line(error)}") from error
    try:
        requirements.check_server_version(found, url)
    except SparkError:
        spark.stop()
        raise
    return spark


def first_line(error: BaseException) -> str:
    """Return the first line of a Spark error, without the JVM's stack trace."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def stop(spark: SparkSession) -> None:
    """Stop a session. If this process has started a JVM, also end the JVM, and await its exit."""
    from pyspark import SparkContext

    call_in_thread(spark.stop)
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    process.stdin.close()  # the JVM exits when its standard input is closed
    try:
        process.wait(_STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def call_in_thread(work: Callable[[], object]) -> None:
    """Run `work`, which calls the JVM, in a new thread. Ignore its errors.

    Wait at most 10 seconds for the end of `work`.
    """

    # Use a new thread, because it has its own Py4J connection. If a call on the connection of the
    # current thread was interrupted, the late response to that call could be mistaken for the
    # response to `work`.
    def ignore_errors() -> None:
        with suppress(Exception):  # `work` fails if the JVM has exited already
            work()

    thread = threading.Thread(target=ignore_errors, daemon=True)
    thread.start()
    thread.join(_STOP_TIMEOUT)


def use_pool(spark: SparkSession, name: str) -> None:
    """Set the Spark scheduler pool of jobs and streaming queries that this thread starts later.

    Spark divides its cores evenly between all pools that have jobs. With Spark Connect, this call
    has no effect.
    """
    with suppress(AttributeError):  # a session of Spark Connect has no `sparkContext`
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)


def run_together(*calls: Callable[[], object]) -> None:
    """Run several functions at the same time, each in its own thread, and wait for all of them.

    If functions have failed, the first error is raised after all functions have finished. The
    functions call Spark. If the wait is interrupted, the threads continue until their functions
    have finished, or until the Spark session is stopped.
    """
    errors: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - the error is raised again below, in the calling thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def silence_py4j_logging() -> None:
    """Hide all log messages of Py4J.

    Otherwise, a thread of Py4J would log stack traces if the JVM exits before kgtui. No error is
    lost, because Py4J also raises each error as an exception.
    """
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger().addFilter(_is_not_from_py4j)  # Py4J also logs stack traces to the root logger; drop them


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def filtered_jvm_stderr() -> Iterator[None]:
    """Hide lines of standard error that match `_NOISE` inside the `with` block.

    For child processes that start in the block, such as the JVM, the filter remains active until
    they exit.
    """
    sys.stderr.flush()
    original = os.dup(2)
    read_end, write_end = os.pipe()
    os.dup2(write_end, 2)
    os.close(write_end)
    threading.Thread(target=_forward, args=(read_end, original), name="stderr of the JVM", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(original, 2)


def _forward(source: int, target: int) -> None:
    """Copy all lines from one file descriptor to another, except lines that match `_NOISE`."""
    # If the last line is incomplete, and may match `_NOISE` when it is complete, keep the line
    # until its rest has been read. Write everything else immediately.
    partial = b""
    try:
        while chunk := os.read(source, _CHUNK_BYTES):
            complete, newline, partial = (partial + chunk).rpartition(b"\n")
            if not any(prefix.startswith(partial[: len(prefix)]) for prefix in _NOISE_PREFIXES):
                complete, newline, partial = complete + newline, partial, b""
            _write(target, _NOISE.sub(b"", complete + newline))
        _write(target, _NOISE.sub(b"", partial))
    except OSError:  # `target` was closed, so no more output can be written
        return
    finally:
        os.close(source)
        os.close(target)


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]

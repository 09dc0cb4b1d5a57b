"""Configure, start and stop Spark sessions: on this machine, on a cluster, or through Spark Connect."""

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
from kgtui.pipeline import requirements, s3
from kgtui.pipeline.code_archive import ship_code
from kgtui.private_files import owner_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from kgtui.lake.store import LakePath

SECRETS = r"(?i)secret|password|passwd|token|credential|access[.]?key|jaas|private|kafka[.](sasl|ssl)[.]"
"""Regular expression for secrets. Spark hides options whose name or value matches it from query plans, web UI and logs.

All options of logins and TLS are hidden, because any of them may contain a reference that was replaced by a secret.
"""

_LOG4J_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_STOP_TIMEOUT = 10.0
"""Maximum time to wait when a session is stopped, in seconds: first for calls to the JVM, then for the JVM to exit."""

_IN_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Environment variable that is set in programs that `spark-submit` runs."""

_NOISE = re.compile(
    rb"(?m)^(?:WARNING: Using incubator modules: "
    rb"|Streaming ForeachBatch worker (?:is starting|Started|Completed) )[^\n]*(?:\n|\Z)"
)
"""Lines on the JVM's standard error that are not shown to users.

Every JVM that Spark starts prints the line about incubator modules. Spark Connect prints lines about ForeachBatch when
a streaming query starts, and for each batch. The lines about queries contain the server's secret token.
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
        # With umask 077, only the owner may read the files that Spark writes into a lake.
        "spark.hadoop.fs.permissions.umask-mode": "077",
        "spark.databricks.delta.snapshotPartitions": "2",
        # For each small table in a join, Spark allocates a page of memory that is freed only by garbage collection.
        # Without this limit, a page may be as large as 64 MB.
        "spark.buffer.pageSize": "2m",
        # When enabled, this option adds line numbers of Python code to errors, but costs five JVM calls per expression.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    if folder is not None:
        options["spark.local.dir"] = folder
    return options


def loopback_options() -> dict[str, str]:
    """Return the configuration that makes a local Spark listen on the loopback interface only."""
    return dict.fromkeys(
        ("spark.driver.bindAddress", "spark.driver.host", "spark.connect.grpc.binding.address"), "127.0.0.1"
    )


def session_options(partitions: int | None = None) -> dict[str, str]:
    """Return the configuration of every session, local or through Spark Connect.

    Args:
        partitions: number of partitions of a shuffle; None for Spark's default.
    """
    options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # These two options replace Spark's defaults: INT96 timestamps, which need more space and have no statistics,
        # and compression with Snappy.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.compression.codec": "zstd",
        # Without this option, Spark's Kafka source silently returns no records of internal topics, such as
        # `__consumer_offsets`.
        "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true",
        "spark.sql.redaction.options.regex": SECRETS,
        "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
        # The JIT compiler of the JVM skips methods with more than 8,000 bytes of bytecode, so Spark must not generate
        # them.
        "spark.sql.codegen.hugeMethodLimit": "8000",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }
    if partitions is not None:
        options["spark.sql.shuffle.partitions"] = str(partitions)
    return options


def _local_threads(target: str) -> int | None:
    """Return the number of threads of a local master such as `local[4]`; None if the master is not local.

    The number of threads is also used as the number of shuffle partitions.
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
        master: Spark's master URL; `local[*]` if neither this nor `remote` is given. If `spark-submit` runs this
            program, the master of `spark-submit` is used instead.
        remote: `sc://HOST:PORT` of a Spark Connect server, or `local[N]` to start a server in this process's JVM.
        lake: path of the lake. If it is in S3, Spark gets the jars, the address and the credentials for S3. A Spark
            Connect server must have them already.
        options: configuration that overrides the defaults.
        on_progress: called with a message for the user before each slow step.

    Raises:
        SparkError: PySpark, Java or a jar is missing or has the wrong version, or the server does not respond.
    """
    requirements.check_pyspark()
    silence_py4j_logging()
    if _IN_SPARK_SUBMIT in os.environ:
        return _start_submitted(session_options() | dict(options or {}), on_progress)
    target = remote or master or "local[*]"
    if target.startswith("local"):
        # A local Spark runs this Python interpreter. A Spark cluster runs the `python3` on the PATH of its workers,
        # because the path of the interpreter may differ there.
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
        # Spark always creates its warehouse folder, although kgtui writes nothing into it. Without this option, Spark
        # would create the folder in the working directory.
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
    """Return the path of the jar with the decoder in Java; `()` if the jar does not exist and cannot be made."""
    from kgtui.pipeline.jvm_decoder import decoder_jar

    try:
        return (decoder_jar(),)
    except SparkError as error:
        if on_progress is not None:
            on_progress(str(error))
        return ()


def _enable_decoder(spark: SparkSession, on_progress: Callable[[str], None] | None) -> None:
    """Let the session use the decoder in Java, or report that the session decodes records more slowly without it."""
    from kgtui.pipeline.jvm_decoder import enable_decoder

    if not enable_decoder(spark) and on_progress is not None:
        on_progress(
            "this Spark has no decoder of kgtui, so records are decoded with Spark expressions and Python, which needs "
            "about twice as much CPU time"
        )


def _start_submitted(options: Mapping[str, str], on_progress: Callable[[str], None] | None) -> SparkSession:
    """Start a session in a program that `spark-submit` runs, after it has set the master, the jars and the memory."""
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
    """Start a JVM, and in this JVM a session that uses the given Spark master."""
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
    """Connect to the Spark Connect server at `url`, and return a new session."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(url).appName("kgtui")
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        with owner_only(), filtered_jvm_stderr(), warnings.catch_warnings():
            # Hide a warning: PySpark tries to set the static options for the session, which fails if this process has
            # started the Spark Connect server, because the server already has these options.
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
    """Return the first line of a Spark error's text; the lines after it are the JVM's stack trace."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def stop(spark: SparkSession) -> None:
    """Stop a session, and wait for the exit of the JVM if this process started one."""
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
    """Call `work`, which makes calls to the JVM, in a new thread, and wait at most `_STOP_TIMEOUT`.

    Errors of `work` are ignored. A new thread is needed because Py4J has one connection per thread: if an interrupt has
    ended a call in this thread early, the next call in this thread would receive the response to the interrupted call.
    """

    def ignore_errors() -> None:
        with suppress(Exception):  # `work` fails if the JVM has exited already
            work()

    thread = threading.Thread(target=ignore_errors, daemon=True)
    thread.start()
    thread.join(_STOP_TIMEOUT)


def silence_py4j_logging() -> None:
    """Hide all log messages of Py4J. No error is lost, because Py4J also raises the errors of its calls.

    Otherwise, a user would see stack traces when kgtui exits, because a background thread of Py4J releases JVM objects
    and logs an error if the JVM has already exited.
    """
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger().addFilter(_is_not_from_py4j)  # Py4J also logs stack traces to the root logger; drop them


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def filtered_jvm_stderr() -> Iterator[None]:
    """Remove `_NOISE` from the standard error of processes that are started in this context.

    The noise is removed until these processes exit, even after the end of the context.
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
    """Copy bytes from one file descriptor to another, except for `_NOISE`, until the source is closed."""
    partial = b""  # an unfinished line, which is held back while it may still become a line of `_NOISE`
    try:
        while chunk := os.read(source, _CHUNK_BYTES):
            complete, newline, partial = (partial + chunk).rpartition(b"\n")
            if not any(prefix.startswith(partial[: len(prefix)]) for prefix in _NOISE_PREFIXES):
                complete, newline, partial = complete + newline, partial, b""
            _write(target, _NOISE.sub(b"", complete + newline))
        _write(target, _NOISE.sub(b"", partial))
    except OSError:  # the target was closed, so nobody can read more output
        return
    finally:
        os.close(source)
        os.close(target)


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]

"""Spark, started in this process or reached through Spark Connect, with all of its configuration."""

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
from kgtui.pipeline import jars
from kgtui.pipeline.requirements import bare, check_home, check_java, check_pyspark, check_release, check_server
from kgtui.pipeline.stderr import without_noise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

SECRETS = r"(?i)secret|password|passwd|token|credential|access[.]?key|jaas|keystore[.]key|private"
"""Options whose names or values match are shown as redacted: in plans, in the web UI and in logs."""

_LOGGING = Path(__file__).with_name("log4j2.properties")
_STOP_PATIENCE = 10.0


def local_options(folder: str | None = None) -> dict[str, str]:
    """Configuration of a session whose JVM is started here.

    Args:
        folder: where Spark spills to; the system's temporary folder if not given.
    """
    options = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{_LOGGING}",
        "spark.driver.memory": os.environ.get("KGTUI_SPARK_MEMORY") or "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.redaction.regex": SECRETS,
        # Files of a lake are for their owner alone.
        "spark.hadoop.fs.permissions.umask-mode": "077",
        "spark.databricks.delta.snapshotPartitions": "2",
        # Each small table that is joined takes a page, by itself up to 64 MB, until the collector finds it.
        "spark.buffer.pageSize": "2m",
        # Where in Python each expression was made, for messages: five calls of the JVM for each of thousands.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    if folder is not None:
        options["spark.local.dir"] = folder
    return options


def loopback_options() -> dict[str, str]:
    """Configuration of a Spark that is all on this machine: nobody else reaches it."""
    return dict.fromkeys(
        ("spark.driver.bindAddress", "spark.driver.host", "spark.connect.grpc.binding.address"), "127.0.0.1"
    )


def session_options(partitions: int | None = None) -> dict[str, str]:
    """Configuration that any session takes, through Spark Connect too.

    Args:
        partitions: of a shuffle; Spark's own choice if not given.
    """
    options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # Without it the Kafka source sees no internal topic, and says nothing.
        "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true",
        "spark.sql.redaction.options.regex": SECRETS,
        "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
        # HotSpot never compiles a method of more bytes: what Spark would generate as one is made of many instead.
        "spark.sql.codegen.hugeMethodLimit": "8000",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }
    if partitions is not None:
        options["spark.sql.shuffle.partitions"] = str(partitions)
    return options


def start(
    master: str | None = None,
    remote: str | None = None,
    *,
    options: Mapping[str, str] | None = None,
    say: Callable[[str], None] | None = None,
) -> SparkSession:
    """A session: on this machine (`local[*]`), on a cluster by its master, or through Spark Connect.

    Args:
        master: as Spark takes it.
        remote: `sc://HOST:PORT` of a Spark Connect server, or `local[N]` for one of our own.
        options: configuration that is stronger than ours.
        say: told of what takes long.

    Raises:
        SparkError: PySpark, Java or a jar is missing or of the wrong version, or the server does not answer.
    """
    check_pyspark()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    without_talk_of_py4j()
    elsewhere = remote is not None and not remote.startswith("local")
    place = remote or master or "local[*]"
    configured = session_options(_cores(place))
    if elsewhere:
        check_server(place)
    else:
        check_java()
        check_home()
        configured |= local_options() | {"spark.jars": ",".join(map(str, jars.find(say)))}
        # Spark makes this folder though nothing is ever put there, by default where the program was started.
        configured["spark.sql.warehouse.dir"] = str(Path(tempfile.gettempdir(), f"kgtui-spark-{os.getuid()}"))
        if place.startswith("local"):
            configured |= loopback_options()
    configured |= options or {}
    spark = _remote(remote, configured) if remote is not None else _classic(place, configured)
    if not place.startswith("local"):
        from kgtui.pipeline.shipping import ship

        ship(spark)
    return spark


def without_talk_of_py4j() -> None:
    """Nothing of what Py4J logs is shown: what fails in a call is raised as well.

    It cleans up on the JVM's side in a thread of its own, whose calls fail when the JVM ends in the middle of one.
    """
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger().addFilter(_not_of_py4j)  # to which it logs that, with a stack


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def apart(work: Callable[[], object]) -> None:
    """Do the last calls of some work in a thread of their own, and wait a while for them; whether they fail or not.

    An interrupt may have cut a call to the JVM short, whose answer this thread would take for that of the next one.
    """

    def quietly() -> None:
        with suppress(Exception):  # it may be the JVM's end that ended the work
            work()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(_STOP_PATIENCE)


def end(spark: SparkSession) -> None:
    """Stop a session, and the JVM if one was started for it: nothing of it is left when this returns."""
    from pyspark import SparkContext

    apart(spark.stop)
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    process.stdin.close()  # which it takes for the end of this program
    try:
        process.wait(_STOP_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _classic(master: str, options: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("kgtui")
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        with _owner_only(), without_noise():
            return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise SparkError(f"Spark did not start on {master}: {first_line(error)}") from error


def _remote(url: str, options: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(url).appName("kgtui")
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        with _owner_only(), without_noise(), warnings.catch_warnings():
            # A server of our own gets all of it as it starts; PySpark then tries to set it on the session as well.
            warnings.filterwarnings("ignore", message="Failed to set")
            spark = builder.getOrCreate()
            found = spark.version
    except (PySparkException, OSError, RuntimeError) as error:
        raise SparkError(f"no session from the Spark Connect server at {bare(url)}: {first_line(error)}") from error
    try:
        check_release(found, url)
    except SparkError:
        spark.stop()
        raise
    return spark


def first_line(error: BaseException) -> str:
    """What an error of Spark says, without the stack of the JVM."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _cores(place: str) -> int | None:
    """Partitions of a shuffle on this machine: as many as there are threads; None elsewhere."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", place)
    if found is None:
        return None
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)


@contextmanager
def _owner_only() -> Iterator[None]:
    """A JVM started meanwhile makes files for their owner alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)

"""Spark, started in this process or reached through Spark Connect, with all of its configuration.

What a session needs is checked first, since a JVM's own words for it help nobody.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.errors import SparkError
from kgtui.pipeline import jars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

PYSPARK = "4.2.0"
"""The one version that Delta Lake's and Kafka's jars fit."""

OLDEST_JAVA = 17

SECRETS = r"(?i)secret|password|passwd|token|credential|access[.]?key|jaas|keystore[.]key|private"
"""Options whose names or values match are shown as redacted: in plans, in the web UI and in logs."""

_LOGGING = Path(__file__).with_name("log4j2.properties")
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JAVA_PATIENCE = 30.0
_SERVER_PATIENCE = 15.0
_CORE = re.compile(r"spark-core_[\d.]+-(.+)\.jar")


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
    }
    if folder is not None:
        options["spark.local.dir"] = folder
    return options


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
        configured["spark.sql.warehouse.dir"] = _passing_folder()
    configured |= options or {}
    spark = _remote(remote, configured) if remote is not None else _classic(place, configured)
    if not place.startswith("local"):
        from kgtui.pipeline.shipping import ship

        ship(spark)
    return spark


def check_pyspark() -> None:
    """Make sure that the PySpark is the one that fits. Raises `SparkError`."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        raise SparkError("the pipeline needs PySpark: pip install 'kgtui[spark]'") from None
    if found != PYSPARK:
        raise SparkError(
            f"the pipeline needs PySpark {PYSPARK}, this is {found}: pip install 'kgtui[spark]' brings the one that "
            "Delta Lake and the Kafka source fit"
        )
    try:
        import grpc  # noqa: F401 - Spark Connect's client, part of the extra as pandas and pyarrow are
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise SparkError(f"the pipeline needs {error.name}: pip install 'kgtui[spark]'") from error


def check_java() -> None:
    """Make sure that there is a Java that Spark runs on. Raises `SparkError`."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    need = f"Spark needs Java {OLDEST_JAVA} or newer"
    if java is None:
        raise SparkError(f"{need}, and there is no java on PATH and no JAVA_HOME; or name a server with --remote")
    try:
        # Its version goes to standard error.
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_JAVA_PATIENCE, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        where = f"JAVA_HOME is {home}, but " if home else ""
        raise SparkError(f"{need}: {where}{java} does not run: {error}") from error
    found = _JAVA_VERSION.search(said.stderr)
    if said.returncode or found is None:
        raise SparkError(f"{need}: {java} -version does not tell one")
    if int(found[1]) < OLDEST_JAVA:
        raise SparkError(f"{need}, {java} is Java {found[1]}: name a newer one in JAVA_HOME")


def check_home() -> None:
    """Make sure that `SPARK_HOME`, where a JVM is started from, holds no other Spark. Raises `SparkError`."""
    home = os.environ.get("SPARK_HOME")
    if not home:
        return
    found = [name[1] for path in Path(home, "jars").glob("spark-core_*.jar") if (name := _CORE.fullmatch(path.name))]
    if found != [PYSPARK]:
        held = f"holds Spark {found[0]}" if found else "holds no Spark"
        raise SparkError(f"the pipeline needs Spark {PYSPARK}, and SPARK_HOME, {home}, {held}: unset SPARK_HOME")


def check_server(url: str) -> None:
    """Make sure that a Spark Connect server answers: its client would try for ten minutes. Raises `SparkError`."""
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder

    try:
        channel = DefaultChannelBuilder(url).toChannel()
    except (PySparkException, ValueError) as error:
        raise SparkError(f"--remote takes an address such as sc://spark:15002, not {_bare(url)}") from error
    try:
        grpc.channel_ready_future(channel).result(timeout=_SERVER_PATIENCE)
    except grpc.FutureTimeoutError:
        raise SparkError(
            f"no Spark Connect server answers at {_bare(url)} within {_SERVER_PATIENCE:g} s: check the address, and "
            "use_ssl=true where it wants TLS"
        ) from None
    finally:
        channel.close()


def _passing_folder() -> str:
    """A folder that is gone when the program ends."""
    folder = tempfile.mkdtemp(prefix="kgtui-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _classic(master: str, options: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("kgtui")
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        with _owner_only():
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
        with _owner_only(), warnings.catch_warnings():
            # A server of our own gets all of it as it starts; PySpark then tries to set it on the session as well.
            warnings.filterwarnings("ignore", message="Failed to set")
            spark = builder.getOrCreate()
            found = spark.version
    except (PySparkException, OSError, RuntimeError) as error:
        raise SparkError(f"no session from the Spark Connect server at {_bare(url)}: {first_line(error)}") from error
    if _release(found) < _release(PYSPARK):
        spark.stop()
        raise SparkError(f"the pipeline needs Spark {PYSPARK} or newer, the server at {_bare(url)} is Spark {found}")
    return spark


def first_line(error: BaseException) -> str:
    """What an error of Spark says, without the stack of the JVM."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _release(version: str) -> tuple[int, ...]:
    """What comes before the patch level."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _bare(url: str) -> str:
    """The address without parameters: one of them is a token."""
    return url.split(";", 1)[0]


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

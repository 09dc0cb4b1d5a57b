"""What a session needs, looked at before a JVM is started, whose own words for what is missing help nobody."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kgtui.errors import SparkError

PYSPARK = "4.2.0"
"""The one version that Delta Lake's and Kafka's jars fit."""

OLDEST_JAVA = 17

_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JAVA_PATIENCE = 30.0
_SERVER_PATIENCE = 15.0
_CORE = re.compile(r"spark-core_[\d.]+-(.+)\.jar")


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
        raise SparkError(f"{need}: {java} -version says {_first_words(said.stderr or said.stdout)}")
    if int(found[1]) < OLDEST_JAVA:
        raise SparkError(f"{need}, {java} is Java {found[1]}: name a newer one in JAVA_HOME")


def _first_words(said: str) -> str:
    """The first line of what a JVM says, such as what macOS wants to be installed, or which option it does not know.

    Options that it took from the environment are left out: they may hold secrets.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("Picked up ")]
    return lines[0] if lines else "nothing"


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
        raise SparkError(f"--remote takes an address such as sc://spark:15002, not {bare(url)}") from error
    try:
        grpc.channel_ready_future(channel).result(timeout=_SERVER_PATIENCE)
    except grpc.FutureTimeoutError:
        raise SparkError(
            f"no Spark Connect server answers at {bare(url)} within {_SERVER_PATIENCE:g} s: check the address, and "
            "use_ssl=true where it wants TLS"
        ) from None
    finally:
        channel.close()


def check_release(found: str, url: str) -> None:
    """Make sure that a Spark Connect server is new enough. Raises `SparkError`."""
    if _release(found) < _release(PYSPARK):
        raise SparkError(f"the pipeline needs Spark {PYSPARK} or newer, the server at {bare(url)} is Spark {found}")


def bare(url: str) -> str:
    """The address of a server without parameters: one of them is a token."""
    return url.split(";", 1)[0]


def _release(version: str) -> tuple[int, ...]:
    """What comes before the patch level."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])

"""Check PySpark, Java and the Spark Connect server, and find or download jars for Spark.

The checks run before Spark is started, because Spark's own errors do not say clearly what is
missing. At module level, no third-party library is imported, so that the checks also run if PySpark
is not installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from base64 import b64encode
from dataclasses import dataclass
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from kgtui.errors import SparkError
from kgtui.model.number_format import counted
from kgtui.model.paths import expanded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PYSPARK = "4.2.0"
"""The PySpark version that the pipeline needs.

The versions of Delta Lake and of Spark's Kafka source in `JARS` work only with this version.
"""

OLDEST_JAVA = 17
"""Oldest Java version that Spark runs on."""

JARS_VARIABLE = "KGTUI_SPARK_JARS"
"""Environment variable with the path of a folder with jars for Spark.

kgtui searches for jars first in this folder, and then in its own cache folder.
"""

REPOSITORY_VARIABLE = "KGTUI_MAVEN_REPOSITORY"
"""Environment variable with the URL of a Maven repository.

If the variable is set, jars are downloaded from this repository, and not from Maven Central.
"""

_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JAVA_TIMEOUT = 30.0
_SERVER_TIMEOUT = 15.0
_SPARK_CORE_JAR = re.compile(r"spark-core_[\d.]+-(.+)\.jar")

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
_DOWNLOAD_TIMEOUT = 30.0
_CHUNK_BYTES = 1 << 20


def check_pyspark() -> None:
    """Check that the required version of PySpark is installed, with its dependencies.

    Raises `SparkError` otherwise.
    """
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        raise SparkError(
            "the pipeline needs PySpark, which is not installed. Run: pip install 'kgtui[spark]'"
        ) from None
    if found != PYSPARK:
        raise SparkError(
            f"the pipeline needs PySpark {PYSPARK}, but {found} is installed. Run pip install 'kgtui[spark]', which "
            "installs the version that Delta Lake and the Kafka source work with"
        )
    try:
        import grpc  # noqa: F401 - needed by the client of Spark Connect
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise SparkError(
            f"the pipeline needs {error.name}, which is not installed. Run: pip install 'kgtui[spark]'"
        ) from error


def find_java() -> str | None:
    """Return the path of the program `java`.

    If the environment variable `JAVA_HOME` is set, the program is in the folder `bin` there.
    Otherwise, the program is searched on the PATH; the result is None if it is not found.
    """
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def check_java() -> None:
    """Check that Java is new enough for Spark. Raises `SparkError`."""
    home, java = os.environ.get("JAVA_HOME"), find_java()
    need = f"Spark needs Java {OLDEST_JAVA} or newer"
    if java is None:
        raise SparkError(
            f"{need}, but there is no java on PATH and JAVA_HOME is not set. Install Java, or use a Spark Connect "
            "server with --remote"
        )
    try:
        # `java -version` prints to standard error.
        result = subprocess.run(  # noqa: S603
            [java, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = f"{java} does not run: {error}"
        if home:
            problem = f"JAVA_HOME is {home}, but {problem}"
        raise SparkError(f"{need}: {problem}") from error
    found = _JAVA_VERSION.search(result.stderr)
    if result.returncode or found is None:
        output = _first_output_line(result.stderr or result.stdout)
        raise SparkError(f"{need}, but the version is not known, because `{java} -version` printed: {output}")
    if int(found[1]) < OLDEST_JAVA:
        raise SparkError(f"{need}, but {java} is Java {found[1]}: set JAVA_HOME to a newer Java")


def _first_output_line(output: str) -> str:
    """Return the first nonempty line of a JVM's output; the word `nothing` if there is none.

    Lines that begin with "Picked up" are skipped. They contain options of the JVM, and options can
    contain secrets.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("Picked up ")]
    return lines[0] if lines else "nothing"


def check_spark_home() -> None:
    """Check the Spark version in the folder `SPARK_HOME`. Raises `SparkError` if it is wrong.

    If this environment variable is set, PySpark starts the Spark in this folder.
    """
    home = os.environ.get("SPARK_HOME")
    if not home:
        return
    names = [path.name for path in Path(home, "jars").glob("spark-core_*.jar")]
    found = [match[1] for name in names if (match := _SPARK_CORE_JAR.fullmatch(name))]
    if found != [PYSPARK]:
        version = f"Spark {found[0]}" if found else "no Spark"
        raise SparkError(
            f"the pipeline needs Spark {PYSPARK}, but SPARK_HOME ({home}) contains {version}: unset SPARK_HOME"
        )


def check_connect_server(url: str) -> None:
    """Check that a Spark Connect server responds within 15 seconds. Raises `SparkError` otherwise.

    Without this check, PySpark would wait ten minutes for the server.
    """
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder

    try:
        channel = DefaultChannelBuilder(url).toChannel()
    except (PySparkException, ValueError) as error:
        raise SparkError(
            f"--remote takes an address such as sc://spark:15002, not {without_parameters(url)}"
        ) from error
    try:
        grpc.channel_ready_future(channel).result(timeout=_SERVER_TIMEOUT)
    except grpc.FutureTimeoutError:
        raise SparkError(
            f"no Spark Connect server answers at {without_parameters(url)} within {_SERVER_TIMEOUT:g} s: check the "
            "address, and add ;use_ssl=true if the server requires TLS"
        ) from None
    finally:
        channel.close()


def check_server_version(found: str, url: str) -> None:
    """Check that a Spark Connect server is new enough. Raises `SparkError` otherwise.

    Args:
        found: Spark version of the server.
        url: URL of the server, for the error message.
    """
    if _release(found) < _release(PYSPARK):
        raise SparkError(
            f"the pipeline needs Spark {PYSPARK} or newer, but the server at {without_parameters(url)} runs Spark "
            f"{found}"
        )


def without_parameters(url: str) -> str:
    """Return a Spark Connect URL without its parameters, which may contain a secret token."""
    return url.split(";", 1)[0]


def _release(version: str) -> tuple[int, ...]:
    """Return the major and the minor number of a version, such as (4, 2) for 4.2.0."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


@dataclass(frozen=True, slots=True)
class Jar:
    """Maven coordinates and SHA-256 of one jar."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Path of the jar in a Maven repository."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file}"


JARS = (
    Jar(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.2.0",
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Jar(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.0.0",
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    Jar(
        "org.apache.kafka",
        "kafka-clients",
        "3.9.2",
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Jar(
        "org.apache.commons",
        "commons-pool2",
        "2.13.1",
        "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
    ),
    Jar(
        "io.delta",
        "delta-spark_4.2_2.13",
        "4.4.0",
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar(
        "io.delta",
        "delta-storage",
        "4.4.0",
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
)
"""Jars that the pipeline needs, but that are not part of PySpark.

The first four jars are for Spark's Kafka source, and the last two are for Delta Lake.
"""


def jar_cache() -> Path:
    """Return the folder for downloaded jars: `spark-jars` in kgtui's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return expanded(base, "XDG_CACHE_HOME: ") / "kgtui" / "spark-jars"


def find_jars(on_progress: Callable[[str], None] | None = None, further: tuple[Jar, ...] = ()) -> tuple[Path, ...]:
    """Return the paths of all `JARS` and of the jars in `further`. Missing jars are downloaded.

    Jars are searched in the folder `JARS_VARIABLE`, in kgtui's cache folder, and in PySpark.

    Args:
        on_progress: called with a message for the user before a download.

    Raises:
        SparkError: some jars cannot be downloaded.
    """
    # Do not let Spark download the jars (option `spark.jars.packages`), because Spark would need
    # access to a Maven repository even if all jars are already in a folder.
    folders = _jar_folders()
    found = {jar: _find_in(folders, jar) for jar in (*JARS, *further)}
    missing = [jar for jar, path in found.items() if path is None]
    if missing:
        if on_progress is not None:
            on_progress(f"downloading {counted(len(missing), 'jar')} for Spark into {jar_cache()}")
        found.update(download_jars(missing, jar_cache()))
    return tuple(path for path in found.values() if path is not None)


def download_jars(jars: Iterable[Jar], into: Path) -> dict[Jar, Path]:
    """Download jars into a folder, and verify their checksums. Raises `SparkError` if this fails.

    The jars come from the Maven repository that the environment variable `REPOSITORY_VARIABLE`
    names or, if it is not set, from Maven Central.

    Returns:
        Dict: jar → path of the downloaded file.
    """
    url = (os.environ.get(REPOSITORY_VARIABLE) or MAVEN_CENTRAL).rstrip("/")
    repository, credentials = _split_credentials(url)
    requested = list(jars)
    done: dict[Jar, Path] = {}
    try:
        into.mkdir(parents=True, exist_ok=True)
        for jar in requested:
            done[jar] = _download(f"{repository}/{jar.path}", credentials, jar, into)
    except (OSError, ValueError, HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        missing = [jar for jar in requested if jar not in done]
        raise SparkError(_missing_jars(missing, into, repository, error)) from error
    return done


def _split_credentials(url: str) -> tuple[str, str]:
    """Return a pair: the URL without credentials, and the credentials as `user:password`.

    The credentials are empty if the URL contains none.
    """
    parts = urlsplit(url)
    credentials, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=host)), unquote(credentials)


def _download(url: str, credentials: str, jar: Jar, into: Path) -> Path:
    if not url.startswith(("https://", "http://", "file://")):
        raise ValueError(f"{REPOSITORY_VARIABLE} must begin with https://, http:// or file://")
    request = urllib.request.Request(url)  # noqa: S310 - checked above
    if credentials:
        # If the repository redirects to a different server, that server must not get the
        # credentials. Therefore, send them in an unredirected header, which urllib does not send to
        # that server.
        request.add_unredirected_header("Authorization", f"Basic {b64encode(credentials.encode()).decode()}")
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=into, prefix=f".{jar.artifact}.", delete=False) as draft:
        try:
            with urllib.request.urlopen(request, timeout=_DOWNLOAD_TIMEOUT) as response:  # noqa: S310 - checked above
                while chunk := response.read(_CHUNK_BYTES):
                    digest.update(chunk)
                    draft.write(chunk)
            _check_digest(jar, digest.hexdigest())
            Path(draft.name).chmod(0o644)
            return Path(draft.name).replace(into / jar.file)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise


def _check_digest(jar: Jar, sha256: str) -> None:
    if sha256 != jar.sha256:
        raise ValueError(f"the SHA-256 of {jar.file} is wrong: the file is not the released jar")


def _jar_folders() -> list[Path]:
    folders = [jar_cache()]
    if named := os.environ.get(JARS_VARIABLE):
        folders.insert(0, expanded(named, f"{JARS_VARIABLE}: "))
    if (of_pyspark := pyspark_jars()) is not None:
        folders.append(of_pyspark)
    return folders


def pyspark_jars() -> Path | None:
    """Return the folder with PySpark's own jars; None if PySpark is not installed."""
    pyspark = find_spec("pyspark")
    if pyspark is None or not pyspark.submodule_search_locations:
        return None
    return Path(pyspark.submodule_search_locations[0]) / "jars"


def _find_in(folders: Iterable[Path], jar: Jar) -> Path | None:
    return next((folder / jar.file for folder in folders if (folder / jar.file).is_file()), None)


def _missing_jars(missing: list[Jar], into: Path, repository: str, error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) and not hasattr(error, "code") else error
    names = ", ".join(jar.file for jar in missing)
    return (
        f"Spark needs {names}, which could not be downloaded from {repository}: {reason}. Put these files into {into}; "
        f"or put them into another folder and set {JARS_VARIABLE} to it; or set {REPOSITORY_VARIABLE} to the URL of a "
        "Maven repository that can be reached from here"
    )

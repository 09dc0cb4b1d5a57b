"""The six jars beside PySpark: four of Spark's Kafka source, two of Delta Lake. Found, or fetched and checked.

An explicit list, because resolving them by `spark.jars.packages` needs every one at the same version in one
repository. Standard library alone.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.errors import SparkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FOLDER_VARIABLE = "KGTUI_SPARK_JARS"
"""Environment: a folder to look into first."""

REPOSITORY_VARIABLE = "KGTUI_MAVEN_REPOSITORY"
"""Environment: a Maven repository in place of Maven Central."""

_CENTRAL = "https://repo1.maven.org/maven2"
_TIMEOUT = 30.0
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar, as Maven repositories name it."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """Its file name."""
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Where it lies in a repository."""
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
"""All that a local session needs."""


def cache() -> Path:
    """Where fetched jars are kept: `spark-jars` in kgtui's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "kgtui" / "spark-jars"


def find(say: Callable[[str], None] | None = None) -> tuple[Path, ...]:
    """The paths of all jars; those that are nowhere are fetched into the cache.

    Raises `SparkError` that names the jars that are missing and where they may be put.
    """
    folders = _folders()
    found = {jar: _in(folders, jar) for jar in JARS}
    missing = [jar for jar, path in found.items() if path is None]
    if missing:
        if say is not None:
            say(f"fetching {len(missing)} jars for Spark into {cache()}")
        fetched = fetch(missing, cache())
        found.update(fetched)
    return tuple(path for path in found.values() if path is not None)


def fetch(jars: Iterable[Jar], into: Path) -> dict[Jar, Path]:
    """Fetch jars from the repository and check what came. Raises `SparkError` as `find`."""
    repository = (os.environ.get(REPOSITORY_VARIABLE) or _CENTRAL).rstrip("/")
    wanted = list(jars)
    got: dict[Jar, Path] = {}
    try:
        into.mkdir(parents=True, exist_ok=True)
        for jar in wanted:
            got[jar] = _fetch(f"{repository}/{jar.path}", jar, into)
    except (OSError, ValueError) as error:
        lacking = [jar for jar in wanted if jar not in got]
        raise SparkError(_advice(lacking, into, repository, error)) from error
    return got


def _fetch(url: str, jar: Jar, into: Path) -> Path:
    if not url.startswith(("https://", "http://", "file://")):
        raise ValueError(f"{REPOSITORY_VARIABLE} must begin with https://, http:// or file://")
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=into, prefix=f".{jar.artifact}.", delete=False) as draft:
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310 - the scheme was looked at
                while chunk := answer.read(_CHUNK):
                    digest.update(chunk)
                    draft.write(chunk)
            _check(jar, digest.hexdigest())
            Path(draft.name).chmod(0o644)
            return Path(draft.name).replace(into / jar.file)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise


def _check(jar: Jar, sha256: str) -> None:
    if sha256 != jar.sha256:
        raise ValueError(f"{jar.file} from there is not the released one: its SHA-256 differs")


def _folders() -> list[Path]:
    """Where jars may lie, in the order in which they are looked for."""
    folders = [cache()]
    if named := os.environ.get(FOLDER_VARIABLE):
        folders.insert(0, Path(named).expanduser())
    pyspark = find_spec("pyspark")
    if pyspark is not None and pyspark.submodule_search_locations:
        folders.append(Path(pyspark.submodule_search_locations[0]) / "jars")
    return folders


def _in(folders: Iterable[Path], jar: Jar) -> Path | None:
    return next((folder / jar.file for folder in folders if (folder / jar.file).is_file()), None)


def _advice(missing: list[Jar], into: Path, repository: str, error: Exception) -> str:
    why = error.reason if isinstance(error, urllib.error.URLError) and not hasattr(error, "code") else error
    names = ", ".join(jar.file for jar in missing)
    return (
        f"Spark needs {names}, which could not be fetched from {repository}: {why}. Put them into {into}, or into a "
        f"folder named by {FOLDER_VARIABLE}; or name a Maven repository that can be reached in {REPOSITORY_VARIABLE}"
    )

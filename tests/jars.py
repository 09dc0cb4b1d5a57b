"""Folders with Kafka's own jars, and the Kafka versions that the tests use.

`tests/kafka/fetch.py` downloads the jars into `KGTUI_TEST_CACHE`, by default `~/.cache/kgtui-tests`::

    kafka-4.3.1/*.jar      broker, command line tools, Connect worker and Streams library
    kafka-3.9.2/*.jar      the same programs of Kafka 3.9.2
    kafka-4.2.0/*.jar …    broker and command line tools; one folder for each of `FULL_BROKER_VERSIONS`
    kafka-clients/*.jar    only the clients, for the message schemas inside them
    spark-jars/*.jar       the jars that Spark needs in addition to PySpark
"""

from __future__ import annotations

import os
from pathlib import Path

BROKER_VERSIONS = ("4.3.1", "3.9.2")
"""Kafka versions whose brokers are started in every test run."""

FULL_BROKER_VERSIONS = ("4.4.0", "4.2.0", "4.1.2", "4.0.2")
"""Kafka versions whose brokers are started only by `tests/run --full`, in addition to `BROKER_VERSIONS`."""

ALL_BROKER_VERSIONS = (*BROKER_VERSIONS, *FULL_BROKER_VERSIONS)

_TOOLS_OF_ANOTHER_VERSION = {"4.4.0": "4.3.1"}
"""Kafka version whose command line tools are not in Maven Central → version whose tools are used instead."""

CLIENT_VERSIONS = (
    "2.4.1", "2.8.2", "3.3.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.1", "4.1.2", "4.2.1", "4.4.0",
)  # fmt: skip
"""Kafka versions whose `kafka-clients` jars contain the message schemas that the tests read."""


class JarsMissingError(Exception):
    """Raised if Kafka's jars are not on this machine. The message says how to download them."""


def cache() -> Path:
    """Return the path of the folder that contains all downloaded jars. This function does not create the folder."""
    return Path(os.environ.get("KGTUI_TEST_CACHE") or "~/.cache/kgtui-tests").expanduser()


def folder(version: str) -> Path:
    """Return the path of the folder with all jars for a broker of Kafka `version`.

    Raises:
        JarsMissingError: the jars have not been downloaded, or no test uses a broker of this version.
    """
    found = cache() / f"kafka-{version}"
    if version not in ALL_BROKER_VERSIONS or not found.is_dir():
        option = " --full" if version in FULL_BROKER_VERSIONS else ""
        raise JarsMissingError(_missing(f"the jars of Kafka {version}", found, ALL_BROKER_VERSIONS, option))
    return found


def tools_version(version: str) -> str:
    """Return the version of Kafka's command line tools for a broker of Kafka `version`.

    The two versions differ only if Maven Central lacks the tools of Kafka `version`.
    """
    return _TOOLS_OF_ANOTHER_VERSION.get(version, version)


def clients_version(version: str) -> str:
    """Return the Kafka version of the Java clients that tests run with a broker of Kafka `version`.

    Connect and Streams jars are downloaded only for `BROKER_VERSIONS`. For any other broker, return the newest of these
    versions.
    """
    return version if version in BROKER_VERSIONS else BROKER_VERSIONS[0]


def classpath(version: str) -> str:
    """Return the class path (`java -cp`) with all jars of Kafka `version`.

    Raises:
        JarsMissingError: the jars have not been downloaded.
    """
    return f"{folder(version)}/*"


def spark_folder() -> Path:
    """Return the path of the folder with the jars of Spark's Kafka source and of Delta Lake.

    Raises:
        JarsMissingError: the jars were not downloaded.
    """
    found = cache() / "spark-jars"
    if not found.is_dir():
        raise JarsMissingError(_missing("the jars for Spark", found, ("those of kgtui.pipeline.requirements",)))
    return found


def clients_jar(version: str) -> Path:
    """Return the path of the `kafka-clients` jar of Kafka `version`.

    Raises:
        JarsMissingError: the jar of this version has not been downloaded.
    """
    found = cache() / "kafka-clients" / f"kafka-clients-{version}.jar"
    if not found.is_file():
        raise JarsMissingError(_missing(f"the kafka-clients jar {version}", found, CLIENT_VERSIONS))
    return found


def _missing(what: str, where: Path, versions: tuple[str, ...], option: str = "") -> str:
    command = f"python -m tests.kafka.fetch{option}"
    return (
        f"{what} should be at {where}: run tests/run{option} once, or {command}, which only downloads jars; "
        f"known versions are {', '.join(versions)}"
    )

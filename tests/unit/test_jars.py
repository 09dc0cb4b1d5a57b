"""Tests of the functions that find and fetch the jars of Kafka and Spark for other tests."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from tests import jars, java
from tests.kafka import fetch

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGTUI_TEST_CACHE", str(tmp_path))
    return tmp_path


def test_missing_jars_error_mentions_the_download_command() -> None:
    with pytest.raises(jars.JarsMissingError, match="run tests/run"):
        jars.classpath("4.3.1")
    with pytest.raises(jars.JarsMissingError, match=r"known versions are 2\.4\.1"):
        jars.clients_jar("1.0.0")


def test_class_path_has_all_jars_of_a_kafka_version(cache: Path) -> None:
    (cache / "kafka-4.3.1").mkdir()
    assert jars.classpath("4.3.1") == f"{cache}/kafka-4.3.1/*"


def test_an_interrupted_download_of_jars_leaves_no_incomplete_folder(cache: Path) -> None:
    """An incomplete folder must not remain, because the next test run would use it as if it were complete."""

    def stops_halfway(coordinates: object, into: Path, transitive: bool) -> None:
        (into / "half.jar").write_bytes(b"")
        raise KeyboardInterrupt

    target = cache / "kafka-4.3.1"
    with pytest.raises(KeyboardInterrupt):
        fetch.fill(target, fetch.broker_coordinates("4.3.1"), stops_halfway, transitive=True)
    assert list(cache.iterdir()) == []

    def works(coordinates: object, into: Path, transitive: bool) -> None:
        (into / "all.jar").write_bytes(b"")

    fetch.fill(target, fetch.broker_coordinates("4.3.1"), works, transitive=True)
    assert [path.name for path in cache.rglob("*.jar")] == ["all.jar"]


def test_the_files_for_maven_and_ivy_list_the_same_jars() -> None:
    coordinates = fetch.broker_coordinates("3.9.2")
    project, module = fetch.pom(coordinates, transitive=True), fetch.ivy_module(coordinates, transitive=True)
    for group, artifact, version in coordinates:
        assert f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}<" in project
        assert f'org="{group}" name="{artifact}" rev="{version}"' in module


def test_the_maven_file_excludes_all_dependencies_if_transitive_is_false() -> None:
    """Only the named jars are fetched.

    Their dependencies are excluded, because the Maven repository in use does not necessarily have them.
    """
    coordinates = fetch.spark_coordinates()
    assert fetch.pom(coordinates, transitive=False).count("<exclusion><groupId>*</groupId>") == len(coordinates)
    assert "<exclusion>" not in fetch.pom(coordinates, transitive=True)


@pytest.mark.parametrize(
    "output",
    [
        "[ERROR] Could not find artifact org.apache.kafka:kafka-tools:jar:9.9.9 in central (https://…) -> [Help 1]",
        "[warn] \t:: org.apache.kafka#kafka-tools;9.9.9: not found\n[warn] \t::::",
    ],
    ids=["maven", "ivy"],
)
def test_the_error_of_a_failed_download_mentions_the_missing_jar(output: str) -> None:
    message = fetch.failure(["mvn", "-B"], f"a line\n{output}\nmany other lines")
    assert re.fullmatch(r"The jar repository does not have org\.apache\.kafka.kafka-tools.*9\.9\.9\.", message), message
    assert fetch.failure(["mvn", "-B"], "Connection refused") == "mvn -B … failed:\nConnection refused"


def test_full_test_runs_fetch_the_broker_jars_of_six_kafka_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's command line tools are fetched, too, but not those of 4.4.0, because Maven Central does not have them."""

    archives: list[str] = []

    def fetched(*options: str) -> dict[str, set[str]]:
        targets: dict[str, set[str]] = {}

        def fill(target: Path, coordinates: list[fetch.Coordinate], resolve: object, *, transitive: bool) -> None:
            targets[target.name] = {artifact for _, artifact, _ in coordinates}

        monkeypatch.setattr(fetch, "fill", fill)
        monkeypatch.setattr(java, "write_archive", archives.append)
        monkeypatch.setattr(sys, "argv", ["fetch", "--with", "maven", *options])
        fetch.main()
        return {name: found for name, found in targets.items() if name.startswith("kafka-") and name != "kafka-clients"}

    assert fetched().keys() == {"kafka-4.3.1", "kafka-3.9.2"}
    full = fetched("--full")
    assert full.keys() == {f"kafka-{version}" for version in ("3.9.2", "4.0.2", "4.1.2", "4.2.0", "4.3.1", "4.4.0")}
    assert {name for name, found in full.items() if "kafka-tools" not in found} == {"kafka-4.4.0"}
    assert sorted(archives) == ["3.9.2", "3.9.2", "4.3.1", "4.3.1"]


def test_the_error_about_missing_jars_for_full_runs_mentions_option_full() -> None:
    with pytest.raises(jars.JarsMissingError, match="run tests/run --full once"):
        jars.classpath("4.4.0")


def test_only_the_missing_jar_is_fetched_into_an_existing_folder(cache: Path) -> None:
    wanted = fetch.client_coordinates()
    target = cache / "kafka-clients"
    target.mkdir()
    for _, artifact, version in wanted[1:]:
        (target / f"{artifact}-{version}.jar").write_bytes(b"old")
    asked: list[object] = []

    def resolve(coordinates: object, into: Path, transitive: bool) -> None:
        asked.append(coordinates)
        (into / "kafka-clients-2.4.1.jar").write_bytes(b"new")

    for _ in range(2):
        fetch.fill(target, wanted, resolve, transitive=False)
    assert asked == [wanted[:1]]
    assert (target / "kafka-clients-2.4.1.jar").read_bytes() == b"new"
    assert [path.name for path in cache.iterdir()] == ["kafka-clients"]

"""Tests of finding and fetching Kafka's jars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import jars
from tests.kafka import fetch

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGTUI_TEST_CACHE", str(tmp_path))
    return tmp_path


def test_an_error_for_missing_jars_names_the_fetch_command() -> None:
    with pytest.raises(jars.JarsMissingError, match="run tests/run"):
        jars.classpath("4.3.1")
    with pytest.raises(jars.JarsMissingError, match=r"known versions are 2\.4\.1"):
        jars.clients_jar("1.0.0")


def test_the_class_path_has_every_jar_of_the_version(cache: Path) -> None:
    (cache / "kafka-4.3.1").mkdir()
    assert jars.classpath("4.3.1") == f"{cache}/kafka-4.3.1/*"


def test_interrupted_download_leaves_no_folder(cache: Path) -> None:
    """A later run would take an incomplete folder for a complete one."""

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


def test_maven_and_ivy_files_have_the_same_coordinates() -> None:
    coordinates = fetch.broker_coordinates("3.9.2")
    project, module = fetch.pom(coordinates, transitive=True), fetch.ivy_module(coordinates, transitive=True)
    for group, artifact, version in coordinates:
        assert f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}<" in project
        assert f'org="{group}" name="{artifact}" rev="{version}"' in module


def test_dependencies_are_not_resolved_by_default() -> None:
    """Dependencies are excluded, because a repository may have the jar but not its dependencies."""
    coordinates = fetch.spark_coordinates()
    assert fetch.pom(coordinates, transitive=False).count("<exclusion><groupId>*</groupId>") == len(coordinates)
    assert "<exclusion>" not in fetch.pom(coordinates, transitive=True)


def test_a_new_version_is_fetched_into_the_existing_folder(cache: Path) -> None:
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

"""Tests of `tests/java.py`, which compiles and starts the Java programs that other tests need."""

from __future__ import annotations

import os
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests import jars, java
from tests.brokers.process import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
public class Hello {
    public static void main(String[] names) {
        System.out.println("hello " + names[0]);
    }
}
"""


@pytest.fixture
def kafka_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a jar folder of Kafka 4.3.1 with only one fake jar, and return the path of the jar."""
    monkeypatch.setenv("KGTUI_TEST_CACHE", str(tmp_path))
    jar = tmp_path / "kafka-4.3.1" / "kafka.jar"
    jar.parent.mkdir()
    with zipfile.ZipFile(jar, "w") as content:
        content.writestr("version", "4.3.1")
    return jar


def test_a_java_program_is_compiled_again_only_after_a_change(tmp_path: Path, kafka_jar: Path) -> None:
    source = tmp_path / "Hello.java"
    source.write_text(PROGRAM)
    first = java.compiled(str(kafka_jar), source)
    written = first.stat().st_mtime_ns
    assert java.compiled(str(kafka_jar), source) == first
    assert first.stat().st_mtime_ns == written
    source.write_text(PROGRAM.replace("hello", "goodbye"))
    command = [*java.command(jars.classpath("4.3.1"), source), "Anna"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "goodbye Anna\n"
    source.write_text("no Java")
    with pytest.raises(RuntimeError, match=r"Hello\.java cannot be compiled"):
        java.compiled(str(kafka_jar), source)
    assert len(list((tmp_path / "programs").iterdir())) == 2


def test_a_class_data_sharing_archive_is_used_only_with_unchanged_jars(tmp_path: Path, kafka_jar: Path) -> None:
    source = tmp_path / "Hello.java"
    source.write_text(PROGRAM)
    archive = java.archive("4.3.1")
    option = f"-XX:SharedArchiveFile={archive}"
    assert option not in java.command(jars.classpath("4.3.1"), source)
    archive.touch()
    assert option in java.command(jars.classpath("4.3.1"), source)
    assert option not in java.command(str(kafka_jar), source)
    os.utime(kafka_jar, (1, 1))
    assert java.archive("4.3.1") != archive


@pytest.mark.parametrize("version", jars.BROKER_VERSIONS)
def test_the_jvm_loads_kafka_classes_from_the_class_data_sharing_archive(version: str, tmp_path: Path) -> None:
    assert java.archive(version).is_file(), "run tests/run --setup, which writes the archive"
    log, tool = tmp_path / "classes.log", "kafka.tools.StorageTool"
    command = java.command(jars.classpath(version), SOURCES / "Launch.java", [f"-Xlog:class+load:file={log}"])
    # The write end of the pipe stays open, because the Java program exits as soon as its standard input is closed.
    reader, writer = os.pipe()
    subprocess.run([*command, tool, "random-uuid"], stdin=reader, capture_output=True, check=True)
    os.close(reader)
    os.close(writer)
    (line,) = [line for line in log.read_text().splitlines() if f" {tool} source:" in line]
    assert "shared objects file (top)" in line

"""Tests of `decoder_jar`, which compiles kgtui's record decoder for Spark from Java source code."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import SparkError
from kgtui.pipeline import session
from kgtui.pipeline.jvm_decoder import decoder_jar

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a folder that replaces the user's cache folder. The folder does not exist yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return folder


def use_java(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Create a fake JDK in `folder`, whose `java` is the shell script `script`. Set `JAVA_HOME` to this JDK."""
    java = folder / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder / "jdk"))


def test_java_decoder_is_compiled_only_once_into_a_jar_in_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = decoder_jar()
    assert jar.parent == cache / "kgtui" / "spark-jars"
    names = zipfile.ZipFile(jar).namelist()
    assert {"kgtui/spark/DecoderCatalog.class", "kgtui/spark/RecordDecoder.class", "kgtui/spark/tables.tsv"} <= {*names}
    use_java(monkeypatch, tmp_path, "exit 1")
    assert decoder_jar() == jar
    assert [path.name for path in jar.parent.iterdir()] == [jar.name]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'DecodeFunction.java, Line 1: no such class' >&2; exit 0", "DecodeFunction.java, Line 1: no such class"),
        ("exit 1", "the compiler printed nothing"),
    ],
)
def test_failed_compilation_of_the_decoder_is_reported_with_the_compiler_output(
    script: str, reason: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_java(monkeypatch, tmp_path, script)
    with pytest.raises(SparkError) as caught:
        decoder_jar()
    assert str(caught.value) == f"the decoder in Java cannot be compiled: {reason}"
    assert list((cache / "kgtui" / "spark-jars").iterdir()) == []


def test_pipeline_continues_after_the_java_decoder_could_not_be_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    messages: list[str] = []
    assert session._decoder_jars(messages.append) == ()
    (message,) = messages
    assert message.startswith("the decoder in Java cannot be compiled: ")

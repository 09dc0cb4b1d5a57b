"""What keeps Spark from starting is told before a JVM is started, with what to do about it."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import SparkError
from kgtui.pipeline import requirements, session
from kgtui.pipeline.requirements import Jar
from kgtui.pipeline.session import pack_code

if TYPE_CHECKING:
    from pathlib import Path


def java(folder: Path, says: str, code: int = 0) -> Path:
    """A `java` that tells a version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n")
    program.chmod(0o755)
    return folder


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkError, match=r"Java 17 or newer.*no java on PATH.*--remote"):
        requirements.check_java()


def test_a_java_home_that_holds_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(SparkError, match=r"JAVA_HOME is .*gone, but .* does not run"):
        requirements.check_java()


@pytest.mark.parametrize("says", ['java version "1.8.0_402"', 'openjdk version "11.0.22" 2024-01-16'])
def test_a_java_that_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, says)))
    with pytest.raises(SparkError, match=r"is Java (8|11): set JAVA_HOME to a newer one"):
        requirements.check_java()


@pytest.mark.parametrize("says", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21" 2023-09-19'])
def test_a_java_that_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, says)))
    requirements.check_java()


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("Picked up JAVA_TOOL_OPTIONS: -Dpassword=s3cret\nno shared library", "says no shared library$"),
        ("", "says nothing$"),
    ],
)
def test_a_java_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, told: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, says, 127)))
    with pytest.raises(SparkError, match=told):
        requirements.check_java()


def test_another_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "version", lambda _: "4.3.0")
    with pytest.raises(
        SparkError, match=r"needs PySpark 4\.2\.0, but 4\.3\.0 is installed\. Run pip install 'kgtui\[spark\]'"
    ):
        requirements.check_pyspark()


def test_no_pyspark() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import importlib.metadata as m\n"
        "def gone(name): raise m.PackageNotFoundError(name)\n"
        "m.version = gone\n"
        "from kgtui.cli import main\n"
        "sys.exit(main(['pipeline', 'run', '--lake', '/nowhere/lake']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "kgtui: the pipeline needs PySpark: pip install 'kgtui[spark]'\n")


def spark_home(folder: Path, *jars: str) -> Path:
    """What another installation of Spark looks like."""
    (folder / "jars").mkdir(parents=True)
    for jar in jars:
        (folder / "jars" / jar).touch()
    return folder


@pytest.mark.parametrize(
    ("jars", "held"), [(["spark-core_2.12-3.5.1.jar", "x.jar"], "Spark 3.5.1"), (["x.jar"], "no Spark")]
)
def test_another_spark_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jars: list[str], held: str
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(spark_home(tmp_path, *jars)))
    with pytest.raises(SparkError, match=rf"needs Spark 4\.2\.0.*contains {held}: unset SPARK_HOME"):
        requirements.check_spark_home()


def test_the_same_spark_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(spark_home(tmp_path, "spark-core_2.13-4.2.0.jar")))
    requirements.check_spark_home()
    monkeypatch.delenv("SPARK_HOME")
    requirements.check_spark_home()


def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's own client would try again for ten minutes."""
    monkeypatch.setattr(requirements, "_SERVER_TIMEOUT", 0.2)
    with pytest.raises(SparkError, match=r"no Spark Connect server answers at sc://127\.0\.0\.1:1/ within 0\.2 s"):
        session.start(remote="sc://127.0.0.1:1/;token=S3cret")


def test_a_server_of_an_older_spark() -> None:
    requirements.check_server_version("4.2.3", "sc://spark")
    requirements.check_server_version("5.0.0-preview1", "sc://spark")
    with pytest.raises(SparkError, match=r"needs Spark 4\.2\.0 or newer, but the server at sc://spark is Spark 3\.5"):
        requirements.check_server_version("3.5.1", "sc://spark;token=S3cret")


@pytest.mark.parametrize("url", ["spark:15002", "http://spark", "sc://", "sc://spark/path"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(SparkError, match="--remote takes an address such as sc://spark:15002"):
        session.start(remote=url)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any jar, and a repository in a folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(requirements.JARS_VARIABLE, raising=False)
    monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, (tmp_path / "maven").as_uri())
    return tmp_path


def in_repository(folder: Path, content: bytes = b"jar") -> Jar:
    jar = Jar("org.example", "thing_2.13", "1.0", hashlib.sha256(b"jar").hexdigest())
    file = folder / "maven" / "org/example/thing_2.13/1.0/thing_2.13-1.0.jar"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return jar


def test_missing_jars_and_no_network_name_the_jars_and_the_places(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, "http://127.0.0.1:9/maven2")
    with pytest.raises(SparkError) as caught:
        requirements.find_jars()
    told = str(caught.value)
    assert all(jar.file in told for jar in requirements.JARS)
    assert "127.0.0.1:9" in told
    assert "refused" in told
    assert str(nowhere / "cache" / "kgtui" / "spark-jars") in told
    assert requirements.JARS_VARIABLE in told
    assert requirements.REPOSITORY_VARIABLE in told


def test_jars_are_fetched_once_and_then_found(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = in_repository(nowhere)
    monkeypatch.setattr(requirements, "JARS", (jar,))
    said: list[str] = []
    (path,) = requirements.find_jars(said.append)
    assert path.read_bytes() == b"jar"
    assert len(said) == 1
    monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, "http://127.0.0.1:9")
    assert requirements.find_jars(said.append) == (path,)
    assert len(said) == 1
    other = nowhere / "named"
    other.mkdir()
    (other / jar.file).write_bytes(b"jar")
    monkeypatch.setenv(requirements.JARS_VARIABLE, str(other))
    assert requirements.find_jars() == (other / jar.file,)


def test_a_jar_that_is_not_the_released_one_is_not_kept(nowhere: Path) -> None:
    jar = in_repository(nowhere, b"something else")
    with pytest.raises(SparkError, match=r"the SHA-256 of thing_2\.13-1\.0\.jar differs"):
        requirements.download_jars([jar], nowhere / "into")
    assert [*(nowhere / "into").iterdir()] == []


def test_a_repository_that_is_no_address(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, "central")
    with pytest.raises(SparkError, match="must begin with https://"):
        requirements.download_jars([in_repository(nowhere)], nowhere / "into")


def test_what_is_shipped_is_enough_to_read_records(tmp_path: Path) -> None:
    """An executor has PySpark and Arrow, and of kgtui what is in the archive; a Connect server runs batches there."""
    pack_code(tmp_path / "kgtui.zip")
    code = (
        f"import sys; sys.path = [p for p in sys.path if p]; sys.path.insert(0, {str(tmp_path / 'kgtui.zip')!r})\n"
        "for name in ('textual', 'aiokafka', 'deltalake', 'msgspec', 'rich', 're2'): sys.modules[name] = None\n"
        "import kgtui.pipeline.jobs.bronze, kgtui.pipeline.jobs.silver\n"
        "import kgtui.pipeline.transforms.record_decoding as r\n"
        "assert 'kgtui.zip' in r.__file__, r.__file__\n"
        "print(r.decode_record(b'\\x00\\x09', None)[1]['reason'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("record type 9 is not known\n", "")


def test_every_secret_of_a_client_is_hidden() -> None:
    for name in (
        "sasl.jaas.config",
        "ssl.keystore.password",
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.truststore.password",
    ):
        assert re.search(session.SECRETS, f"kafka.{name}"), name
    assert not re.search(session.SECRETS, "kafka.bootstrap.servers")

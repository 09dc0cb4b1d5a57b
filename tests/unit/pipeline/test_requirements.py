"""Tests of `requirements`, which checks PySpark, Java, Spark Connect and Spark's jars before the pipeline starts a JVM.

If a requirement is missing or has the wrong version, the error message says what to do.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import SparkError
from kgtui.pipeline import requirements, session
from kgtui.pipeline.requirements import Jar

if TYPE_CHECKING:
    from pathlib import Path


def fake_java(home: Path, output: str, code: int = 0) -> Path:
    """Return a new `JAVA_HOME`, whose `java` prints `output` to stderr and exits with `code`."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{output}' >&2\nexit {code}\n")
    program.chmod(0o755)
    return home


def test_pipeline_reports_that_java_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkError, match=r"Java 17 or newer.*no java on PATH.*--remote"):
        requirements.check_java()


def test_pipeline_reports_a_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(SparkError, match=r"JAVA_HOME is .*gone, but .* does not run"):
        requirements.check_java()


@pytest.mark.parametrize("output", ['java version "1.8.0_402"', 'openjdk version "11.0.22" 2024-01-16'])
def test_pipeline_reports_that_java_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, output)))
    with pytest.raises(SparkError, match=r"is Java (8|11): set JAVA_HOME to a newer Java"):
        requirements.check_java()


@pytest.mark.parametrize("output", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21" 2023-09-19'])
def test_pipeline_accepts_java_17_or_newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, output)))
    requirements.check_java()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("Picked up JAVA_TOOL_OPTIONS: -Dpassword=s3cret\nno shared library", "printed: no shared library$"),
        ("", "printed: nothing$"),
    ],
)
def test_error_message_of_java_is_shown_without_jvm_options_that_may_contain_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str, message: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, output, 127)))
    with pytest.raises(SparkError, match=message):
        requirements.check_java()


def test_pipeline_rejects_every_pyspark_version_except_the_required_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "version", lambda _: "4.3.0")
    message = r"needs PySpark 4\.2\.0, but 4\.3\.0 is installed\. Run pip install 'kgtui\[spark\]'"
    with pytest.raises(SparkError, match=message):
        requirements.check_pyspark()


def test_message_about_missing_pyspark_mentions_the_pip_extra_to_install() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import importlib.metadata as m\n"
        "def gone(name): raise m.PackageNotFoundError(name)\n"
        "m.version = gone\n"
        "from kgtui.cli import main\n"
        "sys.exit(main(['pipeline', 'run', '--lake', '/nowhere/lake']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    need = "the pipeline needs PySpark, which is not installed. Run: pip install 'kgtui[spark]'"
    assert (done.returncode, done.stderr) == (2, f"kgtui: {need}\n")


def fake_spark_home(folder: Path, *jars: str) -> Path:
    """Create a fake `SPARK_HOME` that contains empty jars with these names, and return its path."""
    (folder / "jars").mkdir(parents=True)
    for jar in jars:
        (folder / "jars" / jar).touch()
    return folder


@pytest.mark.parametrize(
    ("jars", "contents"), [(["spark-core_2.12-3.5.1.jar", "x.jar"], "Spark 3.5.1"), (["x.jar"], "no Spark")]
)
def test_pipeline_rejects_a_spark_home_with_a_wrong_spark_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jars: list[str], contents: str
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(fake_spark_home(tmp_path, *jars)))
    with pytest.raises(SparkError, match=rf"needs Spark 4\.2\.0.*contains {contents}: unset SPARK_HOME"):
        requirements.check_spark_home()


def test_pipeline_accepts_an_unset_or_suitable_spark_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(fake_spark_home(tmp_path, "spark-core_2.13-4.2.0.jar")))
    requirements.check_spark_home()
    monkeypatch.delenv("SPARK_HOME")
    requirements.check_spark_home()


def test_unreachable_spark_connect_server_is_reported_within_the_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kgtui has its own timeout, because the Spark Connect client would repeat its requests for ten minutes.

    The error message does not contain the token that is part of the server's URL.
    """
    monkeypatch.setattr(requirements, "_SERVER_TIMEOUT", 0.2)
    with pytest.raises(SparkError, match=r"no Spark Connect server answers at sc://127\.0\.0\.1:1/ within 0\.2 s"):
        session.start(remote="sc://127.0.0.1:1/;token=S3cret")


def test_spark_connect_server_with_a_spark_older_than_4_2_is_rejected() -> None:
    requirements.check_server_version("4.2.3", "sc://spark")
    requirements.check_server_version("5.0.0-preview1", "sc://spark")
    message = r"needs Spark 4\.2\.0 or newer, but the server at sc://spark runs Spark 3\.5\.1"
    with pytest.raises(SparkError, match=message):
        requirements.check_server_version("3.5.1", "sc://spark;token=S3cret")


@pytest.mark.parametrize("url", ["spark:15002", "http://spark", "sc://", "sc://spark/path"])
def test_invalid_url_of_a_spark_connect_server_is_rejected(url: str) -> None:
    with pytest.raises(SparkError, match="--remote takes an address such as sc://spark:15002"):
        session.start(remote=url)


@pytest.fixture
def no_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Simulate a machine without the jars that Spark needs.

    Returns:
        A folder. Its subfolders `maven` (the Maven repository) and `cache` (the user's cache) do not exist yet.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(requirements.JARS_VARIABLE, raising=False)
    monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, (tmp_path / "maven").as_uri())
    return tmp_path


def publish(folder: Path, content: bytes = b"jar") -> Jar:
    """Write a jar file with this content to the Maven repository in `folder`. Return a `Jar` that describes the file.

    The `Jar` always has the checksum of `b"jar"`, so the checksum of a file with any other `content` is wrong.
    """
    jar = Jar("org.example", "thing_2.13", "1.0", hashlib.sha256(b"jar").hexdigest())
    file = folder / "maven" / "org/example/thing_2.13/1.0/thing_2.13-1.0.jar"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return jar


def test_a_failed_jar_download_is_reported_with_the_jars_and_their_folder(
    no_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, "http://127.0.0.1:9/maven2")
    with pytest.raises(SparkError) as caught:
        requirements.find_jars()
    message = str(caught.value)
    assert all(jar.file in message for jar in requirements.JARS)
    assert "127.0.0.1:9" in message
    assert "refused" in message
    assert str(no_jars / "cache" / "kgtui" / "spark-jars") in message
    assert requirements.JARS_VARIABLE in message
    assert requirements.REPOSITORY_VARIABLE in message


def test_jars_are_downloaded_once_unless_a_configured_folder_has_them(
    no_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = publish(no_jars)
    monkeypatch.setattr(requirements, "JARS", (jar,))
    progress: list[str] = []
    (path,) = requirements.find_jars(progress.append)
    assert path.read_bytes() == b"jar"
    assert len(progress) == 1
    monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, "http://127.0.0.1:9")
    assert requirements.find_jars(progress.append) == (path,)
    assert len(progress) == 1
    folder = no_jars / "named"
    folder.mkdir()
    (folder / jar.file).write_bytes(b"jar")
    monkeypatch.setenv(requirements.JARS_VARIABLE, str(folder))
    assert requirements.find_jars() == (folder / jar.file,)


def test_maven_password_is_sent_to_the_repository_but_shown_in_no_message(
    no_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append(self.headers["Authorization"])
            moved = len(received) == 1
            self.send_response_only(302 if moved else 404)
            if moved:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        url = f"http://ci:S3cret%2F1@127.0.0.1:{server.server_port}/maven2"
        monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, url)
        with pytest.raises(SparkError) as caught:
            requirements.find_jars()
        server.shutdown()
    # The second request follows a redirect. It has no password, because a redirect could lead to a different server.
    assert received == ["Basic " + base64.b64encode(b"ci:S3cret/1").decode(), None]
    assert "S3cret" not in "".join(traceback.format_exception(caught.value))
    assert f"from http://127.0.0.1:{server.server_port}/maven2: HTTP Error 404" in str(caught.value)


def test_jar_with_a_wrong_checksum_is_rejected_and_not_stored(no_jars: Path) -> None:
    jar = publish(no_jars, b"something else")
    with pytest.raises(
        SparkError, match=r"the SHA-256 of thing_2\.13-1\.0\.jar is wrong: the file is not the released jar"
    ):
        requirements.download_jars([jar], no_jars / "into")
    assert [*(no_jars / "into").iterdir()] == []


def test_maven_repository_that_is_not_a_url_is_rejected(no_jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(requirements.REPOSITORY_VARIABLE, "central")
    with pytest.raises(SparkError, match="must begin with https://"):
        requirements.download_jars([publish(no_jars)], no_jars / "into")

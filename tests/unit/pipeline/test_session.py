"""Tests of Spark sessions: redacting secrets, packing code for executors, stopping the JVM, and filtering stderr."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import SparkContext

from kgtui.pipeline import session
from kgtui.pipeline.code_archive import pack_code
from kgtui.pipeline.session import filtered_jvm_stderr

if TYPE_CHECKING:
    from pathlib import Path


def test_spark_redacts_the_secret_properties_of_kafka_clients() -> None:
    for name in (
        "sasl.jaas.config",
        "ssl.keystore.password",
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.truststore.password",
    ):
        assert re.search(session.SECRETS, f"kafka.{name}"), name
    assert not re.search(session.SECRETS, "kafka.bootstrap.servers")


def test_code_for_spark_executors_imports_only_packages_that_executors_have(tmp_path: Path) -> None:
    """Executors have PySpark and PyArrow, but none of the other packages on which kgtui depends."""
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


def test_run_together_raises_an_error_only_after_all_parallel_functions_have_ended() -> None:
    barrier, ended = threading.Barrier(2), threading.Event()

    def succeed() -> None:
        barrier.wait(10)
        ended.set()

    def fail() -> None:
        barrier.wait(10)
        raise ConnectionRefusedError

    with pytest.raises(ConnectionRefusedError):
        session.run_together(succeed, fail)
    assert ended.is_set()


class FailingSession:
    """A Spark session that cannot be stopped, because its JVM has already exited."""

    def stop(self) -> None:
        raise ConnectionRefusedError


def test_stopping_a_spark_session_waits_until_the_jvm_has_exited(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gateway:
        proc = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)

    monkeypatch.setattr(session, "_STOP_TIMEOUT", 120.0)
    monkeypatch.setattr(SparkContext, "_gateway", Gateway())
    monkeypatch.setattr(SparkContext, "_jvm", object())
    spark: Any = FailingSession()
    session.stop(spark)
    assert Gateway.proc.returncode == 0
    assert SparkContext._gateway is None


def test_stopping_a_spark_session_kills_a_jvm_that_does_not_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gateway:
        proc = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], stdin=subprocess.PIPE)

    monkeypatch.setattr(session, "_STOP_TIMEOUT", 0.1)
    monkeypatch.setattr(SparkContext, "_gateway", Gateway())
    spark: Any = FailingSession()
    session.stop(spark)
    assert Gateway.proc.returncode == -9


CLOSED_CONNECTION = """
import socket, sys, threading
from py4j.java_gateway import GatewayClient, GatewayParameters
from kgtui.pipeline.session import silence_py4j_logging

server = socket.create_server(("127.0.0.1", 0))

def close_connections() -> None:
    for _ in range(4):
        connection, _ = server.accept()
        connection.recv(1)
        connection.close()

threading.Thread(target=close_connections, daemon=True).start()
if "silenced" in sys.argv:
    silence_py4j_logging()
client = GatewayClient(gateway_parameters=GatewayParameters(port=server.getsockname()[1]))
client.send_command("m\\nd\\no1\\ne\\n", retry=False)
"""
"""Source code of a program that sends a Py4J command to a fake server, which closes the connection at once."""


@pytest.mark.parametrize(("mode", "traceback"), [("silenced", False), ("default", True)])
def test_py4j_logs_a_traceback_unless_kgtui_turns_off_the_logging_of_py4j(mode: str, *, traceback: bool) -> None:
    done = subprocess.run([sys.executable, "-c", CLOSED_CONNECTION, mode], capture_output=True, text=True, check=True)
    assert ("Traceback" in done.stderr) is traceback, done.stderr


NOISY_PROGRAM = r"""
import sys, time
sys.stderr.write("WARNING: Using incubator modules: jdk.incubator.vector\nInvalid maximum heap size: -Xmxlots\n")
sys.stderr.write("Streaming Foreach")
sys.stderr.flush()
time.sleep(0.2)
sys.stderr.write("Batch worker is starting with url sc://localhost:1/;token=s3")
sys.stderr.flush()
time.sleep(0.2)
sys.stderr.write("cret and sessionId 1.\nStreaming ForeachBatch worker failed\n")
sys.stderr.flush()
sys.stdin.read()
sys.stderr.write("later")
"""
"""Source code of a program that writes errors to stderr, and also lines that `filtered_jvm_stderr` removes.

The program writes one of the removed lines in three pieces. It writes its last text, `later`, after
`filtered_jvm_stderr` has ended.
"""


def test_filter_of_jvm_stderr_removes_unwanted_lines_and_keeps_errors(capfd: pytest.CaptureFixture[str]) -> None:
    before = set(threading.enumerate())
    with filtered_jvm_stderr():
        program = subprocess.Popen([sys.executable, "-c", NOISY_PROGRAM], stdin=subprocess.PIPE)
    sys.stderr.write("ours\n")
    program.communicate(b"")
    for forwarding in set(threading.enumerate()) - before:
        forwarding.join(30)
    output = capfd.readouterr().err
    assert "incubator" not in output
    assert "token" not in output
    assert "cret" not in output
    assert "Streaming ForeachBatch worker failed\n" in output
    assert "ours\n" in output
    assert "Invalid maximum heap size: -Xmxlots\n" in output
    assert output.rstrip("\n").endswith(("later", "ours"))
    assert "later" in output

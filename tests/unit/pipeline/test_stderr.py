"""What a program that is started says on standard error comes through, except for noise."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from kgtui.pipeline.session import filtered_jvm_stderr

if TYPE_CHECKING:
    import pytest

SAYS = r"""
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


def test_all_but_noise_comes_through_even_later(capfd: pytest.CaptureFixture[str]) -> None:
    before = set(threading.enumerate())
    with filtered_jvm_stderr():
        program = subprocess.Popen([sys.executable, "-c", SAYS], stdin=subprocess.PIPE)
    sys.stderr.write("ours\n")
    program.communicate(b"")
    for passing_on in set(threading.enumerate()) - before:
        passing_on.join(30)
    said = capfd.readouterr().err
    assert "incubator" not in said
    assert "token" not in said
    assert "cret" not in said
    assert "Streaming ForeachBatch worker failed\n" in said
    assert "ours\n" in said
    assert "Invalid maximum heap size: -Xmxlots\n" in said
    assert said.rstrip("\n").endswith(("later", "ours"))
    assert "later" in said

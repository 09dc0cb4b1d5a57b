"""What a program that is started says on standard error comes through, except for noise."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from kgtui.pipeline.stderr import without_noise

if TYPE_CHECKING:
    import pytest

SAYS = r"""
import sys
sys.stderr.write("WARNING: Using incubator modules: jdk.incubator.vector\nInvalid maximum heap size: -Xmxlots\n")
sys.stderr.flush()
sys.stdin.read()
sys.stderr.write("later")
"""


def test_all_but_noise_comes_through_even_later(capfd: pytest.CaptureFixture[str]) -> None:
    with without_noise():
        program = subprocess.Popen([sys.executable, "-c", SAYS], stdin=subprocess.PIPE)
    sys.stderr.write("ours\n")
    program.communicate(b"")
    for thread in threading.enumerate():
        if thread.name == "stderr of the JVM":
            thread.join(30)
    said = capfd.readouterr().err
    assert "incubator" not in said
    assert "ours\n" in said
    assert "Invalid maximum heap size: -Xmxlots\n" in said
    assert said.rstrip("\n").endswith(("later", "ours"))
    assert "later" in said

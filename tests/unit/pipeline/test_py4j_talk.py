"""Calls that the JVM's end cuts short print no stack on the terminal."""

from __future__ import annotations

import subprocess
import sys

import pytest

CUT_SHORT = """
import socket, sys, threading
from py4j.java_gateway import GatewayClient, GatewayParameters
from kgtui.pipeline.session import silence_py4j_logging

server = socket.create_server(("127.0.0.1", 0))

def end() -> None:
    for _ in range(4):
        connection, _ = server.accept()
        connection.recv(1)
        connection.close()

threading.Thread(target=end, daemon=True).start()
if "quietly" in sys.argv:
    silence_py4j_logging()
client = GatewayClient(gateway_parameters=GatewayParameters(port=server.getsockname()[1]))
client.send_command("m\\nd\\no1\\ne\\n", retry=False)
"""


@pytest.mark.parametrize(("how", "traceback"), [("quietly", False), ("as it is", True)])
def test_a_call_that_the_jvms_end_cuts_short(how: str, *, traceback: bool) -> None:
    ended = subprocess.run([sys.executable, "-c", CUT_SHORT, how], capture_output=True, text=True, check=True)
    assert ("Traceback" in ended.stderr) is traceback, ended.stderr

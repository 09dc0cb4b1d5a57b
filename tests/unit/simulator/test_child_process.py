"""Tests of a simulated cluster in a child process, which executes commands, and ends when its parent process ends."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgtui.errors import UsageError
from kgtui.protocol.messages.groups import LIST_GROUPS
from kgtui.simulator import Options, SimulatorProcess, spawn
from kgtui.simulator.__main__ import main
from kgtui.simulator.child_process import SimulatorError
from kgtui.simulator.options import add_arguments, options_from
from tests.unit.simulator.raw_client import RawClient

ROOT = Path(__file__).resolve().parents[3]


def alive(pid: int) -> bool:
    """Return whether a process is running. A zombie process counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for_end(pid: int, seconds: float = 10.0) -> bool:
    """Wait until a process has ended. Return False if it is still running after `seconds` seconds."""
    deadline = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


async def names(cluster: SimulatorProcess) -> set[str]:
    """Return the ids of all groups that the brokers of a cluster return for ListGroups requests."""
    found: set[str] = set()
    for address in cluster.bootstrap.split(","):
        async with RawClient(address) as client:
            found |= {row["GroupId"] for row in (await client.call(LIST_GROUPS, 5, {}))["Groups"]}
    return found


def test_a_simulated_cluster_in_a_child_process_executes_commands_and_stops() -> None:
    with spawn(Options(groups=300, brokers=2)) as cluster:
        assert cluster.ready["groups"] == 300
        assert [row["node"] for row in cluster.ready["brokers"]] == [1, 2]
        assert len(asyncio.run(names(cluster))) == 300
        assert cluster.control("coordinator", group="payments.settle")["node"] in (1, 2)
        cluster.control("remove_group", name="payments.settle")
        assert "payments.settle" not in asyncio.run(names(cluster))
        cluster.control("kill", node=2)
        assert cluster.control("stats")["served"][str(LIST_GROUPS.key)] == 4
        with pytest.raises(SimulatorError, match="'dance' is not a command"):
            cluster.control("dance")
        with pytest.raises(SimulatorError, match="no broker has the node id 7"):
            cluster.control("black_hole", node=7)
        with pytest.raises(SimulatorError, match="unexpected keyword"):
            cluster.control("cut", nodule=1)
        pid = cluster.pid
    assert not alive(pid)
    assert not cluster.running
    with pytest.raises(SimulatorError):
        cluster.control("stats")


def test_the_simulator_process_reports_a_port_that_is_in_use() -> None:
    with spawn(Options(brokers=1)) as first, pytest.raises(SimulatorError, match="address already in use"):
        spawn(Options(brokers=1, listen=first.bootstrap))


def test_a_simulator_process_ends_when_its_parent_process_ends() -> None:
    script = (
        "import sys\n"
        "from kgtui.simulator import Options, spawn\n"
        "cluster = spawn(Options(brokers=1))\n"
        "print(cluster.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    child = int(parent.stdout.readline())
    assert alive(child)
    parent.kill()
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
    assert wait_for_end(child)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_simulator_process_without_output(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "kgtui.simulator", "--brokers=1", "--scenario=empty"]
    served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert served.stdout is not None
    ready = json.loads(served.stdout.readline())
    assert ready["ready"]
    assert ready["bootstrap"].startswith("127.0.0.1:")
    served.send_signal(number)
    out, err = served.communicate(timeout=10)
    assert (served.returncode, out, err) == (0, "", "")


def test_the_simulator_program_reports_an_invalid_option_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kafka-version", "0.8"]) == 2
    ready = json.loads(capsys.readouterr().out)
    assert ready["ready"] is False
    assert "0.8" in ready["error"]


def test_simulator_options_are_unchanged_after_conversion_to_command_line_and_back() -> None:
    options = Options(
        listen="10.1.2.3:19092",
        expose=True,
        brokers=5,
        groups=70,
        partitions=3,
        seed=9,
        kafka_version="3.9,4.4",
        scenario="wild",
        churn=0.02,
        features={"share.version": 0},
    )
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert options_from(parser.parse_args(options.arguments())) == options


@pytest.mark.parametrize(
    "bad",
    [
        {"brokers": 0},
        {"groups": -1},
        {"churn": 2.0},
        {"scenario": "mars"},
        {"kafka_version": "0.8"},
        {"listen": "here"},
        {"listen": "0.0.0.0:0"},
        {"listen": "[::]:9092"},
        {"listen": "0:9092"},
        {"listen": "myhost:9092"},
        {"listen": "127.0.0.1:65535", "brokers": 3},
    ],
    ids=str,
)
def test_invalid_simulator_options_are_rejected(bad: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Options(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "127.8.0.1", "[::1]", "localhost"])
def test_simulator_options_recognize_all_notations_of_a_loopback_address(host: str) -> None:
    assert Options(listen=f"{host}:0").loopback

"""Tests of `kgtui doctor`, `ls`, `show`, `groups` and `demo` with the real client on simulated clusters."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.admin.kafka import connect
from kgtui.commands.doctor import as_json, as_text, cannot_be_described, examine
from kgtui.commands.selection import select_groups
from kgtui.model.answer import Fault
from kgtui.model.query import parse
from kgtui.simulator import Options, Simulator, spawn
from tests.event_loop import counting_waits, longer_if_busy
from tests.unit.commands.runs import kgtui

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator import SimulatorProcess


@pytest.fixture(scope="module")
def company() -> Iterator[SimulatorProcess]:
    """Run a simulated cluster with 150 groups in a separate process."""
    with spawn(Options(groups=150)) as cluster:
        yield cluster


def test_a_kgtui_ls_process_prints_the_groups_of_a_simulated_cluster(company: SimulatorProcess) -> None:
    done = kgtui("ls", "--bootstrap-server", company.bootstrap, "--format", "json", "--lag", "kind:consumer")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["coverage"]["brokers"] == [3, 3]
    assert {row["kind"] for row in found["groups"]} == {"consumer"}
    assert any(row["lag"] for row in found["groups"])


def test_kgtui_ls_reads_the_bootstrap_server_from_the_environment_variable(company: SimulatorProcess) -> None:
    done = kgtui("ls", "type:share", "sort:name-", KGTUI_BOOTSTRAP_SERVER=company.bootstrap)
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    assert len(names) > 1
    assert names == sorted(names, reverse=True)


def test_kgtui_can_list_show_and_diagnose_a_share_group(company: SimulatorProcess) -> None:
    listed = kgtui("groups", "--bootstrap-server", company.bootstrap, "--list", "--share")
    assert listed.returncode == 0
    group = listed.stdout.splitlines()[1].split()[0]
    shown = kgtui("show", group, "--bootstrap-server", company.bootstrap, "--format", "json")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert json.loads(shown.stdout)["groups"][0]["type"] == "share"
    done = kgtui("doctor", "--bootstrap-server", company.bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ShareGroupDescribe" in done.stdout


def test_kgtui_ls_watch_exits_silently_when_its_output_pipe_is_closed(company: SimulatorProcess) -> None:
    """For example, `head` closes the pipe in `kgtui ls --watch 0.01 | head -1`."""
    command = [sys.executable, "-m", "kgtui", "ls", "--watch", "0.01", "--bootstrap-server", company.bootstrap]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"GROUP")
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + signal.SIGPIPE, b"")


def test_kgtui_ls_watch_exits_silently_on_ctrl_c(company: SimulatorProcess) -> None:
    command = [sys.executable, "-m", "kgtui", "ls", "--watch", "--bootstrap-server", company.bootstrap, "orders"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"GROUP")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")


def test_kgtui_demo_without_terminal_ui_stops_on_ctrl_c() -> None:
    command = [sys.executable, "-m", "kgtui", "demo", "--no-tui", "--brokers", "2", "--scenario", "empty"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    try:
        done = kgtui("ls", "--bootstrap-server", address, "--format", "json")
        assert json.loads(done.stdout)["coverage"]["brokers"] == [2, 2]
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert err == "kgtui: simulated cluster with 2 brokers and 0 groups; Ctrl-C stops it\n"


def test_kgtui_demo_with_a_port_in_use_exits_with_2(company: SimulatorProcess) -> None:
    port = company.bootstrap.partition(",")[0].rpartition(":")[2]
    done = kgtui("demo", "--no-tui", "--brokers", "1", "--listen", f"127.0.0.1:{port}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kgtui: the simulated cluster cannot listen on 127.0.0.1:{port}: ")
    assert done.stderr.count("\n") == 1


async def diagnose(cluster: Simulator) -> tuple[dict[str, Any], str]:
    """Examine the cluster as `kgtui doctor` does. Return its JSON output (parsed) and its text output."""
    async with connect(cluster.bootstrap.split(",")) as admin:
        diagnosis = await examine(admin, timeout=20)
    return json.loads(as_json(diagnosis)), as_text(diagnosis)


async def test_kgtui_doctor_reports_limitations_of_old_brokers() -> None:
    async with Simulator(brokers=2, kafka_version="2.4,4.3", scenario="empty") as cluster:
        found, text = await diagnose(cluster)
    old, new = found["brokers"]
    assert old["versions"]["ShareGroupDescribe"] is None
    assert "no share groups" in old["missing"]
    assert "each request reads the offsets of one group only, so reading lag takes longer" in old["missing"]
    assert new["missing"] == []
    assert new["versions"]["ListGroups"] == 5
    assert "no share groups" in text


@longer_if_busy(1)
async def test_kgtui_doctor_reports_a_broker_that_does_not_respond(timeout: float) -> None:
    """Broker 2 does not respond. kgtui still reads the permissions of the user and the groups of broker 1."""
    async with Simulator(brokers=2, scenario="plain", groups=8) as cluster:
        cluster.faults.black_hole(2)
        async with connect(cluster.bootstrap.split(",")[:1]) as admin:
            diagnosis = await examine(admin, timeout=timeout)
    found = json.loads(as_json(diagnosis))
    assert 0 < found["groups"] < 8
    assert found["groups_looked_at"] == found["groups"]
    assert found["cluster_operations"]
    assert [row["answered"] for row in found["brokers"]] == [True, False]
    assert found["brokers"][1]["versions"] is None
    assert 2 in [fault["broker"] for fault in found["faults"]]


@longer_if_busy(1)
async def test_select_groups_returns_groups_of_healthy_brokers_if_one_is_silent(
    timeout: float,
) -> None:
    async with Simulator(brokers=3, scenario="plain", groups=60) as cluster:
        cluster.faults.black_hole(2)
        async with connect(cluster.bootstrap.split(",")) as admin, counting_waits() as waited:
            found = await select_groups(admin, parse("sort:name"), lag=True, timeout=timeout)
            assert waited() < 2 * timeout
    assert found.coverage.brokers == (2, 3)
    assert 0 < len(found.ids) < 60
    assert [fault.broker for fault in found.faults if fault.group is None][:1] == [2]
    assert any(summary.lag is not None for summary in found.snapshot.summaries.values())


@longer_if_busy(3)
async def test_kgtui_doctor_says_why_no_broker_lists_a_given_group(timeout: float) -> None:
    async with Simulator(brokers=2, scenario="plain", groups=4) as cluster:
        async with connect(cluster.bootstrap.split(",")[:1]) as admin:
            listed = sorted((await admin.list_groups()).rows)[0]
            diagnosis = await examine(admin, [listed, f"{listed}x"], timeout=20)
        text, found = as_text(diagnosis), json.loads(as_json(diagnosis))["named_groups"]
        assert [(one["group"], one["listed"]) for one in found] == [(listed, True), (f"{listed}x", False)]
        assert f"2 of 2 brokers answered, and none lists group {listed}x." in text
        assert listed in found[1]["similar"]
        cluster.faults.black_hole(2)
        async with connect(cluster.bootstrap.split(",")[:1]) as admin:
            diagnosis = await examine(admin, ["unlike"], timeout=timeout)
        assert re.search(r"Broker 2 \(.*\) may have group", as_text(diagnosis))


def test_kgtui_doctor_prints_the_kafka_acls_command_for_a_missing_describe_permission() -> None:
    fault = Fault("GROUP_AUTHORIZATION_FAILED", "describe: Group authorization failed.", 30, group="pay")
    line = cannot_be_described(fault)
    start = "The group cannot be described: Group authorization failed. Ask an administrator to run: kafka-acls.sh"
    assert line.startswith(start)
    assert "--operation DESCRIBE" in line
    assert ".." not in line
    assert cannot_be_described(Fault("ODD", "")) == "The group cannot be described: ODD."

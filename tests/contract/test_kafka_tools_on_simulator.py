"""Tests that Kafka's own command line tools can list, describe and delete the groups of a simulated cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.simulator import Options, SimulatorProcess, spawn
from tests.brokers.tools import run_tool
from tests.hostile_ids import hostile_group_ids

if TYPE_CHECKING:
    from collections.abc import Iterator


def start(version: str = "4.4") -> SimulatorProcess:
    """Start a simulated cluster, and remove the group whose id has 32,000 characters.

    Kafka's tools make the column of group ids as wide as the longest id, so every printed row would be that long.
    """
    simulator = spawn(Options(kafka_version=version))
    simulator.control("remove_group", name=hostile_group_ids()[-1])
    return simulator


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatorProcess]:
    with start() as simulator:
        yield simulator


def run(cluster: SimulatorProcess, tool: str, *arguments: str, version: str = "4.3.1") -> str:
    """Run one of Kafka's tools on `cluster`; return the tool's output. Fail the test if the tool reports an error."""
    done = run_tool(version, tool, ["--bootstrap-server", cluster.bootstrap, *arguments])
    assert done.status == 0, done.err
    assert "Exception" not in done.err, done.err
    return done.out


def column(output: str, number: int = 0) -> list[str]:
    """Return the cells in column `number` of the table that a tool printed, without the header. Numbers start at 0."""
    rows = [line.split() for line in output.splitlines() if line.strip()]
    return [row[number] for row in rows if row[0] != "GROUP"]


def test_the_kafka_groups_tool_lists_groups_of_every_type(cluster: SimulatorProcess) -> None:
    rows = [line.split() for line in run(cluster, "GroupsCommand", "--list").splitlines()]
    kinds = {row[0]: tuple(row[1:]) for row in rows if len(row) > 1}
    assert kinds["payments.settle"] == ("Classic", "consumer")
    assert kinds["payments.ledger"] == ("Consumer", "consumer")
    assert kinds["jobs.run"] == ("Share", "share")
    assert kinds["rewards.points"] == ("Streams", "streams")
    assert kinds["connect-cluster"] == ("Classic", "connect")
    assert kinds["spark-checkpoints"] == ("Classic",)
    shares = run(cluster, "GroupsCommand", "--list", "--share")
    assert set(column(shares)) == {name for name, kind in kinds.items() if kind[0] == "Share"}


def test_the_kafka_consumer_groups_tool_lists_groups_with_states_and_types(cluster: SimulatorProcess) -> None:
    empty = run(cluster, "ConsumerGroupCommand", "--list", "--state", "Empty", "--type")
    rows = {line.split()[0]: line.split()[-2:] for line in empty.splitlines() if line}
    assert rows["test-group"] == ["Classic", "Empty"]
    assert rows["customers.sync-old"] == ["Consumer", "Empty"]
    assert "payments.settle" not in rows


def test_the_kafka_consumer_groups_tool_describes_the_offsets_of_every_group(cluster: SimulatorProcess) -> None:
    output = run(cluster, "ConsumerGroupCommand", "--describe", "--all-groups")
    assert "Error" not in output
    rows = [line.split() for line in output.splitlines()]
    settle = [row for row in rows if row[:2] == ["payments.settle", "payments.authorised"]]
    assert sorted(int(row[2]) for row in settle) == list(range(12))
    for row in settle:
        assert int(row[5]) == int(row[4]) - int(row[3])
        assert row[8].startswith("settle-worker-")
    never = [row for row in rows if row[:3] == ["customers.export", "customers.changed", "2"]]
    assert never[0][3] == "-"


def test_the_kafka_consumer_groups_tool_describes_members_and_states(cluster: SimulatorProcess) -> None:
    members = run(cluster, "ConsumerGroupCommand", "--describe", "--all-groups", "--members", "--verbose")
    assert "Error" not in members
    assert sum(line.startswith("payments.settle ") for line in members.splitlines()) == 4
    migrating = [line for line in members.splitlines() if line.startswith("web.recommend ")]
    assert sorted(line.split()[-1] for line in migrating) == ["false", "false", "true", "true", "true"]
    states = run(cluster, "ConsumerGroupCommand", "--describe", "--all-groups", "--state", "--verbose")
    line = next(line for line in states.splitlines() if line.startswith("payments.ledger "))
    assert "uniform" in line
    assert "Stable" in line


def test_the_kafka_share_groups_tool_describes_groups(cluster: SimulatorProcess) -> None:
    offsets = run(cluster, "ShareGroupCommand", "--describe", "--group", "fraud.review", "--verbose")
    starts = {line.split()[2]: line.split()[4] for line in offsets.splitlines() if line.startswith("fraud.review")}
    assert [starts[partition] == "-" for partition in "012345"] == [False, True, False, False, True, False]
    members = run(cluster, "ShareGroupCommand", "--describe", "--all-groups", "--members", "--verbose")
    assert sum(line.startswith("jobs.run ") for line in members.splitlines()) == 12
    assert {"Stable", "Empty"} <= set(column(run(cluster, "ShareGroupCommand", "--list", "--state"), 1))


def test_the_kafka_streams_groups_tool_describes_groups(cluster: SimulatorProcess) -> None:
    offsets = run(cluster, "StreamsGroupCommand", "--describe", "--all-groups", "--verbose")
    assert "clicks.sessionize" in column(offsets)
    members = run(cluster, "StreamsGroupCommand", "--describe", "--group", "rewards.points", "--members", "--verbose")
    assert "STANDBY" in members
    states = run(cluster, "StreamsGroupCommand", "--list", "--state")
    assert "fraud.features" in column(states)
    assert "NotReady" in column(states, 1)


def test_kafka_tools_delete_only_empty_groups() -> None:
    with start() as cluster:
        names = ("[/red]", "a[b]c", "test-group", "payments.settle", "nope")
        output = run(
            cluster, "ConsumerGroupCommand", "--delete", *(part for name in names for part in ("--group", name))
        )
        assert "'payments.settle' could not be deleted due to: org.apache.kafka.common.errors.GroupNotEmpty" in output
        assert "'nope' could not be deleted due to: org.apache.kafka.common.errors.GroupIdNotFound" in output
        assert "'test-group'" in output.splitlines()[-1]
        assert "successful" in run(cluster, "ShareGroupCommand", "--delete", "--group", "jobs.retired")
        assert "successful" in run(cluster, "StreamsGroupCommand", "--delete", "--group", "clicks.heatmap-v1")
        left = set(column(run(cluster, "GroupsCommand", "--list")))
        assert "payments.settle" in left
        assert not left & {"[/red]", "a[b]c", "test-group", "jobs.retired", "clicks.heatmap-v1"}


@pytest.mark.parametrize("version", ["2.8", "3.9", "3.9,4.4"])
def test_newer_kafka_tools_work_on_older_simulated_brokers(version: str) -> None:
    with start(version) as cluster:
        listed = run(cluster, "ConsumerGroupCommand", "--list")
        assert "payments.settle" in listed.split()
        output = run(cluster, "ConsumerGroupCommand", "--describe", "--group", "payments.settle")
        assert sum(line.startswith("payments.settle ") for line in output.splitlines()) == 12


def test_older_kafka_tools_work_on_the_newest_simulated_broker(cluster: SimulatorProcess) -> None:
    listed = run(cluster, "ConsumerGroupCommand", "--list", version="3.9.2")
    assert {"payments.settle", "payments.ledger"} <= set(listed.split())
    output = run(
        cluster, "ConsumerGroupCommand", "--describe", "--group", "payments.settle", "--members", version="3.9.2"
    )
    assert sum(line.startswith("payments.settle ") for line in output.splitlines()) == 4

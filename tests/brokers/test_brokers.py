"""Test the fixtures with real brokers: the brokers work, and the live groups have their expected properties."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import pytest

from tests.brokers import kio_client
from tests.brokers.cluster import Cluster

if TYPE_CHECKING:
    from pathlib import Path

    from tests.brokers.live import Live
    from tests.brokers.secure import Secure


def test_a_broker_creates_topics_stores_records_and_accepts_commits(broker: Cluster) -> None:
    broker.create_topic("fixture-check", 2)
    broker.produce("fixture-check", 5, partition=1)
    broker.commit("fixture-check-group", {("fixture-check", 1): 3})
    done = broker.tool("ConsumerGroupCommand", "--describe", "--group", "fixture-check-group")
    assert re.search(r"fixture-check-group\s+fixture-check\s+1\s+3\s+5\s+2\s", done.out), done.out + done.err
    assert kio_client.list_groups(broker.bootstrap)["fixture-check-group"] == ("classic", "", "Empty")


def test_listing_groups_returns_the_expected_live_groups(live: Live) -> None:
    listed = kio_client.list_groups(live.bootstrap)
    for role, group in live.groups.items():
        assert listed[group.id] == (group.type, group.protocol, group.state), role


def test_live_consumer_groups_have_their_expected_lag(live: Live) -> None:
    """Kafka's own tool prints the offsets and lags that `LiveGroup` expects."""
    groups = [g for g in live.groups.values() if g.protocol == "consumer"]
    named = [argument for group in groups for argument in ("--group", group.id)]
    done = live.cluster.tool("ConsumerGroupCommand", "--describe", *named)
    rows = [line.split() for line in done.out.splitlines() if " orders " in line]
    printed = {(row[0], int(row[2])): (row[3], row[5]) for row in rows}
    assert printed == {
        (group.id, partition): (str(group.committed.get((topic, partition), "-")), "-" if lag is None else str(lag))
        for group in groups
        for (topic, partition), lag in group.lags.items()
    }, done.err


def test_live_consumer_groups_have_their_expected_members(live: Live) -> None:
    groups = [g for g in live.groups.values() if g.protocol == "consumer" and g.members]
    named = [argument for group in groups for argument in ("--group", group.id)]
    done = live.cluster.tool("ConsumerGroupCommand", "--describe", "--members", *named)
    clients = {client for group in groups for client in group.client_ids}
    assert {word for line in done.out.splitlines() for word in line.split()} & clients == clients, done.out
    instances = {instance for group in groups for instance in group.instance_ids}
    assert all(instance in done.out for instance in instances)


def test_live_share_groups_have_their_expected_lag(live_431: Live) -> None:
    done = live_431.cluster.tool("ShareGroupCommand", "--describe", "--all-groups")
    rows = [line.split() for line in done.out.splitlines() if "-jobs " in line or " jobs " in line]
    printed = {(row[0], row[1], int(row[2])): (int(row[3]), int(row[4])) for row in rows}
    assert printed == {
        (group.id, topic, partition): (start, group.reported_lag[topic, partition])
        for group in live_431.of_type("share")
        for (topic, partition), start in group.committed.items()
    }, done.err


def test_live_streams_groups_have_their_expected_lag(live_431: Live) -> None:
    done = live_431.cluster.tool("StreamsGroupCommand", "--describe", "--all-groups", "--offsets")
    rows = [line.split() for line in done.out.splitlines() if "words " in line]
    printed = {(row[0], row[1], int(row[2])): int(row[3]) for row in rows}
    group = live_431["streams"]
    assert printed.items() >= {(group.id, *tp): lag for tp, lag in group.lags.items()}.items(), done.err


def test_list_groups_returns_only_groups_that_the_principal_may_describe(secure_broker: Secure) -> None:
    """ListGroups omits the groups on which the principal lacks DESCRIBE, and returns no error."""

    def groups_for(principal: str, mechanism: str, *, tls: bool) -> set[str]:
        address = secure_broker.sasl_tls if tls else secure_broker.sasl
        config = secure_broker.command_config(principal, mechanism=mechanism, tls=tls)
        done = secure_broker.cluster.tool(
            "GroupsCommand", "--bootstrap-server", address, "--command-config", str(config), "--list"
        )
        assert done.status == 0, done.err
        return {row[0] for row in csv.reader(done.out.splitlines()[1:], delimiter=" ") if row}

    everything = {"team-a-app", "team-a-and-b", "team-b-app", "team-a-live"}
    assert groups_for("viewer", "SCRAM-SHA-512", tls=False) == everything
    assert groups_for("team", "PLAIN", tls=True) == everything - {"team-b-app"}
    assert groups_for("nobody", "SCRAM-SHA-256", tls=True) == set()


def test_a_client_can_log_in_with_a_certificate(secure_broker: Secure) -> None:
    config = str(secure_broker.tls_config())
    done = secure_broker.cluster.tool(
        "GroupsCommand", "--bootstrap-server", secure_broker.tls, "--command-config", config, "--list"
    )
    assert "team-a-live" in done.out, done.err


@pytest.mark.full
def test_each_broker_of_a_three_node_cluster_coordinates_groups(tmp_path: Path) -> None:
    cluster = Cluster("4.3.1", tmp_path, nodes=3)
    cluster.start()
    try:
        cluster.create_topic("orders")
        names = [f"group-{n}" for n in range(30)]
        for name in names:
            cluster.commit(name, {("orders", 0): 0})
        each = [set(kio_client.list_groups(address)) for address in cluster.bootstrap.split(",")]
        assert all(each), "every broker coordinates some of the groups"
        assert sorted(name for some in each for name in some) == sorted(names)
    finally:
        cluster.stop()

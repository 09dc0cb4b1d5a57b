"""Create the configuration of the test brokers, which run in KRaft mode and are also controllers."""

from __future__ import annotations

import os
import random
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HOST = "127.0.0.1"
_WORKERS, _PORTS_PER_WORKER = 8, 1_500

# Ports that `free_ports` has already returned. It must not return them again, although a port seems free until a broker
# listens on it.
_handed_out: set[int] = set()
_handing_out = threading.Lock()

CLUSTER_ID = "a2d0dWktdGVzdHMtMDAwMQ"

FAST_GROUPS = {
    "group.initial.rebalance.delay.ms": "0",
    # These limits allow short heartbeat intervals and session timeouts in a group's configs. The broker's defaults for
    # groups do not change.
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.min.session.timeout.ms": "1000",
}
FAST_GROUPS_4 = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.streams.min.heartbeat.interval.ms": "200",
}


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one node: one port per listener, and one port for the controller."""

    listeners: Mapping[str, int]
    controller: int


def free_ports(count: int) -> list[int]:
    """Return `count` free ports on loopback.

    The ports are below the range of ephemeral ports, which the operating system gives to outgoing connections.

    Each xdist worker has its own range of ports. Otherwise, two workers could choose the same port before a broker
    listens on it.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    first = 20_000 + worker * _PORTS_PER_WORKER
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(first, first + _PORTS_PER_WORKER)
        with socket.socket() as probe, suppress(OSError), _handing_out:
            probe.bind((HOST, port))
            if port not in _handed_out:
                _handed_out.add(port)
                found.append(port)
    return found


def choose_ports(nodes: int, listeners: Sequence[str]) -> list[Ports]:
    """Choose free ports for each node of a cluster, and return them in ascending order of the node ids.

    `listeners` are the names of the listeners of each node.
    """
    each = len(listeners) + 1
    ports = free_ports(nodes * each)
    chunks = [ports[i : i + each] for i in range(0, len(ports), each)]
    return [Ports(dict(zip(listeners, chunk[:-1], strict=True)), chunk[-1]) for chunk in chunks]


def server_properties(
    version: str,
    node: int,
    cluster: Sequence[Ports],
    data: Path,
    protocols: Mapping[str, str],
    extra: Mapping[str, str],
) -> dict[str, str]:
    """Return the contents of `server.properties` of one node.

    Args:
        node: node id, counted from 1.
        cluster: ports of all nodes; node id 1 comes first.
        data: folder for the broker's data (`log.dirs`).
        protocols: listener name → security protocol. Brokers connect to each other through the first listener.
        extra: additional properties, such as an authorizer.
    """
    ports = cluster[node - 1]
    own = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.listeners.items())
    voters = ",".join(f"{i}@{HOST}:{other.controller}" for i, other in enumerate(cluster, 1))
    copies = str(min(3, len(cluster)))
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{own},CONTROLLER://{HOST}:{ports.controller}",
        "advertised.listeners": own,
        "inter.broker.listener.name": next(iter(protocols)),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in {**protocols, "CONTROLLER": "PLAINTEXT"}.items()
        ),
        "log.dirs": str(data),
        "num.network.threads": "2",
        "num.io.threads": "4",
        "log.cleaner.enable": "false",
        # Disable the no-op record that an idle controller writes every 500 ms by default, because it would take half of
        # the CPU time of an idle cluster.
        "metadata.max.idle.interval.ms": "0",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "5",
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": "1",
        **FAST_GROUPS,
        **(_of_release_3() if version.startswith("3.") else _of_release_4(copies)),
        **extra,
    }


def _of_release_3() -> dict[str, str]:
    # The first property enables KIP-848 groups, which Kafka 3.9 disables by default. The heartbeat interval applies to
    # all KIP-848 groups, because Kafka 3.9 has no configs per group.
    return {
        "group.coordinator.rebalance.protocols": "classic,consumer",
        "group.consumer.heartbeat.interval.ms": "500",
    }


def _of_release_4(copies: str) -> dict[str, str]:
    return {
        "share.coordinator.state.topic.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": "1",
        **FAST_GROUPS_4,
    }


def preview_features(version: str) -> list[str]:
    """Return the arguments of `StorageTool format` that enable share groups in Kafka 4.1, where they are a preview.

    For other versions, return an empty list.
    """
    return ["--feature", "share.version=1"] if version.startswith("4.1.") else []


def write_properties(path: Path, properties: Mapping[str, str]) -> Path:
    """Write a Java properties file, and return `path`. Backslashes and line breaks in values are escaped."""
    lines = []
    for key, value in properties.items():
        escaped = value.replace("\\", "\\\\").replace("\n", "\\n")
        lines.append(f"{key}={escaped}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path

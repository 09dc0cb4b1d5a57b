"""Tests of metadata in which the address of one broker is invalid. Groups of other brokers can still be listed."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.client.pool import Pool, PoolOptions
from kgtui.protocol.messages.cluster import METADATA
from tests.unit.client.server import FakeCluster, Request, cluster

QUICK = PoolOptions(connect_timeout=30, second_wait=0.1)

INVALID_HOSTS = ["a..b", "x" * 64 + ".example", ".", "", "\N{SNOWMAN}" * 64, "caf\udce9", "a\x00b"]

hosts = st.one_of(st.sampled_from(INVALID_HOSTS), st.text(max_size=300), st.just("127.0.0.1"))
int32s = st.one_of(st.integers(-(2**31), 2**31 - 1), st.sampled_from([-1, 0, 65535, 65536]))


@pytest.fixture(autouse=True)
def no_dns_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make name resolution fail for all host names except 127.0.0.1 and localhost."""
    resolve = socket.getaddrinfo

    def resolve_locally(host: str, *args: Any, **options: Any) -> Any:
        if host in {"127.0.0.1", "localhost"}:
            return resolve(host, *args, **options)
        host.encode("idna")
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve_locally)


def advertise(fake: FakeCluster, host: str, port: int) -> None:
    """Make all brokers report `host` and `port` as the address of broker 2."""
    fake.hosts[2] = (host, port)


async def listed(fake: FakeCluster) -> tuple[list[str], list[tuple[int | None, str, str]]]:
    """List the groups of all brokers.

    Return the group ids, and `(node id, error name, message)` for each broker whose groups could not be listed.
    """
    async with Pool([fake[1].address], options=QUICK) as pool:
        answer = await KafkaGroupAdmin(pool).list_groups(timeout=60)
    return list(answer.rows), [(fault.broker, fault.name, fault.message) for fault in answer.faults]


@pytest.mark.parametrize("host", INVALID_HOSTS)
async def test_an_invalid_host_of_one_broker_does_not_affect_other_brokers(host: str) -> None:
    async with cluster(3) as fake:
        advertise(fake, host, 9092)
        groups, faults = await listed(fake)
    assert groups == ["group-of-1", "group-of-3"]
    assert [(broker, name) for broker, name, _ in faults] == [(2, "NOT_CONNECTED")]


@pytest.mark.parametrize("port", [-(2**31), -1, 0, 65536, 2**31 - 1])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_an_invalid_port_of_one_broker_does_not_affect_other_brokers(host: str, port: int) -> None:
    async with cluster(3) as fake:
        advertise(fake, host, port)
        groups, faults = await listed(fake)
    assert groups == ["group-of-1", "group-of-3"]
    [(broker, _, message)] = faults
    assert broker == 2
    assert "the port is not between 1 and 65535" in message
    assert "advertised.listeners" in message


@given(host=hosts, port=int32s, rack=st.none() | st.text(max_size=50), node=int32s, controller=int32s,
       cluster_id=st.none() | st.text(max_size=50))  # fmt: skip
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_random_metadata_about_one_broker_does_not_affect_other_brokers(
    host: str, port: int, rack: str | None, node: int, controller: int, cluster_id: str | None
) -> None:
    """The metadata contains an additional broker with a random id and address.

    A damaged or malicious broker can send metadata with any text and any integer.
    """

    def metadata(request: Request) -> dict[str, Any]:
        answer = fake[1].metadata(request)
        assert isinstance(answer, dict)
        other = {"NodeId": node, "Host": host, "Port": port, "Rack": rack}
        return {**answer, "Brokers": [other, *answer["Brokers"]], "ControllerId": controller, "ClusterId": cluster_id}

    async with cluster(2) as fake:
        for broker in fake.brokers.values():
            broker.on[METADATA.key] = metadata
        groups, faults = await listed(fake)
    assert groups == ["group-of-1", "group-of-2"]
    assert {broker for broker, _, _ in faults} <= {node}

"""Tests that the responses of the demo cluster do not change. Snapshots, tests and documentation depend on them.

The tests compare digests (SHA-256) of the responses with stored digests. After an intended change, run
`python -m tests.unit.simulator.test_demo_is_unchanged`, which stores the new digests.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.protocol.header import encode_request_header
from kgtui.protocol.messages import APIS
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.demo_history import HistoryPlan, add_history
from kgtui.simulator.topics import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kgtui.simulator.cluster_state import Node

DIGESTS = Path(__file__).with_name("demo_digests.json")
API = {api.name: api for api in APIS.values()}
GENERATED = 40
"""Maximum number of generated groups per cluster about which the tests send requests."""

CLUSTERS: dict[str, dict[str, Any]] = {
    "company": {},
    "company, seed 7, 400 groups": {"seed": 7, "groups": 400},
    "company, old brokers": {"kafka_version": "2.4"},
    "wild, two releases": {"scenario": "wild", "kafka_version": "3.9,4.1"},
    "plain": {"scenario": "plain", "seed": 3, "groups": 200},
    "empty": {"scenario": "empty"},
}


def respond(simulator: Simulator, node: Node, name: str, fields: dict[str, Any]) -> bytes:
    """Return the encoded response of a broker to a request for the API `name` with `fields`.

    The request has the newest version that the broker supports. If the broker does not support the API, the result is
    empty.
    """
    api = API[name]
    if api.key not in node.release.ranges:
        return b""
    version = node.release.ranges[api.key][1]
    request = encode_request_header(api, version, 7, "test") + api.request.encode(version, fields)
    response = simulator.dispatcher.respond(node, request)
    assert response is not None
    return response


def responses(simulator: Simulator, node: Node) -> Iterator[bytes]:
    """Yield the responses of broker `node` to requests for its API versions, topics, groups, offsets and configs."""
    state = simulator.state
    ranges = node.release.ranges
    ids = list(state.groups) + ([] if state.generated is None else list(state.generated.index)[:GENERATED])
    topics = [
        {"Name": name, "Partitions": [{"PartitionIndex": p, "Timestamp": at} for p in range(topic.partitions)]}
        for name, topic in state.topics.items()
        for at in (-1, -2)
    ]
    configs = [{"ResourceType": 32, "ResourceName": name, "ConfigurationKeys": None} for name in ids if name]
    yield respond(simulator, node, "ApiVersions", {"ClientSoftwareName": "a", "ClientSoftwareVersion": "1"})
    yield respond(simulator, node, "ListGroups", {})
    yield respond(simulator, node, "Metadata", {"Topics": None})
    yield respond(simulator, node, "DescribeGroups", {"Groups": ids, "IncludeAuthorizedOperations": True})
    for name in ("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"):
        yield respond(simulator, node, name, {"GroupIds": ids, "IncludeAuthorizedOperations": True})
    all_topics = [{"GroupId": name, "Topics": None} for name in ids]
    for fields in [{"Groups": all_topics}] if ranges[API["OffsetFetch"].key][1] >= 8 else all_topics:
        yield respond(simulator, node, "OffsetFetch", fields)
    yield respond(simulator, node, "DescribeShareGroupOffsets", {"Groups": all_topics})
    yield respond(simulator, node, "ListOffsets", {"ReplicaId": -1, "Topics": topics})
    yield respond(simulator, node, "DescribeConfigs", {"Resources": configs, "IncludeSynonyms": True})


def digests(simulator: Simulator, times: Sequence[float]) -> list[str]:
    """Return one SHA-256 digest for each time in `times`, in seconds after the start of the cluster.

    Each digest is computed from the responses of all brokers at that time.
    """
    found = []
    for t in times:
        simulator.advance(max(0.0, t - simulator.state.time()))
        whole = sha256()
        for node in simulator.state.nodes:
            for response in responses(simulator, node):
                whole.update(response)
        found.append(whole.hexdigest())
    return found


def demo_digests(name: str) -> list[str]:
    return digests(Simulator(clock=ManualClock(), **CLUSTERS[name]), (0.0, 8.5, 61.0, 3_600.0))


def history_digests() -> list[str]:
    plan = HistoryPlan(20_000 * DAY, 2 * DAY, seed=5)
    simulator = Simulator(scenario="empty", seed=plan.seed, clock=ManualClock(plan.start))
    add_history(simulator.state, plan)
    return digests(simulator, [plan.seconds * step / 12 for step in range(13)])


@pytest.mark.parametrize("name", CLUSTERS)
def test_responses_of_the_demo_cluster_have_the_stored_digests(name: str) -> None:
    assert demo_digests(name) == json.loads(DIGESTS.read_text())[name]


def test_responses_of_the_demo_history_have_the_stored_digests() -> None:
    assert history_digests() == json.loads(DIGESTS.read_text())["history"]


def write_digests() -> None:
    found = {name: demo_digests(name) for name in CLUSTERS} | {"history": history_digests()}
    DIGESTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write_digests()

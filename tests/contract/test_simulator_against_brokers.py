"""Send the same unusual requests to the simulator and to real brokers, and compare the responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kgtui.protocol.messages.cluster import API_VERSIONS, DESCRIBE_CONFIGS, FIND_COORDINATOR, METADATA
from kgtui.protocol.messages.groups import (
    CONSUMER_GROUP_DESCRIBE,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
)
from kgtui.protocol.messages.offsets import DESCRIBE_SHARE_GROUP_OFFSETS, LIST_OFFSETS, OFFSET_FETCH
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.groups.base import ConsumedTopic
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.membership import ConstantMembership
from tests.contract.simulated_live_groups import ConstantOffsets, ConstantTopic, preview_features
from tests.unit.simulator.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kgtui.protocol.api import Api
    from tests.brokers.cluster import Cluster

Fields = dict[str, Any]
CLIENT = {"ClientSoftwareName": "kgtui", "ClientSoftwareVersion": "1.0"}
TOPIC, SIMPLE, DELETED_GROUP = "odd-topic", "odd-simple", "odd-deleted"
IDS = [SIMPLE, "odd-nope", ""]
UNKNOWN_ID = UUID(int=77 << 70)


def api_versions(version: int) -> Iterable[Fields]:
    yield CLIENT
    if version >= 3:
        yield {"ClientSoftwareName": "-x", "ClientSoftwareVersion": ""}


def metadata(version: int) -> Iterable[Fields]:
    quiet = {"AllowAutoTopicCreation": False} if version >= 4 else {}
    yield {"Topics": [{"Name": TOPIC}, {"Name": TOPIC}], **quiet}
    yield {"Topics": [], **quiet}
    if quiet:
        yield {"Topics": [{"Name": name} for name in ("odd-nope", "bad name", "", ".")], **quiet}
    if version >= 10:
        yield {"Topics": [{"Name": None, "TopicId": UNKNOWN_ID}], **quiet}
    if version >= 8:
        yield {"Topics": [{"Name": TOPIC}], "IncludeTopicAuthorizedOperations": True, **quiet}
    if 8 <= version <= 10:
        yield {"Topics": [], "IncludeClusterAuthorizedOperations": True, **quiet}


def find_coordinator(version: int) -> Iterable[Fields]:
    for key_type in (0, 2, 3, -1) if version >= 1 else (0,):
        kind = {"KeyType": key_type} if version >= 1 else {}
        yield ({"Key": SIMPLE} if version < 4 else {"CoordinatorKeys": IDS}) | kind


def list_groups(version: int) -> Iterable[Fields]:
    yield {}
    if version >= 4:
        yield from ({"StatesFilter": [state]} for state in ("Empty", "empty", " EMPTY ", "Stable", "x", ""))
    if version >= 5:
        yield from ({"TypesFilter": [name]} for name in ("classic", "Classic", " classic", "consumer", "x", ""))


def describe_groups(version: int) -> Iterable[Fields]:
    yield {"Groups": IDS}
    yield {"Groups": [SIMPLE, SIMPLE]}
    if version >= 3:
        yield {"Groups": IDS, "IncludeAuthorizedOperations": True}


def describe_typed(_version: int) -> Iterable[Fields]:
    yield {"GroupIds": IDS, "IncludeAuthorizedOperations": True}


def offset_fetch(version: int) -> Iterable[Fields]:
    some = [
        {"Name": TOPIC, "PartitionIndexes": [0, 1, 2, 9]},
        {"Name": "odd-nope", "PartitionIndexes": [0]},
    ]
    for topics in (some, [], None) if version >= 2 else (some, []):
        if version < 8:
            yield from ({"GroupId": group, "Topics": topics} for group in IDS)
        else:
            yield {"Groups": [{"GroupId": group, "Topics": topics} for group in IDS]}


def list_offsets(_version: int) -> Iterable[Fields]:
    def bounds(*partitions: tuple[str, int, int]) -> Fields:
        topics = [{"Name": t, "Partitions": [{"PartitionIndex": p, "Timestamp": at}]} for t, p, at in partitions]
        return {"ReplicaId": -1, "Topics": topics}

    yield bounds((TOPIC, 0, -1), ("odd-nope", 0, -1))
    yield bounds((TOPIC, 99, -1))
    for timestamp in (-2, -3, -4, -7, 0, 4_102_444_800_000):
        yield bounds((TOPIC, 0, timestamp))


def share_offsets(_version: int) -> Iterable[Fields]:
    yield {"Groups": [{"GroupId": group, "Topics": None} for group in IDS]}
    yield {"Groups": [{"GroupId": group, "Topics": []} for group in IDS]}
    for name in (TOPIC, "odd-nope"):
        yield {"Groups": [{"GroupId": SIMPLE, "Topics": [{"TopicName": name, "Partitions": [0]}]}]}


def describe_configs(_version: int) -> Iterable[Fields]:
    asked: list[tuple[int, str, list[str] | None]] = [
        (32, SIMPLE, ["consumer.session.timeout.ms", "nope"]),
        (32, "", None),
        (2, TOPIC, ["cleanup.policy"]),
        (2, "odd-nope", None),
        (2, "", None),
        (2, "bad name", None),
        (4, "1", ["offsets.retention.minutes"]),
        (4, "7", None),
        (4, "x", None),
        (99, "x", None),
    ]
    for kind, name, keys in asked:
        yield {"Resources": [{"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys}]}


def delete_groups(_version: int) -> Iterable[Fields]:
    yield {"GroupsNames": ["odd-nope", ""]}
    yield {"GroupsNames": []}


QUESTIONS = {
    API_VERSIONS: api_versions,
    METADATA: metadata,
    FIND_COORDINATOR: find_coordinator,
    LIST_GROUPS: list_groups,
    DESCRIBE_GROUPS: describe_groups,
    CONSUMER_GROUP_DESCRIBE: describe_typed,
    SHARE_GROUP_DESCRIBE: describe_typed,
    STREAMS_GROUP_DESCRIBE: describe_typed,
    OFFSET_FETCH: offset_fetch,
    LIST_OFFSETS: list_offsets,
    DESCRIBE_SHARE_GROUP_OFFSETS: share_offsets,
    DESCRIBE_CONFIGS: describe_configs,
    DELETE_GROUPS: delete_groups,
}


@pytest.fixture(scope="module")
def real(broker: Cluster) -> Iterator[Cluster]:
    """Run a real broker with a topic with three partitions, and a group that has committed offsets in two of them."""
    broker.create_topic(TOPIC, 3)
    broker.commit(SIMPLE, {(TOPIC, 0): 0, (TOPIC, 1): 0})
    yield broker
    broker.delete_topic(TOPIC)


def simulated(version: str) -> Simulator:
    """Return a simulated broker that has the same topic and the same group as the real broker."""
    release = ".".join(version.split(".")[:2])
    features = preview_features(release)
    cluster = Simulator(brokers=1, scenario="empty", kafka_version=release, clock=ManualClock(), features=features)
    topic = ConstantTopic(TOPIC, partitions=3)
    cluster.state.add_topics([topic])
    cluster.state.add_groups(
        [
            ClassicGroup(
                SIMPLE, ConstantMembership(0), [ConsumedTopic(topic, ConstantOffsets({0: 0, 1: 0}))], protocol=""
            )
        ]
    )
    return cluster


@pytest.mark.parametrize("api", QUESTIONS, ids=lambda api: api.name)
async def test_unusual_requests_get_the_same_responses_from_simulator_and_brokers(api: Api, real: Cluster) -> None:
    async with simulated(real.version) as fake:
        offered = fake.state.node(1).release.ranges.get(api.key, (1, 0))
        for version in range(offered[0], offered[1] + 1):
            for fields in QUESTIONS[api](version):
                asked = f"{api.name} v{version} {fields}"
                ours = await answer(fake.bootstrap, api, version, fields)
                theirs = await answer(real.bootstrap, api, version, fields)
                assert (asked, comparable(ours)) == (asked, comparable(theirs))


async def test_delete_requests_get_the_same_responses_from_simulator_and_brokers(real: Cluster) -> None:
    real.commit(DELETED_GROUP, {(TOPIC, 0): 0})
    async with simulated(real.version) as fake:
        fake.state.add_groups([ClassicGroup(DELETED_GROUP, ConstantMembership(0), protocol="")])
        for names in ([DELETED_GROUP, DELETED_GROUP, "odd-nope"], [DELETED_GROUP]):
            answers = [
                await answer(address, DELETE_GROUPS, 2, {"GroupsNames": names})
                for address in (fake.bootstrap, real.bootstrap)
            ]
            assert comparable(answers[0]) == comparable(answers[1])


async def answer(address: str, api: Api, version: int, fields: Fields) -> Fields:
    async with RawClient(address) as wire:
        return await wire.call(api, version, fields)


NOT_COMPARED = {
    "TopicId",
    "Rack",
    "ClusterId",
    "Host",
    "Port",
    "SupportedFeatures",
    "FinalizedFeatures",
    "FinalizedFeaturesEpoch",
}
"""Response fields that the tests ignore, because they depend on the cluster (such as its id) or its configuration."""


def comparable(value: Any) -> Any:
    """Return a copy of a response without the parts that can differ between a real and a simulated broker.

    For example, addresses are removed, known leader epochs are replaced by `known`, and rows are sorted.
    """
    if isinstance(value, dict):
        rows = {key: comparable(inner) for key, inner in value.items() if key not in NOT_COMPARED}
        if rows.get("LeaderEpoch", -1) >= 0:
            rows["LeaderEpoch"] = "known"
        if rows.get("CommittedLeaderEpoch", -1) >= 0:
            rows["CommittedLeaderEpoch"] = "known"
        if "ApiKeys" in rows:
            spoken = {api.key: (api.low, api.high) for api in QUESTIONS}
            rows["ApiKeys"] = [
                common(row, *spoken[row["ApiKey"]]) for row in rows["ApiKeys"] if row["ApiKey"] in spoken
            ]
        return rows
    if isinstance(value, list):
        kept = [comparable(row) for row in value if not isinstance(row, dict) or is_compared(row)]
        return sorted(kept, key=sort_key)
    return value


def common(row: Fields, low: int, high: int) -> Fields:
    """Return a copy of an ApiVersions row. Its version range is limited to the versions from `low` to `high`."""
    return {**row, "MinVersion": max(low, row["MinVersion"]), "MaxVersion": min(high, row["MaxVersion"])}


def is_compared(row: Fields) -> bool:
    """Return whether the tests compare a row of a response. Rows about groups of other test modules are ignored."""
    return str(row.get("GroupId", "odd-")).startswith(("odd-simple", "odd-nope", "odd-deleted")) or row.get(
        "GroupId"
    ) in (
        None,
        "",
    )


def sort_key(row: Any) -> str:
    if not isinstance(row, dict):
        return ""
    return str(
        next(
            (row[key] for key in ("GroupId", "Name", "Key", "TopicName", "ApiKey", "PartitionIndex") if key in row), ""
        )
    )

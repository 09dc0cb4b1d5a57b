"""ApiVersions, Metadata and FindCoordinator: what a client asks first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kgtui.protocol.error_codes import lookup
from kgtui.simulator.handlers.call import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    NOT_ASKED,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.handlers.call import Call
    from kgtui.simulator.topics import Topic

NO_ID = UUID(int=0)
LEADER_NOT_AVAILABLE = 5
INVALID_TOPIC = 17
UNKNOWN_TOPIC_ID = 100
GROUP_KEY, TRANSACTION_KEY = 0, 1
SHARE_KEY = 2
KEY_TYPES = (GROUP_KEY, TRANSACTION_KEY, SHARE_KEY)
SHARE_STATE = re.compile(r".*:[A-Za-z0-9_-]{22}:[0-9]+", re.DOTALL)
"""The key of a share partition: group, topic id, partition."""

FIRST_WITH_SHARE_KEY = 6
FIRST_BATCHED = 4
FIRST_WITH_SOFTWARE = 3
FIRST_WITHOUT_NAME = 12
FIRST_WITH_ZERO_FEATURES = 4
TOPIC_OPERATIONS, CLUSTER_OPERATIONS = 3576, 8096
"""As brokers without an authorizer answer."""

SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")

SUPPORTED_FEATURES = {
    "metadata.version": (7, 31),
    "group.version": (0, 1),
    "transaction.version": (0, 2),
    "share.version": (0, 2),
    "streams.version": (0, 1),
}


def api_versions(call: Call) -> dict[str, Any]:
    """What this broker speaks, and the features of the cluster (KIP-511, KIP-584)."""
    software = (call.fields.get("ClientSoftwareName", ""), call.fields.get("ClientSoftwareVersion", ""))
    if call.version >= FIRST_WITH_SOFTWARE and not all(SOFTWARE.fullmatch(part) for part in software):
        return {"ErrorCode": INVALID_REQUEST, "ThrottleTimeMs": call.throttle_ms}
    answer: dict[str, Any] = {
        "ErrorCode": call.error,
        "ApiKeys": api_keys(call),
        "ThrottleTimeMs": call.throttle_ms,
    }
    if call.node.release.tells_features and call.world.features:
        features = call.world.features
        answer["SupportedFeatures"] = [
            {"Name": name, "MinVersion": low, "MaxVersion": max(high, features.get(name, 0))}
            for name, (low, high) in SUPPORTED_FEATURES.items()
            # Before v4 there is no way to write a minimum of 0 (KIP-1022).
            if name in features and (low > 0 or call.version >= FIRST_WITH_ZERO_FEATURES)
        ]
        answer["FinalizedFeaturesEpoch"] = call.world.features_epoch
        answer["FinalizedFeatures"] = [
            {"Name": name, "MaxVersionLevel": level, "MinVersionLevel": level}
            for name, level in features.items()
            if level > 0
        ]
    return answer


def api_keys(call: Call) -> list[dict[str, int]]:
    """The ranges of versions that this broker offers."""
    return [
        {"ApiKey": key, "MinVersion": low, "MaxVersion": high} for key, (low, high) in call.node.release.ranges.items()
    ]


def metadata(call: Call) -> dict[str, Any]:
    """Brokers, and all topics, some or none."""
    world = call.world
    asked = call.fields["Topics"]
    if asked and call.version < FIRST_WITHOUT_NAME and any((row.get("TopicId") or NO_ID) != NO_ID for row in asked):
        return {"ThrottleTimeMs": call.throttle_ms, "Topics": [_invalid(row) for row in asked]}
    if asked is None:
        topics = [_topic(call, topic) for topic in world.topics.values() if not call.faults.topic_forbidden(topic.name)]
    else:
        different = {(row["Name"], row.get("TopicId")): row for row in asked}
        topics = [_asked_topic(call, row) for row in different.values()]
    answer = {
        "ThrottleTimeMs": call.throttle_ms,
        "Brokers": [
            {"NodeId": node.id, "Host": node.host, "Port": node.port, "Rack": node.rack} for node in world.alive
        ],
        "ClusterId": world.cluster_id,
        "ControllerId": world.controller,
        "Topics": topics,
    }
    if call.fields.get("IncludeClusterAuthorizedOperations"):
        answer["ClusterAuthorizedOperations"] = CLUSTER_OPERATIONS
    return answer


def _invalid(row: dict[str, Any]) -> dict[str, Any]:
    """A topic asked for by its id before v12, which brokers do not take."""
    return {"ErrorCode": INVALID_REQUEST, "Name": row["Name"] or "", "TopicId": row.get("TopicId") or NO_ID}


def _asked_topic(call: Call, row: dict[str, Any]) -> dict[str, Any]:
    world, name, topic_id = call.world, row["Name"], row.get("TopicId") or NO_ID
    if topic_id != NO_ID:
        topic = world.topic_ids.get(topic_id)
        if topic is None or call.faults.topic_forbidden(topic.name):
            return {"ErrorCode": UNKNOWN_TOPIC_ID, "Name": None, "TopicId": topic_id}
        return _topic(call, topic)
    if call.faults.topic_forbidden(name or ""):
        return {"ErrorCode": TOPIC_AUTHORIZATION_FAILED, "Name": name}
    topic = world.topics.get(name or "")
    if topic is None:
        valid = name is not None and TOPIC_NAME.fullmatch(name) and name not in (".", "..")
        return {"ErrorCode": UNKNOWN_TOPIC_OR_PARTITION if valid else INVALID_TOPIC, "Name": name or ""}
    return _topic(call, topic)


def _topic(call: Call, topic: Topic) -> dict[str, Any]:
    told = call.fields.get("IncludeTopicAuthorizedOperations") and not call.error
    return {
        "ErrorCode": call.error,
        "Name": topic.name,
        "TopicId": topic.id,
        "IsInternal": topic.internal,
        "Partitions": [] if call.error else list(_partitions(call, topic)),
        "TopicAuthorizedOperations": TOPIC_OPERATIONS if told else NOT_ASKED,
    }


def _partitions(call: Call, topic: Topic) -> Iterator[dict[str, Any]]:
    for partition in range(topic.partitions):
        held = call.world.leadership(topic, partition)
        yield {
            "ErrorCode": 0 if held.leader > 0 else LEADER_NOT_AVAILABLE,
            "PartitionIndex": partition,
            "LeaderId": held.leader,
            "LeaderEpoch": held.epoch,
            "ReplicaNodes": held.replicas,
            "IsrNodes": held.in_sync,
            "OfflineReplicas": [node for node in held.replicas if node not in held.in_sync],
        }


def find_coordinator(call: Call) -> dict[str, Any]:
    """Which broker coordinates a group: one key a request, or many (KIP-699)."""
    key_type = call.fields.get("KeyType", GROUP_KEY)
    if call.version >= FIRST_BATCHED:
        rows = [_coordinator(call, key_type, key) for key in call.fields["CoordinatorKeys"]]
        return {"ThrottleTimeMs": call.throttle_ms, "Coordinators": rows}
    row = _coordinator(call, key_type, call.fields["Key"])
    del row["Key"]
    row["ErrorMessage"] = lookup(row["ErrorCode"]).message if row["ErrorCode"] else "NONE"
    if call.version == 0:
        del row["ErrorMessage"]
    return {"ThrottleTimeMs": call.throttle_ms, **row}


def _coordinator(call: Call, key_type: int, key: str) -> dict[str, Any]:
    error = call.error or _refused_key(call, key_type, key)
    node_id = -1 if error else call.world.coordinator(key)
    if not error and node_id < 1:
        error = COORDINATOR_NOT_AVAILABLE
    if error:
        # Since answers are batched, only of a key type that is none the message is told.
        message = lookup(error).message if key_type not in KEY_TYPES else ""
        return {"Key": key, "NodeId": -1, "Host": "", "Port": -1, "ErrorCode": error, "ErrorMessage": message}
    node = call.world.node(node_id)
    return {"Key": key, "NodeId": node.id, "Host": node.host, "Port": node.port, "ErrorCode": 0, "ErrorMessage": ""}


def _refused_key(call: Call, key_type: int, key: str) -> int:
    """Why there is no coordinator for a key; 0 if there may be. Nobody writes transactions here, or share state."""
    if key_type not in KEY_TYPES:
        return INVALID_REQUEST
    if key_type == GROUP_KEY:
        return GROUP_AUTHORIZATION_FAILED if call.faults.group_forbidden(key) else 0
    if key_type == SHARE_KEY:
        wrong = call.node.release.has_type("share") and not SHARE_STATE.fullmatch(key)
        return INVALID_REQUEST if wrong or call.version < FIRST_WITH_SHARE_KEY else COORDINATOR_NOT_AVAILABLE
    return COORDINATOR_NOT_AVAILABLE

"""Handlers of ApiVersions, Metadata and FindCoordinator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kgtui.model.error_numbers import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    LEADER_NOT_AVAILABLE,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kgtui.protocol.error_codes import lookup
from kgtui.simulator.handlers.request_context import OPERATIONS_NOT_REQUESTED
from kgtui.simulator.releases import FEATURE_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.handlers.request_context import RequestContext
    from kgtui.simulator.topics import Topic

NO_ID = UUID(int=0)
GROUP_KEY, TRANSACTION_KEY = 0, 1
SHARE_KEY = 2
KEY_TYPES = (GROUP_KEY, TRANSACTION_KEY, SHARE_KEY)
SHARE_STATE = re.compile(r".*:[A-Za-z0-9_-]{22}:[0-9]+", re.DOTALL)
"""Matches the FindCoordinator key of a share partition: group id, topic id and partition, separated by colons."""

FIRST_WITH_SHARE_KEY = 6
FIRST_BATCHED = 4
FIRST_WITH_SOFTWARE = 3
FIRST_WITHOUT_NAME = 12
FIRST_WITH_ZERO_FEATURES = 4
TOPIC_OPERATIONS, CLUSTER_OPERATIONS = 3576, 8096
"""Bit fields of the operations on a topic and on the cluster that clients may perform if brokers have no authorizer."""

DESCRIBE_ONLY = 1 << 8
"""Bit field of the authorized operations on the cluster for a user who has only the permission DESCRIBE."""

SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def api_versions(request: RequestContext) -> dict[str, Any]:
    """Return the API versions that this broker supports, and the features of the cluster (KIP-511, KIP-584)."""
    software = (request.fields.get("ClientSoftwareName", ""), request.fields.get("ClientSoftwareVersion", ""))
    if request.version >= FIRST_WITH_SOFTWARE and not all(SOFTWARE.fullmatch(part) for part in software):
        return {"ErrorCode": INVALID_REQUEST, "ThrottleTimeMs": request.throttle_ms}
    response: dict[str, Any] = {
        "ErrorCode": request.error,
        "ApiKeys": api_keys(request),
        "ThrottleTimeMs": request.throttle_ms,
    }
    if request.node.release.reports_features and request.state.features:
        features = request.state.features
        response["SupportedFeatures"] = [
            {"Name": name, "MinVersion": low, "MaxVersion": max(high, features.get(name, 0))}
            for name, (low, high) in FEATURE_LEVELS.items()
            # ApiVersions responses before version 4 leave out features with the minimum level 0 (KIP-1022).
            if name in features and (low > 0 or request.version >= FIRST_WITH_ZERO_FEATURES)
        ]
        response["FinalizedFeaturesEpoch"] = request.state.features_epoch
        response["FinalizedFeatures"] = [
            {"Name": name, "MaxVersionLevel": level, "MinVersionLevel": level}
            for name, level in features.items()
            if level > 0
        ]
    return response


def api_keys(request: RequestContext) -> list[dict[str, int]]:
    return [
        {"ApiKey": key, "MinVersion": low, "MaxVersion": high}
        for key, (low, high) in request.node.release.ranges.items()
    ]


def metadata(request: RequestContext) -> dict[str, Any]:
    """Return the brokers and the requested topics. If `Topics` is null in the request, return all topics."""
    state = request.state
    requested = request.fields["Topics"]
    if (
        requested
        and request.version < FIRST_WITHOUT_NAME
        and any((row.get("TopicId") or NO_ID) != NO_ID for row in requested)
    ):
        return {"ThrottleTimeMs": request.throttle_ms, "Topics": [_invalid(row) for row in requested]}
    if requested is None:
        topics = [
            _topic(request, topic) for topic in state.topics.values() if not request.faults.topic_forbidden(topic.name)
        ]
    else:
        distinct = {(row["Name"], row.get("TopicId")): row for row in requested}
        topics = [_requested_topic(request, row) for row in distinct.values()]
    response = {
        "ThrottleTimeMs": request.throttle_ms,
        "Brokers": [
            {"NodeId": node.id, "Host": node.host, "Port": node.port, "Rack": node.rack} for node in state.alive
        ],
        "ClusterId": state.cluster_id,
        "ControllerId": state.controller,
        "Topics": topics,
    }
    if request.fields.get("IncludeClusterAuthorizedOperations"):
        response["ClusterAuthorizedOperations"] = _cluster_operations(request)
    return response


def _cluster_operations(request: RequestContext) -> int:
    """Return the bit field of the authorized operations on the cluster; 0 if the client lacks DESCRIBE on it."""
    faults = request.faults
    if faults.cluster_forbidden:
        return 0
    return DESCRIBE_ONLY if faults.forbids_groups or faults.forbids_topics else CLUSTER_OPERATIONS


def _invalid(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of one topic in a Metadata response, with the error INVALID_REQUEST."""
    # Brokers reject topic ids in Metadata versions 10 and 11, although these versions have the field.
    return {"ErrorCode": INVALID_REQUEST, "Name": row["Name"] or "", "TopicId": row.get("TopicId") or NO_ID}


def _requested_topic(request: RequestContext, row: dict[str, Any]) -> dict[str, Any]:
    state, name, topic_id = request.state, row["Name"], row.get("TopicId") or NO_ID
    if topic_id != NO_ID:
        topic = state.topic_ids.get(topic_id)
        if topic is None or request.faults.topic_forbidden(topic.name):
            return {"ErrorCode": UNKNOWN_TOPIC_ID, "Name": None, "TopicId": topic_id}
        return _topic(request, topic)
    if request.faults.topic_forbidden(name or ""):
        return {"ErrorCode": TOPIC_AUTHORIZATION_FAILED, "Name": name}
    topic = state.topics.get(name or "")
    if topic is None and request.faults.forbids_topics:
        return {"ErrorCode": TOPIC_AUTHORIZATION_FAILED, "Name": name}
    if topic is None:
        valid = name is not None and TOPIC_NAME.fullmatch(name) and name not in (".", "..")
        return {"ErrorCode": UNKNOWN_TOPIC_OR_PARTITION if valid else INVALID_TOPIC_EXCEPTION, "Name": name or ""}
    return _topic(request, topic)


def _topic(request: RequestContext, topic: Topic) -> dict[str, Any]:
    with_operations = request.fields.get("IncludeTopicAuthorizedOperations") and not request.error
    return {
        "ErrorCode": request.error,
        "Name": topic.name,
        "TopicId": topic.id,
        "IsInternal": topic.internal,
        "Partitions": [] if request.error else list(_partitions(request, topic)),
        "TopicAuthorizedOperations": TOPIC_OPERATIONS if with_operations else OPERATIONS_NOT_REQUESTED,
    }


def _partitions(request: RequestContext, topic: Topic) -> Iterator[dict[str, Any]]:
    for partition in range(topic.partitions):
        leadership = request.state.leadership(topic, partition)
        yield {
            "ErrorCode": 0 if leadership.leader > 0 else LEADER_NOT_AVAILABLE,
            "PartitionIndex": partition,
            "LeaderId": leadership.leader,
            "LeaderEpoch": leadership.epoch,
            "ReplicaNodes": leadership.replicas,
            "IsrNodes": leadership.in_sync,
            "OfflineReplicas": [node for node in leadership.replicas if node not in leadership.in_sync],
        }


def find_coordinator(request: RequestContext) -> dict[str, Any]:
    """Return the coordinator for the requested key or, since FindCoordinator v4, for several keys (KIP-699)."""
    key_type = request.fields.get("KeyType", GROUP_KEY)
    if request.version >= FIRST_BATCHED:
        rows = [_coordinator(request, key_type, key) for key in request.fields["CoordinatorKeys"]]
        return {"ThrottleTimeMs": request.throttle_ms, "Coordinators": rows}
    row = _coordinator(request, key_type, request.fields["Key"])
    del row["Key"]
    row["ErrorMessage"] = lookup(row["ErrorCode"]).message if row["ErrorCode"] else "NONE"
    if request.version == 0:
        del row["ErrorMessage"]
    return {"ThrottleTimeMs": request.throttle_ms, **row}


def _coordinator(request: RequestContext, key_type: int, key: str) -> dict[str, Any]:
    error = request.error or _key_error(request, key_type, key)
    node_id = -1 if error else request.state.coordinator(key)
    if not error and node_id < 1:
        error = COORDINATOR_NOT_AVAILABLE
    if error:
        # In responses since FindCoordinator v4, real brokers fill in the error message only if the key type is invalid.
        # For older versions, `find_coordinator` replaces the message that is set here.
        message = lookup(error).message if key_type not in KEY_TYPES else ""
        return {"Key": key, "NodeId": -1, "Host": "", "Port": -1, "ErrorCode": error, "ErrorMessage": message}
    node = request.state.node(node_id)
    return {"Key": key, "NodeId": node.id, "Host": node.host, "Port": node.port, "ErrorCode": 0, "ErrorMessage": ""}


def _key_error(request: RequestContext, key_type: int, key: str) -> int:
    """Return the error code for a FindCoordinator key; 0 if there is no error.

    In the simulated cluster, only groups have coordinators, so the keys of transactions and of share partitions always
    result in an error.
    """
    if key_type not in KEY_TYPES:
        return INVALID_REQUEST
    if key_type == GROUP_KEY:
        return GROUP_AUTHORIZATION_FAILED if request.faults.group_forbidden(key) else 0
    if key_type == SHARE_KEY:
        # Brokers reject malformed keys of share partitions since Kafka 4.0, which already contains share groups as an
        # early-access feature.
        wrong = request.node.release.number >= (4, 0) and not SHARE_STATE.fullmatch(key)
        return INVALID_REQUEST if wrong or request.version < FIRST_WITH_SHARE_KEY else COORDINATOR_NOT_AVAILABLE
    return COORDINATOR_NOT_AVAILABLE

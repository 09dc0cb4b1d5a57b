"""Kafka's error codes, each with a name, a message, what a client does next (`Reaction`), and advice for the user.

The codes, names and messages are the same as in Kafka 4.4.0 (`org.apache.kafka.common.protocol.Errors`). Packages that
must not import `kgtui.protocol` use `kgtui.model.error_numbers` instead.
"""

# Ruff's check of the line length (E501) is disabled in this file, so that each error code fits on one line.
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reaction(Enum):
    """How a client reacts to an error code."""

    NONE = "none"
    """No reaction, because the code means success."""
    RETRY = "retry"
    """Send the request to the same broker again after a delay."""
    FIND_COORDINATOR = "find coordinator"
    """Find the new coordinator of the group, then send the request there."""
    REFRESH_LEADER = "refresh leader"
    """Find the new leader of the partition, then send the request there."""
    REBOOTSTRAP = "rebootstrap"
    """Discard all metadata of the cluster, and connect again through the bootstrap servers (KIP-1102)."""
    FINAL = "final"
    """Give up, because a retry will not help."""


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One of Kafka's error codes, with its name and message, the reaction of a client, and advice for the user."""

    code: int
    name: str
    """Kafka's name, such as `NOT_COORDINATOR`; `UNKNOWN_<code>` for an unknown code."""
    message: str
    """Kafka's own message, or kgtui's message for an unknown code; empty for the code 0, which means success."""
    reaction: Reaction
    advice: str
    """What the user can do about the error; an empty string if there is no advice."""

    @property
    def is_retriable_at_coordinator(self) -> bool:
        """Whether to repeat a request about a group, if necessary after finding the group's new coordinator."""
        return self.reaction in (Reaction.RETRY, Reaction.FIND_COORDINATOR, Reaction.REBOOTSTRAP)

    @property
    def is_retriable_at_leader(self) -> bool:
        """Whether to repeat a request about a partition, if necessary after finding the partition's new leader."""
        return self.reaction in (Reaction.RETRY, Reaction.REFRESH_LEADER)


# Reaction → error codes. Codes that are not listed have the reaction FINAL. If the reaction is RETRY, FIND_COORDINATOR
# or REFRESH_LEADER, the exception for the code in Kafka's Java client is a subclass of RetriableException.
_REACTIONS = {
    Reaction.NONE: (0,),
    Reaction.RETRY: (2, 7, 13, 14, 19, 20, 41, 51, 70, 71, 78, 84, 88, 89, 106, 122, 123, 133),
    Reaction.FIND_COORDINATOR: (15, 16),
    Reaction.REFRESH_LEADER: (3, 5, 6, 9, 56, 72, 74, 75, 80, 83, 100, 103),
    Reaction.REBOOTSTRAP: (129,),
}

_ADVICE = {
    -1: "see the log of the broker for the cause",
    3: "the topic was deleted or just created, or this user has no DESCRIBE permission on it",
    5: "a leader is being elected; if this persists, check that the brokers with replicas of the partition are running",
    7: "the broker is slow or cannot reach the controller; try again",
    12: "raise offset.metadata.max.bytes on the brokers or shorten the metadata",
    14: "the coordinator is still loading its partitions of __consumer_offsets; try again in a moment",
    15: "the group's partition of __consumer_offsets has no leader; check that the brokers with its replicas are running",
    16: "the group has just moved to another coordinator; try again in a moment",
    24: "use a group id that is not empty",
    29: "grant DESCRIBE on the topic to this user",
    30: "grant DESCRIBE on the group to this user",
    31: "grant DESCRIBE on the cluster to this user",
    33: "set sasl.mechanism to one that the listener has enabled",
    34: "this listener requires SASL authentication; set security.protocol to SASL_SSL or SASL_PLAINTEXT",
    35: "the broker is too old for this request, or the feature is disabled in the cluster (see kafka-features.sh)",
    42: "the broker could not process the request; see its log for the reason",
    44: "a policy of the cluster forbids this request",
    54: "no authorizer is configured on the brokers, so the cluster has no ACLs",
    56: "a log directory of the leader has failed; see the log of that broker",
    58: "check the user name, the password and sasl.mechanism",
    60: "wait until the partition reassignment has finished",
    61: "set delegation.token.secret.key on the brokers",
    65: "grant the operation on the delegation token to this user",
    68: "stop all members of the group first; a static member stays until its session times out",
    69: "the group was deleted, or the request is for groups of another type",
    72: "the partition's leader does not have the listener through which kgtui connects; check listeners and "
    "advertised.listeners on all brokers",
    78: "the new leader is still catching up; try again in a moment",
    86: "a member is subscribed to the topic; stop that member or change its subscription first",
    88: "a transaction that commits offsets of this group is still open; try again after it has ended",
    89: "this user has exceeded a quota; try again later",
    104: "the bootstrap servers now belong to a different cluster; check their addresses",
    110: "the group has rebalanced meanwhile; refresh and try again",
    113: "the group has rebalanced meanwhile; refresh and try again",
    129: "the address now belongs to a different broker; connect again through the bootstrap servers",
    134: "see the message of the broker for the reason",
}


# fmt: off
_ERRORS: tuple[tuple[int, str, str], ...] = (
    (-1, "UNKNOWN_SERVER_ERROR", "The server experienced an unexpected error when processing the request."),
    (0, "NONE", ""),
    (1, "OFFSET_OUT_OF_RANGE", "The requested offset is not within the range of offsets maintained by the server."),
    (2, "CORRUPT_MESSAGE", "This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or is otherwise corrupt."),
    (3, "UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition."),
    (4, "INVALID_FETCH_SIZE", "The requested fetch size is invalid."),
    (5, "LEADER_NOT_AVAILABLE", "There is no leader for this topic-partition as we are in the middle of a leadership election."),
    (6, "NOT_LEADER_OR_FOLLOWER", "For requests intended only for the leader, this error indicates that the broker is not the current leader. For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition."),
    (7, "REQUEST_TIMED_OUT", "The request timed out."),
    (8, "BROKER_NOT_AVAILABLE", "The broker is not available."),
    (9, "REPLICA_NOT_AVAILABLE", "The replica is not available for the requested topic-partition. Produce/Fetch requests and other requests intended only for the leader or follower return NOT_LEADER_OR_FOLLOWER if the broker is not a replica of the topic-partition."),
    (10, "MESSAGE_TOO_LARGE", "The request included a message larger than the max message size the server will accept."),
    (11, "STALE_CONTROLLER_EPOCH", "The controller moved to another broker."),
    (12, "OFFSET_METADATA_TOO_LARGE", "The metadata field of the offset request was too large."),
    (13, "NETWORK_EXCEPTION", "The server disconnected before a response was received."),
    (14, "COORDINATOR_LOAD_IN_PROGRESS", "The coordinator is loading and hence can't process requests."),
    (15, "COORDINATOR_NOT_AVAILABLE", "The coordinator is not available."),
    (16, "NOT_COORDINATOR", "This is not the correct coordinator."),
    (17, "INVALID_TOPIC_EXCEPTION", "The request attempted to perform an operation on an invalid topic."),
    (18, "RECORD_LIST_TOO_LARGE", "The request included message batch larger than the configured segment size on the server."),
    (19, "NOT_ENOUGH_REPLICAS", "Messages are rejected since there are fewer in-sync replicas than required."),
    (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "Messages are written to the log, but to fewer in-sync replicas than required."),
    (21, "INVALID_REQUIRED_ACKS", "Produce request specified an invalid value for required acks."),
    (22, "ILLEGAL_GENERATION", "Specified group generation id is not valid."),
    (23, "INCONSISTENT_GROUP_PROTOCOL", "The group member's supported protocols are incompatible with those of existing members or first group member tried to join with empty protocol type or empty protocol list."),
    (24, "INVALID_GROUP_ID", "The group id is invalid."),
    (25, "UNKNOWN_MEMBER_ID", "The coordinator is not aware of this member."),
    (26, "INVALID_SESSION_TIMEOUT", "The session timeout is not within the range allowed by the broker (as configured by group.min.session.timeout.ms and group.max.session.timeout.ms)."),
    (27, "REBALANCE_IN_PROGRESS", "The group is rebalancing, so a rejoin is needed."),
    (28, "INVALID_COMMIT_OFFSET_SIZE", "The committing offset data size is not valid."),
    (29, "TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed."),
    (30, "GROUP_AUTHORIZATION_FAILED", "Group authorization failed."),
    (31, "CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed."),
    (32, "INVALID_TIMESTAMP", "The timestamp of the message is out of acceptable range."),
    (33, "UNSUPPORTED_SASL_MECHANISM", "The broker does not support the requested SASL mechanism."),
    (34, "ILLEGAL_SASL_STATE", "Request is not valid given the current SASL state."),
    (35, "UNSUPPORTED_VERSION", "The version of API is not supported."),
    (36, "TOPIC_ALREADY_EXISTS", "Topic with this name already exists."),
    (37, "INVALID_PARTITIONS", "Number of partitions is below 1."),
    (38, "INVALID_REPLICATION_FACTOR", "Replication factor is below 1 or larger than the number of available brokers."),
    (39, "INVALID_REPLICA_ASSIGNMENT", "Replica assignment is invalid."),
    (40, "INVALID_CONFIG", "Configuration is invalid."),
    (41, "NOT_CONTROLLER", "This is not the correct controller for this cluster."),
    (42, "INVALID_REQUEST", "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", "The message format version on the broker does not support the request."),
    (44, "POLICY_VIOLATION", "Request parameters do not satisfy the configured policy."),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER", "The broker received an out of order sequence number."),
    (46, "DUPLICATE_SEQUENCE_NUMBER", "The broker received a duplicate sequence number."),
    (47, "INVALID_PRODUCER_EPOCH", "Producer attempted to produce with an old epoch."),
    (48, "INVALID_TXN_STATE", "The producer attempted a transactional operation in an invalid state."),
    (49, "INVALID_PRODUCER_ID_MAPPING", "The producer attempted to use a producer id which is not currently assigned to its transactional id."),
    (50, "INVALID_TRANSACTION_TIMEOUT", "The transaction timeout is larger than the maximum value allowed by the broker (as configured by transaction.max.timeout.ms)."),
    (51, "CONCURRENT_TRANSACTIONS", "The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing."),
    (52, "TRANSACTION_COORDINATOR_FENCED", "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current coordinator for a given producer."),
    (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Transactional Id authorization failed."),
    (54, "SECURITY_DISABLED", "Security features are disabled."),
    (55, "OPERATION_NOT_ATTEMPTED", "The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations in the batch failed, causing the broker to respond without trying the rest."),
    (56, "KAFKA_STORAGE_ERROR", "Disk error when trying to access log file on the disk."),
    (57, "LOG_DIR_NOT_FOUND", "The user-specified log directory is not found in the broker config."),
    (58, "SASL_AUTHENTICATION_FAILED", "SASL Authentication failed."),
    (59, "UNKNOWN_PRODUCER_ID", "This exception is raised by the broker if it could not locate the producer metadata associated with the producerId in question. This could happen if, for instance, the producer's records were deleted because their retention time had elapsed. Once the last records of the producerId are removed, the producer's metadata is removed from the broker, and future appends by the producer will return this exception."),
    (60, "REASSIGNMENT_IN_PROGRESS", "A partition reassignment is in progress."),
    (61, "DELEGATION_TOKEN_AUTH_DISABLED", "Delegation Token feature is not enabled."),
    (62, "DELEGATION_TOKEN_NOT_FOUND", "Delegation Token is not found on server."),
    (63, "DELEGATION_TOKEN_OWNER_MISMATCH", "Specified Principal is not valid Owner/Renewer."),
    (64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token authenticated channels."),
    (65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", "Delegation Token authorization failed."),
    (66, "DELEGATION_TOKEN_EXPIRED", "Delegation Token is expired."),
    (67, "INVALID_PRINCIPAL_TYPE", "Supplied principalType is not supported."),
    (68, "NON_EMPTY_GROUP", "The group is not empty."),
    (69, "GROUP_ID_NOT_FOUND", "The group id does not exist."),
    (70, "FETCH_SESSION_ID_NOT_FOUND", "The fetch session ID was not found."),
    (71, "INVALID_FETCH_SESSION_EPOCH", "The fetch session epoch is invalid."),
    (72, "LISTENER_NOT_FOUND", "There is no listener on the leader broker that matches the listener on which metadata request was processed."),
    (73, "TOPIC_DELETION_DISABLED", "Topic deletion is disabled."),
    (74, "FENCED_LEADER_EPOCH", "The leader epoch in the request is older than the epoch on the broker."),
    (75, "UNKNOWN_LEADER_EPOCH", "The leader epoch in the request is newer than the epoch on the broker."),
    (76, "UNSUPPORTED_COMPRESSION_TYPE", "The requesting client does not support the compression type of given partition."),
    (77, "STALE_BROKER_EPOCH", "Broker epoch has changed."),
    (78, "OFFSET_NOT_AVAILABLE", "The leader high watermark has not caught up from a recent leader election so the offsets cannot be guaranteed to be monotonically increasing."),
    (79, "MEMBER_ID_REQUIRED", "The group member needs to have a valid member id before actually entering a consumer group."),
    (80, "PREFERRED_LEADER_NOT_AVAILABLE", "The preferred leader was not available."),
    (81, "GROUP_MAX_SIZE_REACHED", "The group has reached its maximum size."),
    (82, "FENCED_INSTANCE_ID", "The broker rejected this static consumer since another consumer with the same group.instance.id has registered with a different member.id."),
    (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", "Eligible topic partition leaders are not available."),
    (84, "ELECTION_NOT_NEEDED", "Leader election not needed for topic partition."),
    (85, "NO_REASSIGNMENT_IN_PROGRESS", "No partition reassignment is in progress."),
    (86, "GROUP_SUBSCRIBED_TO_TOPIC", "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."),
    (87, "INVALID_RECORD", "This record has failed the validation on broker and hence will be rejected."),
    (88, "UNSTABLE_OFFSET_COMMIT", "There are unstable offsets that need to be cleared."),
    (89, "THROTTLING_QUOTA_EXCEEDED", "The throttling quota has been exceeded."),
    (90, "PRODUCER_FENCED", "There is a newer producer with the same transactionalId which fences the current one."),
    (91, "RESOURCE_NOT_FOUND", "A request illegally referred to a resource that does not exist."),
    (92, "DUPLICATE_RESOURCE", "A request illegally referred to the same resource twice."),
    (93, "UNACCEPTABLE_CREDENTIAL", "Requested credential would not meet criteria for acceptability."),
    (94, "INCONSISTENT_VOTER_SET", "Indicates that the either the sender or recipient of a voter-only request is not one of the expected voters."),
    (95, "INVALID_UPDATE_VERSION", "The given update version was invalid."),
    (96, "FEATURE_UPDATE_FAILED", "Unable to update finalized features due to an unexpected server error."),
    (97, "PRINCIPAL_DESERIALIZATION_FAILURE", "Request principal deserialization failed during forwarding. This indicates an internal error on the broker cluster security setup."),
    (98, "SNAPSHOT_NOT_FOUND", "Requested snapshot was not found."),
    (99, "POSITION_OUT_OF_RANGE", "Requested position is not greater than or equal to zero, and less than the size of the snapshot."),
    (100, "UNKNOWN_TOPIC_ID", "This server does not host this topic ID."),
    (101, "DUPLICATE_BROKER_REGISTRATION", "This broker ID is already in use."),
    (102, "BROKER_ID_NOT_REGISTERED", "The given broker ID was not registered."),
    (103, "INCONSISTENT_TOPIC_ID", "The log's topic ID did not match the topic ID in the request."),
    (104, "INCONSISTENT_CLUSTER_ID", "The clusterId in the request does not match that found on the server."),
    (105, "TRANSACTIONAL_ID_NOT_FOUND", "The transactionalId could not be found."),
    (106, "FETCH_SESSION_TOPIC_ID_ERROR", "The fetch session encountered inconsistent topic ID usage."),
    (107, "INELIGIBLE_REPLICA", "The new ISR contains at least one ineligible replica."),
    (108, "NEW_LEADER_ELECTED", "The AlterPartition request successfully updated the partition state but the leader has changed."),
    (109, "OFFSET_MOVED_TO_TIERED_STORAGE", "The requested offset is moved to tiered storage."),
    (110, "FENCED_MEMBER_EPOCH", "The member epoch is fenced by the group coordinator. The member must abandon all its partitions and rejoin."),
    (111, "UNRELEASED_INSTANCE_ID", "The instance ID is still used by another member in the consumer group. That member must leave first."),
    (112, "UNSUPPORTED_ASSIGNOR", "The assignor or its version range is not supported by the consumer group."),
    (113, "STALE_MEMBER_EPOCH", "The member epoch is stale. The member must retry after receiving its updated member epoch via the ConsumerGroupHeartbeat API."),
    (114, "MISMATCHED_ENDPOINT_TYPE", "The request was sent to an endpoint of the wrong type."),
    (115, "UNSUPPORTED_ENDPOINT_TYPE", "This endpoint type is not supported yet."),
    (116, "UNKNOWN_CONTROLLER_ID", "This controller ID is not known."),
    (117, "UNKNOWN_SUBSCRIPTION_ID", "Client sent a push telemetry request with an invalid or outdated subscription ID."),
    (118, "TELEMETRY_TOO_LARGE", "Client sent a push telemetry request larger than the maximum size the broker will accept."),
    (119, "INVALID_REGISTRATION", "The controller has considered the broker registration to be invalid."),
    (120, "TRANSACTION_ABORTABLE", "The server encountered an error with the transaction. The client can abort the transaction to continue using this transactional ID."),
    (121, "INVALID_RECORD_STATE", "The record state is invalid. The acknowledgement of delivery could not be completed."),
    (122, "SHARE_SESSION_NOT_FOUND", "The share session was not found."),
    (123, "INVALID_SHARE_SESSION_EPOCH", "The share session epoch is invalid."),
    (124, "FENCED_STATE_EPOCH", "The coordinator rejected the request because the state epoch did not match."),
    (125, "INVALID_VOTER_KEY", "The voter key doesn't match the receiving replica's key."),
    (126, "DUPLICATE_VOTER", "The voter is already part of the set of voters."),
    (127, "VOTER_NOT_FOUND", "The voter is not part of the set of voters."),
    (128, "INVALID_REGULAR_EXPRESSION", "The regular expression is not valid."),
    (129, "REBOOTSTRAP_REQUIRED", "Client metadata is stale. The client should rebootstrap to obtain new metadata."),
    (130, "STREAMS_INVALID_TOPOLOGY", "The supplied topology is invalid."),
    (131, "STREAMS_INVALID_TOPOLOGY_EPOCH", "The supplied topology epoch is invalid."),
    (132, "STREAMS_TOPOLOGY_FENCED", "The supplied topology epoch is outdated."),
    (133, "SHARE_SESSION_LIMIT_REACHED", "The limit of share sessions has been reached."),
    (134, "GROUP_DELETION_FAILED", "DeleteGroups could not complete; see the error message on the per-group result for details."),
    (135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", "The broker could not process the topology description update; see the error message for details."),
    (136, "CONTROLLER_ID_NOT_REGISTERED", "The given controller ID was not registered."),
)
# fmt: on


def _build() -> dict[int, ErrorCode]:
    reactions = {code: reaction for reaction, codes in _REACTIONS.items() for code in codes}
    return {
        code: ErrorCode(code, name, message, reactions.get(code, Reaction.FINAL), _ADVICE.get(code, ""))
        for code, name, message in _ERRORS
    }


CODES = _build()
"""Number of an error code → its `ErrorCode` object, for all error codes of Kafka 4.4.0."""


def lookup(code: int) -> ErrorCode:
    """Return the `ErrorCode` object for a code. An unknown code gets the name `UNKNOWN_<code>` and the reaction FINAL."""
    entry = CODES.get(code)
    if entry is not None:
        return entry
    message = f"error code {code} is not known to this version of kgtui"
    return ErrorCode(code, f"UNKNOWN_{code}", message, Reaction.FINAL, "")

"""Explains errors, group states and unknown lag: the meaning, the cause, and what to do next."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model import group_types as states
from kgtui.model.facts import hidden_offsets_fault
from kgtui.model.number_format import counted
from kgtui.model.offsets import lags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.answer import Fault
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a verdict, error, group state, lost records or unknown lag. Texts that do not apply are empty.

    Attributes:
        title: what is explained, such as the name of an error with its code.
        message: message from the broker or the network.
        meaning: what has happened, in one or two sentences.
        check: permissions or settings that may be the cause.
        advice: what the user can do next.
        is_problem: whether the user should act.
        why: reason for the verdict.
        since: when the problem began.
        who: members, broker or user with the problem.
        also: other problems of the group.
        basis: how kgtui has read the group for the verdict, such as `read once` or `observed 3 min`.
        status: name of the `GroupStatus` of the verdict.
    """

    title: str
    message: str = ""
    meaning: str = ""
    check: str = ""
    advice: str = ""
    is_problem: bool = True
    why: str = ""
    since: str = ""
    who: str = ""
    also: str = ""
    basis: str = ""
    status: str = ""


class _Text(NamedTuple):
    meaning: str
    check: str = ""
    advice: str = ""


_OTHERS = "kgtui has no explanation for this error code of Kafka; search for the name in Kafka's documentation."

_FAULTS: dict[str, _Text] = {
    # Errors that kgtui defines, for requests to which no valid response arrived
    "NOT_CONNECTED": _Text(
        "kgtui could not connect to the broker.",
        "bootstrap servers, the brokers' advertised.listeners, security.protocol, firewalls",
        "Check that this machine reaches the address, then compare security.protocol with that of the listener.",
    ),
    "NO_ANSWER": _Text(
        "The broker accepted the request but did not answer in time. The data of its groups is old.",
        "the broker's load and the network (kgtui polls a slow broker less often)",
        "Check the broker's request queue and garbage collection, and the network.",
    ),
    "DISCONNECTED": _Text(
        "The connection was lost while kgtui waited for a response.",
        "a broker restart, the idle limit (connections.max.idle.ms), a firewall, or a refused login",
        "kgtui reconnects by itself. If that does not help, read the broker's log.",
    ),
    "NOT_SUPPORTED": _Text(
        "The broker is too old for this request, or the feature is switched off.",
        "the broker's version, and the features group.version, share.version and streams.version",
        "Upgrade the broker, or switch the feature on with kafka-features.sh.",
    ),
    "DAMAGED_ANSWER": _Text(
        "The response does not follow the Kafka protocol.",
        "another program on this port, a proxy, or TLS on only one side of the connection",
        "Check the port and security.protocol. If both are right, report the problem with a debug log (--debug).",
    ),
    # Kafka errors about logins and missing permissions
    "GROUP_AUTHORIZATION_FAILED": _Text(
        "Your user does not have permission for this operation on the group.",
        "the ACLs on the group: DESCRIBE allows reading the group and its offsets",
        "Ask an administrator to run: kafka-acls.sh --add --allow-principal User:… --operation DESCRIBE --group …",
    ),
    "TOPIC_AUTHORIZATION_FAILED": _Text(
        "Your user does not have permission to see a topic of the group. If the group is not classic, the broker then "
        "withholds all members.",
        "ACL on the topic: DESCRIBE (consumer and share groups need it on every subscribed topic)",
        "Ask an administrator to run: kafka-acls.sh --add --allow-principal User:… --operation DESCRIBE --topic …",
    ),
    "OFFSETS_MAY_BE_HIDDEN": _Text(
        "The group has no offsets that you are allowed to see, but it may have hidden ones. Brokers leave out the "
        "offsets in topics that you are not allowed to describe.",
        "ACL on the topics that the group reads: DESCRIBE",
        "Ask an administrator to run: kafka-acls.sh --add --allow-principal User:… --operation DESCRIBE --topic …",
    ),
    "OFFSETS_HIDDEN": _Text(
        "Members of the group read a topic that you are not allowed to describe. Brokers leave out the offsets in this "
        "topic, so a part of the lag is unknown.",
        "ACL on the topic: DESCRIBE",
        "Ask an administrator to run: kafka-acls.sh --add --allow-principal User:… --operation DESCRIBE --topic …",
    ),
    "CLUSTER_AUTHORIZATION_FAILED": _Text(
        "Your user does not have permission for this operation on the cluster.",
        "ACL on the cluster: DESCRIBE; without it, brokers silently list only groups on which you have DESCRIBE",
        "Ask an administrator to run: kafka-acls.sh --add --allow-principal User:… --operation DESCRIBE --cluster",
    ),
    "SASL_AUTHENTICATION_FAILED": _Text(
        "The broker refused the login.",
        "sasl.mechanism and sasl.jaas.config of the client properties",
        "Check the user, the password and the mechanism. The broker's log has the reason.",
    ),
    # Kafka errors about groups
    "GROUP_ID_NOT_FOUND": _Text(
        "No group has this id, or the request was for groups of another type.",
        "offsets.retention.minutes, after which the broker deletes an Empty group",
        "Nothing needs to be done if the group was deleted on purpose. It is created again when a member joins.",
    ),
    "NON_EMPTY_GROUP": _Text(
        "The group has members, so the broker refuses to delete it or to change its offsets.",
        "session.timeout.ms: killed members and stopped static members remain in the group for this time",
        "Wait until the group is Empty, and try again.",
    ),
    "GROUP_SUBSCRIBED_TO_TOPIC": _Text(
        "A member subscribes to the topic, so the offsets of the topic cannot be deleted.",
        "",
        "First stop the members that subscribe to the topic.",
    ),
    "INVALID_GROUP_ID": _Text("The broker does not accept this group id.", "", "Use a group id that is not empty."),
    "COORDINATOR_LOAD_IN_PROGRESS": _Text(
        "The coordinator is still loading the group from __consumer_offsets, after a restart or after the group moved.",
        "the size of the group's partition of __consumer_offsets, and offsets.load.buffer.size",
        "Wait. If it takes many minutes, check whether the compaction of __consumer_offsets has stopped.",
    ),
    "COORDINATOR_NOT_AVAILABLE": _Text(
        "The group has no coordinator now, because its partition of __consumer_offsets has no leader.",
        "offsets.topic.replication.factor, and the replicas of the partition",
        "kafka-topics.sh --describe --topic __consumer_offsets --unavailable-partitions",
    ),
    "NOT_COORDINATOR": _Text(
        "The group has moved to another broker since it was last listed.",
        "",
        "Nothing needs to be done. kgtui looks up the new coordinator.",
    ),
    "UNSTABLE_OFFSET_COMMIT": _Text(
        "A transaction that is still open has uncommitted offsets for the group.",
        "transaction.timeout.ms of the producer",
        "Wait. If the transaction does not end, look for hanging transactions with kafka-transactions.sh find-hanging.",
    ),
    # Kafka errors about topics and partitions
    "UNKNOWN_TOPIC_OR_PARTITION": _Text(
        "The topic or partition no longer exists although the group has an offset in it, or you lack the permission to "
        "see it.",
        "offsets.retention.minutes; if the coordinator learns that the topic was deleted, it deletes the offsets "
        "immediately",
        "You can delete the offsets of this topic.",
    ),
    "LEADER_NOT_AVAILABLE": _Text(
        "The partition has no leader, so its log end offset is not known.",
        "unclean.leader.election.enable, and the replicas of the partition",
        "kafka-topics.sh --describe --unavailable-partitions",
    ),
    "NOT_LEADER_OR_FOLLOWER": _Text(
        "The leader of the partition has just changed.",
        "",
        "Nothing needs to be done. kgtui asks the new leader at the next poll.",
    ),
    # Kafka errors that a broker may return for any request
    "UNSUPPORTED_VERSION": _Text(
        "The broker supports the request, but the feature for it is switched off.",
        "the features group.version, share.version and streams.version",
        "Show the finalized features with kafka-features.sh describe.",
    ),
    "REQUEST_TIMED_OUT": _Text(
        "The broker waited too long for another broker, often for the controller.",
        "request.timeout.ms",
        "Try again. If it fails again, read the controller's log.",
    ),
    "THROTTLING_QUOTA_EXCEEDED": _Text(
        "The broker throttles your user.",
        "quotas of the user and the client id",
        "Poll less often, or raise the quota.",
    ),
    "UNKNOWN_SERVER_ERROR": _Text(
        "The broker failed with an error that has no code.", "", "Read the stack trace in the broker's log.",
    ),
}  # fmt: skip

_STATES: dict[str, _Text] = {
    states.STABLE: _Text("All members have their assigned partitions."),
    states.EMPTY: _Text(
        "The group has no members. Its offsets are kept.",
        "offsets.retention.minutes, the time after which brokers delete the offsets (but not those of share groups)",
    ),
    states.DEAD: _Text(
        "The group is being removed. Older brokers also report Dead for a group that does not exist or is not classic.",
        "",
        "Dead does not prove that the group is gone. List the groups again.",
    ),
    states.PREPARING_REBALANCE: _Text(
        "The coordinator waits until every member has joined again. The members do not read meanwhile.",
        "max.poll.interval.ms, the longest time that the coordinator waits for a busy member",
        "Find the slow member. Many rebalances in a row mean that members time out.",
    ),
    states.COMPLETING_REBALANCE: _Text(
        "The members have joined, and the leader computes the assignment.", "", "Wait a few seconds."
    ),
    states.ASSIGNING: _Text("The coordinator computes a new target assignment.", "", "Wait a few seconds."),
    states.RECONCILING: _Text(
        "The members change to the target assignment. One member gives up a partition before another takes it.",
        "consumer.session.timeout.ms and max.poll.interval.ms; a member that does not poll delays the others",
        "The Assignments pane shows the pending moves and the members that delay them.",
    ),
    states.NOT_READY: _Text(
        "The streams group cannot start, because a source topic or an internal topic does not exist.",
        "the topics of the topology, and the ACL operation CREATE for internal topics",
        "Create the source topics, or read the members' logs to find out what is missing.",
    ),
}

_REASONS: dict[str, _Text] = {
    "no commit": _Text(
        "The group has no committed offset in the partition and therefore no lag. auto.offset.reset decides where "
        "the group starts to read.",
        "enable.auto.commit, or the commits of the application",
        "Nothing needs to be done if the group has not read the partition yet.",
    ),
    "forbidden": _FAULTS["TOPIC_AUTHORIZATION_FAILED"],
    "topic deleted": _FAULTS["UNKNOWN_TOPIC_OR_PARTITION"],
    "no leader": _FAULTS["LEADER_NOT_AVAILABLE"],
    "not told": _Text(
        "The broker did not report the lag. For share groups, brokers report it since Kafka 4.2, and only for "
        "partitions that the group has read.",
        "",
        "Wait for a later poll, or upgrade the broker.",
    ),
    "pending": _Text("The log end offset has not been read yet.", "", "Wait for the next poll."),
}

_LOST = _Text(
    "The committed offset is before the log start offset, so records expired before the group read them.",
    "retention.ms and retention.bytes of the topic",
    "The records are lost. Raise the retention or make the consumers faster, so that no more records are lost.",
)


_GRANT = re.compile(r"grant ([A-Z_]+) on the (\w+)")
"""Finds the missing ACL operation in `Fault.advice`, such as DELETE in `grant DELETE on the group`.

kgtui gets the operation from the advice, because recordings store faults, but not the missing operation itself.
"""


def reason_text(reason: str) -> str:
    """Return a `PartitionLag.reason` as text for people. Only `not told` is replaced, with `not reported`.

    `PartitionLag.reason` itself remains `not told`, because JSON output contains this value, and must not change.
    """
    return "not reported" if reason == "not told" else reason


def explain_fault(fault: Fault) -> Explanation:
    """Explain an error. The advice is `fault.advice`, followed by general advice for all errors with this name."""
    text = _FAULTS.get(fault.name, _Text(_OTHERS))
    title = fault.name if fault.code is None else f"{fault.name} ({fault.code})"
    first = f"{fault.advice[:1].upper()}{fault.advice[1:]}" if fault.advice else ""
    granted = _GRANT.match(fault.advice)
    check, general = text.check, text.advice
    if granted and granted[1] != "DESCRIBE":
        check, general = f"the ACLs on the {granted[2]}: {granted[1]}", general.replace("DESCRIBE", granted[1])
    advice = " ".join(part if part.endswith((".", "…")) else f"{part}." for part in (first, general) if part)
    return Explanation(title, fault.message, text.meaning, check, advice)


def explain_state(state: str) -> Explanation:
    """Explain a group state. If kgtui does not know the state, the explanation says so."""
    text = _STATES.get(state, _Text("This version of kgtui does not know this state, which the broker reported."))
    return Explanation(state, "", *text, is_problem=False)


def explain_refusal(action: str, reason: str) -> Explanation:
    """Explain why an action of the user, such as deleting a group, is not available."""
    return Explanation(f"{action} is not available", "", f"{reason[:1].upper()}{reason[1:]}.", is_problem=False)


def explain_offsets(offsets: GroupOffsets) -> Iterator[Explanation]:
    """Yield explanations of lost records and of unknown lag.

    Each cause is explained once, and the title contains the number of partitions with this cause.
    """
    unknown: dict[str, int] = {}
    rows = lags(offsets)
    for row in rows:
        if row.reason:
            unknown[row.reason] = unknown.get(row.reason, 0) + 1
    lost = sum(1 for row in rows if row.lost)
    if lost:
        yield Explanation(f"records lost, {counted(lost, 'partition')}", "", *_LOST)
    for reason, count in unknown.items():
        text = _REASONS.get(reason, _Text(_OTHERS))
        yield Explanation(
            f"{reason_text(reason)}, {counted(count, 'partition')}", "", *text,
            is_problem=reason not in ("no commit", "pending"),
        )  # fmt: skip


def faults_of(snapshot: Snapshot, group: str) -> list[Fault]:
    """Return the faults of a group, without duplicates.

    The faults come from the newest reads of the group's members, offsets and configs, from the newest background read
    of the group, and from the newest poll of its coordinator. If brokers hide offsets of the group from the user, or
    might hide them, the last fault says so.
    """
    readings = (snapshot.details.get(group), snapshot.offsets.get(group), snapshot.configs.get(group))
    summary, listing = snapshot.summaries.get(group), snapshot.groups.get(group)
    broker = snapshot.brokers.get(listing.coordinator) if listing is not None else None
    found = [snapshot.group_faults.get(group), *(reading.fault for reading in readings if reading is not None)]
    found += [summary.fault if summary is not None else None, broker.fault if broker is not None else None]
    found.append(hidden_offsets_fault(snapshot, group))
    return list(dict.fromkeys(fault for fault in found if fault is not None))

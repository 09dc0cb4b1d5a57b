"""What a fault, a state or a missing number means, what is behind it, and what to do next: in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model import group_types as states
from kgtui.model.offsets import lags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.answer import Fault
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Explanation:
    """One thing explained.

    Attributes:
        title: what it is: an error's name with its code, a state, a mark.
        said: the message, as the broker or the network gave it; `` when there is none.
        meaning: what it means.
        behind: the permission or setting behind it; `` when there is none.
        step: what to do next; `` when nothing needs doing.
        wrong: whether something is wrong, not just the way it is.
    """

    title: str
    said: str = ""
    meaning: str = ""
    behind: str = ""
    step: str = ""
    wrong: bool = True


class _Words(NamedTuple):
    meaning: str
    behind: str = ""
    step: str = ""


_OTHERS = "Kafka has more error codes than are explained here; the name is the broker's own."

_FAULTS: dict[str, _Words] = {
    # Ours: nothing came back that could carry a code.
    "NOT_CONNECTED": _Words(
        "No connection to the broker could be made.",
        "bootstrap servers, the brokers' advertised.listeners, security.protocol, firewalls",
        "Try the address from this machine, then compare security.protocol with the listener's.",
    ),
    "NO_ANSWER": _Words(
        "The broker accepted the request and did not answer in time. What is shown of its groups is old.",
        "the broker's load and the network; polls wait longer for it by themselves",
        "Look at the broker's request queue and garbage collection, and at the link to it.",
    ),
    "DISCONNECTED": _Words(
        "The connection broke while an answer was awaited.",
        "a broker restart, an idle limit (connections.max.idle.ms), a firewall, or a refused login",
        "Nothing, if it comes back: it is dialled again by itself. Otherwise read the broker's log at this time.",
    ),
    "NOT_SUPPORTED": _Words(
        "This broker is too old for the question, or has the feature switched off.",
        "the broker's version, and the features group.version, share.version and streams.version",
        "Upgrade the broker, or switch the feature on with kafka-features.sh.",
    ),
    "DAMAGED_ANSWER": _Words(
        "The bytes that came back do not follow Kafka's protocol.",
        "something other than Kafka on that port, a proxy between, or TLS spoken to a plain listener or the reverse",
        "Check the port and security.protocol; if both are right, please report it with a debug log.",
    ),
    # Permissions
    "GROUP_AUTHORIZATION_FAILED": _Words(
        "The user that this program logged in as may not do this with the group.",
        "ACL on the group: DESCRIBE to see it, READ to read its offsets, DELETE to delete it",
        "Ask for: kafka-acls.sh --add --allow-principal User:… --operation DESCRIBE --group …",
    ),
    "TOPIC_AUTHORIZATION_FAILED": _Words(
        "The user may not see a topic that the group reads. Of groups of the newer protocols the broker then withholds "
        "all members.",
        "ACL on the topic: DESCRIBE; consumer and share groups need it on every subscribed topic",
        "Ask for: kafka-acls.sh --add --allow-principal User:… --operation DESCRIBE --topic …",
    ),
    "CLUSTER_AUTHORIZATION_FAILED": _Words(
        "The user may not ask this of the cluster.",
        "ACL on the cluster: DESCRIBE; without it only groups with a DESCRIBE of their own are listed, silently",
        "Ask for: kafka-acls.sh --add --allow-principal User:… --operation DESCRIBE --cluster",
    ),
    "SASL_AUTHENTICATION_FAILED": _Words(
        "The broker refused the login.",
        "sasl.mechanism and sasl.jaas.config of the client properties",
        "Check user, password and mechanism; the broker's log names the reason.",
    ),
    # Groups
    "GROUP_ID_NOT_FOUND": _Words(
        "There is no group of this name, or it is of another type than was asked for.",
        "offsets.retention.minutes: an empty group is forgotten after it",
        "Nothing, if it was deleted on purpose; it comes back when a member joins.",
    ),
    "NON_EMPTY_GROUP": _Words(
        "The group has members, so the broker refuses to delete it or to change its offsets.",
        "session.timeout.ms: members that were killed, and static members that stopped, count until it has passed",
        "Stop its members, wait until the group is Empty, and try again.",
    ),
    "GROUP_SUBSCRIBED_TO_TOPIC": _Words(
        "A member subscribes to the topic, so its offsets cannot be deleted.",
        "",
        "Stop the members that subscribe to the topic first.",
    ),
    "INVALID_GROUP_ID": _Words("The broker does not accept this group id.", "", "An empty id cannot be used here."),
    "COORDINATOR_LOAD_IN_PROGRESS": _Words(
        "The coordinator is still reading the group from __consumer_offsets, after a restart or a move.",
        "the size of that partition; offsets.load.buffer.size",
        "Wait. If it takes many minutes, see whether compaction of __consumer_offsets has stopped.",
    ),
    "COORDINATOR_NOT_AVAILABLE": _Words(
        "No broker coordinates the group now: its partition of __consumer_offsets has no leader.",
        "offsets.topic.replication.factor and the replicas of that partition",
        "kafka-topics.sh --describe --topic __consumer_offsets --unavailable-partitions",
    ),
    "NOT_COORDINATOR": _Words(
        "The group has moved to another broker since it was last listed.", "", "Nothing: it is looked up again.",
    ),
    "UNSTABLE_OFFSET_COMMIT": _Words(
        "Offsets of a transaction that is still open are pending.",
        "transaction.timeout.ms of the producer",
        "Wait; if it stays, look for hanging transactions with kafka-transactions.sh find-hanging.",
    ),
    # Topics
    "UNKNOWN_TOPIC_OR_PARTITION": _Words(
        "The topic or partition does not exist any more, but the group's offset is still there; or it may not be seen.",
        "offsets.retention.minutes; a coordinator that learns of the deletion drops them at once",
        "Nothing; or delete the offsets of that topic.",
    ),
    "LEADER_NOT_AVAILABLE": _Words(
        "The partition has no leader, so its end is not known.",
        "unclean.leader.election.enable and the partition's replicas",
        "kafka-topics.sh --describe --unavailable-partitions",
    ),
    "NOT_LEADER_OR_FOLLOWER": _Words(
        "The partition's leader has just changed.", "", "Nothing: the new leader is asked next.",
    ),
    # The rest
    "UNSUPPORTED_VERSION": _Words(
        "The broker advertises the request but has what it is about switched off.",
        "the features group.version, share.version and streams.version",
        "kafka-features.sh describe shows what is finalized.",
    ),
    "REQUEST_TIMED_OUT": _Words(
        "The broker gave up waiting for others, often for its controller.",
        "request.timeout.ms",
        "Try again; look at the controller's log if it stays.",
    ),
    "THROTTLING_QUOTA_EXCEEDED": _Words(
        "The broker slows this user down.", "quotas of the user and client id", "Poll less often, or raise the quota.",
    ),
    "UNKNOWN_SERVER_ERROR": _Words(
        "The broker failed in a way it has no code for.", "", "The broker's log has a stack trace at this time.",
    ),
}  # fmt: skip

_STATES: dict[str, _Words] = {
    states.STABLE: _Words("All members have their assigned partitions."),
    states.EMPTY: _Words(
        "The group has no members; its offsets are kept.",
        "offsets.retention.minutes counts from the moment it became empty",
        "It can be deleted now.",
    ),
    states.DEAD: _Words(
        "The group is being removed; older brokers also say this of groups that do not exist or are of a newer type.",
        "",
        "Never read Dead as gone: list the group again.",
    ),
    states.PREPARING_REBALANCE: _Words(
        "The coordinator waits for every member to join again; nobody reads meanwhile.",
        "max.poll.interval.ms: a member that is busy is waited for this long",
        "See which member is slow; many of these in a row mean that members time out.",
    ),
    states.COMPLETING_REBALANCE: _Words(
        "The members have joined and the leader computes the assignment.", "", "It passes in seconds."
    ),
    states.ASSIGNING: _Words("The coordinator computes a new target assignment.", "", "It passes in seconds."),
    states.RECONCILING: _Words(
        "Members move towards the target assignment, each giving up before another takes.",
        "consumer.session.timeout.ms and the clients' max.poll.interval.ms: who does not poll holds up the rest",
        "The Assignments pane names what must still move and who is waited for.",
    ),
    states.NOT_READY: _Words(
        "The streams group cannot start: a source topic is missing, or internal topics are not made yet.",
        "the topics of the topology, and ACL CREATE for internal topics",
        "Create the source topics, or see the members' logs for what is missing.",
    ),
}

_REASONS: dict[str, _Words] = {
    "no commit": _Words(
        "Nothing is committed for the partition, so there is no lag: auto.offset.reset decides where reading starts.",
        "enable.auto.commit, or the application's own commits",
        "Nothing, if the group has not read it yet.",
    ),
    "forbidden": _FAULTS["TOPIC_AUTHORIZATION_FAILED"],
    "topic deleted": _FAULTS["UNKNOWN_TOPIC_OR_PARTITION"],
    "no leader": _FAULTS["LEADER_NOT_AVAILABLE"],
    "not told": _Words(
        "The broker did not report it. Brokers report the lag of share groups since Kafka 4.2, once it has been read.",
        "",
        "Wait for a later poll, or upgrade the broker.",
    ),
    "pending": _Words("The end of the log has not been read yet.", "", "It comes with the next poll."),
}

_LOST = _Words(
    "The committed offset lies before the first record that is still there: records expired before they were read.",
    "retention.ms and retention.bytes of the topic",
    "They cannot be brought back. Raise the retention or the speed before it happens again.",
)


def reason_text(reason: str) -> str:
    """Word the `reason` of a `PartitionLag` for people. Its values are part of the JSON output, so they stay."""
    return "not reported" if reason == "not told" else reason


def of_fault(fault: Fault) -> Explanation:
    """A fault in words; its own advice goes before ours."""
    words = _FAULTS.get(fault.name, _Words(_OTHERS))
    title = fault.name if fault.code is None else f"{fault.name} ({fault.code})"
    step = f"{fault.advice[:1].upper()}{fault.advice[1:]}" if fault.advice else ""
    both = " ".join(part if part.endswith((".", "…")) else f"{part}." for part in (step, words.step) if part)
    return Explanation(title, fault.message, words.meaning, words.behind, both)


def of_state(state: str) -> Explanation:
    """A group state in words; one that was never heard of is the broker's own word."""
    words = _STATES.get(state, _Words("A state that this version has never heard of; the word is the broker's."))
    return Explanation(state, "", *words, wrong=False)


def of_refusal(action: str, reason: str) -> Explanation:
    """Why an action is not available."""
    return Explanation(f"{action} is not available", "", f"{reason[:1].upper()}{reason[1:]}.", wrong=False)


def of_offsets(offsets: GroupOffsets) -> Iterator[Explanation]:
    """Every reason for which a partition has no lag, and lost data, each once with how many partitions it concerns."""
    counted: dict[str, int] = {}
    rows = lags(offsets)
    for row in rows:
        if row.reason:
            counted[row.reason] = counted.get(row.reason, 0) + 1
    lost = sum(1 for row in rows if row.lost)
    if lost:
        yield Explanation(f"records lost, {_partitions(lost)}", "", *_LOST)
    for reason, count in counted.items():
        words = _REASONS.get(reason, _Words(_OTHERS))
        yield Explanation(
            f"{reason_text(reason)}, {_partitions(count)}", "", *words, wrong=reason not in ("no commit", "pending")
        )


def of_group(snapshot: Snapshot, group: str) -> list[Explanation]:
    """Everything about a group that may need words: its faults first, then its offsets, then its state."""
    found = [of_fault(fault) for fault in faults_of(snapshot, group)]
    offsets = snapshot.offsets.get(group)
    if offsets is not None:
        found += of_offsets(offsets.value)
    state = snapshot.state_of(group)
    return [*found, of_state(state)] if state else found


def faults_of(snapshot: Snapshot, group: str) -> list[Fault]:
    """Every fault that concerns the group: its own, those of its readings, its coordinator's; each once."""
    readings = (snapshot.details.get(group), snapshot.offsets.get(group), snapshot.configs.get(group))
    summary, listing = snapshot.summaries.get(group), snapshot.groups.get(group)
    broker = snapshot.brokers.get(listing.coordinator) if listing is not None else None
    found = [snapshot.group_faults.get(group), *(reading.fault for reading in readings if reading is not None)]
    found += [summary.fault if summary is not None else None, broker.fault if broker is not None else None]
    return list(dict.fromkeys(fault for fault in found if fault is not None))


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"

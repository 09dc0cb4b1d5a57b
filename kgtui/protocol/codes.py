"""What an error code is called, and what to do about it: try again where, or give up with which advice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kgtui.protocol.error_table import ERRORS


class Reaction(Enum):
    """What a client does after an error code."""

    NONE = "none"
    """There is no error."""
    RETRY = "retry"
    """Ask the same broker again, a little later."""
    FIND_COORDINATOR = "find coordinator"
    """The group has another coordinator now: look it up, then ask there."""
    REFRESH_LEADER = "refresh leader"
    """The partition has another leader now: refresh the metadata, then ask there."""
    REBOOTSTRAP = "rebootstrap"
    """What is known of the cluster is too old: start again from the bootstrap servers (KIP-1102)."""
    FINAL = "final"
    """Asking again will not help."""


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One of Kafka's error codes."""

    code: int
    name: str
    """Kafka's name, such as `NOT_COORDINATOR`; `UNKNOWN_<code>` for one newer than this table."""
    message: str
    """Kafka's own words; empty for no error."""
    reaction: Reaction
    advice: str
    """What a user can do about it; empty where there is nothing special to say."""


# Codes that are not listed are final. A code is listed here exactly if Kafka's exception for it is retriable
# (and 129, which asks for a new start); those that no API of ours answers are listed for completeness.
_REACTIONS = {
    Reaction.NONE: (0,),
    Reaction.RETRY: (2, 7, 13, 14, 19, 20, 41, 51, 70, 71, 78, 84, 88, 89, 106, 122, 123, 133),
    Reaction.FIND_COORDINATOR: (15, 16),
    Reaction.REFRESH_LEADER: (3, 5, 6, 9, 56, 72, 74, 75, 80, 83, 100, 103),
    Reaction.REBOOTSTRAP: (129,),
}

_ADVICE = {
    -1: "the broker's own log says what happened",
    3: "the topic is gone or was just created, or this user may not describe it",
    5: "a leader is being elected; if this stays, see whether the partition's replicas are up",
    7: "the broker is slow or its controller cannot be reached; try again",
    12: "raise offset.metadata.max.bytes on the brokers or shorten the metadata",
    14: "the coordinator is still reading its part of __consumer_offsets; this passes by itself",
    15: "no broker leads the group's partition of __consumer_offsets; see whether its replicas are up",
    16: "the group has just moved to another broker; this passes by itself",
    24: "a group id may not be empty here",
    29: "grant DESCRIBE on the topic to this user",
    30: "grant READ or DESCRIBE on the group to this user (DELETE to delete it)",
    31: "grant DESCRIBE on the cluster to this user",
    33: "set sasl.mechanism to one that the listener has enabled",
    34: "this listener wants SASL first; see security.protocol",
    35: "this broker is too old for it, or the feature is switched off on the cluster (kafka-features.sh)",
    42: "the broker did not understand the request; its log says why",
    44: "a policy of the cluster forbids it",
    54: "the brokers have no authorizer, so there are no ACLs to show or change",
    56: "a log folder of the leader has failed; see the broker's log",
    58: "check user name, password and sasl.mechanism",
    60: "wait until the reassignment is done",
    61: "the brokers have no delegation.token.secret.key",
    65: "grant the operation on the delegation token to this user",
    68: "stop every member of the group first; static members stay until their session times out",
    69: "the group does not exist any more, or it is of another type",
    72: "the leader does not have this listener; check listeners and advertised.listeners on every broker",
    78: "the new leader is catching up; this passes by itself",
    86: "a member is subscribed to the topic: stop it or change its subscription first",
    88: "a transaction over these offsets is still open; this passes when it ends",
    89: "a quota of this user is used up; try again later",
    104: "the bootstrap servers belong to another cluster than before",
    110: "the group has moved on; read it again",
    113: "the group has moved on; read it again",
    129: "the address now belongs to other brokers; connect again through the bootstrap servers",
    134: "the answer's own message says why",
}


def _build() -> dict[int, ErrorCode]:
    reactions = {code: reaction for reaction, codes in _REACTIONS.items() for code in codes}
    return {
        code: ErrorCode(code, name, message, reactions.get(code, Reaction.FINAL), _ADVICE.get(code, ""))
        for code, name, message in ERRORS
    }


CODES = _build()
"""Every code of Kafka 4.4.0."""


def lookup(code: int) -> ErrorCode:
    """Return what is known of a code; one that this table does not have is called `UNKNOWN_<code>` and final."""
    known = CODES.get(code)
    if known is not None:
        return known
    message = f"error code {code} is newer than this program"
    return ErrorCode(code, f"UNKNOWN_{code}", message, Reaction.FINAL, "")

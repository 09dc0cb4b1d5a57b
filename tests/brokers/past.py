"""What groups leave in `__consumer_offsets` besides their being there; made once a run on each broker."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

from kgtui.protocol.records import RecordType
from tests.brokers import happenings, wire
from tests.brokers.process import Java

if TYPE_CHECKING:
    from tests.brokers.live import Live

COMMITTED, ABORTED = 61, 62
"""Offsets that transactions of `transactional` committed and aborted."""

EXPRESSION = "^o[rR]ders$"
"""What the member of `by-expression` subscribed to."""

DELETED = {"classic": "deleted-classic", "consumer": "deleted-consumer", "share": "deleted-share"}
DELETED |= {"streams": "deleted-streams", "simple": "deleted-simple"}
"""Groups that were made to be deleted, by their type."""

_TIMEOUT = 90.0

CLASSIC_TYPES = {RecordType.OFFSET_COMMIT, RecordType.GROUP_METADATA}
CONSUMER_TYPES = {
    RecordType.CONSUMER_GROUP_METADATA,
    RecordType.CONSUMER_GROUP_MEMBER_METADATA,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
}
SHARE_AND_STREAMS_TYPES = {
    record_type for record_type in RecordType if record_type.name.startswith(("SHARE", "STREAMS"))
}
TYPES = {
    "4.3.1": CLASSIC_TYPES | CONSUMER_TYPES | SHARE_AND_STREAMS_TYPES | {RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION},
    "3.9.2": CLASSIC_TYPES | CONSUMER_TYPES | {RecordType.CONSUMER_GROUP_PARTITION_METADATA},
}
"""What a broker of each version writes for the live groups and for what `leave` does."""

_left: set[str] = set()
_leaving: defaultdict[str, Lock] = defaultdict(Lock)


def leave(live: Live) -> None:
    """Transactions, a commit that says when it expires, an expression, and groups of every type: all deleted again.

    It may be called again, from other threads too: all return when it is done.
    """
    with _leaving[live.bootstrap]:
        if live.bootstrap not in _left:
            _leave(live)
            _left.add(live.bootstrap)


def _leave(live: Live) -> None:
    cluster = live.cluster
    happenings.commit_in_transactions(cluster, "transactional", "orders", COMMITTED, ABORTED)
    happenings.commit_until(cluster, "expires-itself", "orders", 5, timedelta(days=30))
    cluster.commit(DELETED["simple"], {("orders", 0): 1, ("orders", 1): 2}, metadata="é漢字 [/red]")
    happenings.delete_offset(cluster, DELETED["simple"], "orders", 1)
    gone = _make_groups_to_delete(live)
    if live.newest:
        with happenings.subscribed_by_expression(cluster, "by-expression", EXPRESSION):
            pass
        wire.wait_for_states(live.bootstrap, {"by-expression": "Empty"}, _TIMEOUT)
        gone.append("by-expression")
    happenings.delete_groups(cluster, *gone, "transactional", "expires-itself")


def _make_groups_to_delete(live: Live) -> list[str]:
    classic, consumer = DELETED["classic"], DELETED["consumer"]
    _run(live, "EmptyConsumerGroups.java", "orders", "7", f"{classic}=classic", f"{consumer}=consumer")
    groups = [DELETED["simple"], classic, consumer]
    if live.newest:
        _run(live, "EmptyNewerGroups.java", DELETED["share"], DELETED["streams"], "orders")
        groups += [DELETED["share"], DELETED["streams"]]
    wire.wait_for_states(live.bootstrap, dict.fromkeys(groups, "Empty"), _TIMEOUT)
    return groups


def _run(live: Live, program: str, *arguments: str) -> None:
    java = Java(live.version, program, [live.bootstrap, *arguments], live.cluster.folder / f"past-{program}.log")
    try:
        java.wait_for("READY", _TIMEOUT)
    finally:
        java.stop()

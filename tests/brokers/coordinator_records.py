"""Make a broker write records of every type to `__consumer_offsets`, once per broker and test run."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

from kgtui.protocol.records import RecordType
from tests.brokers import group_actions, kio_client
from tests.brokers.groups import group_types, numbers

if TYPE_CHECKING:
    from tests.brokers.live import Live

COMMITTED, ABORTED = 61, 62
"""Offsets of the group `transactional` in two transactions, of which the first is committed, and the second aborted."""

EXPRESSION = "^o[rR]ders$"
"""Regular expression to which the member of the group `by-expression` subscribes."""

DELETED = {"classic": "deleted-classic", "consumer": "deleted-consumer", "share": "deleted-share"}
DELETED |= {"streams": "deleted-streams", "simple": "deleted-simple"}
"""Kind of group, such as `simple` → id of the group that `write_records` creates and deletes again."""

_TIMEOUT = 240.0

CLASSIC_TYPES = {RecordType.OFFSET_COMMIT, RecordType.GROUP_METADATA}
CONSUMER_TYPES = {
    RecordType.CONSUMER_GROUP_METADATA,
    RecordType.CONSUMER_GROUP_MEMBER_METADATA,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
}


def types(version: str) -> set[RecordType]:
    """Return the record types in `__consumer_offsets` after `write_records` has run on a broker of Kafka `version`.

    The records are about the groups of `tests.brokers.live`, and about the groups that `write_records` creates. A type
    is omitted if the broker writes only tombstones of this type.
    """
    release = numbers(version)
    found = CLASSIC_TYPES | CONSUMER_TYPES
    newer = group_types(version) & {"share", "streams"}
    found |= {record_type for record_type in RecordType if record_type.name.partition("_")[0].lower() in newer}
    if release < (4, 1):
        found |= {RecordType.CONSUMER_GROUP_PARTITION_METADATA}
    if release >= (4, 0):
        found |= {RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION}
    return found


_written: set[str] = set()
_locks: defaultdict[str, Lock] = defaultdict(Lock)


def write_records(live: Live) -> None:
    """Run transactions, commit an offset that expires, and create and delete groups of every type.

    A second call for the same broker does nothing.
    """
    with _locks[live.bootstrap]:
        if live.bootstrap not in _written:
            _write_records(live)
            _written.add(live.bootstrap)


def _write_records(live: Live) -> None:
    cluster = live.cluster
    group_actions.commit_in_transactions(cluster, "transactional", "orders", COMMITTED, ABORTED)
    group_actions.commit_with_retention(cluster, "expires-itself", "orders", 5, timedelta(days=30))
    cluster.commit(DELETED["simple"], {("orders", 0): 1, ("orders", 1): 2}, metadata="é漢字 [/red]")
    group_actions.delete_offset(cluster, DELETED["simple"], "orders", 1)
    to_delete = _make_groups_to_delete(live)
    if not live.version.startswith("3."):
        with group_actions.subscribed_by_expression(cluster, "by-expression", EXPRESSION):
            pass
        kio_client.wait_for_states(live.bootstrap, {"by-expression": "Empty"}, _TIMEOUT)
        to_delete.append("by-expression")
    group_actions.delete_groups(cluster, *to_delete, "transactional", "expires-itself")


def _make_groups_to_delete(live: Live) -> list[str]:
    classic, consumer = DELETED["classic"], DELETED["consumer"]
    _run(live, "EmptyConsumerGroups.java", "orders", "7", f"{classic}=classic", f"{consumer}=consumer")
    groups = [DELETED["simple"], classic, consumer]
    if newer := sorted(live.types & {"share", "streams"}):
        _run(live, "EmptyNewerGroups.java", "orders", *(f"{DELETED[group_type]}={group_type}" for group_type in newer))
        groups += [DELETED[group_type] for group_type in newer]
    kio_client.wait_for_states(live.bootstrap, dict.fromkeys(groups, "Empty"), _TIMEOUT)
    return groups


def _run(live: Live, program: str, *arguments: str) -> None:
    java = live.run_java(program, *arguments)
    try:
        java.wait_for("READY", _TIMEOUT)
    finally:
        java.stop()

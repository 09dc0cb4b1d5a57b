"""Helpers that create snapshots for tests of the filter language."""

from __future__ import annotations

from kgtui.model.answer import Fault
from kgtui.model.cluster import Broker, ClusterInfo
from kgtui.model.group import Listing
from kgtui.model.snapshot import Snapshot
from kgtui.model.summary import Summary, encode_member_index

NOW = 1_000_000.0
CLUSTER = ClusterInfo("test", {1: Broker(1, "one.kafka", 9092), 2: Broker(2, "two.kafka", 9092)})


def summary(
    members: int | None = 1,
    lag: int | None = 0,
    lag_unknown: int = 0,
    topics: tuple[str, ...] | None = (),
    clients: tuple[str, ...] = (),
    hosts: tuple[str, ...] = (),
    member_ids: tuple[str, ...] = (),
    age: float = 5.0,
    state: str | None = None,
    type: str | None = None,  # noqa: A002 - the field's name
    fault: Fault | None = None,
) -> Summary:
    """Return the summary of a group (the result of a background read). The read was made `age` seconds before `NOW`."""
    return Summary(
        members,
        lag,
        lag_unknown,
        1,
        topics,
        encode_member_index({"client": clients, "host": hosts, "member": member_ids}),
        NOW - age,
        lag_at=NOW - age,
        state=state,
        type=type,
        fault=fault,
    )


def snapshot(
    groups: dict[str, Listing],
    summaries: dict[str, Summary] | None = None,
    empty_for: dict[str, float] | None = None,
    faults: dict[str, Fault] | None = None,
) -> Snapshot:
    """Return a snapshot of `groups`, taken at the time `NOW`. The keys of all arguments are group ids.

    Args:
        summaries: results of the newest background read of each group; a group that was not read has no entry.
        empty_for: time since the group became Empty, in seconds.
        faults: errors of the newest reads that failed.
    """
    by_listing: dict[Listing, list[str]] = {}
    for group, listing in sorted(groups.items()):
        by_listing.setdefault(listing, []).append(group)
    since = {group: NOW - seconds for group, seconds in (empty_for or {}).items()}
    return Snapshot(1, NOW, CLUSTER, groups, by_listing, summaries or {}, state_since=since, group_faults=faults or {})


CONSUMER = Listing("consumer", "consumer", "Stable", 1)
CLASSIC = Listing("classic", "consumer", "Empty", 2)
CONNECT = Listing("classic", "connect", "Stable", 1)
SIMPLE = Listing("classic", "", "Empty", 2)
SHARE = Listing("share", "share", "Stable", 2)
UNKNOWN_TYPE = Listing(None, "consumer", None, 1)


def mixed_snapshot() -> Snapshot:
    """Return a snapshot with six groups, which have different types, protocols and states.

    kgtui has listed `connect-cluster` and `old.group`, but has not read them yet.
    """
    return snapshot(
        {
            "payments.settle": CONSUMER,
            "payments.refund": CLASSIC,
            "connect-cluster": CONNECT,
            "backfill tool": SIMPLE,
            "Orders-Share": SHARE,
            "old.group": UNKNOWN_TYPE,
        },
        {
            "payments.settle": summary(3, 18_200, 0, ("payments", "rates"), ("settle-1",), ("/10.0.3.7",), ("m-1",)),
            "payments.refund": summary(0, 0, 0, ("payments",), age=90.0),
            "backfill tool": summary(0, 700, 2, ("events",)),
            "Orders-Share": summary(None, None, 0, topics=None),
        },
        {"payments.refund": 7_200.0},
        {"Orders-Share": Fault("TOPIC_AUTHORIZATION_FAILED", "no", 29, group="Orders-Share")},
    )

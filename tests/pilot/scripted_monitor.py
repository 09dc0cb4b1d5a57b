"""Functions that create cluster snapshots, and a test double of the monitor that publishes them to the terminal UI."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.model.cluster import Broker, ClusterInfo
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.series import SeriesStore
from kgtui.model.snapshot import BrokerStatus, Reading, Snapshot
from kgtui.model.summary import Summary, encode_member_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kgtui.model.answer import Fault

NOW = 1_760_000_000.0
"""Time of all snapshots: 2025-10-09 08:53:20 UTC, in seconds since the epoch."""

Row = tuple[str, str | None, str, str | None, int]
"""A group as a tuple `(id, type, protocol type, state, node id of the coordinator)`."""


def snapshot_of(
    rows: Iterable[Row],
    *,
    brokers: int = 3,
    lags: Mapping[str, int] | None = None,
    summaries: Mapping[str, Summary] | None = None,
    faults: Mapping[int, Fault] | None = None,
    serial: int = 1,
    **fields: object,
) -> Snapshot:
    """Return a snapshot of the groups in `rows`.

    Args:
        brokers: number of brokers.
        lags: group id → lag in records, for groups that get a `Summary` with this lag and default values.
        summaries: group id → `Summary` (lag and other values of a group), for other groups that kgtui has read.
        faults: node id → why the last request to the broker failed.
        serial: number of the snapshot; higher is newer.
        fields: further attributes of the `Snapshot`.
    """
    groups: dict[str, Listing] = {}
    shared: dict[Listing, Listing] = {}
    lists: dict[Listing, list[str]] = defaultdict(list)
    for group, group_type, protocol, state, coordinator in rows:
        listing = Listing(group_type, protocol, state, coordinator)
        listing = shared.setdefault(listing, listing)
        groups[group] = listing
        lists[listing].append(group)
    for ids in lists.values():
        ids.sort()
    nodes = {node: Broker(node, f"broker-{node}", 9092) for node in range(1, brokers + 1)}
    all_summaries = dict(summaries or {}) | {group: summary(lag=lag) for group, lag in (lags or {}).items()}
    values: dict[str, object] = {
        "groups": groups,
        "by_listing": lists,
        "summaries": all_summaries,
        "brokers": {node: _status(node, groups, (faults or {}).get(node)) for node in nodes},
        "swept": len(all_summaries),
    } | fields
    return Snapshot(serial, NOW, ClusterInfo("cluster", nodes, 1, {}, ("broker-1:9092",)), **values)  # type: ignore[arg-type]


def _status(node: int, groups: Mapping[str, Listing], fault: Fault | None) -> BrokerStatus:
    count = sum(1 for listing in groups.values() if listing.coordinator == node)
    answered = NOW - 12 if fault else NOW - 1
    return BrokerStatus(node, f"broker-{node}:9092", answered, 20.0 + node, fault, count, failures=3 if fault else 0)


def summary(
    lag: int | None = 0, members: int | None = 1, *, unknown: int = 0, topics: tuple[str, ...] | None = ()
) -> Summary:
    """Return a `Summary`: a few values, such as the lag, that the monitor stores for each group.

    `unknown` is the number of partitions whose lag is unknown.
    """
    index = encode_member_index({"client": ["client"], "host": ["/10.0.0.1"], "member": ["m-1"]})
    return Summary(members, lag, unknown, 1, topics, index, NOW - 3, NOW - 3)


def many_groups(count: int, *, brokers: int = 5) -> list[Row]:
    """Return `count` groups. Every 50th is a Connect group, and the others are consumer groups.

    In each block of 1,000 groups, the first 900 are Stable, and the last 100 are Empty.
    """
    rows: list[Row] = []
    for number in range(count):
        state = "Stable" if number % 1000 < 900 else "Empty"
        group_type, protocol = ("consumer", "consumer") if number % 50 else ("classic", "connect")
        rows.append((f"team-{number % 97:03d}.service-{number:06d}", group_type, protocol, state, 1 + number % brokers))
    return rows


def with_details(snapshot: Snapshot, group: str, members: int = 2, lag: int = 100, **fields: object) -> Snapshot:
    """Return a copy of a snapshot that also contains the members and the offsets of one group.

    Each partition of the group has the lag `lag`, in records. `fields` sets more fields of the `GroupDescription`.
    """
    listing = snapshot.groups[group]
    all_members = tuple(
        Member(
            f"{group}-m{number}", f"client-{number}", f"/10.0.0.{number}", assignment=((f"{group}-topic", (number,)),)
        )
        for number in range(members)
    )
    values: dict[str, object] = {
        "members": all_members,
        "assignor": "uniform",
        "source": "ConsumerGroupDescribe v1",
    } | fields
    description = GroupDescription(
        group,
        listing.type or "classic",
        listing.protocol,
        listing.state or "Stable",
        listing.coordinator,
        **values,  # type: ignore[arg-type]
    )
    partitions = [(f"{group}-topic", number) for number in range(max(members, 1))]
    offsets = GroupOffsets(
        tuple(CommittedOffset(topic, part, 1000, 0) for topic, part in partitions),
        bounds={tp: PartitionBounds(0, 1000 + lag) for tp in partitions},
    )
    return replace(
        snapshot,
        details={**snapshot.details, group: Reading(description, NOW - 1)},
        offsets={**snapshot.offsets, group: Reading(offsets, NOW - 1)},
    )


class ScriptedMonitor:
    """A test double for `Monitor`. It publishes a test's snapshots, and records how the app uses the monitor."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.paused = False
        self.interval = 2.0
        self.series = SeriesStore()
        self.views: list[tuple[str | None, tuple[str, ...]]] = []
        self.configs_wanted: list[str | None] = []
        self.refreshed = 0
        self.inputs = 0
        self._listeners: list[Callable[[Snapshot], None]] = []

    def publish(self, snapshot: Snapshot) -> None:
        """Publish a snapshot to all subscribers."""
        self.snapshot = snapshot
        for listener in list(self._listeners):
            listener(snapshot)

    def subscribe(self, listener: Callable[[Snapshot], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def set_view(self, selected: str | None, visible: Sequence[str] = ()) -> None:
        self.views.append((selected, tuple(visible)))

    def note_input(self) -> None:
        self.inputs += 1

    def want_configs(self, group: str | None) -> None:
        self.configs_wanted.append(group)

    async def run(self) -> None:
        await asyncio.Event().wait()

    def refresh(self) -> None:
        self.refreshed += 1

    def forget(self, groups: Iterable[str]) -> None:
        pass

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds

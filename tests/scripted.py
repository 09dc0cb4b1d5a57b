"""`ScriptedAdmin`, a `GroupAdmin` for tests that returns data from dictionaries instead of reading a cluster."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from kgtui.admin.base import ListingDelta
from kgtui.errors import ClientError
from kgtui.model.access import FULL_ACCESS, Access
from kgtui.model.answer import Answer, Coverage, Fault, Outcome
from kgtui.model.cluster import Broker, ClusterInfo, Retention
from kgtui.model.group import GroupConfig, GroupDescription, Listing
from kgtui.model.group_types import GROUP_TYPES
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition
from kgtui.model.record_times import PRECISION

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from kgtui.model.cluster import TopicRules
    from kgtui.model.record_times import LogPosition, RecordTime

T = TypeVar("T")


def brokers(count: int = 3) -> dict[int, Broker]:
    """Return a dict with `count` brokers: node id → `Broker`. Node ids begin at 1."""
    return {node: Broker(node, "127.0.0.1", 9091 + node) for node in range(1, count + 1)}


def member(name: str = "m-1", **changes: object) -> Member:
    """Return a group member with the member id `name` and default values, except for the fields in `changes`."""
    values: dict[str, object] = {"member_id": name, "client_id": "client", "host": "/127.0.0.1"} | changes
    return Member(**values)  # type: ignore[arg-type]


@dataclass
class ScriptedAdmin:
    """A `GroupAdmin` (admin client for groups) whose methods return what a test has set in the attributes.

    Attributes:
        groups: group id → `Listing`, the group's row in a list of groups.
        descriptions: group id → description.
        commits: group id → committed offsets.
        shares: id of a share group → start offsets.
        bounds: (topic, partition) → log start and log end offset.
        configs: group id → configs.
        times: (topic, partition) → `RecordTime`. `record_times` returns it only if it contains the requested offset.
        topic_retention: result of `retention`.
        user_access: result of `access`.
        hidden: group id → topics whose offsets the user is not allowed to see. Methods return them in `Answer.hidden`.
            Unlike a broker, this class also returns the offsets of these topics.
        brokers: node id → broker.
        broken: node id or group id → error of requests to this broker or for this group. Methods return a `Fault` as
            it is, and a `ClientError` as the fault NO_ANSWER. `ScriptedFeed.poll` raises ClientError in both cases.
        delete_outcomes: group id → outcome of the deletion. By default, only Empty groups are deleted.
        calls: `(method, ids)` of each call, in order.
        gate: event for which each call waits; None if calls do not wait.
    """

    groups: dict[str, Listing] = field(default_factory=dict)
    descriptions: dict[str, GroupDescription] = field(default_factory=dict)
    commits: dict[str, tuple[CommittedOffset, ...]] = field(default_factory=dict)
    shares: dict[str, tuple[ShareOffset, ...]] = field(default_factory=dict)
    bounds: dict[TopicPartition, PartitionBounds] = field(default_factory=dict)
    configs: dict[str, tuple[GroupConfig, ...]] = field(default_factory=dict)
    times: dict[TopicPartition, RecordTime] = field(default_factory=dict)
    topic_retention: Retention = field(default_factory=Retention)
    user_access: Access = FULL_ACCESS
    hidden: dict[str, tuple[str, ...]] = field(default_factory=dict)
    brokers: dict[int, Broker] = field(default_factory=brokers)
    broken: dict[int | str, Fault | ClientError] = field(default_factory=dict)
    delete_outcomes: dict[str, Outcome] = field(default_factory=dict)
    calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    gate: asyncio.Event | None = None
    closed: bool = False

    def add(
        self,
        group: str,
        type: str = "classic",  # noqa: A002 - the field's name
        protocol: str | None = None,
        state: str = "Stable",
        coordinator: int = 1,
        *,
        members: tuple[Member, ...] = (),
        lag: int | None = None,
        **describe: object,
    ) -> None:
        """Add a group and its `GroupDescription`. `describe` sets more fields of the description.

        With `lag=5`, the group has committed offset 1000 in partition 0 of topic `t-<group>`, and the log end offset is
        1005. For a share group, 1000 is the start offset.
        """
        protocol = (type if type != "classic" else "consumer") if protocol is None else protocol
        self.groups[group] = Listing(type, protocol, state, coordinator)
        rpc = GROUP_TYPES[type].describe_rpc if type in GROUP_TYPES else "?"
        values: dict[str, object] = {"members": members, "source": f"{rpc} v1"} | describe
        self.descriptions[group] = GroupDescription(group, type, protocol, state, coordinator, **values)  # type: ignore[arg-type]
        if lag is None:
            return
        topic = f"t-{group}"
        self.bounds[topic, 0] = PartitionBounds(0, 1000 + lag)
        if type == "share":
            self.shares[group] = (ShareOffset(topic, 0, 1000, 0, lag),)
        else:
            self.commits[group] = (CommittedOffset(topic, 0, 1000, 0),)

    async def _record_call(self, call: str, groups: Iterable[str] = ()) -> None:
        self.calls.append((call, tuple(groups)))
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)

    async def cluster(self, *, timeout: float = 30.0) -> ClusterInfo:
        await self._record_call("cluster")
        return ClusterInfo("scripted", self.brokers, min(self.brokers, default=None), {}, ("127.0.0.1:9092",))

    async def list_groups(
        self,
        types: Collection[str] | None = None,
        protocols: Collection[str] | None = None,
        states: Collection[str] | None = None,
        *,
        timeout: float = 30.0,
    ) -> Answer[Mapping[str, Listing]]:
        await self._record_call("list_groups")
        faults = [f for f in (self._fault(node) for node in self.brokers) if f]
        rows = {
            group: row
            for group, row in sorted(self.groups.items())
            if row.coordinator not in self.broken
            and (types is None or row.type in types)
            and (protocols is None or row.protocol in protocols)
            and (states is None or row.state in states)
        }
        return Answer(rows, tuple(faults), Coverage((len(self.brokers) - len(faults), len(self.brokers))))

    def listing_feed(self, broker: int) -> ScriptedFeed:
        return ScriptedFeed(self, broker)

    def share_listings(self, listings: Callable[[], Mapping[str, Listing]]) -> None:
        """Do nothing, because this admin keeps no listings."""

    def _fault(self, key: int | str) -> Fault | None:
        broken = self.broken.get(key)
        if isinstance(broken, ClientError):
            return Fault("NO_ANSWER", str(broken), broker=broken.broker)
        return broken

    async def _select(
        self, call: str, groups: Iterable[str], rows: Mapping[str, T], *, known: bool = False
    ) -> Answer[Mapping[str, T]]:
        asked = list(groups)
        await self._record_call(call, asked)
        faults: list[Fault] = []
        picked: dict[str, T] = {}
        for group in asked:
            row = self.groups.get(group)
            fault = self._fault(group) or (self._fault(row.coordinator) if row else None)
            if fault:
                faults.append(fault)
            elif group in rows and (row is not None or not known):
                picked[group] = rows[group]
            elif known:
                faults.append(Fault("GROUP_ID_NOT_FOUND", f"Group {group} not found.", 69, group=group))
        return Answer(picked, tuple(faults), Coverage(groups=(len(picked), len(asked))))

    async def describe_groups(
        self, groups: Iterable[str], *, timeout: float = 30.0
    ) -> Answer[Mapping[str, GroupDescription]]:
        return await self._select("describe_groups", groups, self.descriptions, known=True)

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = 30.0
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        asked = list(groups)
        answer = await self._select("committed_offsets", asked, dict.fromkeys(asked, ()) | self.commits)
        return replace(answer, hidden=self._hidden_of(answer.rows))

    async def share_offsets(
        self, groups: Iterable[str], *, timeout: float = 30.0
    ) -> Answer[Mapping[str, tuple[ShareOffset, ...]]]:
        asked = list(groups)
        answer = await self._select("share_offsets", asked, dict.fromkeys(asked, ()) | self.shares)
        return replace(answer, hidden=self._hidden_of(answer.rows))

    def _hidden_of(self, groups: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return a dict: group id → topics whose offsets the user is not allowed to see.

        If the user lacks DESCRIBE on some topics, the dict contains all `groups`, because each group could consume
        these topics. For a group that is not in `self.hidden`, the topics are unknown, and the tuple is empty.
        """
        hides = self.user_access.hides_topics
        return {group: self.hidden.get(group, ()) for group in groups if hides or group in self.hidden}

    async def partition_bounds(
        self, partitions: Iterable[TopicPartition], *, starts: bool = True, timeout: float = 30.0
    ) -> Answer[Mapping[TopicPartition, PartitionBounds]]:
        asked = list(partitions)
        await self._record_call("partition_bounds", (f"{topic}-{part}" for topic, part in asked))
        found = {tp: self.bounds.get(tp, PartitionBounds(None, None, 3)) for tp in asked}
        return Answer(found if starts else {tp: replace(row, log_start=None) for tp, row in found.items()})

    async def record_times(
        self,
        positions: Mapping[TopicPartition, LogPosition],
        rules: Mapping[str, TopicRules] | None = None,
        *,
        precision: float = PRECISION,
        timeout: float = 30.0,
    ) -> Answer[Mapping[TopicPartition, RecordTime]]:
        await self._record_call("record_times", (f"{topic}-{part}" for topic, part in positions))
        found = {tp: self.times[tp] for tp in positions if tp in self.times}
        return Answer({tp: row for tp, row in found.items() if row.offset == positions[tp].offset})

    async def group_configs(
        self, groups: Iterable[str], *, timeout: float = 30.0
    ) -> Answer[Mapping[str, tuple[GroupConfig, ...]]]:
        return await self._select("group_configs", groups, self.configs)

    async def retention(self, topics: Iterable[str], *, timeout: float = 30.0) -> Answer[Retention]:
        asked = list(topics)
        await self._record_call("retention", asked)
        known = {topic: seconds for topic, seconds in self.topic_retention.topics.items() if topic in asked}
        rules = {topic: row for topic, row in self.topic_retention.rules.items() if topic in asked}
        return Answer(Retention(known, self.topic_retention.offsets, rules))

    async def access(self, *, max_age: float = 0.0, timeout: float = 30.0) -> Access:
        await self._record_call("access")
        return self.user_access

    async def delete_groups(self, groups: Iterable[str], *, timeout: float = 30.0) -> tuple[Outcome, ...]:
        asked = list(groups)
        await self._record_call("delete_groups", asked)
        return tuple(self._delete(group) for group in asked)

    def _delete(self, group: str) -> Outcome:
        if group in self.delete_outcomes:
            return self.delete_outcomes[group]
        if group not in self.groups:
            return Outcome(group, Fault("GROUP_ID_NOT_FOUND", "The group id does not exist.", 69, group=group))
        if self.descriptions[group].state != "Empty":
            return Outcome(group, Fault("NON_EMPTY_GROUP", "The group is not empty.", 68, group=group))
        for rows in (self.groups, self.descriptions, self.commits, self.shares):
            rows.pop(group, None)
        return Outcome(group)

    async def close(self) -> None:
        self.closed = True


@dataclass
class ScriptedFeed:
    """A fake `ListingFeed`, which polls the list of groups of one broker of a `ScriptedAdmin`.

    Each poll returns the changes since the previous poll.
    """

    admin: ScriptedAdmin
    broker: int
    known: dict[str, Listing] = field(default_factory=dict)

    async def poll(self, *, timeout: float = 30.0) -> ListingDelta:
        await self.admin._record_call("poll", (str(self.broker),))
        broken = self.admin.broken.get(self.broker)
        if isinstance(broken, ClientError):
            raise broken
        if broken is not None:
            raise ClientError(broken.message, broker=self.broker)
        now = {group: row for group, row in self.admin.groups.items() if row.coordinator == self.broker}
        updated = {group: row for group, row in now.items() if self.known.get(group) != row}
        removed = [group for group in self.known if group not in now]
        self.known = now
        return ListingDelta(updated, removed, len(now), 1.0)

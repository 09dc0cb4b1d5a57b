"""`KafkaGroupAdmin`: administration of the groups of a Kafka cluster, for Kafka 2.4 to 4.4."""

from __future__ import annotations

import asyncio
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.admin.access import UserAccess
from kgtui.admin.base import DEFAULT_TIMEOUT, ListingDelta, ListingFeed
from kgtui.admin.deadline import Deadline
from kgtui.admin.listing import KafkaListingFeed, Lister
from kgtui.admin.routing import EXCHANGE_ERRORS, FIRST_PAUSE, Batch, Router
from kgtui.client.pool import Lane, Pool
from kgtui.errors import BrokerError, UnreachableError
from kgtui.model.answer import Answer, Coverage, Fault, Outcome, fault_of
from kgtui.model.cluster import Broker, ClusterInfo
from kgtui.model.error_numbers import MAY_BE_EXECUTED
from kgtui.model.group import Listing
from kgtui.model.group_types import canonical_state, canonical_type
from kgtui.model.record_times import PRECISION
from kgtui.protocol.error_codes import lookup
from kgtui.protocol.messages.groups import DELETE_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from kgtui.admin.describing import Describer
    from kgtui.admin.log_bounds import BoundsReader
    from kgtui.admin.offsets import OffsetReader
    from kgtui.client.pool import ClusterView, Reply
    from kgtui.model.access import Access
    from kgtui.model.cluster import Retention, TopicRules
    from kgtui.model.group import GroupConfig, GroupDescription
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition
    from kgtui.model.record_times import LogPosition, RecordTime

T = TypeVar("T")

DESCRIBE_BATCH = 100
"""Maximum number of groups in one describe or delete request. The limit keeps the responses small."""

NO_USABLE_RESPONSE = frozenset({"NO_ANSWER", "DISCONNECTED", "DAMAGED_ANSWER"})
"""Names of the errors that mean that no response arrived, or that the response could not be decoded."""

REMEMBERED_TYPES = 10_000
"""Maximum number of groups whose type stays cached although no broker lists them any more.

To describe such a group, kgtui first tries the RPC for the cached type.
"""

INTERACTIVE_GROUPS = 20
"""Maximum number of groups in a call that uses the connection for interactive requests (`Lane.UI`).

Larger calls use the connection `Lane.BULK`, so that their long responses do not delay interactive calls.
"""

INTERACTIVE_PARTITIONS = 1_000
"""Maximum number of partitions in a call that uses the connection for interactive requests (`Lane.UI`).

Larger calls use the connection `Lane.BULK`, so that their long responses do not delay interactive calls.
"""


class KafkaGroupAdmin:
    """Administration of the groups of a Kafka cluster. `kgtui.admin.connect` creates one.

    Use it as an async context manager, or call `close` at the end. `GroupAdmin` documents the methods.

    Args:
        pool: connections to the cluster.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._unlisted: dict[str, Listing] = {}
        self._router = Router(pool)
        self._user = UserAccess(pool)
        self._lister = Lister(pool)

    # `_describer`, `_offsets` and `_bounds` are created on first use, so that a command that only lists groups does not
    # import their modules.

    @cached_property
    def _describer(self) -> Describer:
        from kgtui.admin.describing import Describer

        return Describer(self._pool, self._lister, self._type_of)

    @cached_property
    def _offsets(self) -> OffsetReader:
        from kgtui.admin.offsets import OffsetReader

        return OffsetReader(self._pool)

    @cached_property
    def _bounds(self) -> BoundsReader:
        from kgtui.admin.log_bounds import BoundsReader

        return BoundsReader(self._pool)

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the client properties, such as unknown ones (see `ClientSettings`)."""
        return self._pool.settings.warnings

    @property
    def api_timeout(self) -> float | None:
        """Time limit of a whole call, in seconds, from `default.api.timeout.ms`; None if not set."""
        return self._pool.settings.api_timeout

    @property
    def pool(self) -> Pool:
        """The connections to the cluster. `kgtui doctor` uses them for requests that do not concern groups."""
        return self._pool

    def _type_of(self, group: str) -> str | None:
        listing = self._pool.listing(group) or self._unlisted.get(group)
        return listing.type if listing else None

    async def cluster(self, *, timeout: float = DEFAULT_TIMEOUT) -> ClusterInfo:
        return _info(await self._pool.metadata(timeout=timeout, refresh=True), self._pool.seeds)

    async def list_groups(
        self,
        types: Collection[str] | None = None,
        protocols: Collection[str] | None = None,
        states: Collection[str] | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer[Mapping[str, Listing]]:
        deadline = Deadline(timeout)
        types = None if types is None else {canonical_type(name) for name in types}
        states = None if states is None else {canonical_state(state) for state in states}
        view = await self._pool.metadata(timeout=deadline.left(), refresh=True)
        nodes = sorted(view.brokers)
        answers = await asyncio.gather(*(self._list_broker(node, deadline, types, states) for node in nodes))
        faults = [answer for answer in answers if isinstance(answer, Fault)]
        if nodes and len(faults) == len(nodes):
            raise _nothing_learned(faults, view)
        merged: dict[str, Listing] = {}
        for answer in answers:
            if not isinstance(answer, Fault):
                # While a group moves to another coordinator, the old and the new coordinator can both list the group.
                # `|=` then keeps the `Listing` from the broker with the higher node id.
                merged |= answer
        merged, more = await self._complete(merged, deadline)
        rows = {
            group: row
            for group, row in sorted(merged.items())
            if (types is None or row.type in types)
            and (protocols is None or row.protocol in protocols)
            and (states is None or row.state in states)
        }
        return Answer(rows, (*faults, *more), Coverage((len(nodes) - len(faults), len(nodes))))

    async def _list_broker(
        self, node: int, deadline: Deadline, types: Collection[str] | None, states: Collection[str] | None
    ) -> dict[str, Listing] | Fault:
        """Return a dict: group id → `Listing` for the groups of one broker, or a `Fault` if they could not be listed.

        The request is repeated while the broker is loading its groups.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                return await self._lister.listings(node, deadline, types=types, states=states)
            except BrokerError as error:
                if not lookup(error.code).is_retriable_at_coordinator or deadline.left() < pause * 2:
                    return fault_of(error, broker=node)
                await asyncio.sleep(pause)
                pause *= 2
            except EXCHANGE_ERRORS as error:
                return fault_of(error, broker=node)

    async def _complete(
        self, listings: dict[str, Listing], deadline: Deadline
    ) -> tuple[dict[str, Listing], tuple[Fault, ...]]:
        """Describe the groups that old brokers list without state or type, and add the missing values to `listings`.

        Returns:
            `(listings, faults)`: group id → `Listing` for all groups, and one fault per group that could not be
            described. There is no fault for a group that no longer exists.
        """
        lacking = [group for group, row in listings.items() if row.state is None or row.type is None]
        if not lacking:
            return listings, ()
        answer = await self._describe(lacking, deadline, Lane.BULK)
        for group, found in answer.rows.items():
            row = listings[group]
            listings[group] = Listing(found.type, row.protocol, found.state, row.coordinator)
        return listings, tuple(fault for fault in answer.faults if fault.name != "GROUP_ID_NOT_FOUND")

    def listing_feed(self, broker: int) -> ListingFeed:
        return KafkaListingFeed(self._lister, broker, self._learn)

    def share_listings(self, listings: Callable[[], Mapping[str, Listing]]) -> None:
        self._pool.share_listings(listings)

    def _learn(self, delta: ListingDelta, node: int) -> None:
        self._pool.learn_listings(delta.updated)
        self._user.forget(delta.removed)
        for group in delta.removed:
            listing = self._pool.listing(group)
            if listing is not None and listing.coordinator == node:
                self._unlisted[group] = listing
                self._pool.unlist(group)
        for group in list(islice(self._unlisted, max(len(self._unlisted) - REMEMBERED_TYPES, 0))):
            del self._unlisted[group]

    async def describe_groups(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, GroupDescription]]:
        names = list(groups)
        return await self._describe(names, Deadline(timeout), _lane(names))

    async def _describe(
        self, groups: Sequence[str], deadline: Deadline, lane: Lane
    ) -> Answer[dict[str, GroupDescription]]:
        async def send(node: int, names: Sequence[str], until: Deadline) -> Batch[GroupDescription]:
            return await self._describer.send(node, names, until, lane)

        answer = await self._router.run(groups, send, deadline=deadline, size=DESCRIBE_BATCH, asked="describe")
        self._user.refusals.note_groups("describe", answer)
        return answer

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        names = list(groups)
        lane = _lane(names)

        async def send(node: int, ids: Sequence[str], until: Deadline) -> Batch[tuple[CommittedOffset, ...]]:
            return await self._offsets.committed(node, ids, until, lane)

        asked = "read offsets"
        reading = self._router.run(names, send, deadline=Deadline(timeout), size=self._offsets.batch, asked=asked)
        return await self._user.with_hidden(reading, asked, timeout)

    async def share_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[ShareOffset, ...]]]:
        names = list(groups)
        lane = _lane(names)

        async def send(node: int, ids: Sequence[str], until: Deadline) -> Batch[tuple[ShareOffset, ...]]:
            return await self._offsets.share(node, ids, until, lane)

        asked = "read share offsets"
        reading = self._router.run(names, send, deadline=Deadline(timeout), size=self._offsets.batch, asked=asked)
        return await self._user.with_hidden(reading, asked, timeout)

    async def partition_bounds(
        self, partitions: Iterable[TopicPartition], *, starts: bool = True, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[TopicPartition, PartitionBounds]]:
        rows = list(partitions)
        lane = Lane.UI if len(rows) <= INTERACTIVE_PARTITIONS else Lane.BULK
        answer = await self._bounds.read(rows, Deadline(timeout), lane, starts=starts)
        self._user.refusals.note_partitions(answer.rows)
        return answer

    async def record_times(
        self,
        positions: Mapping[TopicPartition, LogPosition],
        rules: Mapping[str, TopicRules] | None = None,
        *,
        precision: float = PRECISION,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer[Mapping[TopicPartition, RecordTime]]:
        from kgtui.admin.record_times import RecordTimeReader

        lane = Lane.UI if len(positions) <= INTERACTIVE_PARTITIONS else Lane.BULK
        reader = RecordTimeReader(self._pool)
        return await reader.read(positions, rules or {}, Deadline(timeout), lane, precision=precision)

    async def group_configs(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[GroupConfig, ...]]]:
        from kgtui.admin import configs

        deadline = Deadline(timeout)
        return await configs.group_configs(self._pool, await self._nodes(deadline), list(groups), deadline)

    async def retention(self, topics: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> Answer[Retention]:
        from kgtui.admin import configs

        deadline = Deadline(timeout)
        return await configs.retention(self._pool, await self._nodes(deadline), list(topics), deadline)

    async def _nodes(self, deadline: Deadline) -> list[int]:
        """Return the node ids of all brokers, the controller first."""
        view = await self._pool.metadata(timeout=deadline.left())
        return sorted(view.brokers, key=lambda node: node != view.controller)

    async def access(self, *, max_age: float = 0.0, timeout: float = DEFAULT_TIMEOUT) -> Access:
        return await self._user.read(max_age, timeout)

    async def delete_groups(self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> tuple[Outcome, ...]:
        names = list(dict.fromkeys(groups))
        send = partial(_send_delete, self._pool)
        answer = await self._router.run(
            names,
            send,
            deadline=Deadline(timeout),
            size=DESCRIBE_BATCH,
            asked="delete",
            operation="DELETE",
            repeat=False,
        )
        faults = {fault.group: fault for fault in answer.faults}
        return tuple(Outcome(group) if group in answer.rows else _failed(group, faults.get(group)) for group in names)

    async def close(self) -> None:
        await self._pool.close()


async def _send_delete(pool: Pool, node: int, names: Sequence[str], deadline: Deadline) -> Batch[bool]:
    batch: Batch[bool] = Batch()
    reply: Reply[dict[str, Any]] = await pool.call(
        node, DELETE_GROUPS, {"GroupsNames": list(names)}, timeout=deadline.left(), lane=Lane.UI
    )
    for row in reply.value["Results"]:  # Rows are matched by group id, because their order can differ.
        if row["ErrorCode"]:
            batch.codes[row["GroupId"]] = (row["ErrorCode"], row["ErrorMessage"])
        else:
            batch.rows[row["GroupId"]] = True
    return batch


def _failed(group: str, fault: Fault | None) -> Outcome:
    fault = fault or Fault("NO_ANSWER", "the broker's response does not contain this group", group=group)
    # If the fault names no broker, kgtui did not find the coordinator of the group, and sent no delete request.
    may_be_executed = fault.broker is not None and fault.code in MAY_BE_EXECUTED
    return Outcome(group, fault, uncertain=may_be_executed or fault.name in NO_USABLE_RESPONSE)


def _lane(groups: Sequence[str]) -> Lane:
    return Lane.UI if len(groups) <= INTERACTIVE_GROUPS else Lane.BULK


def _info(view: ClusterView, seeds: tuple[str, ...]) -> ClusterInfo:
    brokers = {node: Broker(node, b.host, b.port, b.rack) for node, b in view.brokers.items()}
    return ClusterInfo(view.cluster_id, brokers, view.controller, view.features, seeds)


def _nothing_learned(faults: Sequence[Fault], view: ClusterView) -> UnreachableError:
    cluster = _info(view, ())
    attempts = tuple((cluster.address(fault.broker) or f"broker {fault.broker}", fault.message) for fault in faults)
    return UnreachableError(f"no broker could list its groups: {faults[0].message}", attempts)


def connect(
    seeds: Sequence[str], properties: Mapping[str, str] | None = None, *, client_id: str = "kgtui"
) -> KafkaGroupAdmin:
    """Return a `GroupAdmin` for a Kafka cluster. The connections are opened in the first call of one of its methods.

    Use the result as an async context manager::

        async with connect(["localhost:9092"]) as admin:
            answer = await admin.list_groups()

    Args:
        seeds: addresses of bootstrap servers, such as `broker-1:9092`.
        properties: Java client properties, as in a `--command-config` file.
        client_id: name of this client in the brokers' logs and quotas. The property `client.id` overrides it.

    Raises:
        ConfigError: a seed is not an address, or a property is invalid or not supported.
    """
    from kgtui.client.client_settings import from_properties

    return KafkaGroupAdmin(Pool(seeds, from_properties(properties or {}), client_id=client_id))

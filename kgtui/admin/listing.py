"""Lists of groups: one broker's once, one broker's again and again, every broker's at once (KIP-40, KIP-1043)."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, TypeVar

from kgtui.admin.base import ListingDelta
from kgtui.admin.deadline import Deadline
from kgtui.client.pool import Lane
from kgtui.errors import BrokerError, UnsupportedError
from kgtui.model.group import CLASSIC, Listing, canonical_state, canonical_type
from kgtui.protocol.codes import lookup
from kgtui.protocol.fast import decode_list_groups, row_decoder, split_list_groups
from kgtui.protocol.messages import CONSUMER_GROUP_DESCRIBE, LIST_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from kgtui.client.pool import Pool, Reply
    from kgtui.protocol.fast import GroupRow, ListGroupsFrame

T = TypeVar("T")

STATES_FROM = 4  # ListGroups version that lists states (KIP-518, Kafka 2.6)
TYPES_FROM = 5  # ListGroups version that lists types (KIP-848, Kafka 3.8)
SLICE = 1000  # rows decoded before other work may run
PAUSE = 0.002  # seconds between slices: sleep(0) bounds the stall but not the latency of a key


def raise_for(code: int, node: int) -> None:
    """Raise `BrokerError` for the error code of a whole list."""
    if code:
        error = lookup(code)
        raise BrokerError(
            f"list groups: {error.message or error.name}", code=code, name=error.name, advice=error.advice, broker=node
        )


class Interner:
    """Turns rows into shared `Listing`s: of 100,000 groups a few dozen differ."""

    def __init__(self, node: int, *, assume_classic: bool) -> None:
        self._node = node
        self._assume_classic = assume_classic
        self._seen: dict[tuple[str, str, str], Listing] = {}

    def __call__(self, row: GroupRow, version: int) -> Listing:
        """The listing of a row; type and state are None where this version does not list them."""
        tail = row[1:]
        listing = self._seen.get(tail)
        if listing is None:
            listing = self._seen[tail] = Listing(
                self._type(row, version),
                sys.intern(row.protocol_type),
                canonical_state(row.state) if version >= STATES_FROM else None,
                self._node,
            )
        return listing

    def _type(self, row: GroupRow, version: int) -> str | None:
        if version >= TYPES_FROM:
            return canonical_type(row.type)
        # A broker that cannot describe another type has no other; only a consumer group may be of two types.
        return CLASSIC if self._assume_classic or row.protocol_type != "consumer" else None


class Lister:
    """Lists the groups that one broker coordinates.

    Args:
        pool: connections; its coordinator cache is filled by every list.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def interner(self, node: int, deadline: Deadline, lane: Lane) -> Interner:
        """An interner that knows whether this broker may have groups of newer types that it does not list as such."""
        try:
            await self._pool.version(node, CONSUMER_GROUP_DESCRIBE, timeout=deadline.left(), lane=lane)
        except UnsupportedError:
            return Interner(node, assume_classic=True)
        return Interner(node, assume_classic=False)

    async def request(
        self,
        node: int,
        deadline: Deadline,
        lane: Lane,
        decode: Callable[[int, bytes], T],
        *,
        types: Collection[str] | None = None,
        states: Collection[str] | None = None,
    ) -> Reply[T]:
        """One answer, through `decode`. Filters are sent where the version has them; the caller filters again."""
        version = await self._pool.version(node, LIST_GROUPS, timeout=deadline.left(), lane=lane)
        value: dict[str, list[str]] = {}
        if states is not None and version >= STATES_FROM:
            value["StatesFilter"] = [canonical_state(state) for state in states]
        if types is not None and version >= TYPES_FROM:
            value["TypesFilter"] = [canonical_type(name) for name in types]
        return await self._pool.call(
            node, LIST_GROUPS, value, timeout=deadline.left(), lane=lane, version=version, decode=decode
        )

    async def listings(
        self,
        node: int,
        deadline: Deadline,
        lane: Lane = Lane.BULK,
        *,
        types: Collection[str] | None = None,
        states: Collection[str] | None = None,
    ) -> dict[str, Listing]:
        """Group id → listing. Raises `ClientError` when the broker does not answer or refuses."""
        intern = await self.interner(node, deadline, lane)
        reply = await self.request(node, deadline, lane, decode_list_groups, types=types, states=states)
        _, code, rows = reply.value
        raise_for(code, node)
        version = reply.version
        listings = {row.group_id: intern(row, version) for row in rows}
        self._pool.learn_coordinators(listings, node)
        return listings


class KafkaListingFeed:
    """The list of one broker, again and again; keeps the raw rows, so that a poll decodes only what changed.

    Args:
        lister: sends the requests.
        node: the broker.
        learn: told the new and changed listings, so that describes know each group's type.
    """

    def __init__(self, lister: Lister, node: int, learn: Callable[[ListingDelta, int], None]) -> None:
        self._lister = lister
        self._node = node
        self._learn = learn
        self._rows: set[bytes] = set()
        self._seen: tuple[int, int] | None = None  # version and hash of the last answer without its throttle time
        self._intern: Interner | None = None

    async def poll(self, *, timeout: float = 30.0) -> ListingDelta:
        """List again; see `kgtui.admin.base.ListingFeed`."""
        deadline, started = Deadline(timeout), time.perf_counter()
        if self._intern is None:
            self._intern = await self._lister.interner(self._node, deadline, Lane.BULK)
        reply = await self._lister.request(self._node, deadline, Lane.BULK, self._split)
        fingerprint, frame = reply.value
        version = reply.version
        if frame is None:
            return ListingDelta({}, (), len(self._rows), _since(started), version >= STATES_FROM)
        raise_for(frame.error_code, self._node)
        if self._seen is not None and self._seen[0] != version:
            # The broker was upgraded or rolled back: its rows have another shape now.
            self._intern = await self._lister.interner(self._node, deadline, Lane.BULK)
            updated, removed, rows = await self._restart(version, frame.rows)
        else:
            updated, removed, rows = await self._differences(version, frame.rows)
        self._rows, self._seen = rows, (version, fingerprint)
        delta = ListingDelta(updated, removed, len(frame.rows), _since(started), version >= STATES_FROM)
        self._learn(delta, self._node)
        return delta

    def _split(self, version: int, body: bytes) -> tuple[int, ListGroupsFrame | None]:
        """The rows of an answer, or None if it is the same as the last one."""
        fingerprint = hash(memoryview(body)[4 if version >= 1 else 0 :])
        if self._seen == (version, fingerprint):
            return fingerprint, None
        return fingerprint, split_list_groups(version, body)

    async def _differences(
        self, version: int, rows: Sequence[bytes]
    ) -> tuple[dict[str, Listing], list[str], set[bytes]]:
        """Decode what is new and what is gone, in slices that leave room for keys."""
        assert self._intern is not None  # noqa: S101 - set by poll
        decode, intern, old = row_decoder(version), self._intern, self._rows
        now: set[bytes] = set()
        updated: dict[str, Listing] = {}
        for start in range(0, len(rows), SLICE):
            some = set(rows[start : start + SLICE])
            now |= some
            for raw in some - old:
                row = decode(raw)
                updated[row.group_id] = intern(row, version)
            if start + SLICE < len(rows):
                await asyncio.sleep(PAUSE)
        removed = [group for raw in old - now if (group := decode(raw).group_id) not in updated]
        return updated, removed, now

    async def _restart(self, version: int, rows: Sequence[bytes]) -> tuple[dict[str, Listing], list[str], set[bytes]]:
        """As `_differences`, when the rows before were written in another version and cannot be compared."""
        assert self._seen is not None  # noqa: S101 - the caller looked
        before = {row_decoder(self._seen[0])(raw).group_id for raw in self._rows}
        self._rows = set()
        updated, _, now = await self._differences(version, rows)
        return updated, [group for group in before if group not in updated], now


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000

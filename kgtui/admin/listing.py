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
from kgtui.model.group import Listing
from kgtui.model.group_types import CLASSIC, canonical_state, canonical_type
from kgtui.model.slices import PAUSE, SLICE
from kgtui.protocol.error_codes import lookup
from kgtui.protocol.fast_list_groups import ListGroupsRows, decode_list_groups, row_decoder, split_rows
from kgtui.protocol.messages.groups import CONSUMER_GROUP_DESCRIBE, LIST_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from kgtui.client.pool import Pool, Reply
    from kgtui.protocol.fast_list_groups import GroupRow

T = TypeVar("T")

STATES_FROM = 4  # ListGroups version that lists states (KIP-518, Kafka 2.6)
TYPES_FROM = 5  # ListGroups version that lists types (KIP-848, Kafka 3.8)
_TOGETHER = 10  # rows kept together
_IN_A_ROW = 500  # of them compared or split before other work may run
_PATIENCE = 16  # of them in a row that are looked for in vain before the order counts as another one

_Rows = tuple[bytes, int]
"""Rows of a list as the broker wrote them, one after the other, and how many they are."""


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
        self.comparing = asyncio.Lock()
        """Held while a list is compared with the one before: of several at once, a key would wait for a slice each."""

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
        listings = _listings(reply, node, intern)
        self._pool.learn_coordinators(listings, node)
        return listings

    async def find(
        self, node: int, groups: Collection[str], deadline: Deadline, lane: Lane = Lane.BULK
    ) -> dict[str, Listing]:
        """The listings of those of these groups that the broker lists; errors as of `listings`."""
        wanted = {group: group.encode("utf-8", "surrogateescape") for group in groups}

        def decode(version: int, body: bytes) -> tuple[int, int, list[GroupRow]]:
            if not any(name in body for name in wanted.values()):  # what is in doubt is gone, as a rule
                return 0, ListGroupsRows(version, body).error_code, []
            throttle, code, rows = decode_list_groups(version, body)
            return throttle, code, [row for row in rows if row.group_id in wanted]

        intern = await self.interner(node, deadline, lane)
        return _listings(await self.request(node, deadline, lane, decode), node, intern)


def _listings(reply: Reply[tuple[int, int, list[GroupRow]]], node: int, intern: Interner) -> dict[str, Listing]:
    _, code, rows = reply.value
    raise_for(code, node)
    return {row.group_id: intern(row, reply.version) for row in rows}


class KafkaListingFeed:
    """The list of one broker, again and again; keeps the raw rows, so that a poll reads only what changed.

    They are kept a few together and in the broker's order, which hardly ever changes: most of an answer is passed
    over by comparing bytes, and is never split into rows.

    Args:
        lister: sends the requests.
        node: the broker.
        learn: told the new and changed listings, so that describes know each group's type.
    """

    def __init__(self, lister: Lister, node: int, learn: Callable[[ListingDelta, int], None]) -> None:
        self._lister = lister
        self._node = node
        self._learn = learn
        self._known: list[_Rows] = []
        self._version = -1
        self._intern: Interner | None = None

    async def poll(self, *, timeout: float = 30.0) -> ListingDelta:
        """List again; see `kgtui.admin.base.ListingFeed`."""
        deadline, started = Deadline(timeout), time.perf_counter()
        if self._intern is None:
            self._intern = await self._lister.interner(self._node, deadline, Lane.BULK)
        reply = await self._lister.request(self._node, deadline, Lane.BULK, ListGroupsRows)
        rows = reply.value
        raise_for(rows.error_code, self._node)
        total = rows.left
        if self._version not in (-1, rows.version):
            # The broker was upgraded or rolled back: its rows have another shape now.
            self._intern = await self._lister.interner(self._node, deadline, Lane.BULK)
        async with self._lister.comparing:
            updated, removed, known = await self._differences(rows, self._intern)
        self._known, self._version = known, rows.version
        delta = ListingDelta(updated, removed, total, _since(started), rows.version >= STATES_FROM)
        self._learn(delta, self._node)
        return delta

    async def _differences(
        self, rows: ListGroupsRows, intern: Interner
    ) -> tuple[dict[str, Listing], list[str], list[_Rows]]:
        """Decode what is new and what is gone, in slices that leave room for keys."""
        version, decode = rows.version, row_decoder(rows.version)
        comparable = version == self._version
        known, some, lost = await _passed_over(self._known, rows) if comparable else ([], [], self._known)
        gone: set[bytes] = set()
        for index, (data, number) in enumerate(lost, 1):
            gone.update(split_rows(self._version, data, number))
            if index % _IN_A_ROW == 0:
                await asyncio.sleep(PAUSE)
        updated: dict[str, Listing] = {}
        while True:
            for raw in some:
                if comparable and raw in gone:  # it stands elsewhere now
                    gone.remove(raw)
                else:
                    row = decode(raw)
                    updated[row.group_id] = intern(row, version)
            some = rows.take(SLICE)
            if not some:
                break
            known += _together(some)
            await asyncio.sleep(PAUSE)
        before = row_decoder(self._version) if gone else decode
        return updated, [group for raw in gone if (group := before(raw).group_id) not in updated], known


async def _passed_over(
    known: Sequence[_Rows], rows: ListGroupsRows
) -> tuple[list[_Rows], list[bytes], Sequence[_Rows]]:
    """Pass over what is known, as long as it comes in the same order; in slices too.

    Returns:
        What was passed, as it is known from now on; the rows in it that are new; those known before that are not in it.
    """
    now: list[_Rows] = []
    new: list[bytes] = []
    lost: list[_Rows] = []
    waiting = 0  # the first of `known` that has not come yet
    for index, (data, number) in enumerate(known):
        if index % _IN_A_ROW == 0 and index:
            await asyncio.sleep(PAUSE)
        before = rows.skip_known(data, number)
        if before is None:
            if index - waiting >= _PATIENCE:
                break
            continue
        if before:
            new += before
            now += _together(before)
        if waiting < index:
            lost += known[waiting:index]
        now.append(known[index])
        waiting = index + 1
    return now, new, [*lost, *known[waiting:]]


def _together(rows: Sequence[bytes]) -> Iterator[_Rows]:
    """Rows in parts of about `_TOGETHER`, never much fewer: small ones would become more with every new group."""
    parts = max(len(rows) // _TOGETHER, 1)
    for part in range(parts):
        some = rows[len(rows) * part // parts : len(rows) * (part + 1) // parts]
        yield b"".join(some), len(some)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000

"""List the groups of one broker, once or repeatedly (ListGroups, KIP-40, KIP-518, KIP-1043)."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, TypeVar

from kgtui.admin.base import DEFAULT_TIMEOUT, ListingDelta
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

STATES_FROM = 4
"""First version of ListGroups whose response contains states (KIP-518, Kafka 2.6)."""

TYPES_FROM = 5
"""First version of ListGroups whose response contains group types (KIP-848, Kafka 3.8)."""

_ROWS_PER_CHUNK = 10
"""Minimum number of rows in a chunk.

A chunk is a sequence of rows in a ListGroups response, which has one row per group. A poll searches
the new response for whole chunks of the last response, which is faster than a search for single
rows.
"""

_CHUNKS_PER_SLICE = 500
"""Number of chunks (sequences of rows) that are processed before the event loop can run other tasks."""

_MISSES_TO_STOP = 16
"""Maximum number of successive chunks (sequences of rows) of the old list of groups that the new list may lack.

If more chunks are missing, the broker has probably changed the order of its groups. kgtui then stops comparing the two
lists, and decodes all remaining rows of the new list.
"""

_Chunk = tuple[bytes, int]
"""`(data, number)`: the encoded bytes of successive rows in a ListGroups response, and the number of these rows."""


def raise_for(code: int, node: int) -> None:
    """Raise `BrokerError` if `code`, the error code in a ListGroups response, is not 0."""
    if code:
        error = lookup(code)
        raise BrokerError(
            f"list groups: {error.message or error.name}", code=code, name=error.name, advice=error.advice, broker=node
        )


class Interner:
    """Converts rows of ListGroups responses into `Listing`s. Rows that differ only in the group id share one `Listing`.

    This saves memory, because even 100,000 groups need only a few dozen `Listing`s.

    Args:
        node: node id of the broker.
        assume_classic: whether a group without a type counts as classic.
    """

    def __init__(self, node: int, *, assume_classic: bool) -> None:
        self._node = node
        self._assume_classic = assume_classic
        self._seen: dict[tuple[str, str, str], Listing] = {}

    def __call__(self, row: GroupRow, version: int) -> Listing:
        """Return the `Listing` for a row of a ListGroups response.

        If the response has no states, the state in the `Listing` is None. If the response has no types, the type in the
        `Listing` is `classic`, or None if the group could also be a consumer group.

        Args:
            version: version of ListGroups. Old versions have no states or types.
        """
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
        # A broker without ConsumerGroupDescribe has only classic groups. On other brokers, a group with the
        # protocol type `consumer` can be a classic or a consumer group, so its group type remains unknown (None).
        return CLASSIC if self._assume_classic or row.protocol_type != "consumer" else None


class Lister:
    """Sends ListGroups to brokers."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.comparing = asyncio.Lock()
        """Lock that allows only one comparison at a time of a broker's new list of groups with its last list.

        A comparison pauses often, so that the UI can handle key presses. Without the lock, another comparison could run
        in each pause, and key presses would have to wait.
        """

    async def interner(self, node: int, deadline: Deadline, lane: Lane) -> Interner:
        """Return an `Interner`, which converts rows of ListGroups responses from this broker into `Listing`s.

        If the broker does not support ConsumerGroupDescribe (KIP-848), groups without a type count as classic.
        """
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
        """Send ListGroups to a broker.

        Args:
            decode: function that decodes the response; its arguments are the version and the bytes of the response.
            types, states: group types and states to list; None for all. Old brokers ignore these filters, so callers
                must filter the response again.
        """
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
        """Return a dict: group id → `Listing` for the groups of a broker. Raises `ClientError`.

        Args:
            types, states: group types and states to list. Old brokers ignore these filters (see `request`).
        """
        intern = await self.interner(node, deadline, lane)
        reply = await self.request(node, deadline, lane, decode_list_groups, types=types, states=states)
        listings = _listings(reply, node, intern)
        self._pool.learn_listings(listings)
        return listings

    async def find(
        self, node: int, groups: Collection[str], deadline: Deadline, lane: Lane = Lane.BULK
    ) -> dict[str, Listing]:
        """Return a dict: group id → `Listing` for those of `groups` that the broker lists. Raises `ClientError`."""
        encoded_ids = {group: group.encode("utf-8", "surrogateescape") for group in groups}

        def decode(version: int, body: bytes) -> tuple[int, int, list[GroupRow]]:
            # Usually, none of these groups exists any more. To save time, do not decode the rows of the response if its
            # bytes contain none of the group ids.
            if not any(encoded in body for encoded in encoded_ids.values()):
                return 0, ListGroupsRows(version, body).error_code, []
            throttle, code, rows = decode_list_groups(version, body)
            return throttle, code, [row for row in rows if row.group_id in encoded_ids]

        intern = await self.interner(node, deadline, lane)
        return _listings(await self.request(node, deadline, lane, decode), node, intern)


def _listings(reply: Reply[tuple[int, int, list[GroupRow]]], node: int, intern: Interner) -> dict[str, Listing]:
    _, code, rows = reply.value
    raise_for(code, node)
    return {row.group_id: intern(row, reply.version) for row in rows}


class KafkaListingFeed:
    """Lists the groups of one broker repeatedly, and decodes only the rows that have changed.

    Brokers rarely change the order of their groups. Therefore, most rows of a ListGroups response have the same bytes
    as in the last response, and need not be decoded again.

    Args:
        node: node id of the broker.
        learn: called after each poll with the changes and `node`.
    """

    def __init__(self, lister: Lister, node: int, learn: Callable[[ListingDelta, int], None]) -> None:
        self._lister = lister
        self._node = node
        self._learn = learn
        self._known: list[_Chunk] = []
        self._version = -1
        self._intern: Interner | None = None

    async def poll(self, *, timeout: float = DEFAULT_TIMEOUT) -> ListingDelta:
        """List the groups again, and return the changes since the last call. In the first call, every group is new.

        Raises:
            ClientError: the broker did not answer. The next successful call returns all changes since the last
                successful call.
        """
        deadline, started = Deadline(timeout), time.perf_counter()
        if self._intern is None:
            self._intern = await self._lister.interner(self._node, deadline, Lane.BULK)
        reply = await self._lister.request(self._node, deadline, Lane.BULK, ListGroupsRows)
        rows = reply.value
        raise_for(rows.error_code, self._node)
        total = rows.left
        if self._version not in (-1, rows.version):
            # The version of ListGroups has changed, because the broker was upgraded or downgraded. Check again whether
            # the broker supports ConsumerGroupDescribe.
            self._intern = await self._lister.interner(self._node, deadline, Lane.BULK)
        async with self._lister.comparing:
            updated, removed, known = await self._differences(rows, self._intern)
        self._known, self._version = known, rows.version
        delta = ListingDelta(updated, removed, total, _since(started), rows.version >= STATES_FROM, rows.throttle_ms)
        self._learn(delta, self._node)
        return delta

    async def _differences(
        self, rows: ListGroupsRows, intern: Interner
    ) -> tuple[dict[str, Listing], list[str], list[_Chunk]]:
        """Compare a new list of groups with the last list.

        Returns:
            `(updated, removed, chunks)`: group id → `Listing` for new and changed groups, ids of removed groups, and
            the chunks (sequences of rows) of the new list.
        """
        version, decode = rows.version, row_decoder(rows.version)
        comparable = version == self._version
        known, new_rows, missing = await _skip_known(self._known, rows) if comparable else ([], [], self._known)
        gone: set[bytes] = set()
        for index, (data, number) in enumerate(missing, 1):
            gone.update(split_rows(self._version, data, number))
            if index % _CHUNKS_PER_SLICE == 0:
                await asyncio.sleep(PAUSE)
        updated: dict[str, Listing] = {}
        while True:
            for raw in new_rows:
                if comparable and raw in gone:  # The row has moved in the list, but is unchanged.
                    gone.remove(raw)
                else:
                    row = decode(raw)
                    updated[row.group_id] = intern(row, version)
            new_rows = rows.take(SLICE)
            if not new_rows:
                break
            known += _chunks(new_rows)
            await asyncio.sleep(PAUSE)
        before = row_decoder(self._version) if gone else decode
        return updated, [group for raw in gone if (group := before(raw).group_id) not in updated], known


async def _skip_known(
    known: Sequence[_Chunk], rows: ListGroupsRows
) -> tuple[list[_Chunk], list[bytes], Sequence[_Chunk]]:
    """Find the chunks of the last list of groups that the new list still contains, and skip them in the new list.

    Args:
        known: the chunks (sequences of rows) of the last list, in the order of that list.
        rows: the new list. After the call, it has been read up to the last chunk that was found.

    Returns:
        Three lists:
        - all chunks of the new list, up to the last chunk that was found
        - the rows of the new list between the chunks that were found
        - the chunks of the last list that were not found
    """
    now: list[_Chunk] = []
    new: list[bytes] = []
    missing: list[_Chunk] = []
    start = 0  # Index in `known` of the first chunk that has been neither found nor added to `missing`.
    for index, (data, number) in enumerate(known):
        if index % _CHUNKS_PER_SLICE == 0 and index:
            await asyncio.sleep(PAUSE)
        before = rows.skip_known(data, number)
        if before is None:
            if index - start >= _MISSES_TO_STOP:
                break
            continue
        if before:
            new += before
            now += _chunks(before)
        if start < index:
            missing += known[start:index]
        now.append(known[index])
        start = index + 1
    return now, new, [*missing, *known[start:]]


def _chunks(rows: Sequence[bytes]) -> Iterator[_Chunk]:
    """Split rows into chunks of similar size, each with at least `_ROWS_PER_CHUNK` rows unless there are fewer rows."""
    parts = max(len(rows) // _ROWS_PER_CHUNK, 1)
    for part in range(parts):
        chunk = rows[len(rows) * part // parts : len(rows) * (part + 1) // parts]
        yield b"".join(chunk), len(chunk)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000

"""Compare the CPU times in which kgtui and aiokafka decode large Kafka responses.

The two decoders take turns in one thread, and garbage collection is off. Each decoder runs several times; its result is
the CPU time of its fastest run.
"""

from __future__ import annotations

import gc
import time
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from aiokafka.protocol.types import CompactArray, CompactString, Int16, Int32, Int64, Schema, TaggedFields

from kgtui.protocol.fast_list_groups import decode_list_groups, split_list_groups
from kgtui.protocol.fast_offsets import decode_list_offsets, decode_offset_fetch
from kgtui.protocol.messages.groups import LIST_GROUPS
from kgtui.protocol.messages.offsets import LIST_OFFSETS, OFFSET_FETCH
from tests.bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

GROUPS = 100_000
PARTITIONS = 25
"""Number of partitions per topic."""

ROUNDS = 5

_TEXT = CompactString("utf-8")
_TAGS = ("tags", TaggedFields)
_LIST_GROUPS = Schema(
    ("throttle_time_ms", Int32),
    ("error_code", Int16),
    ("groups", CompactArray(("group", _TEXT), ("protocol", _TEXT), ("state", _TEXT), ("type", _TEXT), _TAGS)),
    _TAGS,
)
_COMMITS = CompactArray(
    ("partition", Int32), ("offset", Int64), ("epoch", Int32), ("metadata", _TEXT), ("error", Int16), _TAGS
)
_OFFSET_FETCH = Schema(
    ("throttle_time_ms", Int32),
    (
        "groups",
        CompactArray(
            ("group", _TEXT),
            ("topics", CompactArray(("name", _TEXT), ("partitions", _COMMITS), _TAGS)),
            ("error", Int16),
            _TAGS,
        ),
    ),
    _TAGS,
)
_ENDS = CompactArray(
    ("partition", Int32), ("error", Int16), ("timestamp", Int64), ("offset", Int64), ("epoch", Int32), _TAGS
)
_LIST_OFFSETS = Schema(
    ("throttle_time_ms", Int32),
    ("topics", CompactArray(("name", _TEXT), ("partitions", _ENDS), _TAGS)),
    _TAGS,
)


def list_groups_body(groups: int = GROUPS) -> bytes:
    """Return the body of a ListGroups v5 response that has groups of all types, with ids of about 40 characters."""
    kinds = [
        ("consumer", "Stable", "classic"),
        ("consumer", "Empty", "classic"),
        ("connect", "Stable", "classic"),
        ("consumer", "Stable", "consumer"),
        ("share", "Stable", "share"),
        ("streams", "Stable", "streams"),
    ]
    rows = [
        dict(
            zip(
                ("GroupId", "ProtocolType", "GroupState", "GroupType"),
                (f"team-{i % 97:02}.orders-service.eu-west-1.{i:06}", *kinds[i * 7 % 13 % len(kinds)]),
                strict=True,
            )
        )
        for i in range(groups)
    ]
    return LIST_GROUPS.response.encode(5, {"Groups": rows})


def offset_fetch_body(metadata: str, groups: int = GROUPS // PARTITIONS // 4) -> bytes:
    """Return the body of an OffsetFetch v8 response with 4 topics of 25 partitions for each group.

    `metadata` is the commit metadata of each partition.
    """

    def topic(group: int, number: int) -> Mapping[str, Any]:
        return {
            "Name": f"orders.events.{group:04}.{number}",
            "Partitions": [
                {
                    "PartitionIndex": p,
                    "CommittedOffset": 1_000_000_007 * p + group,
                    "CommittedLeaderEpoch": 3,
                    "Metadata": metadata,
                }
                for p in range(PARTITIONS)
            ],
        }

    rows = [{"GroupId": f"orders-{g:04}", "Topics": [topic(g, t) for t in range(4)]} for g in range(groups)]
    return OFFSET_FETCH.response.encode(8, {"Groups": rows})


def list_offsets_body(topics: int = GROUPS // PARTITIONS) -> bytes:
    """Return the body of a ListOffsets v7 response with `topics` topics of 25 partitions each."""
    partitions = [{"PartitionIndex": p, "Offset": 10**9 + p, "LeaderEpoch": 3} for p in range(PARTITIONS)]
    rows = [{"Name": f"orders.events.{t:04}", "Partitions": partitions} for t in range(topics)]
    return LIST_OFFSETS.response.encode(7, {"Topics": rows})


def best_ms(*functions: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Call each function `rounds` times; return the CPU time of each function's fastest call, in milliseconds."""
    best = [float("inf")] * len(functions)
    gc.collect()
    gc.disable()
    try:
        # The functions take turns, so that other load affects all of them equally.
        for _ in range(rounds):
            for index, function in enumerate(functions):
                started = time.process_time()
                # Keep the result in a variable until the time has been measured, so that the time does not include
                # freeing the memory of the result.
                result = function()
                best[index] = min(best[index], (time.process_time() - started) * 1000)
                del result
    finally:
        gc.enable()
    return best


def _figure(name: str, ours: Callable[[bytes], object], schema: Schema, body: bytes, target: float | None) -> Figure:
    ours_ms, theirs_ms = best_ms(lambda: ours(body), lambda: schema.decode(BytesIO(body)))
    return Figure(f"decode {name}, CPU", ours_ms, "ms", "aiokafka's structs", theirs_ms, target, of_ratio=True)


def figures(groups: int = GROUPS) -> Iterator[Figure]:
    """Yield the CPU time of kgtui and of aiokafka for decoding each of several large responses.

    Args:
        groups: number of groups in the ListGroups response, and number of partitions in the other responses.
    """
    listed = list_groups_body(groups)
    empty, nine = (offset_fetch_body(metadata, max(groups // PARTITIONS // 4, 1)) for metadata in ("", "x" * 9))
    ends = list_offsets_body(max(groups // PARTITIONS, 1))
    many = f"{groups // 1000}k"
    list_groups, split = partial(decode_list_groups, 5), partial(split_list_groups, 5)
    offset_fetch, general = partial(decode_offset_fetch, 8), partial(OFFSET_FETCH.response.decode, 8)
    yield _figure(f"ListGroups, {many} groups", list_groups, _LIST_GROUPS, listed, 1 / 3)
    yield _figure(f"ListGroups, {many} groups, only split into rows", split, _LIST_GROUPS, listed, None)
    yield _figure(f"OffsetFetch, {many} partitions without metadata", offset_fetch, _OFFSET_FETCH, empty, 1 / 8)
    yield _figure(
        f"OffsetFetch, {many} partitions with 9 bytes of metadata each", offset_fetch, _OFFSET_FETCH, nine, 1 / 3
    )
    yield _figure(
        f"OffsetFetch, {many} partitions, decoded by kgtui's general decoder", general, _OFFSET_FETCH, empty, None
    )
    yield _figure(f"ListOffsets, {many} partitions", partial(decode_list_offsets, 7), _LIST_OFFSETS, ends, None)

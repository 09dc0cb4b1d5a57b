"""Tests of reading committed offsets and share-partition start offsets: batches, timeouts and old brokers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kgtui.admin import offsets
from kgtui.admin.deadline import Deadline
from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.admin.offsets import CONCURRENT_REQUESTS, FIRST_BATCHED_FETCH, GROUPS_PER_REQUEST, OffsetReader
from kgtui.client.options import Lane
from kgtui.errors import DeadlineError, DisconnectedError
from kgtui.model.offsets import CommittedOffset, ShareOffset
from tests.unit.admin.fake_pool import FakePool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.unit.admin.fake_pool import Sent

NONE = -1
NAMES = [f"g{number:03}" for number in range(GROUPS_PER_REQUEST)]


def commit(
    partition: int, offset: int = 5, epoch: int = 0, metadata: str | None = "", error: int = 0
) -> dict[str, Any]:
    """Return the fields of a partition in an OffsetFetch response."""
    return {
        "PartitionIndex": partition,
        "CommittedOffset": offset,
        "CommittedLeaderEpoch": epoch,
        "Metadata": metadata,
        "ErrorCode": error,
    }


def group(name: str, *partitions: dict[str, Any], topic: str = "orders", error: int = 0) -> dict[str, Any]:
    """Return the fields of a group in an OffsetFetch response (v8 or later)."""
    topics = [{"Name": topic, "Partitions": list(partitions)}] if partitions else []
    return {"GroupId": name, "Topics": topics, "ErrorCode": error}


def names_of(sent: Sent) -> list[str]:
    return [row["GroupId"] for row in sent.fields["Groups"]]


def every_group_with(partitions: int = 1) -> Callable[[Sent], Any]:
    """Return a function that responds to OffsetFetch. Each requested group has `partitions` committed offsets."""
    return lambda sent: {"Groups": [group(name, *map(commit, range(partitions))) for name in names_of(sent)]}


async def read(pool: FakePool, names: Sequence[str], timeout: float = 30) -> Any:
    return await OffsetReader(pool).committed(1, names, Deadline(timeout), Lane.BULK)


async def test_committed_offsets_are_sorted_and_offset_minus_one_is_decoded_as_none() -> None:
    def answer(sent: Sent) -> Any:
        rows = [commit(2, 7, 3, "note"), commit(0, NONE, NONE, None), commit(1, NONE, NONE, None, error=29)]
        return {"Groups": [group("g", *rows, topic="b") | {"Topics": [
            {"Name": "b", "Partitions": rows}, {"Name": "a", "Partitions": [commit(9, 0)]},
        ]}]}  # fmt: skip

    batch = await read(FakePool(answers={"OffsetFetch": answer}), ["g"])
    assert batch.rows["g"] == (
        CommittedOffset("a", 9, 0, 0),
        CommittedOffset("b", 0, None),
        CommittedOffset("b", 1, None, error=29),
        CommittedOffset("b", 2, 7, 3, "note"),
    )


async def test_a_partition_that_a_response_contains_twice_is_returned_once() -> None:
    twice = group("g", commit(0, 5), commit(0, 7))
    twice["Topics"] *= 2
    batch = await read(FakePool(answers={"OffsetFetch": lambda _: {"Groups": [twice]}}), ["g"])
    assert [(row.topic, row.partition, row.offset) for row in batch.rows["g"]] == [("orders", 0, 7)]


async def test_offsets_of_up_to_200_small_groups_are_read_with_one_request() -> None:
    pool = FakePool(answers={"OffsetFetch": every_group_with()})
    batch = await read(pool, NAMES)
    assert (len(pool.sent), list(batch.rows)) == (1, NAMES)


async def test_the_expected_number_of_partitions_limits_the_groups_per_offset_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kgtui limits the groups per request, so that a response has at most 20,000 partitions.

    kgtui estimates the number of partitions per group from earlier responses. The test reduces the limit to 200.
    """
    assert offsets.PARTITIONS_PER_RESPONSE == 20_000
    monkeypatch.setattr(offsets, "PARTITIONS_PER_RESPONSE", 200)
    reader, many = OffsetReader(pool := FakePool(answers={"OffsetFetch": every_group_with(20)})), NAMES[:25]
    await reader.committed(1, many[:2], Deadline(30), Lane.BULK)
    await reader.committed(1, many, Deadline(30), Lane.BULK)
    fit = 200 // 20
    assert [len(names_of(sent)) for sent in pool.sent] == [2, fit, fit, 5]
    pool.answers["OffsetFetch"] = every_group_with(400)
    await reader.committed(1, many[:3], Deadline(30), Lane.BULK)
    pool.sent.clear()
    await reader.committed(1, many[:3], Deadline(30), Lane.BULK)
    assert [len(names_of(sent)) for sent in pool.sent] == [1, 1, 1]
    await reader.committed(2, many, Deadline(30), Lane.BULK)
    assert len(names_of(pool.sent[3])) == len(many), "another broker must have a batch size of its own"


async def test_an_offset_request_that_times_out_is_split_into_two_requests() -> None:
    def answer(sent: Sent) -> Any:
        return every_group_with()(sent) if len(names_of(sent)) <= 3 else DeadlineError("late", broker=1)

    pool = FakePool(answers={"OffsetFetch": answer})
    batch = await read(pool, NAMES[:10])
    assert (list(batch.rows), batch.faults, batch.error) == (NAMES[:10], {}, None)
    assert [len(names_of(sent)) for sent in pool.sent] == [10, 5, 2, 3, 5, 2, 3]
    assert pool.sent[0].timeout == pytest.approx(15, abs=1)


async def test_a_timeout_of_one_group_does_not_affect_other_groups() -> None:
    def answer(sent: Sent) -> Any:
        return DeadlineError("late", broker=1) if "g002" in names_of(sent) else every_group_with()(sent)

    answered = await KafkaGroupAdmin(FakePool(answers={"OffsetFetch": answer})).committed_offsets(NAMES[:8])
    assert list(answered.rows) == [name for name in NAMES[:8] if name != "g002"]
    assert [(fault.group, fault.name, fault.broker) for fault in answered.faults] == [("g002", "NO_ANSWER", 1)]


async def test_an_offset_request_that_times_out_leaves_time_for_the_next_requests() -> None:
    def answer(sent: Sent) -> Any:
        return DeadlineError("late", broker=1) if "g000" in names_of(sent) else every_group_with()(sent)

    pool = FakePool(answers={"OffsetFetch": answer})
    await read(pool, NAMES[:2], timeout=40)
    assert [names_of(sent) for sent in pool.sent] == [["g000", "g001"], ["g000"], ["g001"]]
    assert [sent.timeout for sent in pool.sent] == [pytest.approx(wait, abs=2) for wait in (20, 20, 40)]


async def test_offsets_that_were_already_read_are_kept_if_a_later_request_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offsets, "PARTITIONS_PER_RESPONSE", 200)

    def answer(sent: Sent) -> Any:
        return every_group_with(200)(sent) if len(pool.sent) < 2 else DisconnectedError("lost", broker=1)

    pool = FakePool(answers={"OffsetFetch": answer})
    reader = OffsetReader(pool)
    await reader.committed(1, ["learn"], Deadline(30), Lane.BULK)
    pool.sent.clear()
    batch = await reader.committed(1, ["a", "b", "c"], Deadline(30), Lane.BULK)
    assert list(batch.rows) == ["a"]
    assert isinstance(batch.error, DisconnectedError)
    assert batch.without_result(["a", "b", "c"]) == ["b", "c"]


async def test_unreadable_offsets_of_a_group_cause_a_fault_with_an_error_code() -> None:
    def answer(sent: Sent) -> Any:
        codes = {"forbidden": 30, "newer": 31_999, "fine": 0}
        return {"Groups": [group(name, commit(0), error=codes[name]) for name in reversed(names_of(sent))]}

    pool = FakePool(answers={"OffsetFetch": answer})
    answered = await KafkaGroupAdmin(pool).committed_offsets(["forbidden", "newer", "fine"])
    assert list(answered.rows) == ["fine"]
    assert [(fault.group, fault.code) for fault in answered.faults] == [("forbidden", 30), ("newer", 31_999)]


class OneByOne:
    """A broker before Kafka 3.0, which accepts only one group per OffsetFetch request.

    Attributes:
        under_way: number of requests that currently wait for a response.
        most: highest value of `under_way` so far.
        broken: id of a group whose requests make the broker close the connection; empty if there is none.
    """

    def __init__(self, broken: str = "") -> None:
        self.under_way = self.most = 0
        self.broken = broken

    async def __call__(self, sent: Sent) -> Any:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        if sent.fields["GroupId"] == self.broken:
            return DisconnectedError("lost", broker=1)
        return {"Topics": [{"Name": "orders", "Partitions": [commit(0, int(sent.fields["GroupId"][1:]))]}]}


@pytest.mark.parametrize("version", [2, 5, FIRST_BATCHED_FETCH - 1])
async def test_old_brokers_get_one_offset_request_per_group_and_few_at_a_time(version: int) -> None:
    answer = OneByOne()
    pool = FakePool(answers={"OffsetFetch": answer}, versions={"OffsetFetch": version})
    batch = await read(pool, NAMES[:20])
    assert {name: rows[0].offset for name, rows in batch.rows.items()} == {name: int(name[1:]) for name in NAMES[:20]}
    assert (len(pool.sent), answer.most) == (20, CONCURRENT_REQUESTS)


async def test_a_lost_connection_does_not_affect_offsets_of_other_groups() -> None:
    versions: dict[str | tuple[str, int], int | None] = {"OffsetFetch": 7}
    batch = await read(FakePool(answers={"OffsetFetch": OneByOne("g003")}, versions=versions), NAMES[:8])
    assert batch.without_result(NAMES[:8]) == ["g003"]
    assert isinstance(batch.error, DisconnectedError)


async def test_offsets_are_unsupported_on_brokers_without_offsetfetch_version_2() -> None:
    pool = FakePool(versions={"OffsetFetch": 1})
    answered = await KafkaGroupAdmin(pool).committed_offsets(["g"])
    assert [(fault.name, fault.code) for fault in answered.faults] == [("NOT_SUPPORTED", None)]
    assert pool.sent == []


def share(name: str, *partitions: dict[str, Any], error: int = 0) -> dict[str, Any]:
    """Return the fields of a group in a DescribeShareGroupOffsets response."""
    topics = [{"TopicName": "jobs", "TopicId": UUID(int=1), "Partitions": list(partitions)}] if partitions else []
    return {"GroupId": name, "Topics": topics, "ErrorCode": error, "ErrorMessage": None}


@pytest.mark.parametrize(("version", "lag"), [(0, None), (1, 4)])
async def test_missing_offset_or_lag_of_a_share_partition_is_none(version: int, lag: int | None) -> None:
    known = {"PartitionIndex": 1, "StartOffset": 6, "LeaderEpoch": 2, "Lag": 4, "ErrorCode": 0, "ErrorMessage": None}
    if version == 0:
        del known["Lag"]
    uninitialized = {
        **known,
        "PartitionIndex": 0,
        "StartOffset": NONE,
        "LeaderEpoch": NONE,
        **({"Lag": NONE} if version else {}),
    }
    refused = {**known, "PartitionIndex": 2, "ErrorCode": 29, "ErrorMessage": "no"}
    pool = FakePool(
        answers={"DescribeShareGroupOffsets": lambda _: {"Groups": [share("s", refused, known, uninitialized)]}},
        versions={"DescribeShareGroupOffsets": version},
    )
    answered = await KafkaGroupAdmin(pool).share_offsets(["s"])
    assert answered.rows["s"] == (
        ShareOffset("jobs", 0, None, None, None),
        ShareOffset("jobs", 1, 6, 2, lag),
        ShareOffset("jobs", 2, 6, 2, lag, 29, "no"),
    )


@pytest.mark.parametrize("how", ["switched off", "too old"])
async def test_share_offsets_are_unsupported_without_describesharegroupoffsets(how: str) -> None:
    pool = FakePool(answers={"DescribeShareGroupOffsets": lambda _: {"Groups": [share("s", error=35)]}})
    if how == "too old":
        pool.versions["DescribeShareGroupOffsets"] = None
    answered = await KafkaGroupAdmin(pool).share_offsets(["s"])
    assert answered.rows == {}
    assert [(fault.group, fault.name, fault.code) for fault in answered.faults] == [("s", "NOT_SUPPORTED", None)]

"""Tests of reading log bounds (the log start and log end offsets of partitions) from the partition leaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kgtui.admin import log_bounds
from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.errors import ConnectError, DeadlineError, DisconnectedError, UnreachableError
from kgtui.model.offsets import PartitionBounds
from tests.unit.admin.fake_pool import FakePool

if TYPE_CHECKING:
    from tests.unit.admin.fake_pool import Sent

NOT_LEADER, UNKNOWN_TOPIC, FORBIDDEN, LEADERLESS, OUT_OF_RANGE = 6, 3, 29, 5, 1
START, END = 10, 100


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_bounds, "FIRST_PAUSE", 0.0001)


class Logs:
    """Brokers that respond to ListOffsets. `pool.leaders` contains the leader of each partition.

    Attributes:
        codes: `(topic, partition)` or `(topic, partition, timestamp)` → error code. The timestamp selects the log start
            (-2) or the log end (-1).
        led_by: `(topic, partition)` → actual leader, for partitions whose leader in `pool.leaders` is outdated.
    """

    def __init__(self) -> None:
        self.codes: dict[tuple[str, int] | tuple[str, int, int], int] = {}
        self.led_by: dict[tuple[str, int], int] = {}
        self.pool = FakePool(answers={"ListOffsets": self.answer})

    def answer(self, sent: Sent) -> Any:
        topics = []
        for topic in sent.fields["Topics"]:
            name = topic["Name"]
            rows = [self._row(sent.node, name, row["PartitionIndex"], row["Timestamp"]) for row in topic["Partitions"]]
            topics.append({"Name": name, "Partitions": rows})
        return {"Topics": topics}

    def _row(self, node: int, topic: str, part: int, timestamp: int) -> dict[str, Any]:
        code = self.codes.get((topic, part, timestamp), self.codes.get((topic, part), 0))
        if self.led_by.get((topic, part), node) != node:
            code = NOT_LEADER
        offset = -1 if code else {-2: START, -1: END}[timestamp] + part
        return {"PartitionIndex": part, "ErrorCode": code, "Timestamp": -1, "Offset": offset, "LeaderEpoch": 0}

    async def read(self, *partitions: tuple[str, int], starts: bool = True, timeout: float = 5) -> Any:
        return await KafkaGroupAdmin(self.pool).partition_bounds(partitions, starts=starts, timeout=timeout)


async def test_reading_log_starts_and_ends_takes_two_requests_per_leader() -> None:
    logs = Logs()
    logs.pool.leaders = {("a", 1): 2, ("b", 0): 2}
    partitions = [("a", 0), ("a", 1), ("b", 0), ("a", 0)]
    answer = await logs.read(*partitions)
    assert answer.rows == {(topic, part): PartitionBounds(START + part, END + part) for topic, part in partitions}
    assert logs.pool.per_node("ListOffsets") == {1: 2, 2: 2}
    assert answer.faults == ()


async def test_reading_only_log_ends_takes_one_request_per_leader() -> None:
    logs = Logs()
    logs.codes = {("b", 0, -1): OUT_OF_RANGE}
    answer = await logs.read(("a", 0), ("b", 0), starts=False)
    assert answer.rows == {("a", 0): PartitionBounds(None, END), ("b", 0): PartitionBounds(None, None, OUT_OF_RANGE)}
    asked = [
        row["Timestamp"] for sent in logs.pool.sent for topic in sent.fields["Topics"] for row in topic["Partitions"]
    ]
    assert asked == [-1, -1]
    assert logs.pool.per_node("ListOffsets") == {1: 1}


async def test_log_bounds_are_requested_again_only_for_partitions_with_a_new_leader() -> None:
    logs = Logs()
    logs.led_by = {("a", 0): 2}
    honest = logs.answer

    def answer(sent: Sent) -> Any:
        answered = honest(sent)
        logs.pool.leaders["a", 0] = 2
        return answered

    logs.pool.answers["ListOffsets"] = answer
    answered = await logs.read(("a", 0), ("b", 1))
    assert answered.rows == {("a", 0): PartitionBounds(START, END), ("b", 1): PartitionBounds(START + 1, END + 1)}
    assert logs.pool.leaders_looked_up == [(["a", "b"], False), (["a"], True)]
    assert [len(sent.fields["Topics"]) for sent in logs.pool.sent] == [2, 2, 1, 1]


async def test_log_bounds_have_an_error_code_if_no_leader_accepts_the_request() -> None:
    logs = Logs()
    logs.led_by = {("a", 0): 9}
    answer = await logs.read(("a", 0), ("a", 1))
    assert answer.rows["a", 0] == PartitionBounds(None, None, NOT_LEADER)
    assert answer.rows["a", 1].log_end == END + 1
    assert len(logs.pool.leaders_looked_up) == log_bounds.ATTEMPTS


async def test_log_bounds_of_a_deleted_topic_need_only_one_leader_lookup() -> None:
    logs = Logs()
    logs.pool.leaders = {"retired": -UNKNOWN_TOPIC}
    answer = await logs.read(("retired", 0), ("a", 0))
    assert answer.rows["retired", 0] == PartitionBounds(None, None, UNKNOWN_TOPIC)
    assert answer.rows["a", 0].log_end == END
    assert len(logs.pool.leaders_looked_up) == 1


async def test_log_bounds_of_a_missing_partition_have_an_error_code() -> None:
    logs = Logs()
    logs.pool.partitions = 1
    answer = await logs.read(("shrunk", 5))
    assert answer.rows == {("shrunk", 5): PartitionBounds(None, None, UNKNOWN_TOPIC)}


@pytest.mark.parametrize("where", ["metadata", "list offsets"])
async def test_log_bounds_of_a_forbidden_topic_have_the_authorization_error_code(where: str) -> None:
    logs = Logs()
    if where == "metadata":
        logs.pool.leaders = {"secret": -FORBIDDEN}
    else:
        logs.codes = {("secret", 0): FORBIDDEN}
    answer = await logs.read(("secret", 0), ("a", 0))
    assert answer.rows["secret", 0] == PartitionBounds(None, None, FORBIDDEN)
    assert answer.rows["a", 0].log_end == END
    assert len(logs.pool.leaders_looked_up) == 1


async def test_partition_without_leader_has_an_error_after_several_lookups() -> None:
    logs = Logs()
    logs.pool.leaders = {("a", 0): -LEADERLESS}
    answer = await logs.read(("a", 0), ("a", 1))
    assert answer.rows["a", 0] == PartitionBounds(None, None, LEADERLESS)
    assert answer.rows["a", 1].log_start == START + 1
    assert len(logs.pool.leaders_looked_up) == log_bounds.ATTEMPTS
    logs.pool.leaders_looked_up.clear()
    await logs.read(("a", 0), timeout=0)
    assert len(logs.pool.leaders_looked_up) == 1, "there must be no second leader lookup, because no time is left"


@pytest.mark.parametrize(("failed", "known"), [(-2, PartitionBounds(None, END, OUT_OF_RANGE)),
                                               (-1, PartitionBounds(START, None, OUT_OF_RANGE))])  # fmt: skip
async def test_reading_log_start_and_log_end_can_fail_independently(failed: int, known: PartitionBounds) -> None:
    logs = Logs()
    logs.codes = {("a", 0, failed): OUT_OF_RANGE}
    assert (await logs.read(("a", 0))).rows == {("a", 0): known}


async def test_a_timeout_of_one_leader_does_not_affect_other_leaders() -> None:
    logs = Logs()
    logs.pool.leaders = {("a", 1): 2, ("b", 1): 2}
    honest = logs.answer
    logs.pool.answers["ListOffsets"] = lambda sent: DeadlineError("late", broker=2) if sent.node == 2 else honest(sent)
    answer = await logs.read(("a", 0), ("a", 1), ("b", 1))
    assert answer.rows == {("a", 0): PartitionBounds(START, END)}
    assert [(fault.broker, fault.name, fault.group) for fault in answer.faults] == [(2, "NO_ANSWER", None)]


async def test_log_bounds_are_read_from_the_new_leader_after_a_crash() -> None:
    logs = Logs()
    logs.pool.leaders = {("a", 0): 2, ("a", 1): 2}
    alive = logs.answer

    def answer(sent: Sent) -> Any:
        if sent.node != 2:
            return alive(sent)
        logs.pool.leaders = {("a", 0): 3, ("a", 1): 1}
        return ConnectError("refused", broker=2)

    logs.pool.answers["ListOffsets"] = answer
    answered = await logs.read(("a", 0), ("a", 1), ("b", 0))
    assert answered.rows == {(topic, part): PartitionBounds(START + part, END + part)
                             for topic, part in (("a", 0), ("a", 1), ("b", 0))}  # fmt: skip
    assert answered.faults == ()
    assert [refresh for _, refresh in logs.pool.leaders_looked_up] == [False, True]


async def test_repeated_failures_of_one_leader_refresh_cached_leaders_only_once() -> None:
    logs = Logs()
    logs.pool.leaders = {("a", 0): 2}
    logs.pool.answers["ListOffsets"] = lambda _: DisconnectedError("lost", broker=2)
    for lookups in (2, 3):
        answer = await logs.read(("a", 0))
        assert answer.rows == {}
        assert [(fault.broker, fault.name) for fault in answer.faults] == [(2, "DISCONNECTED")]
        assert len(logs.pool.leaders_looked_up) == lookups


async def test_reading_log_bounds_raises_an_error_only_if_every_request_failed() -> None:
    logs = Logs()
    logs.pool.unreachable = [UnreachableError("gone")]
    with pytest.raises(UnreachableError):
        await logs.read(("a", 0))
    logs.pool.leaders = {("a", 0): -LEADERLESS}
    honest = logs.answer

    def answer(sent: Sent) -> Any:
        logs.pool.unreachable = [UnreachableError("gone")]
        return honest(sent)

    logs.pool.answers["ListOffsets"] = answer
    answered = await logs.read(("a", 0), ("a", 1))
    assert answered.rows == {("a", 1): PartitionBounds(START + 1, END + 1)}
    assert [fault.name for fault in answered.faults] == ["UNREACHABLE"]


async def test_log_bounds_of_many_partitions_are_read_with_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_bounds, "PARTITIONS_PER_REQUEST", 3)
    logs = Logs()
    logs.pool.partitions = 10
    answer = await logs.read(*(("a", part) for part in range(10)))
    assert len(answer.rows) == 10
    assert sorted(len(sent.fields["Topics"][0]["Partitions"]) for sent in logs.pool.sent) == [1, 1, 3, 3, 3, 3, 3, 3]

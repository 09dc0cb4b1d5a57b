"""Tests of `record_times`, which reads the timestamps of the first unread and the last consumed records."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.errors import ConnectError, DeadlineError
from kgtui.model.cluster import TopicRules
from kgtui.model.record_times import (
    COMPACTED,
    FORBIDDEN_TOPIC,
    NO_ANSWER,
    NO_TIMESTAMPS,
    OLD_FORMAT,
    TIERED,
    LogPosition,
    RecordTime,
    TimeRange,
)
from tests.unit.admin.fake_pool import FakePool

if TYPE_CHECKING:
    from kgtui.model.offsets import TopicPartition
    from tests.unit.admin.fake_pool import Sent

NOW = int(time.time() * 1000)
FIRST = NOW - 1_000_000
END = 1000
SEARCHED = LogPosition(400, 0, END)
FOUND = TimeRange((FIRST + 400_000) / 1000, (FIRST + 400_000) / 1000)


class Logs:
    """Brokers with 1,000 records per partition, one per second. The last record is one second older than `NOW`.

    Attributes:
        codes: `(topic, partition)` → error code in the response to ListOffsets.
        led_by: `(topic, partition)` → actual leader, for partitions whose leader in `pool.leaders` is outdated.
        local_start: topic → first offset on the leader's disk. Earlier records are in tiered storage.
        without_timestamps: topics whose records have no timestamps.
    """

    def __init__(self) -> None:
        self.codes: dict[TopicPartition, int] = {}
        self.led_by: dict[TopicPartition, int] = {}
        self.local_start: dict[str, int] = {}
        self.without_timestamps: set[str] = set()
        self.pool = FakePool(answers={"ListOffsets": self.answer})

    def answer(self, sent: Sent) -> Any:
        return {"Topics": [
            {"Name": topic["Name"], "Partitions": [
                self._row(sent.node, topic["Name"], row["PartitionIndex"], row["Timestamp"])
                for row in topic["Partitions"]
            ]}
            for topic in sent.fields["Topics"]
        ]}  # fmt: skip

    def _row(self, node: int, topic: str, part: int, asked: int) -> dict[str, Any]:
        code = self.codes.get((topic, part), 0)
        if self.led_by.get((topic, part), node) != node:
            code = 6
        offset = max(-((FIRST - asked) // 1000), 0)
        row = (-1, -1) if code or offset >= END or topic in self.without_timestamps else (offset, FIRST + offset * 1000)
        if asked == -4:
            row = (self.local_start.get(topic, 0), -1)
        return {"PartitionIndex": part, "ErrorCode": code, "Timestamp": row[1], "Offset": row[0], "LeaderEpoch": 0}

    async def read(
        self, *partitions: TopicPartition, rules: dict[str, TopicRules] | None = None, timeout: float = 5.0
    ) -> Any:
        positions = dict.fromkeys(partitions, SEARCHED)
        admin = KafkaGroupAdmin(self.pool)
        return await admin.record_times(positions, rules, precision=0, timeout=timeout)


async def test_each_round_of_a_timestamp_search_sends_one_request_per_leader() -> None:
    logs = Logs()
    logs.pool.leaders = {("a", 1): 2, ("b", 0): 2}
    answer = await logs.read(("a", 0), ("a", 1), ("b", 0), ("b", 1))
    rounds = {row.rounds for row in answer.rows.values()}
    assert [row.unread for row in answer.rows.values()] == [FOUND] * 4
    consumed = answer.rows["a", 0].consumed
    assert consumed.earliest <= FOUND.earliest - 1 <= consumed.latest
    assert len(rounds) == 1
    assert logs.pool.per_node("ListOffsets") == dict.fromkeys((1, 2), *rounds)
    assert {sent.fields["IsolationLevel"] for sent in logs.pool.sent} == {0}
    assert answer.faults == ()


@pytest.mark.parametrize(
    ("code", "reason"),
    [(29, FORBIDDEN_TOPIC), (43, OLD_FORMAT), (3, "This server does not host this topic-partition.")],
)
async def test_record_times_contain_the_reason_why_a_search_failed(code: int, reason: str) -> None:
    logs = Logs()
    logs.codes = {("a", 0): code}
    answer = await logs.read(("a", 0), ("a", 1))
    assert answer.rows["a", 0] == RecordTime(400, reason=reason)
    assert answer.rows["a", 1].unread == FOUND


async def test_record_times_of_a_forbidden_topic_contain_the_reason() -> None:
    logs = Logs()
    logs.pool.leaders = {"secret": -29}
    assert (await logs.read(("secret", 0))).rows == {("secret", 0): RecordTime(400, reason=FORBIDDEN_TOPIC)}


async def test_searching_records_without_timestamps_takes_one_request() -> None:
    logs = Logs()
    logs.without_timestamps = {"a"}
    assert (await logs.read(("a", 0))).rows == {("a", 0): RecordTime(400, reason=NO_TIMESTAMPS, rounds=1)}


async def test_searching_record_times_sends_no_request_for_compacted_topics() -> None:
    logs = Logs()
    answer = await logs.read(("a", 0), rules={"a": TopicRules(compacted=True)})
    assert answer.rows == {("a", 0): RecordTime(400, reason=COMPACTED)}
    assert logs.pool.sent == []


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("readable", [True, False])
async def test_tiered_topics_are_skipped_on_kafka_3_4_to_3_9(version: int, readable: bool) -> None:
    """In these releases, a search in a topic with tiered storage blocks a request handler thread of the broker.

    kgtui recognizes these releases by their newest ListOffsets version, which is 8 or 9. If `readable` is false, the
    user is not allowed to read topic configs. kgtui then recognizes a tiered topic, because the first offset on the
    leader's disk (300) is greater than the log start offset (0).
    """
    logs = Logs()
    logs.pool.versions = {"ListOffsets": version}
    logs.local_start = {"remote": 300}
    rules = {"remote": TopicRules(tiered=True), "local": TopicRules()} if readable else {}
    rules |= {} if readable else {"remote": TopicRules(fault="grant DESCRIBE_CONFIGS on the topic to this user")}
    answer = await logs.read(("remote", 0), ("local", 0), rules=rules)
    assert answer.rows["remote", 0] == RecordTime(400, reason=TIERED)
    assert answer.rows["local", 0].unread == FOUND
    asked = [row["Timestamp"] for sent in logs.pool.sent for topic in sent.fields["Topics"]
             for row in topic["Partitions"] if topic["Name"] == "remote"]  # fmt: skip
    assert asked == ([] if readable else [-4])


@pytest.mark.parametrize("version", [7, 10])
async def test_tiered_topics_are_searched_on_kafka_3_3_and_4_0(version: int) -> None:
    """Only brokers from Kafka 3.4 to 3.9 search topics with tiered storage so slowly that kgtui skips these topics.

    kgtui recognizes older and newer releases by their newest ListOffsets version: at most 7, or at least 10.
    """
    logs = Logs()
    logs.pool.versions = {"ListOffsets": version}
    answer = await logs.read(("remote", 0), rules={"remote": TopicRules(tiered=True)})
    assert answer.rows["remote", 0].unread == FOUND


async def test_record_times_are_read_from_the_new_leader_after_a_leader_change() -> None:
    logs = Logs()
    logs.led_by = {("a", 0): 2}
    honest = logs.answer

    def answer(sent: Sent) -> Any:
        answered = honest(sent)
        logs.pool.leaders["a", 0] = 2
        return answered

    logs.pool.answers["ListOffsets"] = answer
    assert (await logs.read(("a", 0))).rows["a", 0].unread == FOUND
    assert logs.pool.leaders_looked_up == [(["a"], False), (["a"], True)]


async def test_a_failure_of_one_leader_does_not_affect_other_leaders() -> None:
    logs = Logs()
    logs.pool.leaders = {("a", 1): 2, ("a", 2): 3}
    honest = logs.answer
    errors = {2: DeadlineError("late", broker=2), 3: ConnectError("refused", broker=3)}
    logs.pool.answers["ListOffsets"] = lambda sent: errors.get(sent.node) or honest(sent)
    answer = await logs.read(("a", 0), ("a", 1), ("a", 2))
    assert answer.rows["a", 0].unread == FOUND
    assert {answer.rows["a", part] for part in (1, 2)} == {RecordTime(400, reason=NO_ANSWER)}
    assert sorted(fault.broker for fault in answer.faults) == [2, 3]


async def test_a_record_search_with_a_timeout_of_zero_finds_nothing() -> None:
    assert (await Logs().read(("a", 0), timeout=0)).rows == {("a", 0): RecordTime(400, reason=NO_ANSWER)}

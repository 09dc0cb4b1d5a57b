"""Tests of how the log offsets, members and committed offsets of simulated groups depend on the time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.simulator.cluster_state import ManualClock, RealClock
from kgtui.simulator.commit_patterns import (
    Batch,
    BelowLogStart,
    CommitPattern,
    Draining,
    Lagging,
    NeverCommitted,
    Steady,
    Stuck,
)
from kgtui.simulator.hashing import hash_host, hash_kafka_id, java_hash_code, offsets_partition
from kgtui.simulator.membership import ConstantMembership, RotatingMembership, Slot
from kgtui.simulator.topics import Topic

PATTERNS = [Steady(), Lagging(), Draining(), Batch(), Stuck(), BelowLogStart()]
TOPIC = Topic("orders.placed", partitions=4, rate=20.0)
TIMES = st.floats(min_value=0, max_value=100_000)


@given(TIMES, st.floats(min_value=0, max_value=500))
def test_simulated_log_ends_never_decrease_or_fall_below_log_starts(t: float, later: float) -> None:
    for now, then in zip(TOPIC.log_ends(t), TOPIC.log_ends(t + later), strict=True):
        assert now <= then
    for start, end in zip(TOPIC.log_starts(t), TOPIC.log_ends(t), strict=True):
        assert 0 <= start <= end


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: type(pattern).__name__)
def test_simulated_committed_offsets_never_decrease_or_exceed_the_log_end(pattern: CommitPattern) -> None:
    for one, two in pairwise(range(0, 2_000, 3)):
        before, after, ends = (
            pattern.committed_offsets(TOPIC, one),
            pattern.committed_offsets(TOPIC, two),
            TOPIC.log_ends(two),
        )
        for old, new, end in zip(before, after, ends, strict=True):
            assert old is not None
            assert new is not None
            assert old <= new <= end


def lag(pattern: CommitPattern, t: float) -> int:
    return sum(end - (at or 0) for at, end in zip(pattern.committed_offsets(TOPIC, t), TOPIC.log_ends(t), strict=True))


def test_each_commit_pattern_of_simulated_groups_causes_the_documented_lag() -> None:
    assert lag(Steady(), 900) < 4 * 20 * 1.5 * 10
    assert lag(Lagging(), 60) < lag(Lagging(), 600) < lag(Lagging(), 6_000)
    assert lag(Draining(), 60) > lag(Draining(), 600) > lag(Draining(), 1_000)
    assert list(Stuck().committed_offsets(TOPIC, 0)) == list(Stuck().committed_offsets(TOPIC, 9_999))
    assert all(
        (at or 0) < start
        for at, start in zip(BelowLogStart().committed_offsets(TOPIC, 5), TOPIC.log_starts(5), strict=True)
    )
    assert list(NeverCommitted().committed_offsets(TOPIC, 5)) == [None] * 4
    assert max(lag(Batch(120), t) for t in range(0, 240, 5)) > 4 * min(lag(Batch(120), t) for t in range(0, 240, 5))


def test_a_simulated_group_with_rotation_changes_its_members_after_each_period() -> None:
    schedule = RotatingMembership(10.0, ((0, 1), (0, 1, 2), ()))
    assert [len(schedule.at(t).slots) for t in (0, 9.9, 10, 19.9, 20, 30)] == [2, 2, 3, 3, 0, 2]
    membership = schedule.at(12.5)
    assert (membership.change, membership.since, len(membership.before)) == (1, 2.5, 2)


def test_a_simulated_member_that_leaves_and_returns_counts_as_a_new_member() -> None:
    schedule = RotatingMembership(10.0, ((0, 1), (0,)))
    assert schedule.at(5).slots == (Slot(0, 0), Slot(1, 0))
    assert schedule.at(15).slots == (Slot(0, 0),)
    assert schedule.at(25).slots == (Slot(0, 0), Slot(1, 2))
    assert ConstantMembership(2).at(1e9).slots == ConstantMembership(2).at(0).slots


def test_same_name_always_gives_same_simulated_host_and_id() -> None:
    assert hash_host("a") == hash_host("a") != hash_host("b")
    assert hash_kafka_id("x") == hash_kafka_id("x")
    assert all(not hash_kafka_id(number).startswith("-") for number in range(500))


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("a", 97), ("payments.settle", None), ("Aa", 2112), ("BB", 2112), ("polygenelubricants", -(2**31))],
)
def test_java_hash_code_returns_the_hash_code_of_java_strings(text: str, code: int | None) -> None:
    expected = 0
    for char in text:
        expected = (31 * expected + ord(char)) % (1 << 32)
    expected -= (1 << 32) if expected >= 1 << 31 else 0
    assert java_hash_code(text) == expected
    assert code is None or java_hash_code(text) == code


def test_java_hash_code_counts_an_emoji_as_two_utf_16_units() -> None:
    assert java_hash_code("🚀") == 31 * 0xD83D + 0xDE80
    assert 0 <= offsets_partition("🚀") < 50


@pytest.mark.parametrize(
    ("group", "code", "partition"),
    [("b", 98, 48), ("team-1", -877714239, 39), ("polygenelubricants", -(2**31), 0)],
)
def test_simulated_groups_are_in_the_partition_that_kafka_computes(group: str, code: int, partition: int) -> None:
    """The partition of `__consumer_offsets` is the absolute value of the group id's hash code, modulo 50.

    In Java, -2^31 has no positive counterpart of type `int`. For this hash code, Kafka uses 0 (`Utils.abs`).
    """
    assert (java_hash_code(group), offsets_partition(group)) == (code, partition)


def test_a_manual_clock_cannot_move_back() -> None:
    clock = ManualClock(100.0)
    clock.advance(2.5)
    assert clock.now() == 102.5
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)
    assert RealClock().now() > 1.7e9

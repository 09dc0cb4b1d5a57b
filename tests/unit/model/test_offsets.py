"""Tests of lag, lead and lost records of a partition. An unknown value is None, not zero.

The lead is the committed offset minus the log start offset. Lost records were deleted before the group read them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.offsets import (
    CommittedOffset,
    GroupOffsets,
    LagTotal,
    PartitionBounds,
    ShareOffset,
    lag_of_commit,
    lag_of_group,
    lag_of_share,
    lags,
    total,
)


def test_lag_is_the_log_end_offset_minus_the_committed_offset() -> None:
    row = lag_of_commit(CommittedOffset("t", 0, 70), PartitionBounds(50, 100))
    assert (row.lag, row.lead, row.lost, row.reason) == (30, 20, 0, "")


def test_lag_is_zero_if_the_committed_offset_exceeds_the_log_end_offset() -> None:
    """After an unclean leader election or a recreation of the topic, the log can end before the committed offset."""
    assert lag_of_commit(CommittedOffset("t", 0, 120), PartitionBounds(0, 100)).lag == 0


def test_records_deleted_before_the_group_read_them_count_as_lost() -> None:
    row = lag_of_commit(CommittedOffset("t", 0, 40), PartitionBounds(50, 100))
    assert (row.lost, row.lead) == (10, 0)


@pytest.mark.parametrize(
    ("commit", "bounds", "reason"),
    [
        (CommittedOffset("t", 0, None), PartitionBounds(0, 100), "no commit"),
        (CommittedOffset("t", 0, None, error=29), PartitionBounds(0, 100), "forbidden"),
        (CommittedOffset("t", 0, 5), PartitionBounds(None, None, 3), "topic deleted"),
        (CommittedOffset("t", 0, 5), PartitionBounds(None, None, 5), "no leader"),
        (CommittedOffset("t", 0, 5), PartitionBounds(None, None, 78), "no leader"),
        (CommittedOffset("t", 0, 5), PartitionBounds(None, None, 29), "forbidden"),
        (CommittedOffset("t", 0, 5), PartitionBounds(None, None, 87), "error 87"),
        (CommittedOffset("t", 0, 5), None, "pending"),
    ],
)
def test_unknown_lag_of_a_partition_has_a_reason(
    commit: CommittedOffset, bounds: PartitionBounds | None, reason: str
) -> None:
    row = lag_of_commit(commit, bounds)
    assert row.lag is None
    assert row.reason == reason


def test_lag_is_zero_if_the_committed_offset_equals_the_log_end_offset() -> None:
    row = lag_of_commit(CommittedOffset("t", 0, 100), PartitionBounds(0, 100))
    assert (row.lag, row.reason) == (0, "")


def test_lag_of_a_share_partition_is_the_lag_that_the_broker_reports() -> None:
    """kgtui does not compute the lag as log end offset minus share-partition start offset.

    This difference would include records after the start offset that are already acknowledged.
    """
    row = lag_of_share(ShareOffset("t", 0, 10, lag=3), PartitionBounds(0, 100))
    assert (row.position, row.lag, row.lead) == (10, 3, 10)
    assert lag_of_share(ShareOffset("t", 0, 10), PartitionBounds(0, 100)).reason == "not told"
    assert lag_of_share(ShareOffset("t", 0, None), None).reason == "no commit"


def test_total_lag_comes_with_the_number_of_partitions_whose_lag_is_unknown() -> None:
    """The number (`LagTotal.unknown`) does not include partitions without a committed offset."""
    offsets = GroupOffsets(
        committed=(
            CommittedOffset("b", 0, 10),
            CommittedOffset("a", 1, None),
            CommittedOffset("a", 0, 10),
            CommittedOffset("gone", 0, 10),
        ),
        bounds={
            ("a", 0): PartitionBounds(0, 15),
            ("b", 0): PartitionBounds(0, 11),
            ("gone", 0): PartitionBounds(None, None, 3),
        },
    )
    rows = lags(offsets)
    assert [(row.topic, row.partition) for row in rows] == [("a", 0), ("a", 1), ("b", 0), ("gone", 0)]
    assert total(rows) == LagTotal(lag=6, unknown=1, partitions=4)


def test_total_lag_is_none_if_no_partition_has_a_known_lag() -> None:
    assert total([]).lag is None
    assert total(lags(GroupOffsets((CommittedOffset("t", 0, None),)))) == LagTotal(None, 0, 1)


_few = st.none() | st.integers(0, 9)
_errors = st.sampled_from([0, 0, 0, 3, 29])
_partitions = st.tuples(st.sampled_from(["t", "u"]), st.integers(0, 2))
_commits = st.dictionaries(_partitions, st.tuples(_few, _errors), max_size=5)
_shares = st.dictionaries(_partitions, st.tuples(_few, _few, _errors), max_size=5)
_bounds = st.none() | st.dictionaries(_partitions, st.builds(PartitionBounds, _few, _few, _errors), max_size=6)


@given(_commits, _shares, _bounds)
def test_fast_computation_of_group_lag_equals_the_sum_of_partition_lags(
    commits: dict[tuple[str, int], tuple[int | None, int]],
    shares: dict[tuple[str, int], tuple[int | None, int | None, int]],
    bounds: dict[tuple[str, int], PartitionBounds] | None,
) -> None:
    committed = tuple(CommittedOffset(*tp, offset, error=error) for tp, (offset, error) in commits.items())
    share = tuple(
        ShareOffset(*tp, start, None, lag, error) for tp, (start, lag, error) in shares.items() if tp not in commits
    )
    offsets = GroupOffsets(committed, share, bounds)
    assert lag_of_group(offsets) == total(lags(offsets))

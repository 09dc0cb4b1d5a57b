"""Tests of `Trail`, which stores the last few reads of a group as bytes: offsets, progress, rewinds and rebalances.

A rewind is a decrease of a committed offset.
"""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgtui.model.encoded_trail import SAMPLES, lag_samples
from kgtui.model.offsets import CommittedOffset, PartitionBounds, Position, ShareOffset, positions_of
from kgtui.model.trail import WAITED_MAX, Trail
from tests.unit.model.health.reads import described

T0 = 1_700_000_000


def rows(*partitions: tuple[int | None, int | None], topic: str = "t") -> list[Position]:
    """Return the offsets that one read of a group has found: one `Position` per partition of the topic.

    Item n of `partitions` is `(committed offset, log end offset)` of partition n.
    """
    found = []
    for number, (position, end) in enumerate(partitions):
        lag = None if position is None or end is None else max(end - position, 0)
        found.append(Position((topic, number), position, end, lag))
    return found


def trail_of(*reads: list[Position], seconds: int = 15) -> Trail:
    """Return the `Trail` that stores the reads `reads` of a group. Two successive reads are `seconds` apart.

    The `Trail` is encoded and decoded after each read, so that all tests cover the encoding.
    """
    trail = Trail()
    for number, read in enumerate(reads):
        trail.add(T0 + number * seconds, read)
        trail = Trail.decode(trail.encode())
    return trail


def test_stored_reads_of_ten_partitions_need_at_most_300_bytes() -> None:
    """The size of the bytes object is rounded up to a multiple of 16, because Python allocates memory in such blocks.

    The total also includes 8 bytes for the reference to this object.
    """
    trail = trail_of(*[rows(*[(10**12 + n, 10**12 + 5)] * 10) for n in range(7)])
    size = sys.getsizeof(trail.encode())
    assert -(-size // 16) * 16 + 8 <= 300


def test_stored_reads_with_small_offsets_need_at_most_220_bytes() -> None:
    trail = trail_of(*[rows(*[(10**6 + n, 10**6 + 5)] * 10) for n in range(7)])
    assert sys.getsizeof(trail.encode()) <= 220


def test_new_reads_and_rebalances_do_not_change_the_encoded_size() -> None:
    """If the stored reads of a group grew, the smaller memory block that they used before would be wasted."""
    trails = [trail_of(*[rows((10 + n, 20)) for n in range(number)]) for number in range(1, 8)]
    rebalanced = trail_of(rows((10, 20)))
    rebalanced.rebalanced(T0)
    assert len({len(trail.encode()) for trail in (*trails, rebalanced)}) == 1


@given(st.lists(st.lists(st.tuples(*[st.none() | st.integers(-(2**63), 2**63 - 1)] * 2), max_size=3), max_size=4))
@example([[(0, 2**63 - 1), (0, 2**63 - 1)]])
def test_any_offset_that_a_broker_can_send_can_be_stored(
    reads: list[list[tuple[int | None, int | None]]],
) -> None:
    trail = trail_of(*[rows(*read) for read in reads])
    assert len(trail.samples) <= SAMPLES
    assert len(lag_samples(trail.encode())) == len(trail.samples)


def test_waiting_time_of_a_partition_grows_only_without_progress() -> None:
    """The waiting time of a partition is the time for which it has had unread records but no progress, in seconds.

    `waited` stores the waiting time plus 1, or 0 if the partition has no unread records.
    """
    trail = trail_of(*[rows((5, 9), (5 + n, 9 + n), (9, 9)) for n in range(4)])
    assert list(trail.waited) == [46, 1, 0]


def test_waiting_time_begins_at_the_first_read_that_finds_unread_records() -> None:
    trail = trail_of(rows((9, 9)), rows((9, 9)), rows((9, 12)), rows((9, 12)))
    assert list(trail.waited) == [16]


def test_stored_waiting_time_of_partition_is_at_most_18_hours() -> None:
    """The waiting time is stored as a 16-bit number of seconds."""
    assert list(trail_of(*[rows((5, 9))] * 3, seconds=40_000).waited) == [WAITED_MAX]


def test_a_jump_of_the_clock_does_not_count_as_waiting_time() -> None:
    """The waiting time of a partition is the time for which it has had unread records but no progress."""
    trail = trail_of(rows((5, 9)), rows((5, 9)))
    trail.add(T0 + 3_630, rows((5, 9)), jump=3_600)
    assert list(trail.waited) == [31]


def test_earlier_reads_are_discarded_when_the_clock_is_set_back() -> None:
    trail = trail_of(rows((5, 9)), rows((5, 9)))
    trail.add(T0 - 3_600, rows((5, 9)))
    assert (trail.reads, list(trail.waited), trail.at) == (1, [1], T0 - 3_600)


def test_sums_of_lags_and_offsets_are_kept_for_five_reads() -> None:
    trail = trail_of(*[rows((n, 100), (None, 7), (3, None)) for n in range(SAMPLES + 3)])
    assert len(trail.samples) == SAMPLES
    assert [sums.lag for sums in trail.samples] == [97, 96, 95, 94, 93]
    assert (trail.samples[-1].positions, trail.samples[-1].unknown) == (7, 1)


def test_time_and_pace_of_progress_are_stored() -> None:
    """A read shows progress if a committed offset has risen since the read before.

    `pace` is the longest recent time between two reads with progress, in seconds. If the group makes progress more
    often, each read with progress reduces `pace` to a quarter or more of its value, here from 80 to 20.
    """
    trail = trail_of(*[rows((position, 9)) for position in (5, 6, 6, 6, 8)], seconds=20)
    assert (trail.first_at, trail.progress_at, trail.pace) == (T0, T0 + 80, 60)
    trail.add(T0 + 160, rows((9, 9)))
    assert trail.pace == 80
    trail.add(T0 + 165, rows((10, 10)))
    assert trail.pace == 20


@pytest.mark.parametrize("later", [[8], [8, 9], [7, 7, 7]])
def test_rewind_is_stored_until_the_previous_offset_is_reached_again(
    later: list[int],
) -> None:
    """The committed offset goes back from 9 to 5.

    The time of this rewind is stored until a read finds offset 9 again.
    """
    trail = trail_of(rows((9, 20)), rows((5, 20)), *[rows((position, 20)) for position in later])
    assert trail.rewound_at == (0 if 9 in later else T0 + 15)


def test_rewind_is_forgotten_after_ten_reads_with_progress() -> None:
    """A rewind is a decrease of a committed offset. Here, the group never reaches the previous offset again."""
    back = [rows((900, 2_000)), *[rows((100 + n, 2_000)) for n in range(12)]]
    assert trail_of(*back).rewound_at == 0


def test_offsets_of_a_recreated_topic_do_not_count_as_rewind() -> None:
    trail = trail_of(rows((900, 900)), rows((3, 5)))
    assert (trail.rewound_at, trail.reads) == (0, 1)


def test_a_new_partition_resets_the_read_count_and_waiting_times() -> None:
    """The waiting time of a partition is the time for which it has had unread records but no progress."""
    trail = trail_of(rows((5, 9)), rows((5, 9)), rows((6, 9), (0, 0)))
    assert (trail.reads, list(trail.waited), trail.progress_at) == (1, [1, 0], T0 + 30)


def test_missing_and_new_partitions_do_not_count_as_progress() -> None:
    full = rows((5, 9), (6, 9), (0, 9), (7, 9), (8, 9), (1, 9))
    trail = trail_of(full, full[:3], full, [full[0], full[4]], full)
    assert (trail.progress_at, trail.reads, list(trail.waited)) == (0, 3, [61] * 6)
    trail = trail_of(full[:3], full, full[:3], full[:3], full, [*full, *rows((900, 900), topic="u")])
    assert trail.progress_at == 0


def test_progress_of_old_partitions_counts_even_if_new_partitions_appear() -> None:
    """New partitions alone do not count as progress."""
    more = [*rows((3, 3), topic="a"), *rows((3, 3), topic="b"), *rows((5, 9), (7, 9))]
    assert trail_of(rows((5, 9), (6, 9)), more).progress_at == T0 + 15
    unmoved = [*more[:2], *rows((5, 9), (6, 9))]
    assert trail_of(rows((5, 9), (6, 9)), unmoved).progress_at == 0


def test_each_observed_change_of_the_group_epoch_counts_as_one_rebalance() -> None:
    """A description with the state PreparingRebalance is ignored, because its list of members is incomplete."""
    trail = Trail()
    for number, epoch in enumerate((1, 1, 2, 4)):
        trail.describe(T0 + number, described(epoch=epoch))
        trail.add(T0 + number, [])
    assert (trail.rebalances, trail.rebalanced_at) == (2, (0, T0 + 2, T0 + 3))
    trail.describe(T0 + 9, described("PreparingRebalance", epoch=9))
    assert trail.rebalances == 2


def test_rebalance_seen_in_group_list_and_description_counts_once() -> None:
    trail = Trail()
    trail.describe(T0, described(epoch=1))
    trail.add(T0, [])
    trail.rebalanced(T0 + 5)
    trail.describe(T0 + 15, described(epoch=2))
    assert trail.rebalances == 1


def test_consecutive_descriptions_with_members_without_partitions_are_counted() -> None:
    trail = Trail()
    trail.describe(T0, described())
    trail.describe(T0 + 1, described())
    assert trail.idle == 2
    trail.describe(T0 + 2, described(members=()))
    assert trail.idle == 0


def test_position_is_a_committed_offset_or_a_share_partition_start_offset() -> None:
    bounds = {("t", 0): PartitionBounds(0, 9), ("t", 1): PartitionBounds(None, None, 29)}
    found = positions_of(
        [CommittedOffset("t", 0, 5), CommittedOffset("t", 1, 5)], [ShareOffset("u", 0, 3, lag=2)], bounds
    )
    assert found == [(("t", 0), 5, 9, 4), (("t", 1), 5, None, None), (("u", 0), 3, None, 2)]


OFFSETS = st.one_of(st.none(), st.integers(0, 2**62), st.integers(0, 2**31 + 1))


@given(st.lists(st.lists(st.tuples(OFFSETS, OFFSETS), max_size=4), max_size=8), st.integers(0, 100_000))
def test_stored_reads_are_unchanged_after_encoding_and_decoding(
    reads: list[list[tuple[int | None, int | None]]], seconds: int
) -> None:
    trail = Trail()
    for number, read in enumerate(reads):
        trail.add(T0 + number * seconds, [*rows(*read)])
        again = Trail.decode(trail.encode())
        assert [getattr(again, name) for name in Trail.__slots__] == [getattr(trail, name) for name in Trail.__slots__]

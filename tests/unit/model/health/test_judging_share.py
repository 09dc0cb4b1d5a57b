"""Tests of health verdicts on share groups, which are computed from share-partition start offsets and lags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.burrow import Status
from kgtui.model.health import ReadHistory, health_of
from kgtui.model.health.wording import missing, reason
from tests.scripted import member
from tests.unit.model.health.reads import described, kinds, shares, watch

SHARE = described(group_type="share")
LEFT = described("Empty", "share", members=())

Row = tuple[int | None, int | None, int | None]


EVERY = 5.0
"""Time from one read to the next, in seconds."""


def read_history(rows: list[Row], *, empty: bool = False) -> ReadHistory:
    return watch([shares(row) for row in rows], EVERY, description=LEFT if empty else SHARE)


def stuck(reads: int) -> list[Row]:
    return [(100, 400 + 10 * n, 500 + 10 * n) for n in range(reads)]


@pytest.mark.parametrize(("empty", "status"), [(True, Status.STOP), (False, Status.STALL)])
def test_share_group_without_progress_gets_stop_only_if_empty(empty: bool, status: Status) -> None:
    assert health_of(read_history(stuck(11), empty=empty)).kind is status
    early = health_of(read_history(stuck(10), empty=empty))
    assert (early.status, kinds(early)) == (Status.OK, [(status.name, "time")])


def test_reason_for_a_stalled_share_group_says_that_nothing_was_acknowledged() -> None:
    health = health_of(read_history(stuck(20)))
    assert reason(health, "share") == "nothing acknowledged on t-0 for 1 min 35 s, 590 unread"


def test_share_group_with_falling_lag_but_constant_start_offset_is_ok() -> None:
    """The start offset does not move, because one record is delivered repeatedly. Later records are acknowledged."""
    health = health_of(read_history([(100, 400 - n, 500) for n in range(20)]))
    assert (health.status, health.undecided) == (Status.OK, ())


def test_share_group_with_growing_lag_and_old_unread_records_gets_status_warn() -> None:
    rows: list[Row] = [(100 + 10 * n, 5000 + 4 * n, 5100 + 14 * n) for n in range(20)]
    assert health_of(read_history(rows)).kind is Status.WARN
    assert reason(health_of(read_history(rows)), "share") == "the lag of t-0 does not fall, 5,076 unread"
    early = health_of(read_history(rows[:6]))
    assert kinds(early) == [("WARN", "time")]
    assert missing(early.undecided[0]) == "WARN requires more than 45 s of observation; observed so far: 25 s"


def test_share_group_whose_lag_grows_with_traffic_is_ok() -> None:
    """The group is always a few seconds behind. With more traffic, more records are written in these seconds."""
    ends = [1000 + 50 * n + 3 * n * n for n in range(25)]
    rows: list[Row] = [(end - 20 - 2 * n, 20 + 2 * n, end) for n, end in enumerate(ends)]
    health = health_of(read_history(rows))
    assert (health.status, health.undecided) == (Status.OK, ())


def test_share_group_gets_status_stall_45_seconds_after_new_records() -> None:
    rows: list[Row] = [(100, max(n, 0), 100 + max(n, 0)) for n in range(-20, 10)]
    assert health_of(read_history(rows)).status is Status.OK
    rows += [(100, 9 + n, 109 + n) for n in range(1, 3)]
    assert health_of(read_history(rows)).kind is Status.STALL


def test_share_group_with_large_but_constant_lag_is_ok() -> None:
    rows: list[Row] = [(100 + 10 * n, 5000, 5100 + 10 * n) for n in range(20)]
    health = health_of(read_history(rows))
    assert (health.status, health.undecided) == (Status.OK, ())


def test_share_group_whose_start_offset_decreased_gets_status_rewind() -> None:
    rows: list[Row] = [(400, 100, 500), (410, 90, 500), (50, 450, 500)]
    assert health_of(read_history(rows)).kind is Status.REWIND


def test_verdict_on_a_share_group_with_unknown_lag_is_undecided() -> None:
    """If the start offset is unknown as well, the group has not begun to read the partition, and the verdict is OK."""
    assert kinds(health_of(read_history([(100, None, 500)] * 20))) == [("ERR", "lag")]
    untouched = health_of(read_history([(None, None, 500)] * 20))
    assert (untouched.status, untouched.undecided) == (Status.OK, ())


def test_share_group_without_progress_gets_status_stall_if_members_are_hidden() -> None:
    """Brokers hide the members of a share group from a user who lacks DESCRIBE on the members' topics.

    kgtui assumes that the group has members. Without members, its status would be STOP.
    """
    withheld = watch([shares(row) for row in stuck(20)], description=described("Stable", "share", members=None))
    assert health_of(withheld).kind is Status.STALL
    some = described("Stable", "share", members=(member("a"), member("b")))
    assert health_of(watch([shares(row) for row in stuck(20)], description=some)).kind is Status.STALL


rows = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 20)),
    min_size=1,
    max_size=30,
)


@given(rows, st.booleans())
def test_share_groups_get_status_stop_or_stall_only_without_progress(reads: list[Row], empty: bool) -> None:
    """Every status except OK needs a lag above 0. STOP and STALL also need more than 45 s without progress."""
    row = health_of(read_history(reads, empty=empty)).partitions["t", 0]
    if row.status is not Status.OK:
        assert row.lag
    if row.status in (Status.STOP, Status.STALL):
        assert row.still > 45
        known = [(at, start, lag) for at, (start, lag, _) in enumerate(reads) if start is not None and lag is not None]
        since = known[-1][0] - row.still / EVERY
        tail = [(start, lag) for at, start, lag in known if at >= since]
        assert len({start for start, _ in tail}) == 1
        assert [lag for _, lag in tail] == sorted(lag for _, lag in tail)
        assert (row.status is Status.STOP) == empty


def test_reads_with_unknown_offsets_do_not_count_as_progress_of_a_share_group() -> None:
    rows: list[Row] = [(0, 2, 0), (0, 1, 0), *[(None, None, 0)] * 9, (0, 1, 0)]
    assert health_of(read_history(rows)).kind is Status.STALL
    assert health_of(read_history(rows[1:-1])).kind is not Status.STALL

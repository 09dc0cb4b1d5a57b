"""Tests of health verdicts that are computed from polled offsets by Burrow's rules.

A verdict is undecided as long as there are too few reads to apply a rule.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.burrow import Options, Status
from kgtui.model.health import OBSERVED, Watching, health_of
from kgtui.model.health.judging import judge_observed, observe
from kgtui.model.health.read_history import Sample, Samples
from kgtui.model.health.values import DEFAULT_WATCHING, Rewind
from kgtui.model.health.wording import missing, reason
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds, PartitionLag
from tests.unit.model.health.reads import T0, described, kinds, offsets, samples, watch


def stuck(reads: int) -> list[GroupOffsets]:
    """Return reads of a group whose committed offset does not change while its log grows by 10 records per read."""
    return [offsets((1000, 1100 + 10 * n)) for n in range(reads)]


def test_group_gets_status_stop_after_more_than_45_seconds_without_commits() -> None:
    """The time without a commit must be longer than the time from the first to the last of ten commits.

    kgtui has seen too few commits to know their interval, so it assumes 5 s. Ten such commits span 45 s.
    """
    before, after = health_of(watch(stuck(10))), health_of(watch(stuck(11)))
    assert (before.status, kinds(before)) == (Status.OK, [("STOP", "time")])
    assert missing(before.undecided[0]) == "STOP requires more than 45 s without progress; observed so far: 45 s"
    assert (after.status, after.kind, kinds(after)) == (Status.ERR, Status.STOP, [])
    assert after.basis == OBSERVED
    assert reason(after) == "no commit on t-0 for 50 s, 200 unread"


def test_group_committing_once_per_minute_is_ok_after_55_s() -> None:
    """55 s without a commit do not mean that the group has stopped, because it commits only once per minute.

    kgtui knows this interval from a setting or from earlier commits.
    """
    slow = Watching(commit_interval=60.0)
    assert kinds(health_of(watch(stuck(40), watching=slow))) == [("STOP", "time")]
    observed = [offsets((1000 + 10 * (n // 12), 2000 + n)) for n in range(36)]
    health = health_of(watch(observed))
    assert (health.status, health.partitions["t", 0].still) == (Status.OK, 55.0)


def test_idle_time_between_commits_delays_the_status_stop() -> None:
    """Five commits span a time of 215 s, because the group was idle after the first commit.

    By Burrow's rules, STOP then needs more than 215 s without a commit.
    """
    idle = [offsets((1000, 1000))] * 40
    busy = [offsets((1010 + 10 * n, 1500)) for n in range(4)]
    still = [offsets((1040, 1500))]
    for count, kind in ((43, Status.OK), (44, Status.STOP)):
        assert health_of(watch([*idle, *busy, *still * count])).kind is kind, count


def test_group_that_keeps_up_with_growing_traffic_is_ok() -> None:
    """If traffic grows, the lag grows even if the group keeps up. This growth must not count as falling behind."""
    ends = [1000 + 40 * n + n * n for n in range(25)]
    health = health_of(watch([offsets((end - 20 - n, end)) for n, end in enumerate(ends)]))
    assert (health.status, health.undecided, health.worst) == (Status.OK, (), None)


def test_group_without_lag_is_ok_at_the_first_read() -> None:
    health = health_of(watch([offsets((7, 7))]))
    assert (health.status, health.undecided) == (Status.OK, ())


def test_one_read_is_not_enough_to_decide_whether_a_group_has_stopped() -> None:
    assert kinds(health_of(watch([offsets((7, 9))]))) == [("STOP", "time")]


def test_growing_lag_gives_status_warn_after_five_commits() -> None:
    def slow(reads: int) -> list[GroupOffsets]:
        return [offsets((1000 + 10 * n, 3000 + 14 * n)) for n in range(reads)]

    # WARN needs five commits with a known lag. The lag at a commit is computed from the log end offset that was read
    # `offset_refresh` seconds earlier. The first two commits have no such offset, so WARN needs seven reads.
    early, late = health_of(watch(slow(6))), health_of(watch(slow(7)))
    assert (early.status, kinds(early)) == (Status.OK, [("WARN", "commits")])
    assert missing(early.undecided[0]) == "WARN requires 5 commits; observed so far: 4"
    assert (late.status, late.undecided) == (Status.WARN, ())
    assert reason(late) == "the lag of t-0 does not fall over 7 commits, 2,024 unread"


def test_group_with_falling_lag_is_ok() -> None:
    health = health_of(watch([offsets((1000 + 20 * n, 3000 + 14 * n)) for n in range(20)]))
    assert (health.status, health.undecided) == (Status.OK, ())


def test_status_rewind_ends_when_commits_reach_the_old_offset_again() -> None:
    """The committed offset goes back from 600 to 200, and later rises to 610."""
    back = [offsets((500, 900)), offsets((600, 900)), offsets((200, 900))]
    assert health_of(watch(back)).kind is Status.REWIND
    assert reason(health_of(watch(back))) == "the committed offset of t-0 went back from 600 to 200, 700 unread"
    again = [*back, offsets((610, 900))]
    assert health_of(watch(again)).kind is not Status.REWIND


def test_later_commits_do_not_change_the_time_and_offsets_of_a_rewind() -> None:
    """The second read shows that the committed offset went back from 5,000 to 200.

    Later reads must keep the time and the offsets of this rewind.
    """
    back = [offsets((5000, 9000)), *(offsets((200 + n, 9000)) for n in range(8))]
    rewinds = {health_of(watch(back[:count])).partitions["t", 0].rewind for count in range(2, 10)}
    assert rewinds == {Rewind(T0 + 5, 5000, 200)}


@pytest.mark.parametrize("length", [30, 60, 120])
@pytest.mark.parametrize(("commit_every", "read_every"), [(5, 2), (5, 5), (1, 2), (30, 2), (5, 10), (60, 15)])
def test_stopped_partition_has_status_stop_even_after_two_hours(
    length: int, commit_every: int, read_every: int
) -> None:
    """During the stop, kgtui discards some of the older reads, but must still know the time since the last commit."""
    stops, kept, statuses = 1_800, Samples(), []
    for second in range(0, stops + 7_200, read_every):
        position = 10 * (min(second, stops) // commit_every) * commit_every
        log_end = 10 * (second + 2 * commit_every)
        row = PartitionLag("t", 0, position, 0, log_end, log_end - position, position, 0)
        kept.add(second * 1000, row, length)
        if second > stops:
            verdict, health = judge_observed(row, kept, DEFAULT_WATCHING)
            statuses.append(verdict.status)
            if verdict.status is Status.STOP:
                last_commit = stops - stops % commit_every
                assert 0 <= second - health.still - last_commit < read_every
    assert len(kept) <= length
    first = statuses.index(Status.STOP)
    assert first * read_every <= max(10 * 10, 10 * commit_every)
    assert set(statuses[first:]) == {Status.STOP}


def test_idle_group_gets_status_stop_100_seconds_after_new_records() -> None:
    """Burrow does not report STOP if the lag was 0 at any time in the last 100 s."""
    quiet = [offsets((1000, 1000))] * 12 + [offsets((1000, 1001))] * 12
    health = health_of(watch(quiet))
    assert (health.status, kinds(health)) == (Status.OK, [("STOP", "time")])
    assert health.undecided[0].needs == 100
    assert health_of(watch([*quiet, *[offsets((1000, 1001))] * 12])).kind is Status.STOP


def test_an_unknown_partition_lag_makes_the_verdict_undecided() -> None:
    found = GroupOffsets((CommittedOffset("t", 0, 5),), (), {("t", 0): PartitionBounds(None, None, 29)})
    health = health_of(watch([found] * 20))
    assert (health.status, kinds(health)) == (Status.OK, [("ERR", "lag")])
    assert missing(health.undecided[0]) == "the lag of some partitions is unknown: forbidden"
    assert (health.lag.lag if health.lag else 0) is None


def test_partition_without_commit_or_in_a_deleted_topic_is_ok() -> None:
    gone = GroupOffsets((CommittedOffset("t", 0, 5),), (), {("t", 0): PartitionBounds(None, None, 3)})
    for found in (gone, offsets((None, 50))):
        health = health_of(watch([found] * 20))
        assert (health.status, health.undecided) == (Status.OK, ())


def test_verdict_is_undecided_if_the_newest_log_end_offset_is_unknown() -> None:
    health = health_of(watch([*stuck(20), offsets((1000, None))]))
    assert kinds(health) == [("ERR", "lag")]


def test_worst_partition_is_the_stopped_partition_with_the_most_lag() -> None:
    reads = [offsets((10, 15), (10, 200 + n), (10, 300 + n), (400, 400)) for n in range(20)]
    health = health_of(watch(reads))
    assert (health.affected, health.worst.partition if health.worst else None) == (3, 2)
    assert "on t-2 (and 2 more partitions)" in reason(health)
    assert health.verdict.max_lag == ("t", 2)
    lenient = health_of(watch(reads, watching=Watching(Options(allowed_lag=1000))))
    assert (lenient.status, lenient.undecided) == (Status.OK, ())


def test_undecided_verdicts_are_omitted_if_the_group_already_has_status_err() -> None:
    """Partition 0 has stopped, so the group has the status ERR.

    The verdict on partition 1 is undecided, but cannot make the status of the group worse.
    """
    reads = [offsets((1000, 2000), (5, 6 + n)) if n > 15 else offsets((1000, 2000)) for n in range(18)]
    health = health_of(watch(reads))
    assert (health.kind, health.undecided) == (Status.STOP, ())
    assert [one.status.name for one in health.partitions["t", 1].undecided] == ["STOP"]


def test_stop_reason_says_if_group_is_empty_or_not_subscribed() -> None:
    left = [offsets((10, 200), topic="left")] * 20
    assert reason(health_of(watch(left))).endswith("190 unread; no member subscribes to the topic")
    assert reason(health_of(watch(left, description=described("Empty", members=())))).endswith("; the group is Empty")


def test_group_that_no_longer_exists_gets_the_status_not_found() -> None:
    observed = watch(stuck(20))
    observed.mark_gone()
    health = health_of(observed)
    assert (health.status, reason(health)) == (Status.NOT_FOUND, "the group no longer exists")


def test_lag_at_a_commit_is_computed_from_an_older_log_end_offset() -> None:
    """As in Burrow, the lag at a commit uses a log end offset that is about ten seconds older than the commit."""
    rows = samples(
        (0, 10, 100, 0), (5, 10, 110, 0), (10, 20, 120, 0), (15, 30, 130, 0), (20, None, 140, 0), (25, 30, 150, 0)
    )
    observed = observe(rows, Options())
    assert [(one.offset, one.at - round(T0 * 1000), one.lag) for one in observed.window.commits] == [
        (10, 0, None), (20, 10_000, 80), (30, 15_000, 80)
    ]  # fmt: skip
    assert observed.window.log_ends == (100, 120, 140, 150)
    assert observe([*rows, *samples((30, 30, None, 0))], Options()).window.current_lag is None
    assert (observed.moves, observed.pace, observed.now - round(T0 * 1000)) == (2, 5000, 25_000)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 99), st.integers(0, 30)), min_size=1, max_size=30),
    st.integers(1, 4),
)
def test_frequent_reads_find_the_offset_of_each_commit(commits: list[tuple[int, int, int]], every: int) -> None:
    """kgtui derives the last ten commits from the changes between its reads. The derived offsets are exact.

    The derived time is later than the commit by less than the time between two reads.
    """
    at, log_end, made = 0, 100, []
    for gap, offset, _ in commits:
        at += gap * every
        made.append((at, offset))
    rows: list[tuple[float, int | None, int, int]] = []
    for second in range(0, at + 2 * every, every):
        log_end += commits[len(rows) % len(commits)][2]
        rows.append((second, next((offset for t, offset in reversed(made) if t <= second), None), log_end, 0))
    changed = [made[n] for n in range(len(made)) if n == 0 or made[n][1] != made[n - 1][1]]
    window = observe(samples(*rows), Options()).window
    assert [one.offset for one in window.commits] == [offset for _, offset in changed[-10:]]
    for one, (when, offset) in zip(window.commits, changed[-10:], strict=True):
        observed = one.at / 1000 - T0
        assert 0 <= observed - when < every
        known = [end for second, _, end, _ in rows if second <= observed - 9]
        assert one.lag == (max(known[-1] - offset, 0) if known else None)
    assert window.current_lag == max(rows[-1][2] - made[-1][1], 0)


reads = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 50)), st.one_of(st.none(), st.integers(0, 50))),
    min_size=1,
    max_size=40,
)


@given(reads, st.sampled_from([1.0, 5.0, 20.0]))
def test_every_status_except_ok_needs_lag_and_enough_reads(
    rows: list[tuple[int | None, int | None]], every: float
) -> None:
    """A status other than OK needs a lag above 0. STOP also needs reads without progress, and WARN needs five commits.

    STALL never occurs, because reads cannot show that a group commits the same offset repeatedly.
    """
    health = health_of(watch([offsets(row) for row in rows], every))
    row = health.partitions["t", 0]
    if row.status is not Status.OK:
        assert row.lag is not None
        assert row.lag > 0
    assert row.status is not Status.STALL
    if row.status is Status.STOP:
        standing = 0
        for position, _ in reversed(rows):
            if position not in (None, row.position):
                break
            standing += 1
        assert row.still <= standing * every
    if row.status is Status.WARN:
        assert row.commits >= 5
    assert health.lag is not None
    assert health.lag.lag == row.lag
    assert (health.status is Status.OK) == (row.status is Status.OK)


def test_partition_with_a_lag_but_without_a_committed_offset_is_ok() -> None:
    """By Burrow's rules, a partition without commits is OK.

    If the group was a share group before, a broker can report a lag without a committed offset.
    """
    row = PartitionLag("t", 0, None, 0, 90, 5, None, None)
    verdict, health = judge_observed(row, [Sample(1_000, None, 90, 0, 5)], Watching(Options(minimum_complete=0.0)))
    assert (verdict.status, verdict.first, health.still) == (Status.OK, None, 0.0)

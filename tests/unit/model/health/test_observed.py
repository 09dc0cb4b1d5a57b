"""Verdicts from reads: what each rule needs to be seen, and what is left open until then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.health import OBSERVED, Watching, health_of
from kgtui.model.health.judging import observe
from kgtui.model.health.wording import missing, reason
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.verdict import Options, Status
from tests.unit.model.health.reads import T0, described, kinds, offsets, samples, watch


def stuck(reads: int) -> list[GroupOffsets]:
    """A group that stands still while a log grows by 10 a read."""
    return [offsets((1000, 1100 + 10 * n)) for n in range(reads)]


def test_a_stuck_group_is_stopped_once_a_full_window_has_passed() -> None:
    """Ten commits at 5 s take 45 s from the first to the last: no verdict before that."""
    before, after = health_of(watch(stuck(10))), health_of(watch(stuck(11)))
    assert (before.status, kinds(before)) == (Status.OK, [("STOP", "time")])
    assert missing(before.undecided[0]) == "STOP needs more than 45 s without progress, observed 45 s"
    assert (after.status, after.kind, kinds(after)) == (Status.ERR, Status.STOP, [])
    assert after.basis == OBSERVED
    assert reason(after) == "no commit on t-0 for 50 s, 200 unread"


def test_the_pace_of_a_group_that_commits_seldom_is_told_or_learned() -> None:
    """At one commit a minute, 50 s without one are nothing; the pace is taken from what was seen of it."""
    slow = Watching(commit_interval=60.0)
    assert kinds(health_of(watch(stuck(40), watching=slow))) == [("STOP", "time")]
    seen = [offsets((1000 + 10 * (n // 12), 2000 + n)) for n in range(36)]
    health = health_of(watch(seen))
    assert (health.status, health.partitions["t", 0].still) == (Status.OK, 55.0)


def test_a_group_that_was_seen_idle_for_long_is_given_as_long() -> None:
    """Burrow's own rule: a silence is a stop when it is longer than the window, and this window is 215 s long."""
    idle = [offsets((1000, 1000))] * 40
    busy = [offsets((1010 + 10 * n, 1500)) for n in range(4)]
    still = [offsets((1040, 1500))]
    for count, kind in ((43, Status.OK), (44, Status.STOP)):
        assert health_of(watch([*idle, *busy, *still * count])).kind is kind, count


def test_a_group_that_keeps_up_is_ok_and_nothing_is_left_open() -> None:
    """It is always some records behind when it is read, in a rush hour more and more."""
    ends = [1000 + 40 * n + n * n for n in range(25)]
    health = health_of(watch([offsets((end - 20 - n, end)) for n, end in enumerate(ends)]))
    assert (health.status, health.undecided, health.worst) == (Status.OK, (), None)


def test_a_group_without_lag_is_ok_at_the_first_look() -> None:
    health = health_of(watch([offsets((7, 7))]))
    assert (health.status, health.undecided) == (Status.OK, ())


def test_one_look_at_a_lag_decides_nothing() -> None:
    assert kinds(health_of(watch([offsets((7, 9))]))) == [("STOP", "time")]


def test_a_slow_group_is_warned_of_once_enough_commits_were_seen() -> None:
    def slow(reads: int) -> list[GroupOffsets]:
        return [offsets((1000 + 10 * n, 3000 + 14 * n)) for n in range(reads)]

    # The first two commits have no lag yet: no log end was old enough.
    early, late = health_of(watch(slow(6))), health_of(watch(slow(7)))
    assert (early.status, kinds(early)) == (Status.OK, [("WARN", "commits")])
    assert missing(early.undecided[0]) == "WARN needs 5 commits, observed 4"
    assert (late.status, late.undecided) == (Status.WARN, ())
    assert reason(late) == "the lag of t-0 does not fall over 7 commits, 2,024 unread"


def test_a_group_that_works_off_its_backlog_is_ok() -> None:
    health = health_of(watch([offsets((1000 + 20 * n, 3000 + 14 * n)) for n in range(20)]))
    assert (health.status, health.undecided) == (Status.OK, ())


def test_a_rewind_is_told_at_once_and_forgiven_when_made_good() -> None:
    back = [offsets((500, 900)), offsets((600, 900)), offsets((200, 900))]
    assert health_of(watch(back)).kind is Status.REWIND
    assert reason(health_of(watch(back))) == "the committed offset of t-0 went back, 700 unread"
    again = [*back, offsets((610, 900))]
    assert health_of(watch(again)).kind is not Status.REWIND


def test_records_that_came_in_just_now_are_no_standstill() -> None:
    """The group had read everything, and then the log grew: Burrow looks at the log ends of the last 100 s."""
    quiet = [offsets((1000, 1000))] * 12 + [offsets((1000, 1001))] * 12
    health = health_of(watch(quiet))
    assert (health.status, kinds(health)) == (Status.OK, [("STOP", "time")])
    assert health.undecided[0].needs == 100
    assert health_of(watch([*quiet, *[offsets((1000, 1001))] * 12])).kind is Status.STOP


def test_an_unknown_lag_leaves_everything_open_and_is_no_zero() -> None:
    found = GroupOffsets((CommittedOffset("t", 0, 5),), (), {("t", 0): PartitionBounds(None, None, 29)})
    health = health_of(watch([found] * 20))
    assert (health.status, kinds(health)) == (Status.OK, [("ERR", "lag")])
    assert missing(health.undecided[0]) == "no verdict where the lag is unknown: forbidden"
    assert (health.lag.lag if health.lag else 0) is None


def test_no_commit_and_a_deleted_topic_leave_nothing_open() -> None:
    gone = GroupOffsets((CommittedOffset("t", 0, 5),), (), {("t", 0): PartitionBounds(None, None, 3)})
    for found in (gone, offsets((None, 50))):
        health = health_of(watch([found] * 20))
        assert (health.status, health.undecided) == (Status.OK, ())


def test_a_log_end_that_was_not_told_last_is_not_replaced_by_an_older_one() -> None:
    health = health_of(watch([*stuck(20), offsets((1000, None))]))
    assert kinds(health) == [("ERR", "lag")]


def test_allowed_lag_and_the_worst_partition_with_its_company() -> None:
    reads = [offsets((10, 15), (10, 200 + n), (10, 300 + n), (400, 400)) for n in range(20)]
    health = health_of(watch(reads))
    assert (health.affected, health.worst.partition if health.worst else None) == (3, 2)
    assert "on t-2 (and 2 more partitions)" in reason(health)
    assert health.verdict.max_lag == ("t", 2)
    lenient = health_of(watch(reads, watching=Watching(Options(allowed_lag=1000))))
    assert (lenient.status, lenient.undecided) == (Status.OK, ())


def test_only_what_is_worse_than_the_verdict_is_left_open() -> None:
    """Of a group that is in error already, nobody asks whether another partition is too."""
    reads = [offsets((1000, 2000), (5, 6 + n)) if n > 15 else offsets((1000, 2000)) for n in range(18)]
    health = health_of(watch(reads))
    assert (health.kind, health.undecided) == (Status.STOP, ())
    assert [one.status.name for one in health.partitions["t", 1].undecided] == ["STOP"]


def test_a_topic_that_nobody_subscribes_to_any_more_is_named_as_such() -> None:
    left = [offsets((10, 200), topic="left")] * 20
    assert reason(health_of(watch(left))).endswith("190 unread; no member subscribes to the topic")
    assert reason(health_of(watch(left, description=described("Empty", members=())))).endswith("; the group is Empty")


def test_a_group_that_is_gone_is_not_found() -> None:
    seen = watch(stuck(20))
    seen.vanish()
    health = health_of(seen)
    assert (health.status, reason(health)) == (Status.NOT_FOUND, "the group no longer exists")


def test_a_window_is_the_changes_of_the_offset_with_the_lag_against_a_log_end_of_ten_seconds_ago() -> None:
    rows = samples(
        (0, 10, 100, 0), (5, 10, 110, 0), (10, 20, 120, 0), (15, 30, 130, 0), (20, None, 140, 0), (25, 30, 150, 0)
    )
    seen = observe(rows, Options())
    assert [(one.offset, one.at - round(T0 * 1000), one.lag) for one in seen.window.commits] == [
        (10, 0, None), (20, 10_000, 80), (30, 15_000, 80)
    ]  # fmt: skip
    assert seen.window.log_ends == (100, 120, 140, 150)
    assert observe([*rows, *samples((30, 30, None, 0))], Options()).window.current_lag is None
    assert (seen.moves, seen.pace, seen.now - round(T0 * 1000)) == (2, 5000, 25_000)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 99), st.integers(0, 30)), min_size=1, max_size=30),
    st.integers(1, 4),
)
def test_where_reads_come_often_enough_an_observed_window_is_the_window_of_commits(
    commits: list[tuple[int, int, int]], every: int
) -> None:
    """Same offsets as the commits that changed something, each seen within a read of when it was made."""
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
        seen = one.at / 1000 - T0
        assert 0 <= seen - when < every
        known = [end for second, _, end, _ in rows if second <= seen - 9]
        assert one.lag == (max(known[-1] - offset, 0) if known else None)
    assert window.current_lag == max(rows[-1][2] - made[-1][1], 0)


reads = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 50)), st.one_of(st.none(), st.integers(0, 50))),
    min_size=1,
    max_size=40,
)


@given(reads, st.sampled_from([1.0, 5.0, 20.0]))
def test_whatever_is_read_a_verdict_is_backed_by_what_was_seen(
    rows: list[tuple[int | None, int | None]], every: float
) -> None:
    """No verdict without a lag, no STOP before a standstill of a window, no STALL at all, no WARN on few commits."""
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

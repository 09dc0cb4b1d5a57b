"""Tests of Burrow's rules: a comparison with a second implementation of the rules, and examples of each status."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.burrow import (
    Commit,
    CommitRing,
    Options,
    PartitionVerdict,
    Status,
    Window,
    roll_up,
)
from tests.burrow_verdict import judge_partition

if TYPE_CHECKING:
    from kgtui.model.offsets import TopicPartition

Event = tuple[str, int, int]
"""`("commit", committed offset, time)` or `("log end", log end offset, time)` of a partition. Times are in ms."""


# `window_by_hand` and `verdict_by_hand` implement Burrow's rules literally, without kgtui's code. The tests compare
# their results with kgtui's results.


def window_by_hand(history: list[Event], options: Options) -> tuple[list[tuple[int, int, int | None]], list[int]]:
    """Return the commits and the log end offsets that a `CommitRing` should contain after `history`.

    Each commit is `(offset, time in ms, lag)`.
    """
    commits: list[tuple[int, int, int | None]] = []
    ends: list[int] = []
    for kind, offset, at in history:
        if kind == "log end":
            ends = [*ends, offset]
            continue
        lag = None
        if len(ends) > 0:
            lag = ends[len(ends) - 1] - offset
            if lag < 0:
                lag = 0
        if len(commits) > 0 and at - commits[len(commits) - 1][1] < options.min_distance * 1000:
            kept = commits[len(commits) - 1][1]
            commits = [*commits[: len(commits) - 1], (offset, kept, lag)]
        else:
            commits = [*commits, (offset, at, lag)]
    return (
        commits[max(0, len(commits) - options.intervals) :],
        ends[max(0, len(ends) - options.intervals) :],
    )


def verdict_by_hand(  # noqa: C901 - the rules follow in the order of Burrow's documentation
    commits: list[tuple[int, int, int | None]], ends: list[int], now: int, options: Options
) -> str:
    # Rule 0: if there are no commits, or if their number divided by the window size (`intervals`) is below
    # minimum-complete, the verdict is OK.
    if len(commits) == 0:
        return "OK"
    if len(commits) / options.intervals < options.minimum_complete:
        return "OK"
    # The current lag is the newest log end offset minus the last commit, at least 0. If no log end offset is known, the
    # verdict is OK.
    if len(ends) == 0:
        return "OK"
    current = ends[len(ends) - 1] - commits[len(commits) - 1][0]
    if current < 0:
        current = 0
    # Rule 1: if the current lag is at most allowed-lag, the verdict is OK.
    if current <= options.allowed_lag:
        return "OK"
    # Rule 2: the verdict is STOP if the time since the last commit is longer than the time from the first to the last
    # commit, and no known log end offset shows a lag of 0.
    first, last = commits[0], commits[len(commits) - 1]
    recent_lag_zero = False
    for end in ends:
        if end <= last[0]:
            recent_lag_zero = True
    if now - last[1] > last[1] - first[1] and not recent_lag_zero:
        return "STOP"
    # Rule 3: find the first commit at which the offset decreased. If no later commit reaches the offset before the
    # decrease, the verdict is REWIND.
    for i in range(1, len(commits)):
        if commits[i][0] < commits[i - 1][0]:
            recovered = False
            for j in range(i, len(commits)):
                if commits[j][0] >= commits[i - 1][0]:
                    recovered = True
            if not recovered:
                return "REWIND"
            break
    # If the lag at any commit is at most allowed-lag, the verdict is OK. Unknown lags are skipped.
    for _, _, lag in commits:
        if lag is not None and lag <= options.allowed_lag:
            return "OK"
    # Rule 4: if all committed offsets are equal, the verdict is STALL.
    different = [offset for offset, _, _ in commits if offset != commits[0][0]]
    if len(different) == 0:
        return "STALL"
    # Rule 5: if the lag never decreases from one commit to the next, the verdict is WARN. Unknown lags are skipped.
    known = [lag for _, _, lag in commits if lag is not None]
    for i in range(1, len(known)):
        if known[i] < known[i - 1]:
            return "OK"
    return "WARN"


settings = st.builds(
    Options,
    intervals=st.integers(1, 5),
    minimum_complete=st.sampled_from([0.0, 0.4, 1.0]),
    allowed_lag=st.integers(0, 2),
    min_distance=st.sampled_from([0.0, 0.0, 3.0]),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    at = 1_000_000
    history: list[Event] = []
    for kind, offset, later in draw(
        st.lists(st.tuples(st.sampled_from(["commit", "commit", "log end"]), st.integers(0, 6), st.integers(0, 9)))
    ):
        at += later * 1000
        history.append((kind, offset, at))
    return history


def ring_of(history: list[Event], options: Options) -> CommitRing:
    ring = CommitRing(options)
    for kind, offset, at in history:
        if kind == "commit":
            ring.commit(offset, at)
        else:
            ring.log_end(offset)
    return ring


@given(histories(), settings, st.integers(0, 60))
def test_kgtui_agrees_with_burrow_on_random_commit_histories(
    history: list[Event], options: Options, later: int
) -> None:
    now = max((at for _, _, at in history), default=0) + later * 1000
    window = ring_of(history, options).window()
    commits, ends = window_by_hand(history, options)
    assert [(one.offset, one.at, one.lag) for one in window.commits] == commits
    assert list(window.log_ends) == ends
    verdict = judge_partition(window, now, options)
    assert verdict.status.name == verdict_by_hand(commits, ends, now, options)
    assert verdict.complete == len(commits) / options.intervals


def test_kgtui_agrees_with_burrow_on_all_combinations_of_three_commits() -> None:
    """The test combines a few offsets, lags and log end offsets in every way. Each status occurs."""
    options = Options(intervals=3)
    seen: set[str] = set()
    numbers, lags = (0, 1, 2), (None, 0, 1, 2)
    for offsets, known, ends, now in product(
        product(numbers, repeat=3), product(lags, repeat=3), [(), (2,), (3,), (1, 3), (2, 1)], (25, 31)
    ):
        rows = [(offset, at, lag) for offset, at, lag in zip(offsets, (0, 10, 20), known, strict=True)]
        window = Window(tuple(Commit(offset, at, lag) for offset, at, lag in rows), ends)
        expected = verdict_by_hand(rows, list(ends), now + 10, options)
        assert judge_partition(window, now + 10, options).status.name == expected
        seen.add(expected)
    assert seen == {"OK", "WARN", "STOP", "STALL", "REWIND"}


def steady(offsets: list[int], log_end: int, every: int = 1000) -> Window:
    """Return commits that are `every` ms apart, and one log end offset. Each lag is `log_end` minus the offset."""
    commits = tuple(Commit(o, i * every, max(log_end - o, 0)) for i, o in enumerate(offsets))
    return Window(commits, (log_end,))


@pytest.mark.parametrize(
    ("window", "now", "status"),
    [
        pytest.param(Window(), 0, Status.OK, id="no commits"),
        pytest.param(Window((Commit(5, 0),), ()), 99_000, Status.OK, id="log end unknown"),
        pytest.param(steady([1, 2, 9], 9), 2000, Status.OK, id="current lag 0"),
        pytest.param(steady([1, 2, 3], 9), 2000, Status.OK, id="catching up"),
        pytest.param(steady([1, 2, 3], 9), 4001, Status.STOP, id="no commit for longer than the window"),
        pytest.param(steady([1, 2, 3], 9), 4000, Status.OK, id="no commit for as long as the window"),
        pytest.param(Window(steady([1, 2, 3], 9).commits, (3, 9)), 9000, Status.OK, id="had no lag recently"),
        pytest.param(steady([5, 6, 2, 3], 9), 3000, Status.REWIND, id="offset went back"),
        pytest.param(steady([5, 4, 5, 6], 9), 3000, Status.OK, id="offset went back and recovered"),
        pytest.param(steady([5, 4, 5, 3], 9), 3000, Status.OK, id="only the first decrease of the offset counts"),
        pytest.param(steady([5, 5, 5], 9), 2000, Status.STALL, id="all commits have the same offset"),
        pytest.param(
            Window((Commit(1, 0, 5), Commit(2, 1000, 5), Commit(3, 2000, 6)), (9,)), 2000, Status.WARN,
            id="lag never falls",
        ),
        pytest.param(
            Window((Commit(1, 0, 5), Commit(2, 1000, None), Commit(3, 2000, 4)), (9,)), 2000, Status.OK,
            id="lag falls if unknown lags are skipped",
        ),
    ],
)  # fmt: skip
def test_burrow_rules_give_the_expected_status_for_examples_of_commits(
    window: Window, now: int, status: Status
) -> None:
    assert judge_partition(window, now).status is status


def test_burrow_options_can_ignore_small_lags_and_require_a_minimum_of_commits() -> None:
    window = steady([5, 5], 9)
    assert judge_partition(window, 1000).status is Status.STALL
    assert judge_partition(window, 1000, Options(allowed_lag=4)).status is Status.OK
    assert judge_partition(window, 1000, Options(minimum_complete=0.3)).status is Status.OK
    assert judge_partition(window, 1000, Options(minimum_complete=0.2)).status is Status.STALL


def test_commits_in_quick_succession_become_one_commit_with_the_earliest_time() -> None:
    """Commits less than `min_distance` seconds apart are merged. The newest offset and the earliest time are kept.

    If the newest time were kept, all commits of a group that always commits this often would be merged into one.
    """
    ring = CommitRing(Options(min_distance=5))
    for second in range(12):
        ring.commit(second, second * 1000)
    assert [(one.offset, one.at) for one in ring.window().commits] == [(4, 0), (9, 5000), (11, 10_000)]


def test_a_commit_that_is_older_than_the_previous_commit_is_dropped() -> None:
    ring = CommitRing()
    ring.commit(5, 2000)
    ring.commit(4, 1000)
    assert [one.offset for one in ring.window().commits] == [5]


def test_commit_ring_keeps_only_the_newest_commits_and_log_end_offsets() -> None:
    ring = CommitRing(Options(intervals=3))
    for n in range(100):
        ring.log_end(n + 1)
        ring.commit(n, n * 1000)
    window = ring.window(200)
    assert [one.offset for one in window.commits] == [97, 98, 99]
    assert window.log_ends == (98, 99, 100, 200)
    assert window.current_lag == 101


partitions = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.integers(0, 3)),
    st.builds(
        PartitionVerdict,
        st.sampled_from([Status.OK, Status.WARN, Status.STOP, Status.STALL, Status.REWIND]),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.one_of(st.none(), st.integers(0, 5)),
    ),
)


@given(partitions)
def test_group_status_is_derived_from_its_worst_partition(rows: dict[TopicPartition, PartitionVerdict]) -> None:
    """If a partition has the status STOP, STALL or REWIND, its group has the status ERR."""
    group = roll_up(rows)
    worst = max((row.status.value for row in rows.values()), default=1)
    assert group.status.value == min(worst, 3)
    assert group.worst.value == worst
    assert group.complete == (sum(row.complete == 1.0 for row in rows.values()) / len(rows) if rows else 0)
    lags = [row.current_lag for row in rows.values() if row.current_lag is not None]
    assert group.total_lag == (sum(lags) if lags else None)
    assert group.unknown == len(rows) - len(lags)
    assert (None if group.max_lag is None else rows[group.max_lag].current_lag) == max(lags, default=None)


@pytest.mark.parametrize(
    "bad", [{"intervals": 0}, {"allowed_lag": -1}, {"minimum_complete": 2.0}, {"min_distance": -1.0}]
)
def test_burrow_options_outside_their_range_are_rejected(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must be at least|must not be negative"):
        Options(**bad)  # type: ignore[arg-type]


def test_default_burrow_options_equal_the_defaults_of_burrow() -> None:
    options = Options()
    assert (options.intervals, options.minimum_complete, options.allowed_lag, options.min_distance) == (10, 0.0, 0, 0.0)
    assert (options.offset_refresh, options.expire_cache) == (10.0, 10.0)

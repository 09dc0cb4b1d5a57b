"""Tests of the judgment on a group (OK or a problem), which is derived from the group's health verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.burrow import Status
from kgtui.model.health import health_of
from kgtui.model.health.judged import _problems_of, judgment_of_health
from kgtui.model.judgment import SCREENED_OK, Basis, Judgment, judgment_of_empty
from kgtui.model.problem import GroupStatus, Problem
from tests.unit.model.health.reads import described, offsets, watch

if TYPE_CHECKING:
    from kgtui.model.health import GroupHealth


@pytest.mark.parametrize(("observed_before", "seen"), [(3.0, False), (30.0, True)])
def test_start_time_of_a_stop_is_uncertain_after_brief_observation(observed_before: float, seen: bool) -> None:
    """kgtui watched the group for 3 s or for 30 s before the stop.

    After only 3 s, the start of the stop is uncertain, because kgtui can read an offset up to 5 s after its commit.
    """
    health = health_of(watch([offsets((1000, 1100 + 10 * number)) for number in range(12)]))
    assert health.worst is not None
    (judgment,) = _problems_of(replace(health, seconds=health.worst.still + observed_before), None)
    assert judgment.since_seen is seen


def steady_lag(*lags: int) -> GroupHealth:
    """Return the health of a group that is read every 5 s. Item n of `lags` is the lag at read n.

    The group commits a new offset before each read.
    """
    return health_of(watch([offsets((1000 + 100 * n, 1000 + 100 * n + lag)) for n, lag in enumerate(lags)]))


def test_group_whose_lag_stays_the_same_is_not_falling_behind() -> None:
    """Burrow's rules alone would give WARN, because the lag never fell from one commit to the next."""
    health = steady_lag(*[1600] * 30)
    assert (health.kind, health.lag_grows) == (Status.WARN, False)
    assert judgment_of_health(health, SCREENED_OK, state="Stable", group_type="consumer").kind is None


def test_group_with_unevenly_growing_lag_is_falling_behind() -> None:
    """By Burrow's rules, the group is OK, because its lag fell once during the last ten commits.

    However, earlier background reads have found the problem BEHIND. kgtui keeps reporting BEHIND while the lag grows
    overall.
    """
    health = steady_lag(*(600 + 50 * n + 40 * (n % 3) for n in range(40)))
    assert (health.status, health.lag_grows) == (Status.OK, True)
    behind = Judgment(GroupStatus.WARN, Problem.BEHIND, Basis.SCREENED, since=5.0, message="the lag grew")
    assert judgment_of_health(health, behind, state="Stable", group_type="consumer").kind is Problem.BEHIND
    health = steady_lag(*(600 + 40 * (n % 3) for n in range(40)))
    assert judgment_of_health(health, behind, state="Stable", group_type="consumer").kind is None


def test_empty_group_is_reported_stopped_because_all_members_left() -> None:
    """The list of groups shows when the group became Empty. The stop began at this time."""
    empty = described("Empty", members=())
    health = health_of(watch([offsets((1000, 1100 + 10 * n)) for n in range(40)], description=empty))
    left = judgment_of_empty(490, 1_000_010.0, Basis.SCREENED)
    judgment = judgment_of_health(health, left, state="Empty", group_type="consumer")
    assert (judgment.kind, judgment.basis, judgment.since) == (Problem.STOP, Basis.OBSERVED, 1_000_010.0)
    assert judgment.reason == "all members left, 490 unread"


def test_group_whose_lag_grows_very_slowly_is_not_falling_behind() -> None:
    """In each interval of 5 s, 101 records are written and 100 records are consumed, so the lag grows by 1."""
    health = steady_lag(*(1600 + n for n in range(40)))
    assert (health.kind, health.lag_grows) == (Status.WARN, False)
    assert judgment_of_health(health, SCREENED_OK, state="Stable", group_type="consumer").kind is None
    assert steady_lag(*(1600 + 20 * n for n in range(40))).lag_grows

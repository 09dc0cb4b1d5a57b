"""Tests of the judgment on a group: whether the group has a problem, and which one.

If kgtui reads a group at every poll, the judgment follows Burrow's rules. Otherwise, the judgment follows simpler rules
(screening).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.answer import Fault
from kgtui.model.health import health_of
from kgtui.model.judgment import READ_OK, READ_ONCE, SCREENED_OK, Basis, Judgment
from kgtui.model.problem import PROBLEM_TEXTS, GroupStatus, Problem
from kgtui.model.snapshot import BrokerStatus, Snapshot
from tests.unit.model.health.reads import T0, offsets, watch
from tests.unit.model.query_snapshots import CLASSIC, CONSUMER, NOW, snapshot, summary

if TYPE_CHECKING:
    from kgtui.model.group import Listing

FAULT = Fault("GROUP_AUTHORIZATION_FAILED", "Not authorized.\ndetails", 30, group="g")
SUSPECT = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED, since=T0 - 600, since_seen=True, message="no commit")


def test_every_problem_has_a_unique_name_and_a_short_label() -> None:
    assert PROBLEM_TEXTS.keys() == set(Problem)
    assert len({texts.name for texts in PROBLEM_TEXTS.values()}) == len(Problem)
    assert [texts.label for texts in PROBLEM_TEXTS.values() if not 0 < len(texts.label) < 10] == []


def with_group(listing: Listing = CONSUMER, **changes: object) -> Snapshot:
    return replace(snapshot({"g": listing}), **changes)  # type: ignore[arg-type]


def test_group_that_was_not_read_has_status_unknown_instead_of_ok() -> None:
    found = with_group().judgment("g")
    assert (found.status, found.kind, found.basis_text) == (GroupStatus.UNKNOWN, None, "not read yet")


def test_group_that_is_not_listed_has_status_not_found() -> None:
    assert with_group().judgment("other").status is GroupStatus.NOT_FOUND


@pytest.mark.parametrize(("lag", "expected"), [(0, READ_OK), (5, READ_ONCE)])
def test_group_that_was_read_once_is_ok_only_if_it_has_no_lag(lag: int, expected: Judgment) -> None:
    assert with_group(summaries={"g": summary(lag=lag)}).judgment("g") == expected


@pytest.mark.parametrize("screened", [False, True])
@pytest.mark.parametrize(("lag", "expected"), [(None, GroupStatus.UNKNOWN), (0, GroupStatus.UNKNOWN)])
def test_a_group_whose_lag_could_not_be_read_is_not_ok(screened: bool, lag: int | None, expected: GroupStatus) -> None:
    row = replace(summary(lag=lag), lag_unknown=2, screened=screened)
    assert with_group(summaries={"g": row}).judgment("g").status is expected


def test_group_counts_as_not_read_until_its_offsets_were_read() -> None:
    unread = replace(summary(lag=None), lag_at=None)
    assert with_group(summaries={"g": unread}).judgment("g").basis is Basis.NOT_READ


def test_group_is_ok_if_its_background_reads_show_no_problem() -> None:
    row = replace(summary(lag=5), screened=True)
    assert with_group(summaries={"g": row}).judgment("g") == SCREENED_OK


def test_empty_group_counts_as_stopped_only_if_kgtui_saw_its_members_leave() -> None:
    unseen = with_group(CLASSIC, summaries={"g": summary(lag=5)})
    found = unseen.judgment("g")
    assert (found.status, found.kind, found.since) == (GroupStatus.WARN, Problem.EMPTY, None)
    assert "before kgtui started" in found.reason
    found = replace(unseen, state_since={"g": NOW - 60}).judgment("g")
    assert (found.status, found.kind, found.since) == (GroupStatus.ERR, Problem.STOP, NOW - 60)
    assert found.since_text(lambda at: f"{at:.0f}") == f"since {NOW - 60:.0f}"


def test_unobserved_start_of_a_problem_is_shown_as_a_time_range() -> None:
    found = Judgment(GroupStatus.ERR, Problem.STOP, since=200.0, after=100.0)
    assert found.since_text(lambda at: f"{at:.0f}") == "between 100 and 200"
    assert found.since_text(lambda _: "00:53") == "since 00:53"
    assert replace(found, since_seen=True).since_text(lambda at: f"{at:.0f}") == "since 200"
    assert replace(found, since=None).since_text(lambda at: f"{at:.0f}") == "since after 100"


def test_judgment_contains_only_the_first_line_of_an_error_message() -> None:
    row = replace(summary(lag=5), screened=True)
    found = with_group(summaries={"g": row}, group_faults={"g": FAULT}).judgment("g")
    assert (found.status, found.kind, found.reason) == (GroupStatus.UNKNOWN, Problem.UNREADABLE, "Not authorized.")


def test_problem_found_in_background_reads_is_kept_if_the_broker_stops_responding() -> None:
    broker = {1: BrokerStatus(1, "one:9092", fault=FAULT)}
    found = with_group(screened={"g": SUSPECT}, brokers=broker).judgment("g")
    assert found == SUSPECT
    assert with_group(brokers=broker).judgment("g").kind is Problem.UNREADABLE


def test_final_health_verdict_ok_removes_a_problem_found_in_background_reads() -> None:
    moving = health_of(watch([offsets((100 + 100 * n, 105 + 100 * n)) for n in range(12)]))
    found = with_group(health={"g": moving}, screened={"g": SUSPECT}).judgment("g")
    assert (found.status, found.basis) == (GroupStatus.OK, Basis.OBSERVED)
    assert found.basis_text == "observed 55 s"


def test_problem_found_in_background_reads_is_kept_until_health_verdict_is_final() -> None:
    """A health verdict is final if neither a longer observation nor more commits could make the verdict worse."""
    short = health_of(watch([offsets((100, 200))] * 2))
    assert with_group(health={"g": short}, screened={"g": SUSPECT}).judgment("g") == SUSPECT
    found = with_group(health={"g": short}).judgment("g")
    assert (found.status, found.basis) == (GroupStatus.UNKNOWN, Basis.OBSERVED)
    assert "STOP requires more than" in found.reason


def test_stop_in_health_verdict_keeps_the_start_time_found_in_background_reads() -> None:
    stopped = health_of(watch([offsets((100, 200))] * 20))
    found = with_group(health={"g": stopped}, screened={"g": SUSPECT}).judgment("g")
    assert (found.status, found.kind, found.basis) == (GroupStatus.ERR, Problem.STOP, Basis.OBSERVED)
    assert (found.since, found.since_seen) == (T0 - 600, True)
    alone = with_group(health={"g": stopped}).judgment("g")
    assert (alone.since, alone.since_seen) == (T0, False)


@pytest.mark.parametrize("problem", [Problem.EMPTY, Problem.UNUSED])
def test_empty_or_unused_group_is_not_reported_as_stopped(problem: Problem) -> None:
    stopped = replace(health_of(watch([offsets((100, 200))] * 20)), stopped_after=T0 - 900)
    screened = Judgment(GroupStatus.WARN, problem, Basis.SCREENED)
    found = with_group(CLASSIC, health={"g": stopped}, screened={"g": screened}).judgment("g")
    assert (found.status, found.kind, found.after) == (GroupStatus.WARN, problem, T0 - 900)


def test_lost_records_are_the_main_problem_of_a_stopped_group() -> None:
    lost = health_of(watch([offsets((100, 900), starts=[300])] * 20))
    found = with_group(health={"g": lost}).judgment("g")
    assert (found.kind, found.others) == (Problem.DATA_LOST, (Problem.STOP,))
    assert "200 records" in found.reason


@pytest.mark.parametrize(
    ("kind", "severity"), [(None, 0), (Problem.EMPTY, 3), (Problem.UNUSED, 1), (Problem.ABANDONED, 1)]
)
def test_severity_of_an_unused_group_is_that_of_an_abandoned_group(kind: Problem | None, severity: int) -> None:
    """The row of an unused group in the tree has the same gray mark as its nodes."""
    status = GroupStatus.ABANDONED if kind is Problem.ABANDONED else GroupStatus.WARN
    assert Judgment(status, kind).severity == severity

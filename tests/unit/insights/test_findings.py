"""Tests of the rules that compute findings (reported problems) from gold tables, and of the order of the findings.

Gold tables contain the results of `kgtui pipeline`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.insights.apply_rules import read_insights
from kgtui.insights.finding import Kind, Severity
from kgtui.insights.flapping import flapping, past_flapping
from kgtui.insights.rules import at_risk, drain, unhealthy, unused, unusual
from kgtui.lake.arrow import escape_surrogates
from kgtui.lake.gold import Gold
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, HEALTH, LAG
from kgtui.model.timeline import LagHistory
from tests.unit.insights.gold_rows import HOUR, NOW, lag_rows, row, rows_with_problems, write

if TYPE_CHECKING:
    from pathlib import Path


def test_findings_of_all_kinds_are_sorted_by_urgency(tmp_path: Path) -> None:
    found = read_insights(write(tmp_path, rows_with_problems()))
    assert [(finding.kind, finding.subject) for finding in found.findings] == [
        (Kind.UNHEALTHY, "pay"),
        (Kind.AT_RISK, "fraud"),
        (Kind.FLAPPING, "restless"),
        (Kind.UNUSUAL, "calm"),
        (Kind.DRAIN, "fill"),
        (Kind.UNUSED, "perf.*"),
        (Kind.UNUSED, "tmp"),
    ]
    assert found.as_of == NOW.timestamp()
    assert found.missing == ()
    assert all(age.written is not None for age in found.tables)


def test_finding_about_an_unhealthy_group_lists_its_stopped_partitions(tmp_path: Path) -> None:
    finding = read_insights(write(tmp_path, rows_with_problems())).findings[0]
    assert finding.what == "stopped committing on 2 partitions; 1,000 unread records"
    assert finding.since == (NOW - 4 * HOUR).timestamp()
    assert finding.severity is Severity.ERROR
    assert "look in their logs" in finding.advice
    assert finding.command == ("kgtui", "show", "pay")
    assert finding.evidence.table == "gold/health"
    assert [values[:4] for values in finding.evidence.rows] == [("t", 1, "STOP", 700), ("t", 0, "STOP", 300)]


def test_group_that_is_healthy_again_has_no_finding(tmp_path: Path) -> None:
    assert "was-ill" not in {
        finding.subject for finding in read_insights(write(tmp_path, rows_with_problems())).findings
    }


def test_advice_about_an_unhealthy_empty_group_says_that_the_group_has_no_members() -> None:
    rows = [row(HEALTH, group="g", window_start=NOW, status="ERR", worst="STALL", affected=1, lag=None)]
    (finding,) = unhealthy(rows, {"g": {"state": "Empty"}})
    assert finding.what == "keeps committing the same offsets"
    assert "the group has no members" in finding.advice
    assert finding.evidence.rows


def test_unused_groups_have_no_findings_of_other_kinds(tmp_path: Path) -> None:
    rows = rows_with_problems()
    rows[HEALTH].append(row(HEALTH, group="perf.a", window_start=NOW, status="ERR", worst="STOP", affected=1, lag=5))
    rows[FORECAST].append(row(FORECAST, group="tmp", hour=NOW, lag=5, lost=9, at_risk=True))
    found = read_insights(write(tmp_path, rows))
    assert [finding.kind for finding in found.findings if not {"perf.a", "tmp"}.isdisjoint(finding.groups)] == [
        Kind.UNUSED,
        Kind.UNUSED,
    ]
    family = next(finding for finding in found.findings if finding.family)
    assert family.groups == ("perf.a", "perf.b")
    assert family.command == ("kgtui", "delete", "--group=perf.a", "--group=perf.b")
    assert family.since_at_least


@pytest.mark.parametrize("hidden", [True, False, None])
def test_finding_about_an_unused_group_warns_if_offsets_may_be_hidden(hidden: bool | None) -> None:
    rows = [row(CLEANUP, kind="group", name="tmp", groups=1, quiet_since=NOW, offsets_may_be_hidden=hidden)]
    (finding,) = unused(rows)
    assert ("the group may be in use" in finding.what) is (hidden is True)


def test_delete_command_for_many_unused_groups_selects_them_by_prefix() -> None:
    rows = [row(CLEANUP, kind="family", name="a.b.*", groups=20, quiet_since=NOW)]
    rows += [row(CLEANUP, kind="group", name=f"a.b.{i}", family="a.b.*", groups=1, quiet_since=NOW) for i in range(20)]
    (finding,) = unused(rows)
    assert finding.command == ("kgtui", "delete", r"/^a\.b\./", "state:Empty")
    assert (len(finding.groups), len(finding.evidence.rows), finding.evidence.more) == (20, 12, 8)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"lost": 7, "at_risk": None}, "7 records expired before they were read"),
        (
            {"lost": 7, "at_risk": True, "loss_seconds": 60.0},
            "7 records expired before they were read; more unread records expire in about 1 min",
        ),
        (
            {"lost": 0, "at_risk": True, "loss_seconds": 7_500.0, "loss_at_most": True},
            "records will expire in at most 2 h 5 min, before the group reads them",
        ),
        ({"lost": 0, "at_risk": True}, "records will expire, before the group reads them"),
    ],
)
def test_finding_about_expiring_records_says_how_many_expired_and_when_more_expire(
    values: dict[str, Any], what: str
) -> None:
    (finding,) = at_risk([row(FORECAST, group="g", hour=NOW, lag=1, **values)])
    assert finding.what == what
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(("hours", "severity"), [(1, Severity.ERROR), (48, Severity.WARN), (160, Severity.NOTE)])
def test_finding_about_expiring_records_is_more_severe_if_they_expire_soon(hours: int, severity: Severity) -> None:
    (finding,) = at_risk(
        [row(FORECAST, group="g", hour=NOW, lag=1, lost=0, at_risk=True, loss_seconds=hours * 3_600.0)]
    )
    assert finding.severity is severity


def test_finding_uses_the_previous_forecast_if_the_newest_lacks_a_trend(tmp_path: Path) -> None:
    """The table `forecast` has one row per group and hour, which contains the trend of the lag, if it is known.

    If the trend is unknown in the newest hour, kgtui uses the row of the previous hour, if there is one. A group
    without a row for the newest hour has no finding.
    """
    young = {"hour": NOW, "trend": None}
    old = {"hour": NOW - HOUR, "trend": 1.0, "lost": 0, "at_risk": True, "loss_seconds": 900.0}
    rows = [
        row(FORECAST, group="risk", lag=9, **young),
        row(FORECAST, group="risk", lag=8, **old),
        row(FORECAST, group="risk", topic="t", partition=0, lag=8, **old),
        row(FORECAST, group="drained", lag=8, **old),
        row(FORECAST, group="known", hour=NOW, trend=1.0, lag=9, lost=3),
        row(FORECAST, group="known", lag=8, **old),
        row(FORECAST, group="new", lag=9, lost=4, **young),
    ]
    found = read_insights(write(tmp_path, {FORECAST: rows})).findings
    told = {finding.subject: finding.what for finding in found if finding.kind is Kind.AT_RISK}
    assert told == {
        "risk": "records will expire in about 15 min, before the group reads them",
        "known": "3 records expired before they were read",
        "new": "4 records expired before they were read",
    }


def test_rows_that_are_a_day_old_give_no_findings(tmp_path: Path) -> None:
    """The newest rows of `forecast` and `cleanup` are one day older than those of `lag`, so kgtui ignores them."""
    past = NOW - 24 * HOUR
    rows = {
        LAG: [row(LAG, group="g", minute=NOW, source="recorded", lag=0)],
        FORECAST: [row(FORECAST, group="g", hour=past, lag=9, lost=0, at_risk=True, loss_seconds=900.0)],
        CLEANUP: [row(CLEANUP, kind="group", name="g", groups=1, quiet_since=past, covered_to=past)],
    }
    assert read_insights(write(tmp_path, rows)).findings == ()


def test_forecast_without_a_risk_of_record_loss_gives_no_finding() -> None:
    assert at_risk([row(FORECAST, group="g", hour=NOW, lag=1, lost=0, at_risk=risk) for risk in (False, None)]) == []


def test_lost_records_are_more_urgent_than_expiring_records() -> None:
    rows = [
        row(FORECAST, group=name, hour=NOW, lag=1, lost=lost, at_risk=True, loss_seconds=seconds)
        for name, lost, seconds in (("later", 0, 900.0), ("lost", 1, 900.0), ("soon", 0, 9.0))
    ]
    assert [f.subject for f in sorted(at_risk(rows), key=lambda f: f.urgency)] == ["lost", "soon", "later"]


def test_growing_lag_of_a_group_without_other_findings_is_reported() -> None:
    """A growing lag is not reported if the time lag is only a few seconds, or if the trend of the lag is uncertain."""
    rows = [row(FORECAST, group="g", hour=NOW, lag=500, trend=2.0, trend_error=0.5)]
    (finding,) = drain(rows, {"g": {"time_lag": 90.0}}, ())
    assert finding.what == "500 unread records, growing by 120 per minute"
    assert drain(rows, {"g": {"time_lag": 90.0}}, {"g"}) == []
    assert drain(rows, {"g": {"time_lag": 3.0}}, ()) == [], "a backlog of three seconds is normal"
    unsure = [{**rows[0], "trend_error": 1.5}]
    assert drain(unsure, {"g": {"time_lag": 90.0}}, ()) == []


def churn_hours(bursts: dict[float, float]) -> list[dict[str, Any]]:
    """Return rows of the table `churn` for the group `g`: one row for each hour of each burst (many rebalances).

    Args:
        bursts: a dict with one entry per burst: its start → its end. Both are in hours before `NOW`.
    """
    return [
        row(CHURN, group="g", hour=NOW - back * HOUR, rebalances=9, per_hour=9.0, flapping=True,
            rebalancing_seconds=60.0, burst_since=NOW - begin * HOUR,
            last_rebalance=NOW - max(back - 0.95, end) * HOUR)
        for begin, end in bursts.items()
        for back in range(math.ceil(begin), math.ceil(end) - 1, -1)
    ]  # fmt: skip


def test_finding_about_rebalances_begins_when_the_newest_burst_began() -> None:
    (now,) = flapping(churn_hours({9: 8.1, 2.4: 0.1}), NOW.timestamp())
    assert (now.severity, now.since, now.until) == (Severity.WARN, (NOW - 2.4 * HOUR).timestamp(), None)
    assert now.what == "rebalanced up to 9 times per hour; 3 min were spent rebalancing"
    assert flapping([{**one, "flapping": False} for one in churn_hours({2: 0})], NOW.timestamp()) == []


def test_rebalances_are_found_even_if_only_the_table_churn_has_rows(tmp_path: Path) -> None:
    rows = [{**one, "source": "silver", "covered_to": one["last_rebalance"]} for one in churn_hours({2.4: 0.1})]
    found = read_insights(write(tmp_path, {CHURN: rows}))
    assert found.as_of == (NOW - 0.1 * HOUR).timestamp()
    assert [finding.kind for finding in found.findings] == [Kind.FLAPPING]


def test_past_burst_of_rebalances_is_reported_with_its_start_and_its_end() -> None:
    rows = churn_hours({9: 7.3, 2.4: 0.1})
    (past,) = past_flapping(rows, NOW.timestamp())
    assert (past.since, past.until) == ((NOW - 9 * HOUR).timestamp(), (NOW - 7.3 * HOUR).timestamp())
    assert past.ended == "the group's members stopped joining and leaving"
    assert [finding.since for finding in flapping(rows, NOW.timestamp())] == [(NOW - 2.4 * HOUR).timestamp()]
    # The last hour of a burst can have too few rebalances to count as flapping (rebalancing again and again). The end
    # of the burst is still the time of its last rebalance.
    rows[1]["flapping"] = False
    assert past_flapping(rows, NOW.timestamp())[0].until == past.until


def test_past_problem_has_start_and_end_and_reason_why_it_ended(tmp_path: Path) -> None:
    began, before = NOW - 9 * HOUR, {"group": "g", "affected": 1, "lag": 700, "worst": "STOP", "status": "ERR"}
    rows = [row(HEALTH, window_start=NOW - back * HOUR, bad_since=began, covered_to=NOW - back * HOUR, **before)
            for back in (9, 8, 7)]  # fmt: skip
    after = row(HEALTH, group="g", window_start=NOW - 6 * HOUR, covered_to=NOW - 6 * HOUR, status="OK", lag=30,
                ended_since=began, members=2)  # fmt: skip
    rows += [after, row(HEALTH, group="g", window_start=NOW, status="OK")]
    lake = write(tmp_path, {HEALTH: rows})
    assert read_insights(lake).past == ()
    found = read_insights(lake, since=(NOW - 12 * HOUR).timestamp())
    (past,) = found.past
    assert found.findings == ()
    assert (past.since, past.until) == (began.timestamp(), (NOW - 6 * HOUR).timestamp())
    assert past.what == (
        "stopped committing for 3 h, with up to 700 unread records; 30 unread records were left when the problem ended"
    )
    assert past.ended == "the group committed again"
    assert read_insights(lake, since=(NOW - 5 * HOUR).timestamp()).past == (), (
        "the problem ended before the time `since`"
    )


@pytest.mark.parametrize(
    ("worst", "members", "after", "ended"),
    [
        ("STOP", 0, {"members": 2}, "members joined the group, and it committed again"),
        ("WARN", 2, {"members": 2}, "the group's lag fell again"),
        ("REWIND", 2, {"members": 2}, "the committed offsets no longer went back"),
        ("STALL", 2, None, "it is not known what ended the problem"),
    ],
)
def test_findings_of_past_problems_say_why_the_problem_ended(
    tmp_path: Path, worst: str, members: int, after: dict[str, Any] | None, ended: str
) -> None:
    times = {"window_start": NOW - 2 * HOUR, "covered_to": NOW - 2 * HOUR}
    rows = [row(HEALTH, group="g", status="ERR", worst=worst, members=members, bad_since=NOW - 3 * HOUR, **times)]
    times = {"window_start": NOW - HOUR, "covered_to": NOW - HOUR}
    if after is not None:
        rows.append(row(HEALTH, group="g", status="OK", ended_since=NOW - 3 * HOUR, **times, **after))
    rows.append(row(HEALTH, group="other", window_start=NOW, status="OK"))
    (past,) = read_insights(write(tmp_path, {HEALTH: rows}), since=(NOW - 4 * HOUR).timestamp()).past
    assert past.ended.startswith(ended)


def test_two_problems_with_a_short_healthy_period_between_them_are_merged(tmp_path: Path) -> None:
    def bad(back: float, began: float) -> dict[str, Any]:
        time = NOW - back * HOUR
        return row(HEALTH, group="g", window_start=time, covered_to=time, status="WARN", worst="WARN",
                   bad_since=NOW - began * HOUR)  # fmt: skip

    def good(back: float, began: float) -> dict[str, Any]:
        time = NOW - back * HOUR
        return row(HEALTH, group="g", window_start=time, covered_to=time, status="OK", ended_since=NOW - began * HOUR)

    rows = [bad(8, 9), good(7.9, 9), bad(7.7, 8.9), good(7, 8.9), bad(4, 5), good(3, 5)]
    rows.append(row(HEALTH, group="other", window_start=NOW, status="OK"))
    past = read_insights(write(tmp_path, {HEALTH: rows}), since=(NOW - 12 * HOUR).timestamp()).past
    spans = [((NOW - 5 * HOUR).timestamp(), (NOW - 3 * HOUR).timestamp())]
    spans.append(((NOW - 9 * HOUR).timestamp(), (NOW - 7 * HOUR).timestamp()))
    assert [(finding.since, finding.until) for finding in past] == spans


def test_problem_is_not_reported_as_past_while_its_backlog_of_records_remains(tmp_path: Path) -> None:
    time = NOW - 5 * HOUR
    fell = {"window_start": time, "covered_to": time, "bad_since": NOW - 6 * HOUR, "status": "WARN", "worst": "WARN"}
    backlog = {"hour": NOW, "lag": 9, "trend": 5.0, "trend_error": 1.0, "lost": 0, "at_risk": False}
    rows = [row(HEALTH, group=group, **fell) for group in ("still", "again")]
    forecasts = [
        row(FORECAST, group="still", behind_since=NOW - 6 * HOUR, **backlog),
        row(FORECAST, group="again", behind_since=NOW - 2 * HOUR, **backlog),
    ]
    rows.append(row(HEALTH, group="other", window_start=NOW, status="OK"))
    found = read_insights(write(tmp_path, {HEALTH: rows, FORECAST: forecasts}), since=(NOW - 12 * HOUR).timestamp())
    assert {finding.subject for finding in found.findings} == {"still", "again"}
    assert [finding.subject for finding in found.past] == ["again"]


def test_finding_about_a_backlog_says_when_the_backlog_began_and_will_end() -> None:
    values = {"group": "g", "hour": NOW, "lag": 9, "drain_seconds": 7_200.0, "trend": -1.0, "at_risk": False}
    times = {"behind_since": NOW - 5 * HOUR, "behind_since_at_least": True}

    def what(low: float | None, high: float | None) -> str:
        forecast = row(FORECAST, **values, **times, drain_min_seconds=low, drain_max_seconds=high)
        (finding,) = drain([forecast], {}, ())
        assert (finding.since, finding.since_at_least) == ((NOW - 5 * HOUR).timestamp(), True)
        return finding.what

    text = "the group catches up on 9 unread records in about 2 h"
    assert what(7_000.0, 7_300.0) == text
    assert what(3_600.0, 10_800.0) == f"{text} (between 1 h and 3 h)"
    assert what(3_600.0, None) == f"{text} (at least 1 h)"


def test_finding_about_an_unusual_rate_begins_at_the_first_unusual_rate() -> None:
    def hour(back: int) -> dict[str, Any]:
        return row(BASELINE, group="g", hour=NOW - back * HOUR, basis="hour of week", rate_in=50.0, rate_in_normal=10.0,
                   rate_in_deviation=20.0)  # fmt: skip

    rows = [hour(0), hour(5), hour(2), hour(1)]
    (finding,) = unusual(rows, ())
    assert finding.since == (NOW - 2 * HOUR).timestamp()
    # If the rate of each minute is known (`rates`, in records per second), the finding begins at the minute with the
    # rate 31, which is 5 min before `NOW`. Rates below 30, halfway between the usual 10/s and the current 50/s, count
    # as usual. An unusual period ends only after three usual minutes, so the later two rates of 10 do not end it.
    rates = [50.0] * 5 + [10.0] * 20 + [29.0, None, 31.0, 50.0, 10.0, 10.0, 50.0, 51.0]
    times = [NOW.timestamp() - 60 * back for back in reversed(range(len(rates)))]
    unknown = (None,) * len(rates)
    history = LagHistory(tuple(times), unknown, tuple(rates), unknown, unknown, unknown, frozenset())
    (finding,) = unusual(rows, (), {"g": history})
    assert finding.since == NOW.timestamp() - 5 * 60


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"rate_in": (50.0, 10.0, 20.0)}, "5.0 times the usual input: 50.0/s instead of 10.0/s"),
        ({"rate_out": (1.0, 100.0, -9.0)}, "0.0 times the usual output: 1.0/s instead of 100/s"),
        ({"lag": (900.0, 0.0, 9.0)}, "more lag than usual: 900 instead of 0.0"),
        ({"lag": (1.0, 100.0, -9.0)}, None),
        ({"rate_in": (14.0, 10.0, 20.0)}, None),
        ({"rate_in": (50.0, 10.0, 3.0)}, None),
        ({"rate_in": (50.0, None, None)}, None),
    ],
)
def test_only_rates_and_lags_far_from_the_baseline_are_reported_as_unusual(
    values: dict[str, tuple[float, float, float]], what: str | None
) -> None:
    told: dict[str, Any] = {}
    for name, (value, normal, deviation) in values.items():
        told |= {name: value, f"{name}_normal": normal, f"{name}_deviation": deviation}
    found = unusual([row(BASELINE, group="g", hour=NOW, basis="hour of week", **told)], ())
    assert [finding.what for finding in found] == (
        [] if what is None else [f"{what} (compared with the same hour of earlier weeks)"]
    )


def test_group_with_another_finding_has_no_finding_about_unusual_lag() -> None:
    told = {"lag": 900.0, "lag_normal": 1.0, "lag_deviation": 50.0}
    assert unusual([row(BASELINE, group="g", hour=NOW, **told)], {"g"}) == []


def test_findings_contain_group_ids_with_special_characters_unchanged(tmp_path: Path) -> None:
    for name in ("[/foo]", "<script>", "caf\udce9", "a\nb"):
        path = tmp_path / str(abs(hash(name)))
        rows = [
            row(HEALTH, group=escape_surrogates(name), window_start=NOW, status="WARN", worst="WARN", affected=1, lag=1)
        ]
        found = read_insights(write(path, {HEALTH: rows, LAG: lag_rows(escape_surrogates(name))}))
        assert found.findings[0].subject == name
        assert Gold(path).lag_histories([name])[name].lag[-1] == 1_000


def test_findings_of_one_kind_are_sorted_by_severity_and_then_by_lag() -> None:
    rows = [row(HEALTH, group=name, window_start=NOW, status=status, worst="STOP", affected=1, lag=lag)
            for name, status, lag in (("warn", "WARN", 99), ("small", "ERR", 1), ("large", "ERR", 9))]  # fmt: skip
    found = sorted(unhealthy(rows, {}), key=lambda finding: finding.urgency)
    assert [finding.subject for finding in found] == ["large", "small", "warn"]
    assert replace(found[0], weight=0.0).urgency > found[0].urgency

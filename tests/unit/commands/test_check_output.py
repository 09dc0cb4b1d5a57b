"""Tests of the output of `kgtui check`: expiry times, record ages, verdicts that are not final, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.answer import Answer, Fault
from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.health import ReadHistory, RebalanceRate, health_of
from kgtui.model.health.wording import local_clock
from kgtui.model.record_times import FORBIDDEN_TOPIC, RecordTime, TimeRange
from kgtui.model.rfc3339 import parse_rfc3339
from kgtui.output.check_results import notes
from tests.scripted import ScriptedAdmin, member
from tests.unit.commands.checking import Script, objects, verdicts, watched_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.commands.runs import Completed


@pytest.fixture
def admin(script: Script) -> ScriptedAdmin:
    return watched_cluster(script)


def test_kgtui_check_reports_the_time_until_unread_records_expire(
    admin: ScriptedAdmin, run: Callable[..., Completed]
) -> None:
    admin.topic_retention = Retention({"t-stuck": 7_200.0}, 86_400.0)
    ran = run("check", "stuck")
    clock = "(1970-01-12 )?[0-9]{2}:[0-9]{2}"
    assert re.search(f"; records of t-stuck may expire in at most 1 h 58 min, {clock}\n", ran.out)
    assert ran.err == ""
    stuck = objects(run("check", "stuck", "--format", "json"))["stuck"]
    assert (stuck["loss"]["basis"], stuck["loss"]["at_most"], stuck["loss"]["exact"]) == ("retention", True, False)
    expected = parse_rfc3339(stuck["read_at"]) + stuck["loss"]["seconds"]
    assert parse_rfc3339(stuck["loss"]["at"]) == pytest.approx(expected)


def test_kgtui_check_shows_exact_ages_of_unread_records_of_unhealthy_groups(
    admin: ScriptedAdmin, script: Script, run: Callable[..., Completed]
) -> None:
    written = script.time - 3_000.0
    searched = RecordTime(1000, TimeRange(written, written), TimeRange(written - 5, written - 5))
    admin.times = {("t-stuck", 0): searched, ("t-fine", 0): searched}
    admin.topic_retention = Retention({"t-stuck": 7_200.0}, 86_400.0, {"t-stuck": TopicRules(7_200.0)})
    ran = run("check", "stuck,fine", "--all")
    assert [ids for call, ids in admin.calls if call == "record_times"] == [("t-stuck-0",)]
    clock = local_clock(script.time)
    assert f"; records of t-stuck may expire from {clock(written + 7_200, seconds=True)}" in ran.out
    assert f"; stopped after {clock(written - 5)}" in ran.out
    assert " 52 min " in ran.out
    stuck = objects(run("check", "stuck", "--format", "json"))["stuck"]
    assert (stuck["time_lag"]["exact"], stuck["loss"]["exact"]) == (True, True)
    assert parse_rfc3339(stuck["loss"]["at"]) == pytest.approx(written + 7_200)
    assert parse_rfc3339(stuck["stopped_after"]) == pytest.approx(written - 5)
    assert stuck["partitions"][0]["age"]["exact"] is True


def test_kgtui_check_explains_why_record_ages_and_expiry_times_are_unknown(
    admin: ScriptedAdmin, run: Callable[..., Completed]
) -> None:
    admin.times = {("t-stuck", 0): RecordTime(1000, reason=FORBIDDEN_TOPIC)}
    fault = "grant DESCRIBE_CONFIGS on the topic to this user"
    admin.topic_retention = Retention({}, 86_400.0, {"t-stuck": TopicRules(fault=fault)})
    ran = run("check", "stuck")
    assert f"the exact age of unread records is not known: {FORBIDDEN_TOPIC}" in ran.out
    assert f"it is not known when unread records expire: {fault}" in ran.out
    stuck = objects(run("check", "stuck", "--format", "json"))["stuck"]
    assert (stuck["time_lag"]["reason"], stuck["expiry_reason"]) == (FORBIDDEN_TOPIC, fault)


def test_kgtui_check_reports_the_time_until_offsets_of_an_empty_group_expire(
    admin: ScriptedAdmin, run: Callable[..., Completed]
) -> None:
    admin.add("left", "consumer", state="Empty", lag=0)
    admin.topic_retention = Retention({}, 7_200.0)
    assert "offsets may expire in at most 1 h 58 min" in run("check", "left", "--all").out
    ran = run("check", "left", "--all", "--format", "json")
    assert objects(ran)["left"]["empty"] == {"seconds": 120.0, "at_least": True, "expires_in": 7_080.0}
    (row,) = csv.DictReader(io.StringIO(run("check", "left", "--all", "--format", "csv").out))
    assert (row["empty"], row["expires_in"]) == ("120.0", "7080.0")


def test_kgtui_check_warns_but_exits_with_0_if_retention_times_cannot_be_read(
    admin: ScriptedAdmin, run: Callable[..., Completed], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(topics: object, *, timeout: float) -> Answer[Retention]:
        faults = (Fault("X", "read configs of topic a: no.", advice="grant it"), Fault("X", "of b"))
        return Answer(Retention(), faults)

    monkeypatch.setattr(admin, "retention", refused)
    ran = run("check", "fine")
    assert ran.code == 0
    warning = "the retention of some topics or of offsets could not be read"
    assert ran.err == f"kgtui: {warning}: read configs of topic a: no. (and 1 more); grant it\n"


def test_kgtui_check_says_that_verdicts_after_a_short_check_are_not_final(run: Callable[..., Completed]) -> None:
    ran = run("check", "--for", "20s", "--all")
    assert ran.code == 0
    assert verdicts(ran) == {"connect": "OK", "fine": "OK", "queue": "OK", "slow": "OK?", "stuck": "OK?"}
    assert "STOP requires more than 45 s without progress; observed so far: 20 s" in ran.out
    not_final = "kgtui: after 20 s, the verdict on 1 group is not final"
    assert ran.err.splitlines() == [
        f"{not_final}: WARN requires 5 commits; observed so far: 3",
        f"{not_final}: STOP requires more than 45 s without progress; observed so far: 20 s",
    ]


def test_kgtui_check_json_has_counts_verdicts_and_causes(run: Callable[..., Completed]) -> None:
    ran = run("check", "--format", "json", "--all")
    whole = json.loads(ran.out)
    assert whole["version"] == 1
    assert whole["coverage"] == {"brokers": [3, 3], "groups": [5, 5]}
    assert whole["check"] == {
        "seconds": 120.0, "interval": 5.0, "fail_on": "ERR", "failed": True,
        "verdicts": {"OK": 3, "WARN": 1, "ERR": 1, "NOT_FOUND": 0, "UNKNOWN": 0},
    }  # fmt: skip
    stuck = objects(ran)["stuck"]
    assert (stuck["verdict"], stuck["cause"], stuck["basis"]) == ("ERR", "STOP", "observed")
    assert (stuck["lag"], stuck["lag_unknown"], stuck["trend"]) == (1740, 0, 2.0)
    assert stuck["time_lag"] == {"seconds": 120.0, "at_least": True, "at_most": None, "exact": False, "reason": None}
    assert stuck["partitions"] == [
        {"topic": "t-stuck", "partition": 0, "verdict": "STOP", "lag": 1740, "position": 1000, "unchanged": 120.0,
         "complete": 0.1, "subscribed": True, "age": stuck["time_lag"]}
    ]  # fmt: skip
    assert (stuck["reads"], stuck["reads_failed"], stuck["undecided"]) == (25, 0, [])
    connect = objects(ran)["connect"]
    assert [connect[name] for name in ("verdict", "lag", "time_lag", "trend", "drain", "loss")] == ["OK", *[None] * 5]


def test_kgtui_check_json_has_the_time_that_a_final_verdict_needs(run: Callable[..., Completed]) -> None:
    ran = run("check", "stuck", "--format", "json", "--for", "20s", "--all")
    assert objects(ran)["stuck"]["undecided"] == [
        {"verdict": "STOP", "lacks": "time", "partitions": 1, "needs": 45.0, "has": 20.0,
         "text": "STOP requires more than 45 s without progress; observed so far: 20 s"}
    ]  # fmt: skip


def test_kgtui_check_csv_has_one_row_per_group(run: Callable[..., Completed]) -> None:
    rows = {row["group"]: row for row in csv.DictReader(io.StringIO(run("check", "--format", "csv", "--all").out))}
    assert (rows["stuck"]["cause"], rows["stuck"]["lag"], rows["stuck"]["time_lag_at_least"]) == (
        "STOP",
        "1740",
        "True",
    )
    assert (rows["connect"]["lag"], rows["connect"]["trend"], rows["connect"]["verdict"]) == ("", "", "OK")


def test_kgtui_check_csv_columns_and_json_keys_have_documented_names_and_order(run: Callable[..., Completed]) -> None:
    assert run("check", "--format", "csv").out.splitlines()[0] == (
        "group,type,state,verdict,cause,basis,lag,lag_unknown,trend,time_lag,time_lag_at_least,drain,lost,loss_in,"
        "rebalances_per_hour,members_behind,empty,expires_in,undecided,reason,offsets_may_be_hidden"
    )
    assert list(objects(run("check", "--format", "json"))["stuck"]) == [
        "group", "type", "protocol", "state", "coordinator", "verdict", "cause", "basis", "reason",
        "stopped_after", "undecided", "complete", "lag", "lag_unknown", "max_lag", "trend", "trend_seconds",
        "time_lag", "drain", "caught_up_at", "lost", "loss", "expiry_reason", "rebalances", "holding_up",
        "empty", "partitions", "seconds", "reads", "reads_failed", "read_at",
        "offsets_may_be_hidden",
    ]  # fmt: skip


def test_kgtui_check_reports_rebalances_and_members_with_old_epochs(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    def rebalance(step: int) -> None:
        members = (member("a", epoch=step // 4),)
        admin.add("fine", "consumer", state="Reconciling" if step % 4 else "Stable", coordinator=2, members=members,
                  group_epoch=1 + step // 4, assignment_epoch=1 + step // 4)  # fmt: skip

    script.happens.insert(0, rebalance)
    ran = run("check", "fine", "--all")
    assert "6 rebalances in 2 min" in ran.out
    assert "1 member is behind the target assignment" in ran.out


@pytest.mark.parametrize(
    ("epoch_steps", "expected"), [(6, "6 rebalances in 2 min"), (None, "at least 6 rebalances in 2 min")]
)
def test_number_of_rebalances_without_epochs_is_a_lower_bound(epoch_steps: int | None, expected: str) -> None:
    """Each rebalance increases the group epoch. In groups without epochs, kgtui can miss rebalances between reads."""
    flapping = replace(health_of(ReadHistory()), rebalances=RebalanceRate(6, epoch_steps, 6, 120.0))
    assert expected in notes(flapping, "classic")


def test_kgtui_check_escapes_control_characters_in_group_ids(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.add("\x1b[2Jx\n", state="Empty", lag=3)
    ran = run("check", "--all")
    assert r"\x1b[2Jx\n" in ran.out
    assert "\x1b" not in ran.out
    assert "\x1b[2Jx\n" in objects(run("check", "--all", "--format", "json"))


def test_kgtui_check_on_a_terminal_prints_duration_and_verdict_counts(
    run: Callable[..., Completed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run("check").err.splitlines() == [
        "kgtui: watching 5 groups for 120 s",
        "kgtui: 5 groups: 3 OK, 1 WARN, 1 ERR",
    ]

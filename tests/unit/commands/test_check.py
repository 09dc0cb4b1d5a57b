"""Tests of `kgtui check`: which groups are watched, what is printed, and the exit codes."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.commands.group_watch import Clock
from kgtui.errors import DeadlineError
from kgtui.model.answer import Answer, Fault
from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.health.wording import local_clock
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset
from kgtui.model.record_times import FORBIDDEN_TOPIC, RecordTime, TimeRange
from kgtui.model.rfc3339 import parse_rfc3339
from tests.scripted import ScriptedAdmin, member
from tests.unit.commands.runs import Completed, runner

if TYPE_CHECKING:
    from collections.abc import Callable


class Script:
    """A clock that `sleep_until` advances without waiting.

    Attributes:
        steps: seconds by which each call of `sleep_until` advances the time.
        happens: functions that change the cluster; the n-th call of `sleep_until` calls each of them with n.
    """

    def __init__(self) -> None:
        self.time = 1_000_000.0
        self.steps: list[float] = []
        self.happens: list[Callable[[int], None]] = []

    def now(self) -> float:
        return self.time

    async def sleep_until(self, at: float) -> None:
        self.steps.append(at - self.time)
        self.time = max(self.time, at)
        for happen in self.happens:
            happen(len(self.steps))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    script = Script()
    monkeypatch.setattr("kgtui.commands.group_watch.Clock", lambda: script)
    return script


@pytest.fixture
def admin(script: Script) -> ScriptedAdmin:
    """Return a cluster with a stopped, a slow and a healthy group, a share group, and a group without offsets."""
    admin = ScriptedAdmin()
    admin.add("stuck", "consumer", members=(member("a", topics=("t-stuck",)),), lag=1500)
    admin.add("slow", "classic", members=(member("b", topics=("t-slow",)),), lag=900)
    admin.add("fine", "classic", coordinator=2, lag=5)
    admin.add("queue", "share", state="Stable", coordinator=3, members=(member("c"),), lag=7)
    admin.add("connect", "classic", "connect", members=(member("w"),))

    def move(step: int) -> None:
        for group, read, written in (("slow", 10, 14), ("fine", 20, 20), ("stuck", 0, 10)):
            admin.commits[group] = (CommittedOffset(f"t-{group}", 0, 1000 + read * step, 0),)
            end = {"slow": 1900, "fine": 1005, "stuck": 2500}[group] + written * step
            admin.bounds[f"t-{group}", 0] = PartitionBounds(0, end)
        admin.shares["queue"] = (ShareOffset("t-queue", 0, 1000 + 10 * step, 0, 7),)
        admin.bounds["t-queue", 0] = PartitionBounds(0, 1007 + 10 * step)

    script.happens.append(move)
    return admin


@pytest.fixture
def run(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Completed]:
    return runner(admin, monkeypatch, capfd)


def verdicts(ran: Completed) -> dict[str, str]:
    return {line.split()[0]: line.split()[3] for line in ran.out.splitlines()[1:]}


def objects(ran: Completed) -> dict[str, dict[str, Any]]:
    return {row["group"]: row for row in json.loads(ran.out)["groups"]}


def test_kgtui_check_prints_only_unhealthy_groups_and_exits_with_1(run: Callable[..., Completed]) -> None:
    ran = run("check")
    assert (ran.code, ran.err) == (1, "")
    assert verdicts(ran) == {"slow": "WARN", "stuck": "STOP"}
    header, slow, stuck = ran.out.splitlines()
    assert header.split() == ["GROUP", "TYPE", "STATE", "VERDICT", "LAG", "TREND", "TIME", "LAG", "WHY"]
    assert slow.endswith("the lag of t-slow-0 does not fall over 10 commits, 996 unread")
    assert "+2.0/s" in stuck
    assert stuck.endswith("no commit on t-stuck-0 for 2 min, 1,740 unread")


@pytest.mark.parametrize(
    ("lost", "why"),
    [(1, "1 record expired before it was read"), (3, "3 records expired before they were read")],
    ids=["1", "3"],
)
def test_kgtui_check_fails_if_records_of_a_group_were_lost(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script, lost: int, why: str
) -> None:
    """By Burrow's rules alone, the verdict on the group would be OK, because the group makes progress."""

    def expire(step: int) -> None:
        admin.commits["fine"] = (CommittedOffset("t-fine", 0, 1000 + 20 * step, 0),)
        admin.bounds["t-fine", 0] = PartitionBounds(1000 + lost + 20 * step, 1005 + 20 * step)

    script.happens.append(expire)
    ran = run("check", "--group", "fine")
    assert ran.code == 1
    assert verdicts(ran) == {"fine": "LOST"}
    assert why in ran.out
    assert json.loads(run("check", "--group", "fine", "--format", "json").out)["check"]["failed"]


def test_kgtui_check_can_also_print_healthy_groups(run: Callable[..., Completed]) -> None:
    ran = run("check", "--all")
    assert verdicts(ran) == {"connect": "OK", "fine": "OK", "queue": "OK", "slow": "WARN", "stuck": "STOP"}


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


def test_kgtui_check_shows_exact_record_ages_of_unhealthy_groups(
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


def test_kgtui_check_explains_unknown_record_ages_and_expiry_times(
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


def test_kgtui_check_only_warns_if_retention_times_cannot_be_read(
    admin: ScriptedAdmin, run: Callable[..., Completed], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(topics: object, *, timeout: float) -> Answer[Retention]:
        faults = (Fault("X", "read configs of topic a: no.", advice="grant it"), Fault("X", "of b"))
        return Answer(Retention(), faults)

    monkeypatch.setattr(admin, "retention", refused)
    ran = run("check", "fine")
    assert ran.code == 0
    warning = "the time until records or offsets expire may be unknown"
    assert ran.err == f"kgtui: {warning}: read configs of topic a: no. (and 1 more); grant it\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("check", "fine,queue"), 0),
        (("check", "slow"), 0),
        (("check", "slow", "--fail-on", "warn"), 1),
        (("check", "fine", "--fail-on", "warn"), 0),
        (("check", "stuck"), 1),
        (("check", "stuck", "--allowed-lag", "5k"), 2),
        (("check", "stuck", "--allowed-lag", "5000"), 0),
        (("check", "stuck", "--commit-interval", "1m"), 0),
        (("check", "no-such-group"), 1),
        (("check", "verdict:warn+", "fine"), 0),
        (("check", "--filter", "verdict:stop"), 1),
    ],
)
def test_exit_code_of_kgtui_check_depends_on_verdicts_options_and_filter(
    run: Callable[..., Completed], words: tuple[str, ...], code: int
) -> None:
    assert run(*words).code == code


def test_kgtui_check_reads_groups_once_per_interval_and_at_the_end(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    run("check", "fine", "--for", "12s", "--interval", "5s")
    assert script.steps == [5, 5, 2]
    asked = [groups for call, groups in admin.calls if call == "describe_groups"]
    assert asked == [("fine",)] * 4


def test_rounding_errors_cause_no_additional_read_of_kgtui_check(run: Callable[..., Completed], script: Script) -> None:
    """3.6 s are 12 intervals of 0.3 s. Rounding errors of the times must not cause a thirteenth interval."""
    run("check", "fine", "--for", "3.6s", "--interval", "0.3s")
    assert len(script.steps) == 12


def test_kgtui_check_reads_only_groups_that_match_the_filter(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    """The terms about type and lag limit the reads. The term about the verdict is applied only after the reads."""
    run("check", "not:type:share", "lag:1k+", "verdict:warn+")
    watched = [groups for call, groups in admin.calls if call == "describe_groups"]
    assert set(watched) == {("stuck",)}


def test_kgtui_check_applies_verdict_filters_after_the_watch(run: Callable[..., Completed]) -> None:
    assert verdicts(run("check", "verdict:stop,ok")) == {"connect": "OK", "fine": "OK", "queue": "OK", "stuck": "STOP"}
    ran = run("check", "verdict:warn")
    assert (ran.code, verdicts(ran)) == (0, {"slow": "WARN"})


def test_kgtui_check_sorts_groups_by_the_lag_of_the_last_read(run: Callable[..., Completed]) -> None:
    assert list(verdicts(run("check", "--all", "sort:lag-"))) == ["stuck", "slow", "queue", "fine", "connect"]


def test_kgtui_check_says_that_verdicts_after_a_short_watch_are_not_final(run: Callable[..., Completed]) -> None:
    ran = run("check", "--for", "20s", "--all")
    assert ran.code == 0
    assert verdicts(ran) == {"connect": "OK", "fine": "OK", "queue": "OK", "slow": "OK?", "stuck": "OK?"}
    assert "STOP needs more than 45 s without progress, observed 20 s" in ran.out
    not_final = "kgtui: after 20 s, the verdict on 1 group is not final"
    assert ran.err.splitlines() == [
        f"{not_final}: WARN needs 5 commits, observed 3",
        f"{not_final}: STOP needs more than 45 s without progress, observed 20 s",
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


def test_kgtui_check_json_has_the_watch_duration_that_a_final_verdict_needs(run: Callable[..., Completed]) -> None:
    ran = run("check", "stuck", "--format", "json", "--for", "20s", "--all")
    assert objects(ran)["stuck"]["undecided"] == [
        {"verdict": "STOP", "lacks": "time", "partitions": 1, "needs": 45.0, "has": 20.0,
         "text": "STOP needs more than 45 s without progress, observed 20 s"}
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


def test_kgtui_check_reports_a_partial_result_if_a_broker_does_not_respond(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.broken[2] = DeadlineError("no answer from broker 2", broker=2)
    ran = run("check", "--all", "queue,fine")
    assert ran.code == 1
    assert verdicts(ran) == {"queue": "OK"}
    assert "partial result: 2 of 3 brokers answered" in ran.err


def test_kgtui_check_gives_no_verdict_for_a_group_that_cannot_be_read(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.broken["fine"] = Fault("GROUP_AUTHORIZATION_FAILED", "forbidden", 30, group="fine")
    ran = run("check", "fine,queue")
    assert (ran.code, verdicts(ran)) == (1, {"fine": "x"})
    assert ran.err.count("GROUP_AUTHORIZATION_FAILED") == 1
    made = json.loads(run("check", "fine,queue", "--format", "json").out)
    assert made["groups"][0]["verdict"] is None
    assert made["check"]["verdicts"] == {"OK": 1, "WARN": 0, "ERR": 0, "NOT_FOUND": 0, "UNKNOWN": 1}
    assert made["coverage"]["groups"] == [1, 2]


def test_kgtui_check_exits_with_1_if_the_lag_of_a_group_is_unknown(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    """The user lacks DESCRIBE on the topic of the group, so the lag is unknown, and the verdict is not final."""

    def forbid(_step: int) -> None:
        admin.bounds["t-fine", 0] = PartitionBounds(None, None, 29)

    script.happens.append(forbid)
    ran = run("check", "fine", "--all")
    assert (ran.code, verdicts(ran)) == (1, {"fine": "OK?"})
    assert "the lag of some partitions is unknown: forbidden" in ran.err


def test_kgtui_check_restarts_the_lag_trend_after_a_failed_read(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    """One read fails shortly before the end. Too few reads follow for a trend, so the trend is null."""
    fault = Fault("COORDINATOR_NOT_AVAILABLE", "not available", 15, group="stuck")

    def stumble(step: int) -> None:
        if step == 22:
            admin.broken["stuck"] = fault
        else:
            admin.broken.pop("stuck", None)

    script.happens.append(stumble)
    ran = run("check", "stuck", "--format", "json")
    stuck = objects(ran)["stuck"]
    assert (ran.code, ran.err, stuck["cause"]) == (1, "", "STOP")
    assert (stuck["reads"], stuck["reads_failed"], stuck["trend"]) == (24, 1, None)


def test_kgtui_check_exits_with_0_if_a_group_is_deleted_during_the_watch(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    def leave(step: int) -> None:
        if step == 3:
            admin.groups.pop("stuck")
            admin.descriptions.pop("stuck")

    script.happens.append(leave)
    ran = run("check", "stuck,fine")
    assert (ran.code, verdicts(ran), ran.err) == (0, {"stuck": "GONE"}, "")
    assert ran.out.rstrip().endswith("the group no longer exists")


def test_kgtui_check_does_not_report_earlier_errors_of_a_deleted_group(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    """The reads of a group fail before the group is deleted. The output only says that the group no longer exists."""

    def leave(step: int) -> None:
        if step == 3:
            admin.broken["stuck"] = Fault("COORDINATOR_NOT_AVAILABLE", "not available", 15, group="stuck")
        if step == 5:
            admin.broken.clear()
            admin.groups.pop("stuck")
            admin.descriptions.pop("stuck")

    script.happens.append(leave)
    ran = run("check", "stuck,fine")
    assert (ran.code, verdicts(ran), ran.err) == (0, {"stuck": "GONE"}, "")


def test_kgtui_check_starts_no_second_read_during_a_slow_read(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    """A read takes longer than the interval between two reads."""
    gate = asyncio.Event()

    def hold(step: int) -> None:
        if step == 1:
            admin.gate = gate
        if step == 5:
            gate.set()

    script.happens.append(hold)
    ran = run("check", "fine", "--for", "0.4s", "--interval", "0.05s", "--all")
    assert (ran.code, list(verdicts(ran))) == (0, ["fine"])
    # `check` reads the group five times: the first read is at the start, the second read is slow and lasts four steps,
    # and each of the last three steps has one read.
    assert len([call for call, _ in admin.calls if call == "describe_groups"]) == 5


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


def test_kgtui_check_escapes_control_characters_in_group_ids(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    admin.add("\x1b[2Jx\n", state="Empty", lag=3)
    ran = run("check", "--all")
    assert r"\x1b[2Jx\n" in ran.out
    assert "\x1b" not in ran.out
    assert "\x1b[2Jx\n" in objects(run("check", "--all", "--format", "json"))


def test_kgtui_check_of_a_cluster_without_groups_exits_with_0(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    admin.groups.clear()
    ran = run("check")
    assert (ran.code, len(ran.out.splitlines()), script.steps) == (0, 1, [])


def test_kgtui_check_on_a_terminal_prints_duration_and_counts(
    run: Callable[..., Completed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run("check").err.splitlines() == [
        "kgtui: watching 5 groups for 120 s",
        "kgtui: 5 groups: 3 OK, 1 WARN, 1 ERR",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "--for", "0"), "--for takes a duration above 0"),
        (("check", "--for", "2m+"), "--for takes a duration above 0"),
        (("check", "--for", "soon"), "--for: 'soon' is not a number"),
        (("check", "--interval", "1ms"), "there is no unit 'ms' here"),
        (("check", "--interval", "0.01s"), "--interval must be at least 0.05 s"),
        (("check", "--commit-interval", "x"), "--commit-interval: 'x' is not a number"),
        (("check", "--allowed-lag", "-1"), "--allowed-lag takes a number of records"),
        (("check", "--fail-on", "ok"), "invalid choice: 'ok'"),
        (("check", "verdict:bad"), "there is no verdict 'bad'"),
    ],
)
def test_kgtui_check_with_wrong_options_exits_with_2_and_prints_one_line(
    run: Callable[..., Completed], words: tuple[str, ...], message: str
) -> None:
    ran = run(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in ran.err


async def test_sleeping_until_a_time_in_the_past_returns_immediately() -> None:
    clock = Clock()
    before = clock.now()
    await clock.sleep_until(before - 1000)
    assert before <= clock.now() < before + 60

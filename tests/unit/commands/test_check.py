"""Tests of `kgtui check`: the groups it reads and how often, its verdicts such as OK and STOP, and its exit codes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.group_watch import Clock
from kgtui.errors import DeadlineError
from kgtui.model.answer import Fault
from kgtui.model.offsets import CommittedOffset, PartitionBounds
from tests.scripted import member
from tests.unit.commands.checking import Script, objects, verdicts, watched_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scripted import ScriptedAdmin
    from tests.unit.commands.runs import Completed


@pytest.fixture
def admin(script: Script) -> ScriptedAdmin:
    return watched_cluster(script)


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
    """The rules of the lag checker Burrow would give the verdict OK, because the committed offset still advances."""

    def expire(step: int) -> None:
        admin.commits["fine"] = (CommittedOffset("t-fine", 0, 1000 + 20 * step, 0),)
        admin.bounds["t-fine", 0] = PartitionBounds(1000 + lost + 20 * step, 1005 + 20 * step)

    script.happens.append(expire)
    ran = run("check", "--group", "fine")
    assert ran.code == 1
    assert verdicts(ran) == {"fine": "LOST"}
    assert why in ran.out
    assert json.loads(run("check", "--group", "fine", "--format", "json").out)["check"]["failed"]


@pytest.mark.parametrize(
    ("group_type", "state", "why"),
    [
        ("classic", "PreparingRebalance", "PreparingRebalance for too long; perhaps a member has not rejoined"),
        ("streams", "NotReady", "NotReady for too long; perhaps a source topic or an internal topic does not exist"),
    ],
    ids=["classic", "streams"],
)
def test_kgtui_check_warns_of_groups_that_do_not_become_stable(
    run: Callable[..., Completed], admin: ScriptedAdmin, group_type: str, state: str, why: str
) -> None:
    admin.add("blocked", group_type, state=state, members=(member("d"),))
    ran = run("check", "--group", "blocked")
    assert (ran.code, verdicts(ran)) == (0, {"blocked": "REBALANCING"})
    assert ran.out.rstrip().endswith(why)
    assert run("check", "--group", "blocked", "--fail-on", "warn").code == 1
    assert verdicts(run("check", "verdict:rebalancing")) == {"blocked": "REBALANCING"}
    assert "blocked" in verdicts(run("check", "verdict:warn+"))


def test_kgtui_check_reports_repeated_short_rebalances_as_flapping(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    def rebalance(step: int) -> None:
        state = "PreparingRebalance" if step % 4 == 1 else "Stable"
        admin.descriptions["connect"] = replace(admin.descriptions["connect"], state=state)

    script.happens.append(rebalance)
    ran = run("check", "--group", "connect")
    assert verdicts(ran) == {"connect": "FLAPPING"}
    assert run("check", "verdict:rebalancing").out.count("\n") == 1


def test_kgtui_check_can_also_print_healthy_groups(run: Callable[..., Completed]) -> None:
    ran = run("check", "--all")
    assert verdicts(ran) == {"connect": "OK", "fine": "OK", "queue": "OK", "slow": "WARN", "stuck": "STOP"}


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


def test_rounding_errors_do_not_make_kgtui_check_read_once_more(run: Callable[..., Completed], script: Script) -> None:
    """Twelve intervals of 0.3 s take 3.6 s. A rounding error must not cause a thirteenth interval."""
    run("check", "fine", "--for", "3.6s", "--interval", "0.3s")
    assert len(script.steps) == 12


def test_kgtui_check_reads_only_groups_that_match_the_filter(
    run: Callable[..., Completed], admin: ScriptedAdmin
) -> None:
    """Verdicts are unknown before the check, so kgtui first applies only the filter terms for type and lag."""
    run("check", "not:type:share", "lag:1k+", "verdict:warn+")
    watched = [groups for call, groups in admin.calls if call == "describe_groups"]
    assert set(watched) == {("stuck",)}


def test_kgtui_check_applies_verdict_filters_after_the_last_read(run: Callable[..., Completed]) -> None:
    assert verdicts(run("check", "verdict:stop,ok")) == {"connect": "OK", "fine": "OK", "queue": "OK", "stuck": "STOP"}
    ran = run("check", "verdict:warn")
    assert (ran.code, verdicts(ran)) == (0, {"slow": "WARN"})


def test_kgtui_check_sorts_groups_by_the_lag_of_the_last_read(run: Callable[..., Completed]) -> None:
    assert list(verdicts(run("check", "--all", "sort:lag-"))) == ["stuck", "slow", "queue", "fine", "connect"]


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
    """One read fails shortly before the end of the check. Only two reads follow, which are too few for a trend."""
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


def test_kgtui_check_exits_with_0_if_a_group_is_deleted_during_the_check(
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


def test_kgtui_check_skips_intervals_during_a_slow_read(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    """`--interval` is the time between the starts of two reads. The second read takes longer than this time."""
    gate = asyncio.Event()

    def hold(step: int) -> None:
        if step == 1:
            admin.gate = gate
        if step == 5:
            gate.set()

    script.happens.append(hold)
    ran = run("check", "fine", "--for", "0.4s", "--interval", "0.05s", "--all")
    assert (ran.code, list(verdicts(ran))) == (0, ["fine"])
    # There are five reads: one at the start, then the slow read, which lasts four intervals, and then three more reads.
    assert len([call for call, _ in admin.calls if call == "describe_groups"]) == 5


def test_kgtui_check_of_a_cluster_without_groups_exits_with_0(
    run: Callable[..., Completed], admin: ScriptedAdmin, script: Script
) -> None:
    admin.groups.clear()
    ran = run("check")
    assert (ran.code, len(ran.out.splitlines()), script.steps) == (0, 1, [])


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

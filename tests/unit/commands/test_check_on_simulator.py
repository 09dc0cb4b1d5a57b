"""Tests of `kgtui check` on simulated clusters, whose clock the tests advance.

Only the last two tests run the command in a separate process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.admin import record_times
from kgtui.admin.kafka import connect
from kgtui.commands import group_watch
from kgtui.commands.check import check, check_recorded
from kgtui.commands.parser import parse_args
from kgtui.commands.selection import list_groups
from kgtui.history import Recorder, RecorderOptions, RecordingReader, ReplayAdmin
from kgtui.model.health import Watching
from kgtui.model.query import parse
from kgtui.model.rfc3339 import parse_rfc3339
from kgtui.simulator import ManualClock, Simulator
from tests.event_loop import longer_if_busy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from kgtui.admin.base import GroupAdmin
    from kgtui.commands.group_watch import Clock
    from kgtui.model.snapshot import Snapshot


class SimulatedClock:
    """The clock of a simulated cluster. `sleep_until` advances the clock immediately, without waiting."""

    def __init__(self, cluster: Simulator) -> None:
        self._cluster = cluster

    def now(self) -> float:
        return self._cluster.clock.now()

    async def sleep_until(self, at: float) -> None:
        if at > self.now():
            self._cluster.advance(at - self.now())


async def checked(
    cluster: Simulator,
    capfd: pytest.CaptureFixture[str],
    *expr: str,
    seconds: float = 120.0,
    interval: float = 5.0,
    timeout: float = 30.0,
) -> dict[str, Any]:
    """Run `kgtui check` in simulated time.

    Args:
        expr: filter terms.
        seconds: duration of the check in simulated seconds.
        interval: simulated seconds between two reads.
        timeout: time limit for requests in seconds.

    Returns:
        The JSON document, with the exit code as `code` and the text on stderr as `err`.
    """
    args = parse_args(["check", "--all", "--format", "json", "--timeout", str(timeout)])
    args.seconds, args.interval = seconds, interval
    clock: Any = SimulatedClock(cluster)
    typed: Clock = clock
    capfd.readouterr()
    async with connect(cluster.bootstrap.split(",")) as admin:
        with pytest.MonkeyPatch.context() as patch:
            # kgtui compares record timestamps, which are in simulated time, with the current time. Therefore, the
            # current time must be the simulated time, too.
            patch.setattr(record_times, "time", SimpleNamespace(time=clock.now))
            code = await check(args, admin, parse(" ".join(expr)), Watching(), typed)
    out, err = capfd.readouterr()
    found: dict[str, Any] = json.loads(out) | {"code": code, "err": err}
    return found


@pytest.fixture
async def company() -> AsyncIterator[Simulator]:
    async with Simulator(clock=ManualClock()) as cluster:
        cluster.advance(3.0)
        yield cluster


async def test_kgtui_check_gives_no_final_verdict_on_simple_groups_with_hidden_offsets(
    company: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """The user lacks DESCRIBE on all topics, so brokers hide all offsets from the user.

    A simple group has no protocol type, because its consumers commit offsets without joining the group.
    """
    company.faults.forbid_topics(["*"])
    found = await checked(company, capfd, "kind:simple", seconds=10)
    assert found["groups"]
    for row in found["groups"]:
        assert (row["lag"], row["lag_unknown"]) == (None, None)
        (undecided,) = row["undecided"]
        assert undecided["text"].startswith("no offsets that you are allowed to see")
    assert found["code"] == 1
    assert "OFFSETS_MAY_BE_HIDDEN" in found["err"]


async def test_kgtui_check_with_a_verdict_filter_says_that_verdicts_are_not_final(
    company: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """The check lasts 8 s. This is too short to detect that a group has stopped, so no group matches `verdict:stop`."""
    found = await checked(company, capfd, "verdict:stop", seconds=8, interval=2)
    assert found["groups"] == []
    assert "groups are not final" in found["err"]


async def test_kgtui_check_gives_no_final_verdict_if_all_topics_are_forbidden(
    company: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """The output says that the verdict on each group could be ERR, because the user lacks DESCRIBE on all topics."""
    company.faults.forbid_topics(["*"])
    found = await checked(company, capfd, "type:consumer state:Stable", seconds=10)
    assert found["groups"]
    for row in found["groups"]:
        assert [one["verdict"] for one in row["undecided"]] == ["ERR"]


async def test_kgtui_check_gives_no_final_verdict_if_some_topics_are_forbidden(
    company: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """The group might have offsets in forbidden topics, so the verdict OK is not final. The exit code is still 0."""
    company.faults.forbid_topics(["unrelated"])
    found = await checked(company, capfd, "web.sessions")
    (row,) = found["groups"]
    assert (row["verdict"], row["offsets_may_be_hidden"], found["code"]) == ("OK", True, 0)
    (undecided,) = row["undecided"]
    assert undecided["lacks"] == "permission"
    assert row["time_lag"]["at_least"]
    reason = "offsets in topics that you are not allowed to describe"
    assert f"kgtui: the verdict on 1 group is not final: {reason}" in found["err"]
    company.faults.clear()
    found = await checked(company, capfd, "web.sessions")
    (row,) = found["groups"]
    assert (row["undecided"], row["offsets_may_be_hidden"], found["err"]) == ([], False, "")


@pytest.mark.parametrize("granted", [True, False])
async def test_kgtui_check_notices_permissions_that_change_during_the_check(
    company: Simulator, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, granted: bool
) -> None:
    """During the check, DESCRIBE on the topic `unrelated` is granted if `granted` is true, and revoked otherwise.

    The filter term `lag:0+` makes kgtui read the permissions before the check. kgtui must read them again during the
    check.
    """
    monkeypatch.setattr(group_watch, "ACCESS_MAX_AGE", 0.0)
    sleep_until = SimulatedClock.sleep_until

    async def sleep_and_change(clock: SimulatedClock, at: float) -> None:
        company.faults.forbid_topics([] if granted else ["unrelated"])
        await sleep_until(clock, at)

    monkeypatch.setattr(SimulatedClock, "sleep_until", sleep_and_change)
    company.faults.forbid_topics(["unrelated"] if granted else [])
    found = await checked(company, capfd, "web.sessions", "lag:0+", seconds=10)
    (row,) = found["groups"]
    assert row["offsets_may_be_hidden"] is not granted


async def test_kgtui_check_mentions_a_forbidden_topic_to_which_a_member_subscribes(
    company: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """An ACL denies DESCRIBE on one topic of the group. The user has DESCRIBE on all other topics."""
    listed = await checked(company, capfd, "type:classic state:Stable kind:consumer", seconds=10)
    group = listed["groups"][0]["group"]
    topic = listed["groups"][0]["max_lag"]["topic"]
    company.faults.deny_topics([topic])
    found = await checked(company, capfd, group, seconds=10)
    (row,) = (row for row in found["groups"] if row["group"] == group)
    assert (row["offsets_may_be_hidden"], found["code"]) == (True, 1)
    assert f"the offsets in topic {topic} are hidden" in found["err"]


CAUSES = {
    # The groups in the next three lines are healthy. Some of them read topics with a traffic peak.
    **dict.fromkeys(("payments.settle", "orders.pick", "web.sessions", "audit.sink", "notifications.push"), "OK"),
    **dict.fromkeys(("payments.ledger", "inventory.reserve", "web.recommend", "iot.aggregate"), "OK"),
    **dict.fromkeys(("emails.workers", "fraud.review", "iot.dispatch"), "OK"),
    # The groups in the next line are OK although their lag is large, because the lag falls.
    **dict.fromkeys(("orders.ship", "dwh.backfill"), "OK"),
    # The groups in the next line commit offsets, but their lag does not fall.
    **dict.fromkeys(("payments.refund", "search.index", "orders.enrich", "jobs.run"), "WARN"),
    # The groups in the next line have unread records but commit no offsets. Some of these groups have no members.
    **dict.fromkeys(("orders.archive", "customers.sync", "fraud.score", "jobs.retired", "customers.sync-old"), "STOP"),
    # The groups in the next line are OK, because they have no committed offsets.
    **dict.fromkeys(("connect-cluster", "schema-registry", "payments.never-deployed", "jobs.never-started"), "OK"),
}


async def test_kgtui_check_gives_each_simulated_group_the_verdict_for_its_behavior(
    company: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    found = await checked(company, capfd)
    groups = {row["group"]: row for row in found["groups"]}
    assert {name: groups[name]["cause"] for name in CAUSES} == CAUSES
    assert [name for name in CAUSES if groups[name]["undecided"]] == []
    assert (found["code"], found["err"], found["coverage"]["brokers"]) == (1, "", [3, 3])

    assert groups["fraud.score"]["lost"] > 9_000
    assert groups["payments.settle"]["lost"] == 0
    assert groups["jobs.retired"]["loss"]["basis"] == "log start"
    assert groups["payments.settle"]["loss"] is None
    assert groups["payments.settle"]["time_lag"]["seconds"] < 15
    topic = company.state.topics["orders.shipped"]
    unread = [company.state.record_timestamp(topic, part, end - 18_400) for part, end in enumerate(topic.log_ends(0))]
    age = parse_rfc3339(groups["orders.archive"]["read_at"]) - min(unread) / 1000
    assert groups["orders.archive"]["time_lag"]["exact"]
    assert groups["orders.archive"]["time_lag"]["seconds"] == pytest.approx(age, abs=1)
    assert groups["orders.archive"]["loss"]["exact"]
    assert parse_rfc3339(groups["orders.archive"]["stopped_after"]) == pytest.approx(max(unread) / 1000, abs=2)
    # `drain` is the time in seconds until the lag is 0. The group needs 10 minutes to catch up, and the check took 2 of
    # these minutes.
    assert groups["orders.ship"]["drain"] == pytest.approx(480, rel=0.1)
    assert groups["orders.enrich"]["rebalances"]["flapping"]
    assert not groups["payments.settle"]["rebalances"]["flapping"]
    week = 7 * 86_400.0
    assert groups["customers.sync-old"]["empty"] == {"seconds": 120.0, "at_least": True, "expires_in": week - 120.0}
    assert groups["payments.settle"]["empty"] is None


async def test_verdicts_on_stopped_or_slow_groups_are_not_final_after_15_seconds(
    company: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    names = "/^(orders.archive|payments.refund|payments.settle)$/"
    found = await checked(company, capfd, names, seconds=15.0)
    undecided = {row["group"]: [one["verdict"] for one in row["undecided"]] for row in found["groups"]}
    assert undecided == {"orders.archive": ["STOP"], "payments.refund": ["WARN"], "payments.settle": []}
    assert found["code"] == 0


async def test_healthy_groups_get_the_verdict_ok_at_any_traffic_and_read_interval(
    company: Simulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """The traffic rises and falls every four minutes. The intervals between reads differ from the commit intervals."""
    steady = [name for name, cause in CAUSES.items() if cause == "OK"]
    names = "/^(" + "|".join(steady) + ")$/"
    for interval in (1.5, 3.7, 11.0):
        found = await checked(company, capfd, names, interval=interval)
        assert {row["group"] for row in found["groups"] if row["verdict"] != "OK"} == set(), interval
        assert found["code"] == 0


@longer_if_busy(0.3)
async def test_kgtui_check_omits_groups_of_a_silent_broker_and_exits_with_1(
    company: Simulator, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, timeout: float
) -> None:
    """Broker 2 does not respond. The output contains only groups of the other two brokers."""
    monkeypatch.setattr("kgtui.monitor.policy.CHECK_MIN_TIMEOUT", timeout)
    company.faults.clear()
    company.faults.black_hole(2)
    found = await checked(company, capfd, "payments", seconds=0.3, interval=0.1, timeout=7 * timeout)
    assert (found["code"], found["coverage"]["brokers"]) == (1, [2, 3])
    assert found["groups"]
    assert {row["coordinator"] for row in found["groups"]} <= {1, 3}


class SimulatedRecording:
    """Gives a recorder snapshots (lists of all groups) of a simulated cluster, and stops it after `polls` snapshots.

    The simulated time advances before each snapshot except the first.
    """

    def __init__(self, cluster: Simulator, admin: GroupAdmin, polls: int) -> None:
        self._cluster, self._admin, self._left = cluster, admin, polls
        self.snapshot: Snapshot
        self.recorder: Recorder | None = None

    async def look(self) -> None:
        self.snapshot, _ = await list_groups(self._admin, timeout=30.0)

    async def wait(self, seconds: float) -> None:
        self._left -= 1
        if not self._left and self.recorder is not None:
            self.recorder.stop()
            return
        self._cluster.advance(seconds)
        await self.look()


async def test_kgtui_check_gives_the_same_verdicts_for_a_recording_and_its_cluster(
    company: Simulator, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """kgtui records the cluster for two minutes. The recording must lead to the same verdicts as the cluster itself."""
    options, clock = RecorderOptions(interval=5.0, flush=30.0, describe=5.0), company.clock.now
    async with connect(company.bootstrap.split(",")) as admin:
        recording = SimulatedRecording(company, admin, polls=25)
        await recording.look()
        recorder = recording.recorder = Recorder(
            recording, admin, tmp_path / "lake", options, now=clock, elapsed=clock, wait=recording.wait
        )
        await recorder.run()
    args = parse_args(["check", "--all", "--format", "json", "--lake", str(tmp_path / "lake")])
    args.seconds = 120.0
    capfd.readouterr()
    code = await check_recorded(args, await ReplayAdmin.open(RecordingReader(tmp_path / "lake")), parse(""), Watching())
    out, err = capfd.readouterr()
    groups = {row["group"]: row for row in json.loads(out)["groups"]}
    assert {name: groups[name]["cause"] for name in CAUSES} == CAUSES
    assert [name for name in CAUSES if groups[name]["undecided"]] == []
    assert (code, err) == (1, "")
    assert {row["reads"] for row in groups.values()} == {25}
    assert groups["fraud.score"]["lost"] > 9_000
    assert groups["orders.archive"]["time_lag"] == {
        "seconds": 120.0, "at_least": True, "at_most": None, "exact": False, "reason": None
    }  # fmt: skip
    assert groups["orders.ship"]["drain"] == pytest.approx(480, rel=0.1)
    assert groups["orders.enrich"]["rebalances"]["flapping"]
    assert groups["customers.sync-old"]["empty"] == {"seconds": 120.0, "at_least": True, "expires_in": 604_680.0}


@asynccontextmanager
async def accelerated_cluster() -> AsyncIterator[Simulator]:
    """Run a simulated cluster whose clock advances by 1 s every 50 ms of real time."""
    async with Simulator(clock=ManualClock()) as cluster:

        async def hurry() -> None:
            while True:
                await asyncio.sleep(0.05)
                cluster.advance(1.0)

        clock = asyncio.create_task(hurry())
        try:
            yield cluster
        finally:
            clock.cancel()
            await asyncio.gather(clock, return_exceptions=True)


async def kgtui(*words: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kgtui", *words, env=dict(os.environ),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode(), err.decode()


async def test_exit_code_of_a_kgtui_check_process_depends_on_the_verdicts() -> None:
    async with accelerated_cluster() as cluster:
        watch = (
            "--bootstrap-server",
            cluster.bootstrap,
            "--for",
            "2.5s",
            "--interval",
            "0.25s",
            "--commit-interval",
            "0.1s",
        )
        bad = await kgtui("check", *watch, "orders.archive", "--format", "json")
        fine = await kgtui("check", *watch, "payments.ledger")
        missing = await kgtui("check", *watch, "nowhere")
    (row,) = json.loads(bad[1])["groups"]
    assert (bad[0], row["group"], row["cause"], row["basis"]) == (1, "orders.archive", "STOP", "observed")
    assert fine[0] == 0
    assert fine[1].split() == ["GROUP", "TYPE", "STATE", "VERDICT", "LAG", "TREND", "TIME", "LAG", "WHY"]
    assert missing == (1, fine[1], "kgtui: no group matches the filter; to find out why, run kgtui doctor nowhere\n")


async def test_kgtui_check_has_different_exit_codes_for_different_errors() -> None:
    """The exit code is 3 for an unreachable cluster, and 2 for wrong options."""
    nowhere = await kgtui("check", "--bootstrap-server", "127.0.0.1:1", "--timeout", "2")
    assert (nowhere[0], nowhere[1]) == (3, "")
    assert (await kgtui("check", "--for", "never"))[0] == 2

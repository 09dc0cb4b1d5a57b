"""Run `kgtui check` on real brokers that have healthy groups, unhealthy groups, and live groups of every type."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from kgtui.admin.kafka import connect
from kgtui.commands.check import check
from kgtui.commands.group_watch import Clock
from kgtui.commands.parser import parse_args
from kgtui.model.burrow import Options
from kgtui.model.health import Watching
from kgtui.model.query import parse

if TYPE_CHECKING:
    import pytest

    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live

READS = 12
EVERY = 0.5


class WritingClock(Clock):
    """A clock for `kgtui check`.

    When the command waits for its next read of the groups, the clock writes records and commits offsets.
    """

    def __init__(self, cluster: Cluster, topic: str) -> None:
        super().__init__()
        self._cluster, self._topic, self.steps = cluster, topic, 0

    async def sleep_until(self, at: float) -> None:
        self.steps += 1
        await asyncio.to_thread(self._work, self.steps)
        await super().sleep_until(at)

    def _work(self, step: int) -> None:
        self._cluster.produce(self._topic, 10)
        end = 100 + 10 * step
        for name, offset in (("fine", end), ("slow", 5 * step), ("back", 90 + step if step < READS - 3 else 20)):
            self._cluster.commit(f"check-{name}", {(self._topic, 0): offset})


async def checked(
    bootstrap: str, capfd: pytest.CaptureFixture[str], expr: str, watching: Watching, clock: Clock | None = None
) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run `kgtui check` on the groups that match `expr`; return the exit code, and the JSON of each group by id.

    Args:
        watching: settings such as the expected commit interval.
        clock: clock for waiting between two reads; None for the real clock.
    """
    args = parse_args(["check", "--all", "--format", "json"])
    args.seconds, args.interval = READS * EVERY, EVERY
    capfd.readouterr()
    async with connect(bootstrap.split(",")) as admin:
        code = await check(args, admin, parse(expr), watching, clock)
    found = json.loads(capfd.readouterr().out)
    assert found["faults"] == []
    return code, {row["group"]: row for row in found["groups"]}


async def test_kgtui_check_judges_groups_by_their_commits_during_the_check(
    broker: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = "check-orders"
    broker.create_topic(topic)
    broker.produce(topic, 100)
    for name in ("fine", "slow", "back", "stuck"):
        broker.commit(f"check-{name}", {(topic, 0): 1})
    # This check lasts only 6 s, with a read of the groups every 0.5 s, so two settings differ from their defaults:
    # - `offset_refresh=0.1`: to compute the lag of a commit, kgtui needs a log end offset that was read at least
    #   0.9 × `offset_refresh` seconds before the commit was found. With the default of 10 s, no read is old enough.
    # - `commit_interval=0.2`: kgtui expects a commit every 0.2 s.
    watching = Watching(Options(offset_refresh=0.1), commit_interval=0.2)
    clock = WritingClock(broker, topic)
    code, groups = await checked(broker.bootstrap, capfd, "/^check-/", watching, clock)
    assert {group: row["cause"] for group, row in groups.items()} == {
        "check-fine": "OK",
        "check-slow": "WARN",
        "check-back": "REWIND",
        "check-stuck": "STOP",
    }
    assert code == 1
    # The topic has 100 records at first, and `clock` adds 10 records each time the command waits (`steps` times). The
    # committed offset of `check-stuck` remains 1.
    assert groups["check-stuck"]["lag"] == 100 + 10 * clock.steps - 1
    assert groups["check-stuck"]["trend"] > 0
    assert groups["check-fine"]["lag"] == groups["check-fine"]["lost"] == 0
    nothing = {"seconds": 0.0, "at_least": False, "at_most": None, "exact": False, "reason": None}
    assert groups["check-fine"]["time_lag"] == nothing
    assert groups["check-stuck"]["time_lag"]["exact"]
    assert groups["check-stuck"]["stopped_after"] is not None


async def test_kgtui_check_has_a_verdict_for_live_groups_of_every_type(
    live: Live, capfd: pytest.CaptureFixture[str]
) -> None:
    """Live groups (test groups that never change) with lag have the verdict STOP or STALL, all others OK.

    No live group commits during the check.
    """
    code, found = await checked(live.bootstrap, capfd, "not:/^check-/", Watching(commit_interval=0.1))
    for group in live.groups.values():
        lagging = any(group.lags.values())
        assert found[group.id]["state"] == group.state
        assert found[group.id]["cause"] in (("STOP", "STALL") if lagging else ("OK",)), group.id
    assert code == 1

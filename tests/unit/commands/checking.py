"""Helpers for tests of `kgtui check`: a fake cluster, a fake clock, and functions that parse the output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.commands.runs import Completed


class Script:
    """A fake clock. `sleep_until` advances the clock without waiting, and then changes the cluster.

    Attributes:
        steps: requested sleep times in seconds, one per call of `sleep_until`.
        happens: functions that change the cluster. The n-th call of `sleep_until` calls each function with `n`.
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


def watched_cluster(script: Script) -> ScriptedAdmin:
    """Return a fake cluster with five groups.

    `stuck` commits no offsets any more, the lag of `slow` grows, `fine` is healthy, `queue` is a share group, and
    `connect` has no offsets.
    """
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


def verdicts(ran: Completed) -> dict[str, str]:
    return {line.split()[0]: line.split()[3] for line in ran.out.splitlines()[1:]}


def objects(ran: Completed) -> dict[str, dict[str, Any]]:
    return {row["group"]: row for row in json.loads(ran.out)["groups"]}

"""Tests that the monitor reports all misbehaving groups of a simulated cluster, and at most two healthy groups."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from kgtui.admin.kafka import connect
from kgtui.model.judgment import Basis
from kgtui.model.problem import Problem
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.simulator import Simulator
from kgtui.simulator.cluster_state import ManualClock
from kgtui.simulator.commit_patterns import STEADY, BelowLogStart, Stuck, VariableSpeed
from kgtui.simulator.groups.classic import ClassicKeys
from kgtui.simulator.membership import ConstantMembership, RotatingMembership, ScheduledMembership
from kgtui.simulator.scenarios.file_keys import GroupSpec, ReadSpec, TopicSpec
from kgtui.simulator.scenarios.loader import build_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.snapshot import Snapshot
    from kgtui.simulator.topics import Topic

STEP = 5.0
"""Time between two reads of all groups, in seconds of the simulated clock."""

STEPS, MAX_STEPS = 25, 250
"""kgtui must find all problems within 25 steps of the simulated clock, and confirm three of them within 250 steps.

kgtui confirms a problem by reading the group at every poll. Polls run in real time, so on a busy machine there are
fewer polls per step, and a confirmation takes more steps.
"""


class Rewound:
    """Commit pattern of a simulated group: after 60 s, its offsets go back by 5,000. Then its lag stays constant."""

    def committed_offsets(self, topic: Topic, t: float) -> Sequence[int | None]:
        """Return the log end offsets one second before `t`. From `t` = 60 s on, return 5,000 less, but at least 0."""
        ends = topic.log_ends(t - 1)
        return ends if t < 60 else [max(0, end - 5_000) for end in ends]


def misbehaving() -> dict[str, tuple[GroupSpec, Problem]]:
    """Return 20 groups that misbehave in eight ways: group id → (the group, the problem that kgtui must find)."""

    def spec(name: str, commits: object = STEADY, **members: object) -> GroupSpec:
        reads = (ReadSpec("t-0", commits),)  # type: ignore[arg-type]
        return GroupSpec(id=name, reads=reads, keys=ClassicKeys(), **(members or {"members": 2}))  # type: ignore[arg-type]

    found: dict[str, tuple[GroupSpec, Problem]] = {}
    for number, count in enumerate((3, 3, 3, 3, 2, 2, 2, 2)):
        for copy in range(count):
            name = f"bad-{number}-{copy}"
            row = [
                (spec(name, VariableSpeed(((40.0, 0.0),))), Problem.STOP),
                (spec(name, Stuck(700)), Problem.STOP),
                (spec(name, VariableSpeed(((10.0, 0.5),))), Problem.BEHIND),
                (spec(name, BelowLogStart(500)), Problem.DATA_LOST),
                (spec(name, Rewound()), Problem.REWIND),
                (spec(name, rotation=RotatingMembership(15.0, ((0,), (0, 1)))), Problem.FLAPPING),
                (spec(name, constant=ConstantMembership(2, 0.5, 1)), Problem.REBALANCING),
                (spec(name, VariableSpeed(((50.0, 0.0),)), schedule=ScheduledMembership((0, 1), ((60.0, ()),))),
                 Problem.STOP),
            ][number]  # fmt: skip
            found[name] = row
    return found


def simulated(groups: int) -> tuple[Simulator, dict[str, Problem]]:
    """Create a simulated cluster with the 20 misbehaving groups, and with healthy groups up to the total `groups`.

    Returns:
        The cluster, and a dict: id of each misbehaving group → the problem that kgtui must find.
    """
    simulator = Simulator(scenario="empty", clock=ManualClock())
    topics = {f"t-{n}": TopicSpec(4, rate=10.0, kept=50_000).build(f"t-{n}", 1) for n in range(10)}
    bad = misbehaving()
    healthy = [
        GroupSpec(id=f"good-{n:04}", members=2, reads=(ReadSpec(f"t-{n % 10}"),), keys=ClassicKeys())
        for n in range(groups - len(bad))
    ]
    simulator.state.add_topics(topics.values())
    simulator.state.add_groups(build_groups([*healthy, *(spec for spec, _ in bad.values())], topics, 1, "test"))
    return simulator, {name: problem for name, (_, problem) in bad.items()}


def all_read(snapshot: Snapshot, now: float, groups: int) -> bool:
    """Return whether, at the time `now`, all brokers sent their group lists, and exactly `groups` groups were read."""
    listed = all(broker.answered_at == now for broker in snapshot.brokers.values())
    return listed and sum(1 for row in snapshot.summaries.values() if row.lag_at == now) == groups


@pytest.mark.parametrize("groups", [120, pytest.param(1_000, marks=pytest.mark.full)])
async def test_the_monitor_reports_all_20_misbehaving_and_at_most_two_healthy_groups(
    groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtui.monitor.suspects.SUSPECT_INTERVAL", 0.02)
    simulator, expected = simulated(groups)
    options = MonitorOptions(
        interval=0.1, list_load=1.0, publish_interval=0.0, sweep_rate=1e6, sweep_pause=0.05, empty_pause=0.05,
        sweep_load=1.0, describe_pause=STEP, suspects=20,
    )  # fmt: skip
    found: dict[str, set[Problem]] = {}
    must_be_observed, observed = {"bad-0-0", "bad-1-0", "bad-3-0"}, set[str]()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(simulator)
        admin = await stack.enter_async_context(connect(simulator.bootstrap.split(",")))
        monitor = Monitor(admin, options, now=simulator.clock.now)
        task = asyncio.create_task(monitor.run())
        monitor.set_view(None)
        arrived = asyncio.Event()
        monitor.subscribe(lambda _: arrived.set())
        for step in range(MAX_STEPS):
            if step == STEPS:
                not_found = {group for group, problem in expected.items() if problem not in found.get(group, ())}
            if step >= STEPS and must_be_observed <= observed:
                break
            simulator.advance(STEP)
            async with asyncio.timeout(60):
                while not all_read(monitor.snapshot, simulator.clock.now(), groups):
                    arrived.clear()
                    await arrived.wait()
            for group, judgment in monitor.snapshot.problems():
                if judgment.kind is not None:
                    found.setdefault(group, set()).update((judgment.kind, *judgment.others))
                if judgment.basis is Basis.OBSERVED:
                    observed.add(group)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert must_be_observed <= observed
    assert not_found == set()
    assert len(found.keys() - expected.keys()) <= 2


async def test_the_monitor_reports_the_throttle_time_of_a_broker() -> None:
    async with AsyncExitStack() as stack:
        simulator = await stack.enter_async_context(Simulator(scenario="empty", brokers=1))
        simulator.faults.throttle(1, 50)
        admin = await stack.enter_async_context(connect(simulator.bootstrap.split(",")))
        monitor = Monitor(admin, MonitorOptions(interval=0.5))
        arrived = asyncio.Event()
        monitor.subscribe(lambda _: arrived.set())
        stack.callback(asyncio.create_task(monitor.run()).cancel)
        async with asyncio.timeout(60):
            while not any(broker.throttle_ms for broker in monitor.snapshot.brokers.values()):
                arrived.clear()
                await arrived.wait()
        assert monitor.snapshot.brokers[1].throttle_ms == 50

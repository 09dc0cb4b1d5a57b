"""The usual: many teams, each with a few groups whose names begin alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.facts import number_of
from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.habits import Batch, Habit, Lagging, Steady
from kgtui.simulator.life import Settled, Shifts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.company.topics import Topics
    from kgtui.simulator.groups.base import Group
    from kgtui.simulator.life import Life

TEAMS = 12
_JOBS = {
    "ingest": "web.clicks",
    "report": "orders.shipped",
    "alerts": "fraud.scores",
    "cache": "inventory.levels",
}
_HABITS: tuple[Habit, ...] = (Steady(), Steady(2.0), Steady(8.0), Batch(60.0), Lagging(800, 0.97))


def groups(topics: Topics) -> Iterator[Group]:
    """`team-007.ingest` and so on; every third is of the newer protocol, every seventh is restless."""
    for team in range(1, TEAMS + 1):
        for job, topic in _JOBS.items():
            name = f"team-{team:03d}.{job}"
            salt = number_of("team", name)
            members = 1 + salt % 4
            life: Life = Settled(members)
            if salt % 7 == 0:
                life = Shifts(50.0 + salt % 40, (tuple(range(members)), tuple(range(members + 1))), ahead=salt % 50)
            make = ConsumerGroup if salt % 3 == 0 else ClassicGroup
            habit = _HABITS[salt // 5 % len(_HABITS)]
            yield make(name, life, [Reads(topics[topic], habit)], client=Client(f"{job}-{team:03d}"), epoch=salt % 90)

"""A company over some days, with a day's ebb and flow in its traffic, and incidents: what a demo history is made from.

`Plan` says when what happens; `fill` puts topics and groups that behave so into a world on a `ManualClock`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.days import incidents, usual
from kgtui.simulator.days.plan import Plan
from kgtui.simulator.days.topics import topics

if TYPE_CHECKING:
    from kgtui.simulator.world import World

__all__ = ["Plan", "fill"]


def fill(world: World, plan: Plan) -> None:
    """Put the company into an empty world whose clock stands at the plan's start."""
    known = topics(plan)
    world.add_topics(known.values())
    world.add_groups([*usual.groups(plan, known), *incidents.groups(plan, known)])

"""What is in a cluster at the start, by the name of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.errors import UsageError
from kgtui.simulator.company import fill
from kgtui.simulator.options import SCENARIOS

if TYPE_CHECKING:
    from kgtui.simulator.world import World


def build(name: str, world: World) -> None:
    """Put topics and groups into a new world.

    Raises:
        UsageError: there is no scenario of that name.
    """
    if name not in SCENARIOS:
        raise UsageError(f"no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    if name in ("company", "wild"):
        fill(world, wild=name == "wild")
    elif name == "empty":
        fill(world, groups=False)

"""Orders for a running cluster, as lines of JSON: `{"do": "black_hole", "node": 2}` → `{"ok": true}`."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.simulator.cluster import Simulator

FAULTS = (
    "black_hole", "latency", "throttle", "cut", "damage", "kill", "restart", "move_coordinator", "load",
    "forbid_groups", "forbid_topics", "forbid_cluster", "fail", "clear",
)  # fmt: skip
"""Orders that are methods of `Faults`, with their parameters as keys."""


class Control:
    """Carries out orders."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        world = simulator.world
        self._orders: dict[str, Callable[..., Any]] = {name: getattr(simulator.faults, name) for name in FAULTS}
        self._orders |= {
            "advance": simulator.advance,
            "remove_group": world.remove_group,
            "delete_topic": world.delete_topic,
            "coordinator": lambda group: {"node": world.coordinator(group)},
            "stats": self._stats,
        }

    async def obey(self, line: str | bytes) -> str:
        """Carry out one order; the answer has `ok`, and `error` if it is false."""
        try:
            action, parameters = self._understand(line)
            result = action(**parameters)
            if inspect.isawaitable(result):
                result = await result
        except (ValueError, TypeError, KeyError, OSError) as err:
            return json.dumps({"ok": False, "error": str(err)})
        return json.dumps({"ok": True, **(result or {})})

    def _understand(self, line: str | bytes) -> tuple[Callable[..., Any], dict[str, Any]]:
        order = json.loads(line)
        if not isinstance(order, dict):
            raise TypeError("an order is a JSON object")
        name = order.pop("do", None)
        action = self._orders.get(name) if isinstance(name, str) else None
        if action is None:
            raise ValueError(f"no order {name!r}; there are {', '.join(sorted(self._orders))}")
        return action, order

    def _stats(self) -> dict[str, Any]:
        """What was asked of the cluster so far."""
        simulator = self._simulator
        return {
            "requests": {str(node): server.requests for node, server in simulator.servers.items()},
            "connections": {str(node): len(server.connections) for node, server in simulator.servers.items()},
            "served": {str(key): count for key, count in simulator.dispatch.served.items()},
            "time": simulator.world.time(),
        }

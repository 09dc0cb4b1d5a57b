"""An embedded Kafka cluster that speaks the group protocol on loopback, for the demo and for tests.

May import `kgtui.protocol`, `kgtui.model`, `kgtui.errors` and the standard library.

In a test, on the same event loop::

    async with Simulator(brokers=3, seed=1, kafka_version="4.4", clock=ManualClock()) as cluster:
        ...                                 # connect to cluster.bootstrap
        cluster.advance(30)                 # let time pass
        cluster.faults.black_hole(2)        # a bad day for broker 2
        cluster.world.find("payments.settle")

In a process of its own, which ends when its parent does::

    with spawn(Options(groups=300)) as cluster:
        ...                                 # connect to cluster.bootstrap
        cluster.control("black_hole", node=2)

Node ids begin at 1. `world` holds the cluster without sockets: groups and logs are functions of the seed and the time,
so nothing is stored of their members; `handlers` answer requests from it, `server` has the sockets, `faults` the bad
days. Scenarios: `company`, `wild` (the company, with damaged member bytes and commits on deleted topics, on which
Kafka's own tools fail), `plain` (generated groups only), `empty`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.simulator.clock import ManualClock, RealClock
    from kgtui.simulator.cluster import Simulator
    from kgtui.simulator.options import Options
    from kgtui.simulator.process import SimulatorProcess, spawn
    from kgtui.simulator.serving import serve

__all__ = ["ManualClock", "Options", "RealClock", "Simulator", "SimulatorProcess", "serve", "spawn"]

_HOMES = {
    "ManualClock": "clock",
    "Options": "options",
    "RealClock": "clock",
    "Simulator": "cluster",
    "SimulatorProcess": "process",
    "serve": "serving",
    "spawn": "process",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, so that who only spawns a cluster does not load one."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

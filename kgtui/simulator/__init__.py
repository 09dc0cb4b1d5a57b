"""An embedded Kafka cluster on loopback for the demo and for tests; it supports the APIs that read and delete groups.

May import `kgtui.protocol`, `kgtui.model`, `kgtui.errors`, msgspec and the standard library.

Start a cluster in a test, on the same event loop::

    async with Simulator(brokers=3, seed=1, kafka_version="4.4", clock=ManualClock()) as cluster:
        ...                                 # connect to cluster.bootstrap
        cluster.advance(30)                 # move the clock forward by 30 s
        cluster.faults.black_hole(2)        # broker 2 stops responding
        cluster.state.find("payments.settle")

Start a cluster in a child process, which ends when its parent does::

    with spawn(Options(groups=300)) as cluster:
        ...                                 # connect to cluster.bootstrap
        cluster.control("black_hole", node=2)

Node ids begin at 1. `cluster_state` holds the cluster without sockets: groups and logs are functions of the seed and
the time, so that their members and offsets are not stored. `handlers` respond to requests, `server` has the sockets,
and `faults` injects faults. `scenarios` has the TOML files that describe which topics and groups exist: `company`,
`wild` (the company plus malformed member data and commits on deleted topics, on which Kafka's own tools fail), `plain`
(generated groups only) and `empty` (topics without groups). `demo_history` has the incidents of a generated history.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.simulator.cluster import Simulator
    from kgtui.simulator.cluster_state import ManualClock, RealClock
    from kgtui.simulator.options import Options
    from kgtui.simulator.process import SimulatorProcess, spawn
    from kgtui.simulator.serving import serve

__all__ = ["ManualClock", "Options", "RealClock", "Simulator", "SimulatorProcess", "serve", "spawn"]

_MODULES = {
    "ManualClock": "cluster_state",
    "Options": "options",
    "RealClock": "cluster_state",
    "Simulator": "cluster",
    "SimulatorProcess": "process",
    "serve": "serving",
    "spawn": "process",
}


def __getattr__(name: str) -> object:
    """Import a name on first access, so that a program that only spawns a cluster does not load its modules."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

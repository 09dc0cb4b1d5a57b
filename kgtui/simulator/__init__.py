"""A simulated Kafka cluster for the demo and for tests.

The simulated brokers support the APIs that clients need to read and delete groups. By default, the brokers listen only
on the loopback interface.

This package may import `kgtui.protocol`, `kgtui.model`, `kgtui.errors`, `kgtui.private_files`, msgspec and the standard
library.

Start a cluster on the event loop of a test::

    async with Simulator(brokers=3, seed=1, kafka_version="4.4", clock=ManualClock()) as cluster:
        ...                                 # connect to cluster.bootstrap
        cluster.advance(30)                 # move the clock forward by 30 s
        cluster.faults.black_hole(2)        # broker 2 stops responding
        cluster.state.find("payments.settle")   # the state of this group

Start a cluster in a child process, which exits when its parent process ends::

    with spawn(Options(groups=300)) as cluster:
        ...                                 # connect to cluster.bootstrap
        cluster.control("black_hole", node=2)

Node ids begin at 1. Members and offsets are not stored, but computed for the current time. The
option `scenario` selects the groups of the cluster:

- `company`: groups of every type, with and without problems.
- `wild`: the groups of `company`, and groups that make Kafka's own tools fail, for example by malformed data.
- `plain`: only generated groups. The option `groups` is their number.
- `empty`: the topics of `company`, but no groups.

| module | contents |
|---|---|
| `cluster` | `Simulator`: a cluster on the event loop of its caller |
| `child_process` | `spawn`: starts a cluster in a child process, and sends control commands to it |
| `standalone` | `serve`: runs a cluster until it receives a signal, and executes control commands from stdin |
| `options` | options of a cluster, and their command line arguments |
| `cluster_state` | clock, brokers, topics, groups, leaders and coordinators, without sockets |
| `broker_server` | the port and connections of one broker |
| `handlers` | the functions that respond to requests |
| `releases` | API versions and features of each Kafka release |
| `faults` | injects faults: broken brokers, missing permissions, error codes |
| `topics` | topics, with log offsets computed from the time |
| `groups` | the states, members and assignments of groups of each type |
| `membership` | the members of a group at a given time |
| `commit_patterns` | which offsets a group has committed at a given time |
| `generated_groups` | large numbers of groups, each of which needs only a few bytes of memory |
| `hashing` | derives ids, hosts and numbers from names, with the same result in every process |
| `scenarios` | TOML files with topics and groups, and their loader |
| `demo_history` | the topics, groups and incidents of the demo recording, which covers several days |
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.simulator.child_process import SimulatorProcess, spawn
    from kgtui.simulator.cluster import Simulator
    from kgtui.simulator.cluster_state import ManualClock, RealClock
    from kgtui.simulator.options import Options
    from kgtui.simulator.standalone import serve

__all__ = ["ManualClock", "Options", "RealClock", "Simulator", "SimulatorProcess", "serve", "spawn"]

_MODULES = {
    "ManualClock": "cluster_state",
    "Options": "options",
    "RealClock": "cluster_state",
    "Simulator": "cluster",
    "SimulatorProcess": "child_process",
    "serve": "standalone",
    "spawn": "child_process",
}


def __getattr__(name: str) -> object:
    """Import a public class or function on its first use. A program that uses only `spawn` loads no broker code."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

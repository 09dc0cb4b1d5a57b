"""What happened: the recorder, and replay of any recorded moment.

A lake is one folder of Delta tables. `recorder` looks at every group again and again and writes what changed;
`Lake` finds moments and what differs between them; `ReplayAdmin` is a GroupAdmin over a lake, so that everything that
works on a cluster works on the past. `schemas` and `folder` are standard library alone: the pipeline shares them.

Imports the monitor, the admin's interface and the model. deltalake and pyarrow load when a lake is opened, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.history.lake import Lake
    from kgtui.history.options import RecorderOptions
    from kgtui.history.recorder import Recorder
    from kgtui.history.replay import ReplayAdmin

__all__ = ["Lake", "Recorder", "RecorderOptions", "ReplayAdmin"]

_HOMES = {"Lake": "lake", "Recorder": "recorder", "RecorderOptions": "options", "ReplayAdmin": "replay"}


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"kgtui.history.{_HOMES[name]}"), name)

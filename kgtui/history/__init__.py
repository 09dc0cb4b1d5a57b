"""Record what happens to the groups of a cluster, and replay any recorded point in time.

`Recorder` polls all groups at an interval, and writes the changes between two polls to a lake. `RecordingReader` finds
recorded polls and compares two polls. `ReplayAdmin` implements `GroupAdmin` on a recording, so that everything that
works on a live cluster also works on a recorded cluster.

This package imports `lake`, `monitor`, `model` and the interface of `admin`. deltalake and pyarrow are only imported
when a lake is opened.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.history.options import RecorderOptions
    from kgtui.history.recorder import Recorder
    from kgtui.history.recording_reader import RecordingReader
    from kgtui.history.replay import ReplayAdmin

__all__ = ["Recorder", "RecorderOptions", "RecordingReader", "ReplayAdmin"]

_MODULES = {
    "RecordingReader": "recording_reader",
    "Recorder": "recorder",
    "RecorderOptions": "options",
    "ReplayAdmin": "replay",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name when the name is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"kgtui.history.{_MODULES[name]}"), name)

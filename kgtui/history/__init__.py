"""Record what happens to the groups of a cluster, and replay any recorded point in time.

This package imports the packages `lake`, `monitor` and `model`, and the interfaces of package `admin`. deltalake and
pyarrow are imported only when a lake is opened.

| module | contents |
|---|---|
| `recorder` | `Recorder`: polls all groups and records the changes |
| `options` | options and status of the recorder |
| `changes` | compares two polls, and finds the rows that have changed |
| `rows` | converts objects of the model to rows of the recorded tables, and back |
| `flushing` | writes recorded polls to the lake on a separate thread |
| `recording_reader` | `RecordingReader`: polls, states and changes in a recording |
| `poll_index` | all polls of a recording, with the gap before each poll |
| `keyframe` | the state of a recorded table at any poll, computed from the last keyframe (a poll with all rows) |
| `point_in_time` | the recorded state of a cluster at one time; comparison of two states |
| `poll_reader` | reads descriptions and offsets at consecutive polls, as input of the health rules |
| `group_timeline` | lag, rates, members and changes of one group over time |
| `state_times` | when the current states of all groups began |
| `recorded_events` | finds the events in a recording |
| `recorded_access` | stores the permissions of the recorder's user in the lake |
| `replay` | `ReplayAdmin`: a read-only `GroupAdmin` on a recording |
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
    """Import the module that defines a public name when the name is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"kgtui.history.{_MODULES[name]}"), name)
